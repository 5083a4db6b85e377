// What convolutions and transposed convolutions share.
//
// Not for users.
#pragma once

#include <string>

#include "tensor/api/tensor.h"

namespace doorbell::detail {

std::string convolution_misfit(const Tensor& x, const Tensor& weight, i64 groups);
// x (batch, channels, ...) with a number added to each channel.
Tensor add_channel_bias(const Tensor& x, const Tensor& bias);

}  // namespace doorbell::detail
