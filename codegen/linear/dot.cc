// Part by part, from the last.
#include "codegen/linear/dot.h"

namespace doorbell::codegen {

using core::DType;
using core::Op;
using core::UOp;

namespace {

i64 parts_of(DType result) { return result.is_float() ? 2 : 4; }

UOp without_splat(UOp u) { return u.is(Op::Splat) ? u.src(0) : u; }

// The word that this is part n of, or null.
UOp word_of(UOp u, i64 n, DType part) {
  u = without_splat(u);
  if (!u.is(Op::Cast)) return UOp();
  u = u.src(0);
  // The last unsigned part is all that is left of the word, which simplification sees.
  const bool is_rest = u.is(Op::Shr) && (n + 1) * part.bits() == 32 && part.is_unsigned();
  if (!is_rest) {
    if (u.dtype().element() != part) return UOp();
    if (part.is_float() || !part.is_unsigned()) {
      if (!u.is(Op::Bitcast)) return UOp();
      u = u.src(0);
    }
    if (!u.is(Op::Cast)) return UOp();
    u = u.src(0);
  }
  if (u.dtype().element() != core::dtypes::u32) return UOp();
  if (n == 0) return without_splat(u);
  if (!u.is(Op::Shr)) return UOp();
  const UOp amount = without_splat(u.src(1));
  const bool is_part = amount.is_const() && amount.const_int() == n * part.bits();
  return is_part ? without_splat(u.src(0)) : UOp();
}

}  // namespace

std::optional<Dot> find_dot(UOp sum) {
  const DType t = sum.dtype().element();
  if (sum.dtype().lanes == 1 || (t != core::dtypes::f32 && t != core::dtypes::i32)) return {};
  const DType left = t.is_float() ? core::dtypes::bf16 : core::dtypes::u8;
  const DType right = t.is_float() ? core::dtypes::bf16 : core::dtypes::i8;
  Dot found;
  for (i64 n = parts_of(t); n-- > 0;) {
    const UOp product = n == 0 ? sum : sum.is(Op::Add) ? sum.src(1) : UOp();
    if (!product || !product.is(Op::Mul)) return {};
    const UOp x = word_of(product.src(0), n, left), y = word_of(product.src(1), n, right);
    if (!x || !y || (found.x && (x != found.x || y != found.y))) return {};
    found = {x, y};
    sum = sum.src(0);
  }
  return found;
}

}  // namespace doorbell::codegen
