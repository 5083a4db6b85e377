// An assumption  lo <= X <= hi  is used by putting a fresh variable with these bounds in X's place,
// simplifying, and putting X back. X = f*t + rest with f = +-1 is found inside larger sums too, by
// substituting t = f * (variable - rest).
#include "core/rules/validity.h"

#include <algorithm>

#include <absl/container/flat_hash_set.h>

#include "core/rules/linear_form.h"

namespace doorbell::core {
namespace {

using Clauses = absl::InlinedVector<UOp, 8>;

Clauses clauses_of(UOp valid) {
  Clauses clauses, pending = {valid};
  while (!pending.empty()) {
    UOp node = pending.back();
    pending.pop_back();
    if (node.is(Op::And)) {
      pending.push_back(node.src(1));
      pending.push_back(node.src(0));
    } else {
      clauses.push_back(node);
    }
  }
  return clauses;
}

struct Assumption {
  UOp expression;
  i64 lo, hi;
  UOp variable;  // stands for the expression
};

// X of a clause X < c or c < X.
UOp bounded_expression(UOp clause) {
  if (!clause.is(Op::CmpLt)) return UOp();
  if (clause.src(1).is_const()) return clause.src(0);
  return clause.src(0).is_const() ? clause.src(1) : UOp();
}

void assume(std::vector<Assumption>* assumptions, UOp expression, i64 lo, i64 hi) {
  for (Assumption& known : *assumptions) {
    if (known.expression != expression) continue;
    known.lo = std::max(known.lo, lo);
    known.hi = std::min(known.hi, hi);
    return;
  }
  lo = std::max(lo, expression.vmin());
  hi = std::min(hi, expression.vmax());
  assumptions->push_back({expression, lo, hi, UOp()});
}

std::vector<Assumption> assumptions_of(UOp valid) {
  std::vector<Assumption> assumptions;
  for (UOp clause : clauses_of(valid)) {
    bool bounds = clause.is(Op::CmpLt) || clause.is(Op::CmpEq);
    if (!bounds || !clause.src(0).dtype().is_index()) continue;
    UOp a = clause.src(0), b = clause.src(1);
    if (clause.is(Op::CmpEq) && b.is_const()) {
      assume(&assumptions, a, b.const_int(), b.const_int());
    } else if (clause.is(Op::CmpLt) && b.is_const() && b.const_int() > kMinusInf + 1) {
      assume(&assumptions, a, kMinusInf, b.const_int() - 1);
    } else if (clause.is(Op::CmpLt) && a.is_const() && a.const_int() < kPlusInf - 1) {
      assume(&assumptions, b, a.const_int() + 1, kPlusInf);
    }
  }
  // Do not simplify under a contradiction: the gate itself will be found false.
  std::erase_if(assumptions, [](const Assumption& a) { return a.lo > a.hi; });
  return assumptions;
}

// Nodes below, with Loads as leaves; and the Loads.
struct Extent {
  usize nodes = 0;
  bool linear = true;  // sums and products only: bounds change nothing
  absl::flat_hash_set<const Node*> seen;
  std::vector<UOp> loads;
};
Extent extent_of(UOp root) {
  Extent extent;
  std::vector<UOp> stack = {root};
  while (!stack.empty()) {
    UOp node = stack.back();
    stack.pop_back();
    if (!extent.seen.insert(node.node()).second) continue;
    ++extent.nodes;
    if (node.is(Op::Load)) {
      extent.loads.push_back(node);
      continue;
    }
    bool linear = group_of(node.op()) != OpGroup::Binary || node.is(Op::Add) || node.is(Op::Mul);
    extent.linear &= linear && !node.is(Op::Where);
    for (UOp src : node.srcs()) stack.push_back(src);
  }
  return extent;
}

// One call of simplify_given: assumptions with their variables, and the expression so far.
class Simplifier {
 public:
  Simplifier(Rewriter& rewriter, UOp expression)
      : rewriter_(rewriter), expression_(expression), extent_(extent_of(expression)) {}

  UOp run(std::vector<Assumption> assumptions) {
    if (extent_.linear) return expression_;
    AssumptionScope scope(rewriter_);
    for (usize i = 0; i < assumptions.size(); ++i) {
      Assumption& a = assumptions[i];
      i64 name = -1 - scope.depth() * 1000 - static_cast<i64>(i);
      a.variable = rewriter_.arena().make(Op::Variable, dtypes::index, {}, {name, a.lo, a.hi});
    }
    std::vector<const Assumption*> simple;
    for (const Assumption& a : assumptions) {
      if (!a.expression.is(Op::Add) && !a.expression.is(Op::Mul)) simple.push_back(&a);
    }
    if (!simple.empty()) attempt(simple, nullptr, UOp());
    // Simplifying one sum may enable another. A few rounds are enough for the gates that padding
    // and shrinking make.
    for (int round = 0; round < 4; ++round) {
      UOp before = expression_;
      for (const Assumption& a : assumptions) {
        if (a.expression.is(Op::Add) || a.expression.is(Op::Mul)) try_sum(simple, a);
      }
      if (expression_ == before) break;
    }
    return expression_;
  }

 private:
  // A sum: as a node of its own, then solved for each of its terms that can be.
  void try_sum(const std::vector<const Assumption*>& simple, const Assumption& a) {
    if (extent_.seen.contains(a.expression.node()) && attempt(simple, &a, UOp())) return;
    LinearForm form = LinearForm::of(a.expression);
    if (!form.valid()) return;
    for (const LinearTerm& term : form.terms()) {
      if (std::abs(term.factor) != 1 || !extent_.seen.contains(term.base.node())) continue;
      if (attempt(simple, &a, term.base)) return;
    }
  }

  // Substitutes the simple assumptions' variables and `sum`'s: for the sum, or for its term
  // `solved`.
  bool attempt(const std::vector<const Assumption*>& simple, const Assumption* sum, UOp solved) {
    std::vector<std::pair<UOp, UOp>> there, back;
    for (UOp load : extent_.loads) there.push_back({load, load});
    for (const Assumption* a : simple) {
      if (a->expression == solved) continue;
      there.push_back({a->expression, a->variable});
      back.push_back({a->variable, a->expression});
    }
    if (sum) {
      back.push_back({sum->variable, sum->expression});
      UOp from = sum->expression, to = sum->variable;
      if (solved) {
        from = solved;
        to = solve(simple, *sum, solved);
        if (!to) return false;
      }
      there.push_back({from, to});
    }
    UOp result = rewriter_.substitute(expression_, there);
    result = rewriter_.substitute(result, back);
    if (result == expression_) return false;
    Extent extent = extent_of(result);
    if (extent.nodes > extent_.nodes) return false;
    expression_ = result;
    extent_ = std::move(extent);
    return true;
  }

  UOp solve(const std::vector<const Assumption*>& simple, const Assumption& sum, UOp solved) {
    LinearForm form = LinearForm::of(sum.expression), right;
    i64 sign = form.factor_of(solved);
    right.add(sum.variable, sign);
    for (const LinearTerm& term : form.terms()) {
      if (term.base == solved) continue;
      UOp base = term.base;
      for (const Assumption* a : simple) {
        if (a->expression == base) base = a->variable;
      }
      right.add(base, -sign * term.factor);
    }
    right.add_constant(-sign * form.constant());
    return right.valid() ? right.build(rewriter_) : UOp();
  }

  Rewriter& rewriter_;
  UOp expression_;
  Extent extent_;
};

UOp gated_index(const Match& match) {
  UOp node = match.node();
  Rewriter& rewriter = match.rewriter();
  if (node.nsrc() < 3) return UOp();
  UOp gate = simplify_valid(rewriter, node.src(2));
  if (gate.is_const() && gate.const_int() != 0)
    return rewriter.make(Op::Index, node.dtype(), {node.src(0), node.src(1)});
  UOp at = simplify_given(rewriter, node.src(1), gate);
  if (at == node.src(1) && gate == node.src(2)) return UOp();
  return rewriter.make(Op::Index, node.dtype(), {node.src(0), at, gate});
}

UOp masked_load(const Match& match) {
  UOp node = match.node(), index = node.src(0);
  if (!index.is(Op::Index) || node.nsrc() < 2) return UOp();
  if (index.nsrc() == 2) return match.rewriter().make(Op::Load, node.dtype(), {index});
  return index.src(2).is_const(0) ? node.src(1) : UOp();
}

constexpr Rule kRules[] = {
    rw("gated-index", any(Op::Index), gated_index),
    rw("masked-load", any(Op::Load), masked_load),
};

}  // namespace

UOp simplify_given(Rewriter& rewriter, UOp expression, UOp valid) {
  if (expression.is_const()) return expression;
  std::vector<Assumption> assumptions = assumptions_of(valid);
  // A clause that shares no range with the expression says nothing about it.
  std::erase_if(assumptions, [&](const Assumption& a) {
    u64 mask = a.expression.range_mask();
    return mask != 0 && !(mask & expression.range_mask());
  });
  if (assumptions.empty()) return expression;
  return Simplifier(rewriter, expression).run(std::move(assumptions));
}

UOp simplify_valid(Rewriter& rewriter, UOp valid) {
  if (!valid.is(Op::And) || valid.dtype().lanes != 1) return valid;
  Clauses clauses = clauses_of(valid);
  for (usize i = 0; i < clauses.size() && clauses.size() > 1;) {
    UOp others = rewriter.boolean(true), bounded = bounded_expression(clauses[i]);
    for (usize j = 0; j < clauses.size(); ++j) {
      // Bounds on one expression have been merged when the conjunction was made.
      bool same = bounded && bounded_expression(clauses[j]) == bounded;
      if (j != i && !same) others = rewriter.land(others, clauses[j]);
    }
    if (others.is_const()) {
      ++i;
      continue;
    }
    clauses[i] = simplify_given(rewriter, clauses[i], others);
    if (clauses[i].is_const(0)) return clauses[i];
    if (clauses[i].is_const())
      clauses.erase(clauses.begin() + static_cast<std::ptrdiff_t>(i));
    else
      ++i;
  }
  UOp result = rewriter.boolean(true);
  for (UOp clause : clauses) result = rewriter.land(result, clause);
  return result;
}

constinit const RuleTable kValidityRules{"validity", Domain::Any, kRules};

}  // namespace doorbell::core
