// Contractions by words: what an instruction of the CPU sums of the parts of two words
// (linear/dot.h). For the nest around it see tile.cc, for the words of B tile_stage.cc.
#include "codegen/opt/tile_nest.h"

namespace doorbell::codegen::detail {

using core::AxisType;
using core::DType;
using core::Op;
using core::UOp;

namespace {

// As many bits.
DType bits_of(DType part) { return part.bits() == 16 ? core::dtypes::u16 : core::dtypes::u8; }

// Part n of a word, converted to `result`.
UOp part_of_word(core::Rewriter& rw, UOp word, i64 n, DType part, DType result) {
  if (n > 0) {
    UOp amount = rw.arena().const_int(core::dtypes::u32, n * part.bits());
    word = rw.make(Op::Shr, core::dtypes::u32, {word, amount});
  }
  word = rw.make(Op::Cast, bits_of(part), {word});
  if (part != bits_of(part)) word = rw.make(Op::Bitcast, part, {word});
  return rw.make(Op::Cast, result, {word});
}

// What find_dot() finds.
UOp make_dot(core::Rewriter& rw, UOp x, UOp y, i64 parts, DType result) {
  const DType left = result.is_float() ? core::dtypes::bf16 : core::dtypes::u8;
  const DType right = result.is_float() ? core::dtypes::bf16 : core::dtypes::i8;
  UOp sum;
  for (i64 n = 0; n < parts; ++n) {
    UOp of_x = part_of_word(rw, x, n, left, result), of_y = part_of_word(rw, y, n, right, result);
    UOp product = rw.make(Op::Mul, result, {of_x, of_y});
    sum = n == 0 ? product : rw.make(Op::Add, result, {sum, product});
  }
  return sum;
}

}  // namespace

// The word of these parts, the first in the low bits.
UOp Tiled::word_of(absl::FunctionRef<UOp(i64)> part) {
  UOp word;
  for (i64 n = 0; n < parts; ++n) {
    UOp one = part(n);
    const DType bits = bits_of(one.dtype());
    one = rw.make(Op::Cast, core::dtypes::u32, {rw.make(Op::Bitcast, bits, {one})});
    if (n > 0) {
      UOp amount = rw.arena().const_int(core::dtypes::u32, n * bits.bits());
      one = rw.make(Op::Shl, core::dtypes::u32, {one, amount});
    }
    word = n == 0 ? one : rw.make(Op::Or, core::dtypes::u32, {word, one});
  }
  return word;
}

// The sum over the words of a block of k of what `dot` gives for B's word.
UOp Tiled::sum_over_words(UOp b_tile, UOp panel, UOp in_j, absl::FunctionRef<UOp(UOp, UOp)> dot) {
  UOp in_k = range(AxisType::Reduce, kc / parts);
  UOp at = mul_add(mul_add(panel, kc / parts, in_k), lanes, in_j);
  UOp word = rw.make(Op::Load, core::dtypes::u32, {place(b_tile, at)});
  UOp body = dot(in_k, word);
  if (!in_k.is(Op::Range)) return body;
  return rw.make(Op::Reduce, reduce.dtype(), {body, in_k}, {static_cast<i64>(Op::Add), 0});
}

// What sums have too much where A is raised by 128: 128 times the sum of B's column.
UOp Tiled::stage_surplus(UOp b_tile, const Registers& r) {
  if (!a.is_raised) return UOp();
  const DType t = reduce.dtype();
  UOp made = after(define(t, lanes), {ko, r.group, r.panel}, true);
  UOp in_j = range(AxisType::Vector, lanes);
  UOp sum = sum_over_words(b_tile, r.panel, in_j, [&](UOp, UOp word) {
    UOp all;
    for (i64 n = 0; n < parts; ++n) {
      UOp part = part_of_word(rw, word, n, core::dtypes::i8, t);
      all = n == 0 ? part : rw.make(Op::Add, t, {all, part});
    }
    return all;
  });
  sum = rw.make(Op::Mul, t, {sum, rw.arena().const_int(t, 128)});
  UOp store = rw.make(Op::Store, core::dtypes::void_, {place(made, in_j), sum});
  return after(made, {close(rw, store, {in_j})}, false);
}

// As partial_sums(), by words.
UOp Tiled::partial_dots(UOp a_tile, UOp b_tile, UOp surplus, const Registers& r) {
  UOp sums = sum_over_words(b_tile, r.panel, r.vj, [&](UOp in_k, UOp b_word) {
    UOp a_word = word_of([&](i64 part) {
      UOp at = mul_add(row(r), a.pitch, mul_add(in_k, parts, rw.index(part)));
      return rw.make(Op::Load, a_tile.dtype(), {place(a_tile, at)});
    });
    return make_dot(rw, a_word, b_word, parts, reduce.dtype());
  });
  if (!surplus) return sums;
  UOp too_much = rw.make(Op::Load, reduce.dtype(), {place(surplus, r.vj)});
  return rw.make(Op::Sub, reduce.dtype(), {sums, too_much});
}

}  // namespace doorbell::codegen::detail
