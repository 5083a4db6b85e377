// Makes tensors from Python objects: numbers, nested lists, bytes, and arrays of NumPy, PyTorch and
// other libraries with DLPack, __array__ or the buffer protocol. For the other direction see
// array.h.
#pragma once

#include "python/binding/arguments.h"

namespace doorbell::python {

// Whether it is an array: it has DLPack, __array__ or the buffer protocol.
bool is_array(nb::handle object);
// A copy of an array. False if a tensor cannot hold it; no Python error is set.
bool tensor_of_array(nb::handle object, Tensor* tensor) noexcept;

// The tensor of Tensor(data, ...). Throws TypeError or ValueError.
Tensor make_tensor(nb::handle data, const TensorOptions& options);
// For data that is assigned to `place`: with its dtype, and on its device, or on the CPU if that is
// a file.
TensorOptions options_beside(const Tensor& place);
// Shares the array's memory, which lives as long as the tensor; copies nothing.
Tensor share_array(nb::handle object);

// The dtype's short and long names, those of PyTorch ("half") and of tinygrad ("fp8e4m3").
bool dtype_of_name(std::string_view name, DType* dtype);
// The accepted forms of a dtype, for messages.
std::string expected_dtypes();

}  // namespace doorbell::python
