// Reductions that close the same loops, none of which needs the result of another: one nest of
// loops serves them all. expand.cc makes it.
#pragma once

#include <span>
#include <vector>

#include "core/uop/arena.h"

namespace doorbell::codegen {

// The Ranges that a reduction closes, without those in `straight`, which become straight-line code.
std::vector<core::UOp> loops_of(core::UOp reduce, u64 straight);

class SharedLoops {
 public:
  SharedLoops(std::span<const core::UOp> order, u64 straight);

  // The reductions that one shares its loops with, and itself. Empty where it has its own.
  std::span<const core::UOp> group_of(core::UOp u) const;
  // `order` with the reductions of a group one after the other, behind all that any of them needs.
  std::vector<core::UOp> put_together(std::vector<core::UOp> order) const;

 private:
  std::vector<std::vector<core::UOp>> groups_;  // of two or more
};

}  // namespace doorbell::codegen
