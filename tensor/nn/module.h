// Models as plain structs: a layer, or a struct of layers, names its tensors in visit(), and
// everything that needs them (optimisers, saving, moving to a device) walks them by name. There is
// no base class.
//
//   struct Net {
//     nn::Linear first{784, 128}, second{128, 10};
//     Tensor operator()(const Tensor& x) const { return second(first(x).relu()); }
//     void visit(nn::Visitor& v) { v("first", first), v("second", second); }
//   };
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tensor/api/tensor.h"

namespace doorbell::nn {

class Visitor {
 public:
  using Take = std::function<void(const std::string& name, Tensor& tensor)>;
  // Skips undefined tensors (the bias of a layer without one) unless asked for.
  explicit Visitor(Take take, bool with_undefined = false)
      : take_(std::move(take)), with_undefined_(with_undefined) {}

  void operator()(const std::string& name, Tensor& tensor) {
    if (tensor.defined() || with_undefined_) take_(prefix_ + name, tensor);
  }
  template <class Module>
    requires requires(Module& module, Visitor& visitor) { module.visit(visitor); }
  void operator()(const std::string& name, Module& module) {
    const std::string outer = prefix_;
    prefix_ += name + ".";
    module.visit(*this);
    prefix_ = outer;
  }
  // Numbered from 0.
  template <class Module>
  void operator()(const std::string& name, std::vector<Module>& modules) {
    for (usize i = 0; i < modules.size(); ++i) (*this)(name + "." + std::to_string(i), modules[i]);
  }

 private:
  Take take_;
  bool with_undefined_;
  std::string prefix_;
};

using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

// All tensors by name ("first.weight"), in the order of visit(). The handles are shared with the
// model.
template <class Module>
NamedTensors state_of(Module& module) {
  NamedTensors state;
  Visitor visitor(
      [&](const std::string& name, Tensor& tensor) { state.emplace_back(name, tensor); });
  module.visit(visitor);
  return state;
}

// Those marked requires_grad, each once, even if it has several names.
std::vector<Tensor> parameters_among(const NamedTensors& state);

// The tensors that an optimiser changes.
template <class Module>
std::vector<Tensor> parameters_of(Module& module) {
  return parameters_among(state_of(module));
}

struct LoadOptions {
  bool strict = true;  // a name that is only on one side is an error
};
struct LoadResult {
  std::vector<std::string> missing_keys;     // names that only the model has
  std::vector<std::string> unexpected_keys;  // names that the model lacks
};

// Assigns by name and converts dtype and device. Throws, before it changes anything, with the names
// of all tensors whose shapes differ, and if strict of all that are only on one side.
LoadResult load_into(const NamedTensors& into, const NamedTensors& from,
                     const LoadOptions& options = {});

template <class Module>
LoadResult load_state(Module& module, const NamedTensors& state, const LoadOptions& options = {}) {
  return load_into(state_of(module), state, options);
}

// Gives each tensor memory of its own. Names of one tensor stay names of one; leaves stay leaves.
class TensorCopies {
 public:
  void operator()(const std::string& name, Tensor& tensor);

 private:
  NamedTensors from_, to_;
};

// A copy of a model with tensors of its own; a plain copy of the struct shares them.
template <class Module>
Module deep_copy(const Module& module) {
  Module copy = module;
  Visitor visitor{TensorCopies()};
  copy.visit(visitor);
  return copy;
}

}  // namespace doorbell::nn
