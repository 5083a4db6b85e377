// Copies of boxes by the tensor memory accelerator, and their mbarriers, as text of PTX, which both
// renderers write: `sign` and a number stand for an operand. What launches a kernel with maps may
// rely on: each map of LinearProgram::tensor_maps is one more argument, of 128 bytes, behind all
// others.
#pragma once

#include <string>

#include "codegen/linear/tensor_copy.h"

namespace doorbell::codegen {

inline constexpr i64 kNvTensorMapBytes = 128, kNvTensorMapAlignment = 128;
inline constexpr i64 kNvWarp = 32;

// Operands: not 0 in the one item that does it; the address of the first mbarrier in shared memory.
// A barrier of the group has to follow.
std::string nv_mbarrier_init(i64 count, char sign);
// Operands: the box's address in shared memory, the map's address, the mbarrier's address in shared
// memory, then the coordinates, i32. All items of a warp execute it, and one does it.
std::string nv_tensor_copy(core::UOp copy, char sign);
// Operands: the mbarrier's address in shared memory, the parity of the phase.
std::string nv_phase_wait(char sign);

}  // namespace doorbell::codegen
