// Groups of an optimiser's parameters, and its state as dicts of PyTorch's structure.
#pragma once

#include "python/binding/module.h"
#include "tensor/nn/optim.h"

namespace doorbell::python {

// The parameters of a group, and what its dict says beside them.
struct GivenGroup {
  std::vector<Tensor> parameters;
  nb::dict options;
};
// Of tensors, or of dicts with "params"; PyTorch's parameters() are an iterator.
std::vector<GivenGroup> groups_of(nb::handle params);
GivenGroup group_of(const nb::dict& dict);

nb::dict options_dict(const nn::Optimizer& optimizer, usize group);
void set_options(nn::Optimizer& optimizer, usize group, const nb::dict& options);

// state_dict, load_state_dict, param_groups and pickling.
void define_state(nb::class_<nn::Optimizer>& optimizer);
void define_param_group(nb::module_& module);

}  // namespace doorbell::python
