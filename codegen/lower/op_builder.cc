// The simple decompositions: each missing op in terms of its closest relatives. They call back into
// make(), which decomposes further missing ops; there is no cycle for a target that has one op of
// each family (Add; Mul; FDiv or Recip; CmpLt; CmpEq or CmpNe; Where).
#include "codegen/lower/op_builder.h"

#include <absl/container/inlined_vector.h>

#include <array>

#include "base/util/check.h"
#include "codegen/lower/threefry.h"
#include "codegen/lower/transcendental.h"

namespace doorbell::codegen {

using core::DType;
using core::Op;
using core::Scalar;
using core::UOp;

DType unsigned_like(DType dtype) {
  switch (dtype.element().bytes()) {
    case 1: return {Scalar::U8, dtype.lanes};
    case 2: return {Scalar::U16, dtype.lanes};
    case 4: return {Scalar::U32, dtype.lanes};
    default: return {Scalar::U64, dtype.lanes};
  }
}

DType signed_like(DType dtype) {
  switch (dtype.element().bytes()) {
    case 1: return {Scalar::I8, dtype.lanes};
    case 2: return {Scalar::I16, dtype.lanes};
    case 4: return {Scalar::I32, dtype.lanes};
    default: return {Scalar::I64, dtype.lanes};
  }
}

UOp OpBuilder::number(DType dtype, f64 value) {
  DCHECK(dtype.is_float() && dtype.lanes == 1);
  return rewriter_.constant(dtype, core::ScalarValue::of_float(dtype, value));
}

UOp OpBuilder::integer(DType dtype, u64 value) {
  return rewriter_.constant_int(dtype, static_cast<i64>(value));
}

// Rules do not know the target: a target without Recip keeps 1 / x.
UOp OpBuilder::native(Op op, DType dtype, std::span<const UOp> srcs) {
  UOp made = rewriter_.make(op, dtype, srcs);
  bool lacking = caps_.has(op) && core::is_elementwise(made.op()) && !caps_.has(made.op()) &&
                 !dtype.is_index();
  return lacking ? rewriter_.arena().make(op, dtype, srcs) : made;
}

UOp OpBuilder::make(Op op, DType dtype, std::span<const UOp> srcs) {
  DCHECK(core::is_elementwise(op));
  if (dtype.is_index()) return native(op, dtype, srcs);
  switch (op) {
    case Op::Cast:
      if (dtype == srcs[0].dtype()) return srcs[0];
      return native(op, dtype, srcs);
    case Op::Bitcast:
      if (dtype == srcs[0].dtype()) return srcs[0];
      return native(op, dtype, srcs);
    case Op::Where: return native(op, dtype, srcs);
    case Op::CmpLt:
    case Op::CmpEq:
    case Op::CmpNe: return make_comparison(op, dtype, srcs);
    default: break;
  }
  if (dtype.is_bool()) return make_bool(op, dtype, srcs);
  return dtype.is_float() ? make_float(op, dtype, srcs) : make_int(op, dtype, srcs);
}

UOp OpBuilder::make_comparison(Op op, DType dtype, std::span<const UOp> srcs) {
  if (caps_.has(op)) return native(op, dtype, srcs);
  CHECK(op != Op::CmpLt && caps_.has(op == Op::CmpEq ? Op::CmpNe : Op::CmpEq),
        "the target has neither {} nor its negation", core::name_of(op));
  // Made without rules, which would turn the negation back into the missing comparison.
  UOp opposite = native(op == Op::CmpEq ? Op::CmpNe : Op::CmpEq, dtype, srcs);
  Op differs = caps_.has(Op::CmpNe) ? Op::CmpNe : Op::Xor;
  return rewriter_.arena().make(differs, dtype, {opposite, integer(dtype, 1)});
}

// Bool arithmetic is logic: Add and Max are or, Mul is and, Sub is exclusive or (core/eval).
UOp OpBuilder::make_bool(Op op, DType dtype, std::span<const UOp> srcs) {
  switch (op) {
    case Op::Add:
    case Op::Max: return native(Op::Or, dtype, srcs);
    case Op::Mul: return native(Op::And, dtype, srcs);
    case Op::Sub: return native(Op::Xor, dtype, srcs);
    case Op::Neg:
    case Op::Trunc: return srcs[0];
    case Op::MulAcc: return bit_or(bit_and(srcs[0], srcs[1]), srcs[2]);
    default: return native(op, dtype, srcs);
  }
}

UOp OpBuilder::make_int(Op op, DType dtype, std::span<const UOp> srcs) {
  switch (op) {
    case Op::Threefry:
      if (caps_.has(op)) break;
      return threefry(*this, srcs[0], srcs[1]);
    case Op::Trunc: return srcs[0];
    case Op::FloorDiv:
    case Op::FloorMod:
    case Op::CDiv:
    case Op::CMod:
      if (UOp done = decompose_division(*this, op, srcs[0], srcs[1])) return done;
      break;
    case Op::Mul:
      if (UOp done = multiply_by_power_of_two(*this, srcs[0], srcs[1])) return done;
      break;
    case Op::MulAcc:
      if (caps_.has(op)) break;
      return add(mul(srcs[0], srcs[1]), srcs[2]);
    case Op::Neg:
      if (caps_.has(op)) break;
      if (caps_.has(Op::Sub)) return sub(integer(dtype, 0), srcs[0]);
      return native(Op::Mul, dtype, std::array{srcs[0], integer(dtype, ~u64{0})});
    case Op::Sub:
      if (caps_.has(op)) break;
      return add(srcs[0], neg(srcs[1]));
    case Op::Max:
      if (caps_.has(op)) break;
      return select(less(srcs[0], srcs[1]), srcs[1], srcs[0]);
    default: break;
  }
  return native(op, dtype, srcs);
}

UOp OpBuilder::make_float(Op op, DType dtype, std::span<const UOp> srcs) {
  if (op == Op::Max) {
    if (negates(srcs[1], srcs[0])) return float_abs(srcs[0]);
    if (negates(srcs[0], srcs[1])) return float_abs(srcs[1]);
  }
  const bool is_transcendental = op == Op::Exp2 || op == Op::Log2 || op == Op::Sin || op == Op::Pow;
  if (is_transcendental && dtype.bits() < 32) return make_in_f32(op, dtype, srcs);
  if (caps_.has(op, dtype)) return native(op, dtype, srcs);
  switch (op) {
    case Op::Exp2: return exp2(*this, srcs[0]);
    case Op::Log2: return log2(*this, srcs[0]);
    case Op::Sin: return sin(*this, srcs[0]);
    case Op::Pow: return pow(*this, srcs[0], srcs[1]);
    case Op::Neg: return float_neg(srcs[0]);
    case Op::Sub: return add(srcs[0], neg(srcs[1]));
    case Op::MulAcc: {
      UOp product = mul(srcs[0], srcs[1]);
      return add(product, srcs[2]);
    }
    case Op::Recip:
      CHECK(caps_.has(Op::FDiv), "the target has neither FDiv nor Recip");
      return div(number(dtype, 1), srcs[0]);
    case Op::FDiv:
      CHECK(caps_.has(Op::Recip), "the target has neither FDiv nor Recip");
      return mul(srcs[0], make(Op::Recip, dtype, {srcs[1]}));
    case Op::Max: return float_max(srcs[0], srcs[1]);
    case Op::Trunc: return float_trunc(srcs[0]);
    case Op::CDiv: return trunc(div(srcs[0], srcs[1]));
    case Op::FloorDiv: {
      UOp quotient = div(srcs[0], srcs[1]), whole = trunc(quotient);
      return select(less(quotient, whole), sub(whole, number(dtype, 1)), whole);
    }
    default: UNREACHABLE("the target has no {}, and it cannot be decomposed", core::name_of(op));
  }
}

// Whether the target has arithmetic on the float, and f32 has more digits.
UOp OpBuilder::make_in_f32(Op op, DType dtype, std::span<const UOp> srcs) {
  const DType f32 = core::dtypes::f32.with_lanes(dtype.lanes);
  absl::InlinedVector<UOp, 2> wide;
  for (UOp s : srcs) wide.push_back(cast(s, f32));
  return cast(make_float(op, f32, wide), dtype);
}

// Flipping the sign bit is correct for zeros and NaNs too.
UOp OpBuilder::float_neg(UOp x) {
  if (caps_.has(Op::Sub)) return sub(number(x.dtype(), -0.0), x);
  return mul(x, number(x.dtype(), -1));
}

// The larger of x and -x is x without its sign, and that of two zeros is 0.
bool OpBuilder::negates(UOp x, UOp y) {
  if (x.is(Op::Neg)) return x.src(0) == y;
  return x.is(Op::Sub) && x.src(1) == y && x.src(0).is_const() && x.src(0).const_float() == 0;
}
UOp OpBuilder::float_abs(UOp x) {
  DType bits = unsigned_like(x.dtype());
  UOp mask = integer(bits, (u64{1} << (x.dtype().bits() - 1)) - 1);
  return bitcast(bit_and(bitcast(x, bits), mask), x.dtype());
}

// NaN if either is. Of equal numbers only zeros differ in their bits, and 0 has fewer than -0.
UOp OpBuilder::float_max(UOp x, UOp y) {
  const DType bits = unsigned_like(x.dtype());
  UOp x_bits = bitcast(x, bits), y_bits = bitcast(y, bits);
  UOp of_equal = bitcast(bit_and(x_bits, y_bits), x.dtype());
  UOp larger = select(less(y, x), x, y);  // y where y is NaN
  larger = select(equal(x, y), of_equal, larger);
  return select(is_nan(x), x, larger);
}

// Values of 2^mantissa_bits and beyond have no fraction; smaller ones pass through an integer. The
// sign is restored for values that truncate to zero.
UOp OpBuilder::float_trunc(UOp x) {
  DType f = x.dtype(), bits = unsigned_like(f);
  UOp sign_mask = integer(bits, u64{1} << (f.bits() - 1));
  UOp sign = bit_and(bitcast(x, bits), sign_mask);
  UOp magnitude = bitcast(bit_xor(bitcast(x, bits), sign), f);
  UOp whole = cast(cast(magnitude, signed_like(f)), f);
  UOp with_sign = bitcast(bit_or(bitcast(whole, bits), sign), f);
  return select(less(magnitude, number(f, f.bits() == 32 ? 0x1p23 : 0x1p52)), with_sign, x);
}

}  // namespace doorbell::codegen
