// Whether an operand's tile is a box of a tensor that a TensorMap describes: its address is a sum
// of axes of known sizes, aligned as copies of boxes need it, and its only bounds are those of the
// axes.
#pragma once

#include <optional>
#include <vector>

#include "codegen/opt/kernel_info.h"
#include "core/device/tensor_map.h"

namespace doorbell::codegen::detail {

struct TensorMapFit {
  core::TensorMap map;
  std::vector<i64> axes;  // by dimension of the map: range ids
  // The last dimension is of whole rows of the first one, so that a box has all runs of rows.
  bool has_runs = false;
};

// The operand is elements of `element_bytes` bytes at `address` of the buffer at Param `slot`. Its
// tile is `runs` runs, one behind the other along the axis `along`, which is contiguous in memory,
// of `rows` rows along `across`.
struct BoxedOperand {
  const Affine& address;
  i64 slot, element_bytes;
  i64 along, across, rows, runs;
};
std::optional<TensorMapFit> fit_tensor_map(const KernelInfo& info, const BoxedOperand& operand);

}  // namespace doorbell::codegen::detail
