// Combined loads, of targets whose items of a wave combine values without local memory. Such a
// target has Op::Reduce among its Caps::ops.
//
//   Load  args {kCombined, op, n}, of local memory: n elements from the Index on, combined by op
//         (Add, Mul, Max) in any order. All items of a group come to it, with the same Index.
#pragma once

#include "core/uop/uop.h"

namespace doorbell::codegen {

inline constexpr i64 kCombined = 64;
inline bool is_combined_load(core::UOp u) {
  return u.is(core::Op::Load) && u.narg() == 3 && u.arg(0) == kCombined;
}
inline core::Op combined_by(core::UOp load) { return static_cast<core::Op>(load.arg(1)); }
inline i64 combined_count(core::UOp load) { return load.arg(2); }

}  // namespace doorbell::codegen
