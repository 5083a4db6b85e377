// The instructions that a tensor core of NVIDIA's stands for (codegen/tensor_core.cc), of a warp
// (mma.sync) or of a warp group (wgmma), and their text in PTX, which both renderers write.
#pragma once

#include <string>
#include <vector>

#include "codegen/linear/program.h"
#include "codegen/tensor_core.h"

namespace doorbell::codegen {

// Whether the core is of NVIDIA's, and of a warp or of a warp group.
bool is_nv_matrix(const TensorCore& core);
bool is_nv_warpgroup(const TensorCore& core);

// One instruction: which 32-bit words of an item's operands it takes, and which of its results it
// adds to.
struct NvMatrixStep {
  std::vector<int> a, b, sums;
};
std::vector<NvMatrixStep> nv_matrix_steps(const TensorCore& core);

// The instruction; `sign` and a number stand for an operand: first four sums, then a, then b.
std::string nv_matrix_text(const TensorCore& core, char sign);
// The instructions of a Wmma of a warp group, with the waits that it asks for. Operands are the
// result_elements sums, then the low words of the descriptors of A and B.
std::string nv_warpgroup_text(core::UOp wmma, char sign);
// Waits for all of them.
std::string nv_warpgroup_wait();

// What the low word of a descriptor has beside an address in shared memory: that is in units of 16
// bytes, in the lowest 14 bits.
u32 nv_descriptor(core::UOp wmma, usize operand);

// Rounds operand 1, an f32, to operand 0, a word of tf32: to nearest, ties away from zero.
std::string nv_tf32_text(char sign);

}  // namespace doorbell::codegen
