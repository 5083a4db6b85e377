// The forms of matrix instructions: HMMA, IMMA and QMMA. D = A * B + C, where A has 16 rows (8 in
// one form), B 8 columns, and A's rows are as long as B's columns: the depth.
//
// How elements lie in registers: PTX ISA, "Matrix Fragments for mma.m16n8k8", "... m16n8k16" and
// those that follow; CUTLASS, include/cute/atom/mma_traits_sm80.hpp. Fields: Mesa's NAK, OpHmma,
// OpImma; nvdisasm for bfloat16, TF32 and QMMA.
#pragma once

#include <optional>

#include "emulator/nv/isa/operation.h"

namespace doorbell::emu::nvgpu {

enum class Element : u8 { Half, Bfloat, Tf32, E4m3, E5m2, U8, I8 };

struct MatrixForm {
  Element left = Element::Half, right = Element::Half;
  u32 rows = 16, depth = 16;
  bool narrow_sums = false;  // C and D are halves, in pairs
  bool saturates = false;    // integer results

  // Elements of 32 bits.
  u32 packed() const { return left == Element::Tf32 ? 1 : left <= Element::Bfloat ? 2 : 4; }
  // Registers of a lane.
  u32 left_registers() const { return rows * depth / packed() / kLanes; }
  u32 right_registers() const { return 8 * depth / packed() / kLanes; }
  u32 sum_registers() const { return rows * 8 / kLanes / (narrow_sums ? 2 : 1); }
};

// Nothing where the form is not known: sparse ones, and integers of 4 bits.
std::optional<MatrixForm> matrix_form(const Operation& op);
// HMMA, IMMA, QMMA.
bool is_matrix_product(u32 opcode);

}  // namespace doorbell::emu::nvgpu
