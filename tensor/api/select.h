// Inside the tensor API: what indexing by a mask is made of.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "tensor/api/tensor.h"

namespace doorbell::detail {

// The places where a bool tensor holds, in order: one i32 vector per axis. Reads the mask, and so
// refuses to in a capture.
std::vector<Tensor> places_of(const Tensor& mask);

// x with an axis of size 1 where each mask of no axes stands, and the indices with masks of one
// element in their place. None where there is no such mask.
struct Widened {
  Tensor x;
  std::vector<Index> indices;
  std::vector<i64> axes;  // of x that are new
};
std::optional<Widened> with_scalar_masks(const Tensor& x, std::span<const Index> indices);
// Its x without the new axes.
Tensor without_axes(const Widened& wide);

}  // namespace doorbell::detail
