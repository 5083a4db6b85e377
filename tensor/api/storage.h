// Inside the tensor API: the last step of every function that makes a tensor.
#pragma once

#include <functional>
#include <string>

#include "tensor/api/tensor.h"

namespace doorbell::detail {

// Puts a tensor of no device where the options say, and marks it where they ask.
Tensor finish(Tensor tensor, const TensorOptions& options);

// Memory of the caller as a tensor, not copied: the host's, on a device that uses it in place, or
// the device's own, of another library. `release`, where there is one, runs on any thread when the
// last user goes.
Tensor wrap_memory(void* memory, DType dtype, const Shape& shape, const std::string& device,
                   std::function<void()> release = {});

// Numbers side by side, of the dtype that holds them all unless the options name another.
Tensor from_numbers(std::span<const Number> numbers, const Shape& shape,
                    const TensorOptions& options);

// Throws: a leaf has no past for gradients to flow back through.
[[noreturn]] void refuse_losing_gradient(const Shape& leaf, const Shape& value);

// What an operator makes of `place`, assigned to it: throws where it has a dtype of a wider kind.
Tensor& assign_result(Tensor& place, const Tensor& result);

// The options with the dtype and device of x where they name none.
TensorOptions options_like(const Tensor& x, const TensorOptions& options);

}  // namespace doorbell::detail
