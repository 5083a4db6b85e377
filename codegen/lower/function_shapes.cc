// One function per shape.
#include "codegen/lower/function_shapes.h"

#include <cmath>
#include <numbers>

namespace doorbell::codegen {

using core::Op;
using core::UOp;

bool is_number(UOp u, f64 value) {
  if (!u.is_const()) return false;
  const f64 number = u.dtype().is_float() ? u.const_float() : static_cast<f64>(u.const_int());
  return std::abs(number - value) <= 1e-3 * std::abs(value);
}

namespace {

bool is_log2e(UOp u) {
  return is_number(u, std::numbers::log2e) || is_number(u, -std::numbers::log2e);
}

}  // namespace

bool is_exp(UOp u) { return u.is(Op::Exp2) && u.src(0).is(Op::Mul) && is_log2e(u.src(0).src(1)); }
bool is_sigmoid(UOp u) {
  return u.is(Op::Recip) && u.src(0).is(Op::Add) && is_exp(u.src(0).src(0)) &&
         is_number(u.src(0).src(1), 1);
}
bool is_sum(UOp u) { return u.is(Op::Reduce) && u.reduce_op() == Op::Add; }
bool is_sum_of_exp(UOp u) { return is_sum(u) && is_exp(u.src(0)); }
bool is_log(UOp u) {
  return u.is(Op::Mul) && u.src(0).is(Op::Log2) && is_number(u.src(1), std::numbers::ln2);
}
bool is_absolute(UOp u) {
  if (!u.is(Op::Max)) return false;
  const UOp x = u.src(0), negative = u.src(1);
  if (negative.is(Op::Neg)) return negative.src(0) == x;
  // Of a multiple, the factor has the sign.
  return x.is(Op::Mul) && negative.is(Op::Mul) && x.src(0) == negative.src(0) &&
         x.src(1).is_const() && x.dtype().is_float() &&
         is_number(negative.src(1), -x.src(1).const_float());
}

bool is_not(UOp u) {
  return u.is(Op::CmpNe) && u.dtype().is_bool() && u.src(1).dtype().is_bool() &&
         u.src(1).is_const(1);
}

bool is_random(UOp u) {
  while (u.is(Op::Cast) || u.is(Op::Shr)) u = u.src(0);
  return u.is(Op::Threefry);
}

UOp without_cast(UOp u) { return u.is(Op::Cast) ? u.src(0) : u; }

bool finds_any(UOp u) {
  return u.is(Op::Reduce) && u.dtype().is_bool() &&
         (u.reduce_op() == Op::Or || u.reduce_op() == Op::Max || u.reduce_op() == Op::Add);
}

OperationWord plain_word(Op op) {
  switch (op) {
    case Op::Exp2: return {"exp2", WordRank::Function};
    case Op::Log2: return {"log2", WordRank::Function};
    case Op::Sin: return {"sin", WordRank::Function};
    case Op::Sqrt: return {"sqrt", WordRank::Function};
    case Op::Pow: return {"pow", WordRank::Function};
    case Op::Threefry: return {"random", WordRank::Whole};
    case Op::Recip: return {"recip", WordRank::Choice};
    case Op::FDiv:
    case Op::CDiv:
    case Op::FloorDiv: return {"div", WordRank::Choice};
    case Op::CMod:
    case Op::FloorMod: return {"mod", WordRank::Choice};
    case Op::Max: return {"max", WordRank::Choice};
    case Op::Where: return {"where", WordRank::Choice};
    case Op::Trunc: return {"trunc", WordRank::Choice};
    case Op::CmpLt: return {"lt", WordRank::Choice};
    case Op::CmpEq: return {"eq", WordRank::Choice};
    case Op::CmpNe: return {"ne", WordRank::Choice};
    case Op::Add: return {"add", WordRank::Arithmetic};
    case Op::Sub: return {"sub", WordRank::Arithmetic};
    case Op::Mul: return {"mul", WordRank::Arithmetic};
    case Op::Neg: return {"neg", WordRank::Arithmetic};
    case Op::And: return {"and", WordRank::Arithmetic};
    case Op::Or: return {"or", WordRank::Arithmetic};
    case Op::Xor: return {"xor", WordRank::Arithmetic};
    case Op::Shl:
    case Op::Shr: return {"shift", WordRank::Arithmetic};
    default: return kNoWord;
  }
}

const char* reduction_word(UOp reduce) {
  switch (reduce.reduce_op()) {
    case Op::Add: return finds_any(reduce) ? "any" : "sum";
    case Op::Mul: return reduce.dtype().is_bool() ? "all" : "prod";
    case Op::Max: return finds_any(reduce) ? "any" : "max";
    case Op::And: return "all";
    case Op::Or: return "any";
    default: return "reduce";
  }
}

}  // namespace doorbell::codegen
