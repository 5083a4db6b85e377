// Layers one after the other:
//
//   nn::Sequential net{nn::Linear(2, 8), nn::ReLU(), nn::Linear(8, 1)};
//
// Takes layers, models and functions of a tensor. Tensors are named by place, as PyTorch does it:
// "0.weight". A copy shares its tensors, as a copy of a layer does.
#pragma once

#include <concepts>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "tensor/nn/module.h"

namespace doorbell::nn {

class Sequential {
 public:
  Sequential() = default;
  template <class... Parts>
    requires(sizeof...(Parts) > 0 &&
             (sizeof...(Parts) > 1 || (!std::same_as<std::decay_t<Parts>, Sequential> && ...)) &&
             (std::invocable<std::decay_t<Parts>&, const Tensor&> && ...))
  // NOLINTNEXTLINE(google-explicit-constructor)
  Sequential(Parts&&... parts) {
    (append(std::forward<Parts>(parts)), ...);
  }
  Sequential(const Sequential& other);
  Sequential(Sequential&& other) noexcept = default;
  Sequential& operator=(Sequential other) noexcept;
  ~Sequential() = default;

  template <class Part>
  // Adds a layer at the end.
  Sequential& append(Part&& part) {
    parts_.push_back(std::make_unique<Holding<std::decay_t<Part>>>(std::forward<Part>(part)));
    return *this;
  }
  usize size() const { return parts_.size(); }
  Tensor operator()(const Tensor& x);
  void visit(Visitor& visitor);

 private:
  struct Held {
    virtual ~Held() = default;
    virtual Tensor call(const Tensor& x) = 0;
    virtual void visit(Visitor& visitor) = 0;
    virtual std::unique_ptr<Held> copy() const = 0;
  };
  template <class Part>
  struct Holding final : Held {
    template <class Given>
    explicit Holding(Given&& given) : part(std::forward<Given>(given)) {}
    Tensor call(const Tensor& x) override { return part(x); }
    void visit(Visitor& visitor) override {
      if constexpr (requires { part.visit(visitor); }) part.visit(visitor);
    }
    std::unique_ptr<Held> copy() const override { return std::make_unique<Holding>(part); }
    Part part;
  };
  // So that a Visitor's names have the place before them.
  struct Place {
    Held* held;
    void visit(Visitor& visitor) { held->visit(visitor); }
  };

  std::vector<std::unique_ptr<Held>> parts_;
};

}  // namespace doorbell::nn
