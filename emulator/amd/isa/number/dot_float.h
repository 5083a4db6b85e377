// Sums of two products of 16-bit floats and a third number, as gfx11 and gfx12 make them: V_DOT2_*
// of floats. The documents' pseudo-code adds one product after the other and does not define the
// rounding. Silicon shifts all terms to one grid, cuts off what lies below, adds integers and
// rounds once; on gfx11 a term whose sign is not that of the third number counts for one unit less
// (its ones' complement), so that -1 + 3*8 + 8*4 is 55.000004. Gfx9 and gfx10 follow the
// pseudo-code (vector_dots.cc), because no measurements are known.
// [Measured: ROCm/rocm-systems issue 12056 and emulation/rocjitsu, shared/gfx11_dot2.h,
// gfx12_dot.h, dot_packed16.h, tests/fixtures/float_dot: Radeon Pro W7900 and AI PRO R9700. That
// BF16 results are cut off, also on gfx1200: triton-lang/triton pull request 11227]
#pragma once

#include "base/util/types.h"

namespace doorbell::emu::amdgpu {

enum class DotFactors : u8 { F16, BF16 };

// The low halves' product, the high halves' and `addend`, the bits of a 32-bit float. A 32-bit
// result, or one of the factors' format: an F16 is rounded once from the sum, a BF16 is the upper
// half of the 32-bit result. `held`: MODE's FP16_OVFL, which holds an F16 to the largest number.
struct Dot2 {
  DotFactors factors = DotFactors::F16;
  u32 a = 0, b = 0, addend = 0;
  bool narrow = false;
  bool held = false;
};
u32 dot2_gfx11(const Dot2& dot);
u32 dot2_gfx12(const Dot2& dot);

// A 16-bit float's bits as a 32-bit float's; a signalling NaN stays one.
u32 widened(DotFactors format, u32 half);

}  // namespace doorbell::emu::amdgpu
