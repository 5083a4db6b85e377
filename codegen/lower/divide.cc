// Integer division in terms of C's, and by powers of two in terms of shifts. Division by other
// constants is left to the compiler, which knows the cost of multiplications.
#include <bit>
#include <optional>

#include "codegen/lower/op_builder.h"

namespace doorbell::codegen {

using core::Op;
using core::UOp;

namespace {

// k where `x` is the constant 2^k.
std::optional<u64> log2_of(UOp x) {
  if (!x.is_const() || x.dtype().is_float()) return std::nullopt;
  u64 value = static_cast<u64>(x.const_int());
  if (!x.dtype().is_unsigned() && x.const_int() <= 0) return std::nullopt;
  if (!std::has_single_bit(value)) return std::nullopt;
  return static_cast<u64>(std::countr_zero(value));
}

bool never_negative(UOp x) { return x.dtype().is_unsigned() || x.vmin() >= 0; }

bool never_zero(UOp x) { return x.vmin() > 0 || x.vmax() < 0; }

// From truncation to rounding towards minus infinity: one less if the remainder's sign differs from
// the divisor's.
UOp floor_from_c(OpBuilder& b, Op op, UOp x, UOp y) {
  UOp remainder = b.make(Op::CMod, x.dtype(), {x, y});
  UOp zero = b.integer(x.dtype(), 0);
  UOp off = b.less(y.vmin() > 0 ? remainder : b.bit_xor(remainder, y), zero);
  if (y.vmin() <= 0) off = b.bit_and(off, b.not_equal(remainder, zero));
  if (op == Op::FloorMod) return b.select(off, b.add(remainder, y), remainder);
  UOp quotient = b.make(Op::CDiv, x.dtype(), {x, y});
  return b.select(off, b.sub(quotient, b.integer(x.dtype(), 1)), quotient);
}

UOp c_mod_from_div(OpBuilder& b, UOp x, UOp y) {
  UOp quotient = b.make(Op::CDiv, x.dtype(), {x, y});
  UOp remainder = b.sub(x, b.mul(quotient, y));
  if (never_zero(y)) return remainder;
  UOp zero = b.integer(x.dtype(), 0);
  return b.select(b.equal(y, zero), zero, remainder);
}

}  // namespace

UOp decompose_division(OpBuilder& b, Op op, UOp x, UOp y) {
  bool is_div = op == Op::FloorDiv || op == Op::CDiv;
  bool floors = op == Op::FloorDiv || op == Op::FloorMod;
  std::optional<u64> k = log2_of(y);
  // An arithmetic shift and a mask of two's complement round to minus infinity.
  if (k && (floors || never_negative(x))) {
    if (is_div && b.caps().has(Op::Shr)) return b.shr(x, *k);
    if (!is_div && b.caps().has(Op::And)) return b.bit_and(x, (u64{1} << *k) - 1);
  }
  if (floors && never_negative(x) && never_negative(y)) {
    return b.make(is_div ? Op::CDiv : Op::CMod, x.dtype(), {x, y});
  }
  if (b.caps().has(op)) return UOp();
  if (floors) return floor_from_c(b, op, x, y);
  return op == Op::CMod ? c_mod_from_div(b, x, y) : UOp();
}

UOp multiply_by_power_of_two(OpBuilder& b, UOp x, UOp y) {
  if (!b.caps().has(Op::Shl)) return UOp();
  if (log2_of(x)) std::swap(x, y);
  std::optional<u64> k = log2_of(y);
  if (!k) return UOp();
  return *k == 0 ? x : b.shl(x, *k);
}

}  // namespace doorbell::codegen
