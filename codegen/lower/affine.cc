// Decomposes sums of products.
#include "codegen/lower/affine.h"

namespace doorbell::codegen {

using core::Op;
using core::Rewriter;
using core::UOp;

namespace {

void add_term(absl::InlinedVector<Affine::Term, 6>& terms, UOp value, i64 coefficient) {
  for (Affine::Term& t : terms) {
    if (t.value == value) {
      t.coefficient += coefficient;
      return;
    }
  }
  terms.push_back({value, coefficient});
}

}  // namespace

Affine to_affine(UOp expr) {
  Affine result;
  absl::InlinedVector<Affine::Term, 8> stack{{expr, 1}};
  while (!stack.empty()) {
    auto [e, c] = stack.back();
    stack.pop_back();
    if (e.is_const()) {
      result.constant += c * e.const_int();
    } else if (e.is(Op::Range)) {
      add_term(result.ranges, e, c);
    } else if (e.is(Op::Add)) {
      stack.push_back({e.src(1), c});
      stack.push_back({e.src(0), c});
    } else if (e.is(Op::Mul) && e.src(1).is_const()) {
      stack.push_back({e.src(0), c * e.src(1).const_int()});
    } else if (e.is(Op::Mul) && e.src(0).is_const()) {
      stack.push_back({e.src(1), c * e.src(0).const_int()});
    } else {
      result.others.push_back({e, c});
      result.nonlinear_mask |= e.range_mask();
    }
  }
  return result;
}

std::optional<LinearIn> linear_in(Rewriter& rewriter, UOp expr, UOp range) {
  u64 bit = u64{1} << range.range_id();
  if (!(expr.range_mask() & bit)) return LinearIn{expr, 0};
  Affine affine = to_affine(expr);
  if (affine.nonlinear_mask & bit) return std::nullopt;
  UOp base = rewriter.index(affine.constant);
  i64 stride = 0;
  auto add = [&](const Affine::Term& t) {
    UOp scaled = rewriter.mul(t.value, rewriter.index(t.coefficient));
    base = rewriter.add(base, scaled);
  };
  for (const Affine::Term& t : affine.others) add(t);
  for (const Affine::Term& t : affine.ranges) {
    if (t.value == range)
      stride = t.coefficient;
    else
      add(t);
  }
  return LinearIn{base, stride};
}

}  // namespace doorbell::codegen
