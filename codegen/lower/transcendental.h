// Exp2, Log2, Sin and Pow of f32 and f64 from basic arithmetic, branch-free, for targets without
// instructions for them. Correct whether or not the target fuses a multiplication with the
// following addition. Narrower floats come here as f32 (narrow_floats.h).
//
// Worst error over the whole range, subnormals included, and operations per value:
//          f32                                    f64
//   exp2   0.95 ulp fused, 1.2 not   19 ops       0.9 ulp fused, 1.2 not
//   log2   1.05 ulp fused, 1.2 not   28 ops       0.8 ulp
//   sin    1.9 ulp                   72 ops       1.9 ulp
//   pow    1.0 ulp fused, 1.3 not   119 ops       1.0 ulp fused, 1.3 not
// A sine whose argument is known to be below 2^13 takes 28. transcendental_test.cc measures these
// on random bits; for fused exp2, log2 and sin of f32 it tries every 17th bit pattern.
#pragma once

#include "codegen/lower/op_builder.h"

namespace doorbell::codegen {

core::UOp exp2(OpBuilder& builder, core::UOp x);
core::UOp log2(OpBuilder& builder, core::UOp x);
core::UOp sin(OpBuilder& builder, core::UOp x);
// C's pow: x^0 = 1^y = 1, a negative base takes the sign of odd powers and gives NaN for fractions.
core::UOp pow(OpBuilder& builder, core::UOp x, core::UOp y);

// coefficients[0] + x * (coefficients[1] + x * ...), by Horner's scheme.
core::UOp polynomial(OpBuilder& builder, core::UOp x, std::span<const f64> coefficients);

}  // namespace doorbell::codegen
