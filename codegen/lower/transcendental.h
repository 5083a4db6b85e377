// Exp2, Log2, Sin and Pow of f32 and f64 from basic arithmetic, branch-free, for targets without
// instructions for them. Within 2 ulp over the whole range (tests measure it), subnormals included;
// right whether or not the target fuses a multiplication with the addition after it. Narrower
// floats come here as f32 (narrow_floats.h).
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
