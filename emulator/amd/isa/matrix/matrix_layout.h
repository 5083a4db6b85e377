// Where the elements of matrix instructions are: lane and register of each element of A, B, C and
// D, for MFMA and SMFMAC (gfx942, gfx950) and for WMMA and SWMMAC of gfx11 and of gfx12. The
// arithmetic is in matrix.cc.
//
// Sparse instructions (SMFMAC, SWMMAC) hold two of every four neighbours of A in k's direction:
// A's columns here are the held ones, and an index register has two bits for each, its position
// among the four.
// Layouts: [AMD matrix instruction calculator, github.com/ROCm/amd_matrix_instruction_calculator;
// CDNA3 ISA, "Matrix arithmetic instructions"; RDNA3 and RDNA4 ISA, "Wave matrix multiply
// accumulate"; what gfx950 adds, where a lane's elements are in pieces of 128 bits each far apart:
// FPSan's amdgcn_mfma.hpp and amdgcn_smfmac.hpp, found by experiments on an MI350]
#pragma once

#include "base/util/types.h"

namespace doorbell::emu::amdgpu {

// Of an element. Fp8 is E4M3, Bf8 E5M2: gfx942's variants have no infinities and no negative zero,
// the later ones are OCP's. Fp6 is E2M3, Bf6 E3M2, Fp4 E2M1. Said: CBSZ and BLGP select the format.
enum class Number : u8 { F64, F32, Xf32, F16, Bf16, Fp8, Bf8, Fp6, Bf6, Fp4, I32, I8, I4, Said };

constexpr u32 bits_of(Number number) {
  switch (number) {
    case Number::F64: return 64;
    case Number::F32:
    case Number::Xf32:
    case Number::I32: return 32;
    case Number::F16:
    case Number::Bf16: return 16;
    case Number::Fp8:
    case Number::Bf8:
    case Number::I8: return 8;
    case Number::Fp6:
    case Number::Bf6: return 6;
    case Number::Fp4:
    case Number::I4:
    case Number::Said: return 4;  // at least
  }
  return 0;
}

enum class MatrixFamily : u8 { Mfma, Wmma };

struct MatrixShape {
  MatrixFamily family = MatrixFamily::Mfma;
  u8 m = 0, n = 0, k = 0, blocks = 1;  // `blocks` products beside each other
  Number a = Number::F32, b = Number::F32, result = Number::F32;
  bool sparse = false;

  // Of operand 0, A, and of operand 1, B: its m or n, its k, its elements.
  constexpr u32 rows(u32 operand) const { return operand == 0 ? m : n; }
  constexpr u32 columns(u32 operand) const { return sparse && operand == 0 ? k / 2 : k; }
  constexpr Number input(u32 operand) const { return operand == 0 ? a : b; }
};

// Of an element in its matrix; `row` and `column` are i, k of A, j, k of B, i, j of C and D.
struct MatrixPlace {
  u32 block = 0, row = 0, column = 0;
};

// The layouts of one instruction on one chip, in waves of `lanes`.
class MatrixLayout {
 public:
  MatrixLayout(const MatrixShape& shape, u32 lanes, bool gfx12)
      : shape_(shape), lanes_(lanes), gfx12_(gfx12) {}

  const MatrixShape& shape() const { return shape_; }

  // Elements of A or B that one lane holds, and which is the e-th. Lanes from input_lanes() on
  // repeat what others hold, or hold nothing.
  u32 inputs_per_lane(u32 operand) const;
  u32 input_lanes(u32 operand) const;
  MatrixPlace input(u32 lane, u32 e, u32 operand) const;
  // Elements of C and D that one lane holds, each in a register of its own, or two for 64 bits;
  // 16-bit elements of gfx12 share one.
  u32 results_per_lane() const { return u32{shape_.m} * shape_.n * shape_.blocks / lanes_; }
  MatrixPlace result(u32 lane, u32 r) const;
  bool packed_results() const { return gfx12_ && bits_of(shape_.result) == 16; }

 private:
  u32 wmma_column(u32 lane, u32 e, u32 operand) const;

  MatrixShape shape_;
  u32 lanes_;
  bool gfx12_;
};

}  // namespace doorbell::emu::amdgpu
