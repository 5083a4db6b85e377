// Sums and products of Index: canonical order, merged factors, and quotients that meet their
// remainders again.
#include "core/rules/index_rules.h"

namespace doorbell::core::rules {
namespace {

// q = A // m with a remainder f * (A % m) in the sum. Where the sum holds f * m * q, both are
// f * A.
bool join_quotient(LinearForm& form, usize remainder, UOp quotient, i64 scale) {
  LinearForm q = LinearForm::of(quotient);
  if (!q.valid() || q.size() == 0) return false;
  for (const LinearTerm& term : q.terms()) {
    std::optional<i64> wanted = checked_mul(term.factor, scale);
    if (!wanted || form.factor_of(term.base) != *wanted) return false;
  }
  LinearTerm mod = form[remainder];
  form.add(q, -scale);
  form.add_term(mod.base, -mod.factor);
  form.add(mod.base.src(0), mod.factor);
  return true;
}

// For B = q + k: A + k*m, whose quotient by m is B. Null for any other B.
UOp shifted_dividend(Rewriter& rewriter, UOp b, UOp quotient, UOp dividend, i64 m) {
  LinearForm difference = LinearForm::of(b);
  difference.add(quotient, -1);
  if (!difference.valid() || difference.size() != 0) return UOp();
  std::optional<i64> shift = checked_mul(difference.constant(), m);
  if (!shift) return UOp();
  LinearForm shifted = LinearForm::of(dividend);
  shifted.add_constant(*shift);
  return simplify_sum(rewriter, std::move(shifted));
}

// Where the sum holds f * m * ((q + k) % d): f * ((A + k*m) % (m * d)).
bool join_remainder(Rewriter& rewriter, LinearForm& form, usize remainder, UOp quotient,
                    i64 scale) {
  const LinearTerm mod = form[remainder];
  const i64 m = mod.base.src(1).const_int();
  for (usize i = 0; i < form.size(); ++i) {
    LinearTerm other = form[i];
    if (other.factor != scale || !other.base.is(Op::FloorMod) || !other.base.src(1).is_const())
      continue;
    UOp dividend = mod.base.src(0);
    if (other.base.src(0) != quotient)
      dividend = shifted_dividend(rewriter, other.base.src(0), quotient, dividend, m);
    std::optional<i64> modulus = checked_mul(m, other.base.src(1).const_int());
    if (!dividend || !modulus || *modulus <= 0) continue;
    form.add_term(other.base, -other.factor);
    form.add_term(mod.base, -mod.factor);
    UOp joined = rewriter.floormod(dividend, *modulus);
    form.add(joined, mod.factor);
    return true;
  }
  return false;
}

bool join_divmod(Rewriter& rewriter, LinearForm& form) {
  for (usize i = 0; i < form.size(); ++i) {
    UOp base = form[i].base;
    if (!base.is(Op::FloorMod) || !base.src(1).is_const() || base.src(1).const_int() <= 0) continue;
    std::optional<i64> scale = checked_mul(form[i].factor, base.src(1).const_int());
    if (!scale) continue;
    // The factor must be there before the quotient is worth making.
    bool possible = false;
    for (const LinearTerm& term : form.terms())
      possible |= term.base != base && term.factor % *scale == 0;
    if (!possible) continue;
    UOp quotient = rewriter.floordiv(base.src(0), base.src(1));
    if (join_quotient(form, i, quotient, *scale) ||
        join_remainder(rewriter, form, i, quotient, *scale))
      return true;
  }
  return false;
}

// What a term varies with, where it stands as LinearForm::build writes it and nothing can be said
// of its value; else null.
UOp base_of_term(UOp term) {
  UOp base = term;
  if (term.is(Op::Mul) && term.src(1).is_const()) {
    const i64 factor = term.src(1).const_int();
    if (factor == 0 || factor == 1) return UOp();
    base = term.src(0);
    if (base.is(Op::Mul) && base.src(1).is_const()) return UOp();
  }
  const bool is_bare = !base.is(Op::Add) && !base.is_const() && base.vmin() != base.vmax();
  return is_bare ? base : UOp();
}

// Whether node = x + y is what simplify_sum would make of it, seen without taking it apart: x is in
// order, y comes after it, and no remainder could meet its quotient. Most sums grow like this.
bool is_sum_in_order(UOp node) {
  const UOp x = node.src(0), y = node.src(1);
  const UOp last = x.is(Op::Add) ? x.src(1) : x;
  if (x.is(Op::Add) && !(x.node()->flags & Node::kCanonical)) return false;
  const UOp before = base_of_term(last);
  if (!before) return false;  // a constant is last
  if (y.is_const()) {
    if (y.const_int() == 0) return false;
  } else {
    const UOp after = base_of_term(y);
    if (!after || after.is(Op::FloorMod) || !ordered_before(before, after)) return false;
  }
  for (UOp rest = x;; rest = rest.src(0)) {
    const UOp base = base_of_term(rest.is(Op::Add) ? rest.src(1) : rest);
    if (!base || base.is(Op::FloorMod)) return false;
    if (!rest.is(Op::Add)) return true;
  }
}

}  // namespace

UOp simplify_sum(Rewriter& rewriter, LinearForm form) {
  if (!form.valid()) return UOp();
  while (form.size() > 1 && join_divmod(rewriter, form)) {
    if (!form.valid()) return UOp();
  }
  return form.build(rewriter);
}

LinearForm symbolic_limit(Rewriter& rewriter, const LinearForm& form) {
  LinearForm limit;
  limit.add_constant(form.constant());
  for (const LinearTerm& term : form.terms()) {
    UOp base = term.base;
    bool quotient = base.is(Op::FloorDiv) && base.src(1).is_const() && base.src(1).const_int() > 0;
    UOp range = quotient ? base.src(0) : base;
    if (term.factor < 0 || !range.is(Op::Range) || range.src(0).is_const()) {
      limit.add_term(base, term.factor);
      continue;
    }
    UOp greatest = rewriter.add(range.src(0), -1);
    if (quotient) greatest = rewriter.floordiv(greatest, base.src(1));
    limit.add(greatest, term.factor);
  }
  return limit;
}

// Add, Sub, Neg and MulAcc.
UOp sum_rule(const Match& match) {
  UOp node = match.node();
  Rewriter& rewriter = match.rewriter();
  LinearForm form;
  switch (node.op()) {
    case Op::Neg: form.add(node.src(0), -1); break;
    case Op::MulAcc: {
      UOp product = rewriter.mul(node.src(0), node.src(1));
      form.add(product);
      form.add(node.src(2));
      break;
    }
    default:
      if (node.is(Op::Add) && is_sum_in_order(node)) return UOp();
      form.add(node.src(0));
      form.add(node.src(1), node.is(Op::Sub) ? -1 : 1);
  }
  return simplify_sum(rewriter, std::move(form));
}

UOp product_rule(const Match& match) {
  Rewriter& rewriter = match.rewriter();
  // A term as it should be.
  if (match.node().src(1).is_const() && base_of_term(match.node())) return UOp();
  LinearForm a = LinearForm::of(match.node().src(0)), b = LinearForm::of(match.node().src(1));
  if (!a.valid() || !b.valid()) return UOp();
  if (a.size() == 0) std::swap(a, b);
  if (b.size() == 0) {  // a constant: (x + 2) * 3 is x * 3 + 6
    LinearForm scaled;
    scaled.add(a, b.constant());
    return scaled.valid() ? scaled.build(rewriter) : UOp();
  }
  // Factors that are common to a whole operand go outside.
  i64 ga = std::abs(a.gcd(a.constant())), gb = std::abs(b.gcd(b.constant()));
  if (a.size() == 1 && a.constant() == 0 && a[0].factor < 0) ga = -ga;
  if (b.size() == 1 && b.constant() == 0 && b[0].factor < 0) gb = -gb;
  std::optional<i64> outside = checked_mul(ga, gb);
  if (!outside) return UOp();
  auto divided = [&](const LinearForm& form, i64 g) {
    LinearForm r;
    for (const LinearTerm& term : form.terms()) r.add_term(term.base, term.factor / g);
    r.add_constant(form.constant() / g);
    return r.build(rewriter);
  };
  UOp x = divided(a, ga), y = divided(b, gb);
  if (ordered_before(y, x)) std::swap(x, y);
  UOp product = rewriter.make_canonical(Op::Mul, dtypes::index, {x, y});
  LinearForm result;
  result.add_term(product, *outside);
  return result.build(rewriter);
}

}  // namespace doorbell::core::rules
