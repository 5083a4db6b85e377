// Tensors out of what Python has: numbers, nested lists, bytes, and arrays of NumPy, PyTorch and
// whoever else speaks DLPack, __array__ or the buffer protocol. For giving memory back see array.h.
#pragma once

#include "python/binding/arguments.h"

namespace doorbell::python {

// Something with elements of its own: it speaks DLPack, __array__ or the buffer protocol.
bool is_array(nb::handle object);
// A copy of an array. False where it is none that a tensor could hold; no Python error is set.
bool tensor_of_array(nb::handle object, Tensor* tensor) noexcept;

// What Tensor(data, ...) makes of `data`. Throws TypeError or ValueError.
Tensor make_tensor(nb::handle data, const TensorOptions& options);
// Of data that is assigned to `place`: its dtype, and its device or, of a file, the CPU.
TensorOptions options_beside(const Tensor& place);
// Over the array's own memory, which lives as long as the tensor: nothing is copied.
Tensor share_array(nb::handle object);

// The dtype's short and long names, those of PyTorch ("half") and of tinygrad ("fp8e4m3").
bool dtype_of_name(std::string_view name, DType* dtype);
// What may be given where a dtype is, for messages.
std::string expected_dtypes();

}  // namespace doorbell::python
