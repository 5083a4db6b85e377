// Splits floats into their parts and assembles them, for exp_log.cc and power.cc. For their public
// functions see transcendental.h.
#pragma once

#include "codegen/lower/op_builder.h"

namespace doorbell::codegen {

struct FloatLayout {
  core::DType bits, signed_bits;
  u64 mantissa_bits;
  f64 bias;
  f64 least_exponent, beyond_exponent;  // outside these 2^x is 0 and infinity
  f64 least_normal;
  u64 sqrt_half;   // the bits of sqrt(1/2)
  u64 upper_half;  // masks a significand so that the product of two such is exact
};
// Of f32 or f64.
FloatLayout layout_of(core::DType dtype);

// x = 2^exponent * mantissa with mantissa in [sqrt(1/2), sqrt(2)), for positive finite x. Both have
// x's dtype; for other x they are unspecified.
struct Split {
  core::UOp exponent, mantissa;
};
Split split(OpBuilder& builder, core::UOp x);

// x within [least_exponent, beyond_exponent]; NaN stays.
core::UOp clamp_exponent(OpBuilder& builder, core::UOp x);
// The nearest integer n to a clamped x. `carrier` is a float in whose low bits n is found again.
struct RoundedExponent {
  core::UOp n, carrier;
};
RoundedExponent round_exponent(OpBuilder& builder, core::UOp clamped);
// 2^(n + fraction), fraction in [-1/2, 1/2] up to rounding.
core::UOp exp2_parts(OpBuilder& builder, const RoundedExponent& rounded, core::UOp fraction);

// The float with fewer bits of significand, towards zero.
core::UOp upper_half(OpBuilder& builder, core::UOp x);

}  // namespace doorbell::codegen
