// Comparisons and maxima of Index. A comparison is put as  sum < c  or  c < sum  with the sum's
// leading factor positive, factors without common divisor, and no constant in the sum; so equal
// conditions are equal nodes and every bound is easy to read off (validity.h).
#include <algorithm>
#include <numeric>

#include "core/rules/index_rules.h"

namespace doorbell::core::rules {
namespace {

LinearForm scaled_down(const LinearForm& form, i64 g) {
  LinearForm r;
  for (const LinearTerm& term : form.terms()) r.add_term(term.base, term.factor / g);
  return r;
}

// d*A + S < c, where floor((c - 1 - S) / d) is the same for all S: A < that + 1.
bool drop_small_terms(LinearForm& form, i64* c) {
  absl::InlinedVector<i64, 8> divisors;
  for (const LinearTerm& term : form.terms()) {
    if (is_finite(term.factor) && std::abs(term.factor) > 1)
      divisors.push_back(std::abs(term.factor));
  }
  std::sort(divisors.begin(), divisors.end(), std::greater<>());
  for (i64 d : divisors) {
    LinearForm whole, small;
    for (const LinearTerm& term : form.terms()) {
      if (term.factor % d == 0)
        whole.add_term(term.base, term.factor / d);
      else
        small.add_term(term.base, term.factor);
    }
    Interval s = small.bounds();
    if (small.size() == 0 || !s.finite()) continue;
    std::optional<i64> most = checked_add(*c, -1), hi, lo;
    if (!most) continue;
    hi = checked_add(*most, -s.lo);
    lo = checked_add(*most, -s.hi);
    if (!hi || !lo || floor_div(*hi, d) != floor_div(*lo, d)) continue;
    form = std::move(whole);
    *c = floor_div(*hi, d) + 1;
    return true;
  }
  return false;
}

// +-(y // a) < c as a bound on y.
bool open_quotient(LinearForm& form, i64* c) {
  if (form.size() != 1 || std::abs(form[0].factor) != 1 || !form[0].base.is(Op::FloorDiv) ||
      !form[0].base.src(1).is_const() || form[0].base.src(1).const_int() <= 0)
    return false;
  i64 a = form[0].base.src(1).const_int(), sign = form[0].factor;
  // y // a < c is y < c*a;  -(y // a) < c is y // a >= 1 - c, y >= (1 - c)*a, -y < (c - 1)*a + 1.
  std::optional<i64> bound = sign > 0 ? std::optional(*c) : checked_add(*c, -1);
  if (bound) bound = checked_mul(*bound, a);
  if (bound && sign < 0) bound = checked_add(*bound, 1);
  if (!bound) return false;
  LinearForm opened;
  opened.add(form[0].base.src(0), sign);
  std::optional<i64> right = checked_add(*bound, -opened.constant());
  if (!opened.valid() || !right) return false;
  opened.set_constant(0);
  form = std::move(opened);
  *c = *right;
  return true;
}

// sum < c, the sum without a constant.
UOp less_than(Rewriter& rewriter, LinearForm form, i64 c) {
  do {
    Interval bounds = form.bounds();
    if (bounds.hi < c) return rewriter.boolean(true);
    if (bounds.lo >= c) return rewriter.boolean(false);
    if (i64 g = form.gcd(); g > 1) {
      form = scaled_down(form, g);
      c = ceil_div(c, g);
    }
  } while (drop_small_terms(form, &c) || open_quotient(form, &c));
  form.sort();
  if (form[0].factor > 0) {
    UOp sum = form.build(rewriter), bound = rewriter.index(c);
    return rewriter.make_canonical(Op::CmpLt, dtypes::bool_, {sum, bound});
  }
  LinearForm negated;
  negated.add(form, -1);
  if (!negated.valid() || !is_finite(c)) return UOp();
  UOp sum = negated.build(rewriter), bound = rewriter.index(-c);
  return rewriter.make_canonical(Op::CmpLt, dtypes::bool_, {bound, sum});
}

// Whether form < 0 follows from a Range being below its own symbolic size.
std::optional<bool> known_by_sizes(Rewriter& rewriter, const LinearForm& form) {
  bool symbolic = std::any_of(form.terms().begin(), form.terms().end(), [](const LinearTerm& t) {
    UOp base = t.base.is(Op::FloorDiv) ? t.base.src(0) : t.base;
    return base.is(Op::Range) && !base.src(0).is_const();
  });
  if (!symbolic) return std::nullopt;
  LinearForm most = symbolic_limit(rewriter, form), negated;
  if (most.valid() && most.bounds().hi < 0) return true;
  negated.add(form, -1);
  LinearForm least = symbolic_limit(rewriter, negated);
  if (negated.valid() && least.valid() && least.bounds().hi <= 0) return false;
  return std::nullopt;
}

// Bool cast to Index, compared with a constant.
UOp equals_flag(Rewriter& rewriter, UOp flag, i64 value) {
  if (value == 1) return flag;
  return value == 0 ? rewriter.lnot(flag) : rewriter.boolean(false);
}

}  // namespace

UOp less_rule(const Match& match) {
  LinearForm form;
  form.add(match.node().src(0));
  form.add(match.node().src(1), -1);
  std::optional<i64> c = checked_mul(form.constant(), -1);
  if (!form.valid() || !c) return UOp();
  if (form.size() == 0) return match.rewriter().boolean(0 < *c);
  if (std::optional<bool> known = known_by_sizes(match.rewriter(), form))
    return match.rewriter().boolean(*known);
  form.set_constant(0);
  return less_than(match.rewriter(), std::move(form), *c);
}

UOp equal_rule(const Match& match) {
  Rewriter& rewriter = match.rewriter();
  const bool wants_equal = match.node().is(Op::CmpEq);
  LinearForm form;
  form.add(match.node().src(0));
  form.add(match.node().src(1), -1);
  if (!form.valid()) return UOp();
  if (form.size() == 0) return rewriter.boolean((form.constant() == 0) == wants_equal);
  Interval bounds = form.bounds();
  if (bounds.lo > 0 || bounds.hi < 0) return rewriter.boolean(!wants_equal);
  i64 g = form.gcd();
  if (form.constant() % g != 0) return rewriter.boolean(!wants_equal);
  form.sort();
  if (form[0].factor < 0) g = -g;
  LinearForm divided = scaled_down(form, g);
  i64 value = -form.constant() / g;
  if (divided.size() == 1 && divided[0].factor == 1 && divided[0].base.is(Op::Cast) &&
      divided[0].base.src(0).dtype().is_bool()) {
    UOp equal = equals_flag(rewriter, divided[0].base.src(0), value);
    return wants_equal ? equal : rewriter.lnot(equal);
  }
  UOp sum = divided.build(rewriter), constant = rewriter.index(value);
  return rewriter.make_canonical(match.node().op(), dtypes::bool_, {sum, constant});
}

UOp max_rule(const Match& match) {
  UOp x = match.node().src(0), y = match.node().src(1);
  Rewriter& rewriter = match.rewriter();
  LinearForm difference;
  difference.add(x);
  difference.add(y, -1);
  if (!difference.valid()) return UOp();
  Interval bounds = difference.bounds();
  if (bounds.lo >= 0) return x;
  if (bounds.hi <= 0) return y;
  if (!y.is_const() && (x.is_const() || ordered_before(y, x))) return rewriter.max(y, x);
  return UOp();
}

}  // namespace doorbell::core::rules
