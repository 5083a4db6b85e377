// Copies of boxes of tensors in a linear program, and the barriers in local memory that say when
// they are done (mbarriers):
//
//   DefineLocal      dtype u64, args {id, count, alignment, 1}: mbarriers, of one arrival a phase,
//                    ready before the first op of any item
//   Store            src {Index of local memory, Index of an mbarrier, coordinates}, args
//                    {kTensorCopy, bytes, ...}, the rest a TensorMap: copies the box that begins
//                    at the coordinates. With bytes > 0 it is the first of a phase, whose copies
//                    have so many bytes together. It may be done later, until its phase is over.
//                    The gate is the same for all items of a wave; one of them copies
//   Special          args {LocalId, kWaveAxis, waves}: the number of an item's wave, by which the
//                    target's compiler knows that a gate is the same for all of its items
//   Store            src {Index of an mbarrier, parity}, args {kPhaseWait}: waits until the phase
//                    of that parity is over; the first one's is 0. Its bytes are then in memory
#pragma once

#include <span>

#include "codegen/linear/program.h"
#include "core/device/tensor_map.h"

namespace doorbell::codegen {

inline constexpr i64 kTensorCopy = 2, kPhaseWait = 3, kMbarrierAlignment = 64;
inline constexpr i64 kWaveAxis = 3;  // behind those of items

inline bool is_mbarriers(core::UOp array) {
  return array.is(core::Op::DefineLocal) && array.narg() > 3;
}
inline bool is_tensor_copy(core::UOp u) {
  return u.is(core::Op::Store) && u.narg() > 0 && u.arg(0) == kTensorCopy;
}
inline bool is_phase_wait(core::UOp u) {
  return u.is(core::Op::Store) && u.narg() > 0 && u.arg(0) == kPhaseWait;
}

// The args of a copy, and what they say.
std::vector<i64> tensor_copy_args(const core::TensorMap& map, i64 phase_bytes);
core::TensorMap tensor_map_of(core::UOp copy);
inline i64 phase_bytes_of(core::UOp copy) { return copy.arg(1); }
inline constexpr usize kCoordinates = 2;  // where they begin among the sources
inline std::span<const core::UOp> coordinates_of(core::UOp copy) {
  return copy.srcs().subspan(kCoordinates);
}

// The maps of a program's copies, each once; and the number of a copy's map among them.
std::vector<core::TensorMap> tensor_maps_of(std::span<const core::UOp> ops);
usize tensor_map_number(const LinearProgram& program, core::UOp copy);

}  // namespace doorbell::codegen
