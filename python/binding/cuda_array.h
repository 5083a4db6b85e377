// Tensors on CUDA devices as arrays of other libraries, in place and in the order of streams:
// DLPack (kDLCUDA) and __cuda_array_interface__.
#pragma once

#include <nanobind/ndarray.h>

#include <optional>

#include "python/binding/arguments.h"

namespace doorbell::python {

// Whether the tensor is on a CUDA device, and its GPU as CUDA counts them.
std::optional<int> gpu_of(const Tensor& tensor);

// A DLPack capsule over the tensor's memory. `stream` as __dlpack__ takes it: the consumer's, which
// waits for our work; None is the default stream, -1 asks for no order.
nb::object to_cuda_dlpack(const Tensor& tensor, nb::handle stream);

// The array that an object describes by __cuda_array_interface__. Our work will wait for its
// stream.
Tensor share_cuda_array(nb::handle object);

void define_cuda_array(nb::class_<Tensor>& tensor);

}  // namespace doorbell::python
