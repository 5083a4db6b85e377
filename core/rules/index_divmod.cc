// Floor division and modulo of Index by constants, and what little holds for other denominators.
// Each step is true of all integers, not only of those within bounds, unless it says so:
//   (c*A + B) // c = A + B // c          (g*A + k) // (g*m) = (A + k//g) // m
//   with x = d*A + S, q = S // d:
//     x // (d*m) = (A + q) // m,  x % (d*m) = d * ((A + q) % m) + S - d*q
#include <algorithm>
#include <numeric>

#include "core/rules/index_rules.h"

namespace doorbell::core::rules {
namespace {

// A sum split by a divisor d: the terms it divides, already divided, and the others.
struct Split {
  LinearForm divided, rest;
};
Split split_by(const LinearForm& form, i64 d) {
  Split split;
  for (const LinearTerm& term : form.terms()) {
    if (term.factor % d == 0)
      split.divided.add_term(term.base, term.factor / d);
    else
      split.rest.add_term(term.base, term.factor);
  }
  split.rest.set_constant(form.constant());
  return split;
}

LinearForm divided_exactly(const LinearForm& form, i64 g) {
  LinearForm r;
  for (const LinearTerm& term : form.terms()) r.add_term(term.base, term.factor / g);
  r.add_constant(floor_div(form.constant(), g));
  return r;
}

// A divisor d of c that nests: the sum is d*A + S, and S // d is a sum of what S has, most often
// one number.
struct Nesting {
  i64 divisor = 0;
  LinearForm quotient;  // S // d
  Split split;
};

UOp divide_by_constant(Rewriter& rewriter, UOp x, i64 c);

// S // d without a new division; invalid where there is none.
LinearForm plain_quotient(Rewriter& rewriter, const LinearForm& rest, i64 d) {
  LinearForm quotient;
  if (std::optional<i64> constant = rest.bounds().only_quotient(d)) {
    quotient.add_constant(*constant);
    return quotient;
  }
  LinearForm numerator = rest;
  UOp x = rest.size() > 3 ? UOp() : simplify_sum(rewriter, numerator);
  UOp divided = x ? divide_by_constant(rewriter, x, d) : UOp();
  if (divided)
    quotient.add(divided);
  else
    quotient.invalidate();
  for (const LinearTerm& term : quotient.terms()) {
    if (rest.factor_of(term.base) == 0) quotient.invalidate();
  }
  return quotient;
}

std::optional<Nesting> find_nesting(Rewriter& rewriter, const LinearForm& form, i64 c) {
  absl::InlinedVector<i64, 8> divisors;
  for (const LinearTerm& term : form.terms()) {
    i64 d = std::gcd(term.factor, c);
    bool known = std::find(divisors.begin(), divisors.end(), d) != divisors.end();
    if (d > 1 && d < c && !known) divisors.push_back(d);
  }
  std::sort(divisors.begin(), divisors.end(), std::greater<>());
  for (i64 d : divisors) {
    Split split = split_by(form, d);
    if (split.divided.size() == 0) continue;
    LinearForm quotient = plain_quotient(rewriter, split.rest, d);
    if (quotient.valid()) return Nesting{d, std::move(quotient), std::move(split)};
  }
  return std::nullopt;
}

// Factors reduced modulo c to the residues of least magnitude, or for a tie and for a lone term to
// either sign, such that the sum stays within one period.
struct Congruence {
  LinearForm residue;
  i64 period;  // floor(residue / c)
};
std::optional<Congruence> find_congruence(const LinearForm& form, i64 c) {
  absl::InlinedVector<usize, 4> free;
  absl::InlinedVector<i64, 6> least;
  for (usize i = 0; i < form.size(); ++i) {
    i64 r = floor_mod(form[i].factor, c);
    if (form.size() == 1 || r == c - r) free.push_back(i);
    least.push_back(r <= c - r ? r : r - c);
  }
  if (free.size() > 4) return std::nullopt;
  for (u32 choice = 0; choice < 1u << free.size(); ++choice) {
    LinearForm residue;
    for (usize i = 0; i < form.size(); ++i) {
      i64 r = least[i];
      auto at = std::find(free.begin(), free.end(), i);
      if (at != free.end() && choice >> (at - free.begin()) & 1) r += r > 0 ? -c : c;
      if (r == c || r == -c) r = 0;
      residue.add_term(form[i].base, r);
    }
    residue.add_constant(floor_mod(form.constant(), c));
    if (!residue.valid()) return std::nullopt;
    std::optional<i64> period = residue.bounds().only_quotient(c);
    if (period) return Congruence{std::move(residue), *period};
  }
  return std::nullopt;
}

// One bare term over a constant denominator: (y // a + k) // c and (y % (a*c)) // c.
UOp nested_quotient(Rewriter& rewriter, const LinearForm& rest, i64 c) {
  if (rest.size() != 1 || rest[0].factor != 1) return UOp();
  UOp base = rest[0].base;
  if (base.nsrc() != 2 || !base.src(1).is_const()) return UOp();
  i64 a = base.src(1).const_int();
  if (base.is(Op::FloorDiv) && a > 0) {
    std::optional<i64> denominator = checked_mul(a, c), shift = checked_mul(rest.constant(), a);
    if (!denominator || !shift) return UOp();
    LinearForm numerator = LinearForm::of(base.src(0));
    numerator.add_constant(*shift);
    UOp x = simplify_sum(rewriter, std::move(numerator));
    return x ? rewriter.floordiv(x, *denominator) : UOp();
  }
  if (base.is(Op::FloorMod) && a > 0 && a % c == 0 && rest.constant() == 0) {
    UOp quotient = rewriter.floordiv(base.src(0), c);
    return rewriter.floormod(quotient, a / c);
  }
  return UOp();
}

// floor(rest / c) where no factor of `rest` is a multiple of c and its constant is in [0, c).
UOp divide_rest(Rewriter& rewriter, LinearForm& rest, i64 c) {
  if (std::optional<i64> q = rest.bounds().only_quotient(c)) return rewriter.index(*q);
  if (std::optional<Congruence> found = find_congruence(rest, c)) {
    LinearForm quotient;
    for (const LinearTerm& term : rest.terms()) {
      i64 residue = found->residue.factor_of(term.base);
      quotient.add_term(term.base, (term.factor - residue) / c);
    }
    quotient.add_constant(found->period);
    return simplify_sum(rewriter, std::move(quotient));
  }
  if (i64 g = rest.gcd(c); g > 1) {
    UOp x = simplify_sum(rewriter, divided_exactly(rest, g));
    return x ? rewriter.floordiv(x, c / g) : UOp();
  }
  if (UOp nested = nested_quotient(rewriter, rest, c)) return nested;
  if (std::optional<Nesting> nesting = find_nesting(rewriter, rest, c)) {
    nesting->split.divided.add(nesting->quotient);
    UOp x = simplify_sum(rewriter, std::move(nesting->split.divided));
    return x ? rewriter.floordiv(x, c / nesting->divisor) : UOp();
  }
  UOp numerator = simplify_sum(rewriter, rest), denominator = rewriter.index(c);
  return rewriter.make_canonical(Op::FloorDiv, dtypes::index, {numerator, denominator});
}

UOp divide_by_constant(Rewriter& rewriter, UOp x, i64 c) {
  LinearForm form = LinearForm::of(x), quotient, rest;
  if (!form.valid()) return UOp();
  for (const LinearTerm& term : form.terms()) {
    // What remains has the factor's sign:
    // (5x) // 3 is x + (2x) // 3, (-5x) // 3 is -x + (-2x) // 3.
    quotient.add_term(term.base, term.factor / c);
    rest.add_term(term.base, term.factor % c);
  }
  quotient.add_constant(floor_div(form.constant(), c));
  rest.add_constant(floor_mod(form.constant(), c));
  UOp divided = divide_rest(rewriter, rest, c);
  if (!divided) return UOp();
  quotient.add(divided);
  return simplify_sum(rewriter, std::move(quotient));
}

// Terms whose own modulus vanishes modulo c lose it: f * (y % m) = f * y, where c divides f * m.
bool drop_inner_moduli(LinearForm& form, i64 c) {
  bool changed = false;
  for (usize i = 0; i < form.size(); ++i) {
    LinearTerm term = form[i];
    if (!term.base.is(Op::FloorMod) || !term.base.src(1).is_const()) continue;
    std::optional<i64> period = checked_mul(term.factor, term.base.src(1).const_int());
    if (!period || *period == 0 || *period % c != 0) continue;
    form.remove(i);
    form.add(term.base.src(0), term.factor);
    changed = true;
    i = static_cast<usize>(-1);  // the terms have moved
  }
  return changed;
}

// x % c where the factors and constant of `form` are in [0, c).
UOp reduce_form(Rewriter& rewriter, LinearForm& form, i64 c) {
  if (std::optional<Congruence> found = find_congruence(form, c)) {
    std::optional<i64> shift = checked_mul(found->period, c);
    if (!shift) return UOp();
    found->residue.add_constant(-*shift);
    return simplify_sum(rewriter, std::move(found->residue));
  }
  if (i64 g = form.gcd(c); g > 1) {
    UOp x = simplify_sum(rewriter, divided_exactly(form, g));
    if (!x) return UOp();
    LinearForm result;
    UOp reduced = rewriter.floormod(x, c / g);
    result.add(reduced, g);
    result.add_constant(form.constant() % g);
    return simplify_sum(rewriter, std::move(result));
  }
  if (std::optional<Nesting> nesting = find_nesting(rewriter, form, c)) {
    i64 d = nesting->divisor;
    nesting->split.divided.add(nesting->quotient);
    UOp x = simplify_sum(rewriter, std::move(nesting->split.divided));
    if (!x) return UOp();
    UOp reduced = rewriter.floormod(x, c / d);
    LinearForm result = std::move(nesting->split.rest);
    result.add(nesting->quotient, -d);
    result.add(reduced, d);
    return simplify_sum(rewriter, std::move(result));
  }
  UOp x = simplify_sum(rewriter, form), modulus = rewriter.index(c);
  if (!x) return UOp();
  return rewriter.make_canonical(Op::FloorMod, dtypes::index, {x, modulus});
}

LinearForm residues(const LinearForm& form, i64 c) {
  LinearForm reduced;
  for (const LinearTerm& term : form.terms())
    reduced.add_term(term.base, floor_mod(term.factor, c));
  reduced.add_constant(floor_mod(form.constant(), c));
  return reduced;
}

UOp reduce_residues(Rewriter& rewriter, LinearForm& reduced, i64 c) {
  if (reduced.size() == 0) return rewriter.index(floor_mod(reduced.constant(), c));
  std::optional<i64> q = reduced.bounds().only_quotient(c);
  if (!q) return reduce_form(rewriter, reduced, c);
  std::optional<i64> shift = checked_mul(*q, c);
  if (!shift) return UOp();
  reduced.add_constant(-*shift);
  return simplify_sum(rewriter, reduced);
}

UOp reduce_by_constant(Rewriter& rewriter, UOp x, i64 c) {
  LinearForm form = LinearForm::of(x);
  if (!form.valid()) return UOp();
  if (std::optional<i64> q = form.bounds().only_quotient(c)) {
    std::optional<i64> shift = checked_mul(*q, c);
    if (!shift) return UOp();
    form.add_constant(-*shift);
    return simplify_sum(rewriter, std::move(form));
  }
  while (true) {
    LinearForm reduced = residues(form, c);
    if (!reduced.valid()) return UOp();
    if (!drop_inner_moduli(reduced, c)) return reduce_residues(rewriter, reduced, c);
    if (!reduced.valid()) return UOp();
    form = reduced;
  }
}

// 0 <= form < y for all values.
bool within(Rewriter& rewriter, const LinearForm& form, UOp y) {
  if (form.bounds().lo < 0) return false;
  LinearForm room = LinearForm::of(y);
  room.add(symbolic_limit(rewriter, form), -1);
  return room.valid() && room.bounds().lo > 0;
}

// The one quotient that all corners of the bounds have.
std::optional<i64> only_quotient(UOp x, UOp y) {
  bool finite = is_finite(x.vmin()) && is_finite(x.vmax()) && is_finite(y.vmax());
  if (!finite || y.vmin() <= 0) return std::nullopt;
  i64 q = floor_div(x.vmin(), y.vmin());
  bool same = floor_div(x.vmin(), y.vmax()) == q && floor_div(x.vmax(), y.vmin()) == q &&
              floor_div(x.vmax(), y.vmax()) == q;
  return same ? std::optional(q) : std::nullopt;
}

// base * factor over y = b * f, exactly; null where it does not divide.
UOp divided_term(Rewriter& rewriter, const LinearTerm& term, UOp b, i64 f) {
  if (term.factor % f != 0) return UOp();
  if (term.base == b) return rewriter.index(term.factor / f);
  if (!term.base.is(Op::Mul)) return UOp();
  for (usize i = 0; i < 2; ++i) {
    if (term.base.src(i) == b) return rewriter.mul(term.base.src(1 - i), term.factor / f);
  }
  return UOp();
}

// Denominators that are no constants, known positive: a * y + b over y.
UOp divide_by_expression(const Match& match, bool wants_quotient) {
  UOp x = match.node().src(0), y = match.node().src(1);
  Rewriter& rewriter = match.rewriter();
  if (y.vmin() <= 0) return UOp();
  LinearForm form = LinearForm::of(x), denominator = LinearForm::of(y);
  if (!form.valid() || !denominator.valid()) return UOp();
  if (within(rewriter, form, y)) return wants_quotient ? rewriter.index(0) : x;
  if (std::optional<i64> q = only_quotient(x, y)) {
    form.add(y, -*q);
    if (wants_quotient) return rewriter.index(*q);
    return simplify_sum(rewriter, std::move(form));
  }
  // (g*A + k) // (g*B) = (A + k//g) // B, and the remainder times g, plus k % g.
  i64 g = form.gcd(denominator.gcd(denominator.constant()));
  if (g > 1) {
    UOp a = simplify_sum(rewriter, divided_exactly(form, g));
    UOp b = simplify_sum(rewriter, divided_exactly(denominator, g));
    if (!a || !b) return UOp();
    if (wants_quotient) return rewriter.floordiv(a, b);
    UOp scaled = rewriter.mul(rewriter.floormod(a, b), g);
    return rewriter.add(scaled, floor_mod(form.constant(), g));
  }
  bool single = denominator.size() == 1 && denominator.constant() == 0;
  UOp b = single ? denominator[0].base : y;
  i64 f = single ? denominator[0].factor : 1;
  LinearForm quotient, rest;
  rest.add_constant(form.constant());
  for (const LinearTerm& term : form.terms()) {
    UOp divided = divided_term(rewriter, term, b, f);
    if (divided)
      quotient.add(divided);
    else
      rest.add_term(term.base, term.factor);
  }
  if (rest.size() == form.size() || !quotient.valid()) return UOp();
  UOp remaining = simplify_sum(rewriter, std::move(rest));
  if (!remaining) return UOp();
  if (!wants_quotient) return rewriter.floormod(remaining, y);
  UOp below = rewriter.floordiv(remaining, y);
  quotient.add(below);
  return simplify_sum(rewriter, std::move(quotient));
}

}  // namespace

UOp floordiv_rule(const Match& match) {
  UOp x = match.node().src(0), y = match.node().src(1);
  Rewriter& rewriter = match.rewriter();
  if (!y.is_const()) return divide_by_expression(match, true);
  i64 c = y.const_int();
  if (c == 0) return rewriter.index(0);
  if (c == 1) return x;
  if (c > 0) return divide_by_constant(rewriter, x, c);
  if (!is_finite(c)) return UOp();
  UOp negated = rewriter.mul(x, -1);
  return rewriter.floordiv(negated, -c);
}

UOp floormod_rule(const Match& match) {
  UOp x = match.node().src(0), y = match.node().src(1);
  Rewriter& rewriter = match.rewriter();
  if (!y.is_const()) return divide_by_expression(match, false);
  i64 c = y.const_int();
  if (c == 0 || c == 1) return rewriter.index(0);
  if (c > 0) return reduce_by_constant(rewriter, x, c);
  if (!is_finite(c)) return UOp();
  UOp negated = rewriter.mul(x, -1);
  UOp reduced = rewriter.floormod(negated, -c);
  return rewriter.mul(reduced, -1);
}

}  // namespace doorbell::core::rules
