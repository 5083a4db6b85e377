// Windows that slide over an operand, as those of convolutions: reduced axes ("taps") whose sum
// with an output axis is all that the operand's address varies with. The values that neighbouring
// results read overlap: for a tile that holds each once see stage_tile.h.
#pragma once

#include <vector>

#include "codegen/opt/kernel_info.h"

namespace doorbell::codegen::detail {

// Neighbours of a window's operand that are loaded together, where pairs are aligned and no padding
// begins between them (stage_window.cc): its tile is longer by up to that.
inline constexpr i64 kWindowPair = 2;

struct Window {
  i64 tap, along;  // axes
};

// Whether an index or a gate varies with the ranges `a` and `b` only by their sum.
bool varies_with_sum(core::UOp u, i64 a, i64 b);

struct Windows {
  std::vector<Window> list;
  const Access* over = nullptr;  // the operand: one of KernelInfo::accesses
};

// For each of the taps, the output axis that an operand slides along, if all slide over the same
// operand; otherwise none.
Windows find_windows(const KernelInfo& info, u64 taps);

}  // namespace doorbell::codegen::detail
