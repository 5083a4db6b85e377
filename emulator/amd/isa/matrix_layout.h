// Where the elements of matrix instructions are: lane and register of each element of A, B, C and
// D, for MFMA (gfx90a to gfx950) and for WMMA of gfx11 and of gfx12. The arithmetic is matrix.cc's.
// Layouts: [AMD matrix instruction calculator, github.com/ROCm/amd_matrix_instruction_calculator;
// CDNA3 ISA, "Matrix arithmetic instructions"; RDNA3 and RDNA4 ISA, "Wave matrix multiply
// accumulate"]
#pragma once

#include "base/util/types.h"

namespace doorbell::emulator::amd {

// Of an element. Fp8 is E4M3, Bf8 E5M2: gfx942's variants have no infinities and no negative zero,
// the later ones are OCP's.
enum class Number : u8 { F64, F32, Xf32, F16, Bf16, Fp8, Bf8, I32, I8, I4 };

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
    case Number::I4: return 4;
  }
  return 0;
}

enum class MatrixFamily : u8 { Mfma, Wmma };

struct MatrixShape {
  MatrixFamily family = MatrixFamily::Mfma;
  u8 m = 0, n = 0, k = 0, blocks = 1;  // `blocks` products beside each other
  Number a = Number::F32, b = Number::F32, result = Number::F32;
};

// Of an element in its matrix; `row` and `column` are i, k of A, k, j of B, i, j of C and D.
struct MatrixPlace {
  u32 block = 0, row = 0, column = 0;
};

// The layouts of one instruction on one chip, in waves of `lanes`.
class MatrixLayout {
 public:
  MatrixLayout(const MatrixShape& shape, u32 lanes, bool gfx12)
      : shape_(shape), lanes_(lanes), gfx12_(gfx12) {}

  // Elements of A (and of B) that one lane holds, and which is the e-th: its index in m (in n for
  // B) and in k. Lanes from input_lanes() on repeat what others hold.
  u32 inputs_per_lane() const;
  u32 input_lanes() const;
  MatrixPlace input(u32 lane, u32 e, u32 rows) const;
  // Elements of C and D that one lane holds, each in a register of its own, or two for 64 bits;
  // 16-bit elements of gfx12 share one.
  u32 results_per_lane() const { return u32{shape_.m} * shape_.n * shape_.blocks / lanes_; }
  MatrixPlace result(u32 lane, u32 r) const;
  bool packed_results() const { return gfx12_ && bits_of(shape_.result) == 16; }

 private:
  u32 wmma_k(u32 lane, u32 e) const;

  const MatrixShape& shape_;
  const u32 lanes_;
  const bool gfx12_;
};

}  // namespace doorbell::emulator::amd
