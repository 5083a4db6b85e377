// The parts of the module `_doorbell`, one function each, called by module.cc.
#pragma once

#include "python/binding/arguments.h"

namespace doorbell::python {

using TensorClass = nb::class_<Tensor>;

void define_errors(nb::module_& module);
void define_dtypes(nb::module_& module);
void define_sizes(nb::module_& module);
TensorClass define_tensor(nb::module_& module);
void define_operators(TensorClass& tensor);
void define_indexing(TensorClass& tensor);
void define_scopes(nb::module_& module);
void define_devices(nb::module_& module);
void define_jit(nb::module_& module);
void define_layers(nb::module_& module);
void define_norms(nb::module_& module);
void define_recurrent_layers(nb::module_& module);
void define_attention(nb::module_& module);
void define_clipping(nb::module_& module);
void define_optimizers(nb::module_& module);
void define_files(nb::module_& module);
void define_printing(nb::module_& module);
// Generated from tensor/api/methods and python/surface.
void define_surface(TensorClass& tensor);

// A separate tensor with the same value; handles of one tensor stay handles of one tensor within
// one memo of copy.
Tensor deep_copy(const Tensor& tensor, nb::handle memo);

// Replaces Tensor's str(), which cannot be called while jit captures.
std::string text_of(const Tensor& tensor);

}  // namespace doorbell::python
