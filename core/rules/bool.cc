// The bool table: And and Or as sets of clauses, negation pushed into comparisons, and Bool
// arithmetic as logic. Conditions over Index are simplified one by one by index_compare.cc; for
// using one to simplify another beyond equal expressions see validity.h.
#include <algorithm>

#include "core/rewrite/match.h"
#include "core/rules/linear_form.h"
#include "core/rules/rules.h"

namespace doorbell::core {
namespace {

using namespace pat;
using Clauses = absl::InlinedVector<UOp, 8>;

// Clauses of a chain of `op`, each once. False where the op's absorbing constant is among them.
bool collect(UOp root, Clauses* clauses) {
  const Op op = root.op();
  Clauses pending = {root};
  while (!pending.empty()) {
    UOp node = pending.back();
    pending.pop_back();
    if (node.is(op)) {
      pending.push_back(node.src(1));
      pending.push_back(node.src(0));
      continue;
    }
    if (UOp constant = constant_behind(node)) {
      if ((constant.const_int() != 0) == (op == Op::Or)) return false;
      continue;
    }
    if (std::find(clauses->begin(), clauses->end(), node) == clauses->end())
      clauses->push_back(node);
  }
  return true;
}

// A bound on an Index expression: CmpLt with a Const on either side.
struct Bound {
  UOp expression;
  i64 value;
  bool upper;  // expression < value, else value < expression
};
std::optional<Bound> bound_of(UOp clause) {
  if (!clause.is(Op::CmpLt) || !clause.src(0).dtype().is_index()) return std::nullopt;
  if (clause.src(1).is_const()) return Bound{clause.src(0), clause.src(1).const_int(), true};
  if (clause.src(0).is_const()) return Bound{clause.src(1), clause.src(0).const_int(), false};
  return std::nullopt;
}

enum class Relation : u8 { None, FirstImplied, SecondImplied, Contradiction, Exhaustive };

// How two bounds on one expression relate: one implies the other, both cannot hold, one always
// does.
Relation relate(const Bound& a, const Bound& b) {
  if (a.expression != b.expression) return Relation::None;
  if (a.upper == b.upper) {
    bool first_weaker = a.upper ? a.value >= b.value : a.value <= b.value;
    return first_weaker ? Relation::FirstImplied : Relation::SecondImplied;
  }
  // above < e  and  e < below
  i64 above = a.upper ? b.value : a.value, below = a.upper ? a.value : b.value;
  if (above >= below - 1) return Relation::Contradiction;
  return Relation::None;
}
// Of an Or: above < e or e < below holds always where they overlap.
bool covers_all(const Bound& a, const Bound& b) {
  if (a.expression != b.expression || a.upper == b.upper) return false;
  i64 above = a.upper ? b.value : a.value, below = a.upper ? a.value : b.value;
  return above < below;
}

// Drops implied clauses. False: the whole chain is the op's absorbing constant.
bool merge_bounds(Op op, Clauses* clauses) {
  for (usize i = 0; i < clauses->size(); ++i) {
    std::optional<Bound> a = bound_of((*clauses)[i]);
    for (usize j = i + 1; a && j < clauses->size(); ++j) {
      std::optional<Bound> b = bound_of((*clauses)[j]);
      if (!b) continue;
      if (op == Op::Or && covers_all(*a, *b)) return false;
      Relation relation = relate(*a, *b);
      if (relation == Relation::None) continue;
      if (relation == Relation::Contradiction) {
        if (op == Op::And) return false;
        continue;
      }
      // And keeps the stronger, Or the weaker.
      bool drop_first = (relation == Relation::FirstImplied) == (op == Op::And);
      if (drop_first) (*clauses)[i] = (*clauses)[j];
      clauses->erase(clauses->begin() + static_cast<std::ptrdiff_t>(j));
      a = bound_of((*clauses)[i]);
      j = i;
    }
  }
  return true;
}

// x & (x | y) is x, and x | (x & y) is x.
void absorb(Op op, Clauses* clauses) {
  const Op dual = op == Op::And ? Op::Or : Op::And;
  for (usize i = 0; i < clauses->size(); ++i) {
    if (!(*clauses)[i].is(dual)) continue;
    Clauses parts;
    collect((*clauses)[i], &parts);
    bool implied = std::any_of(parts.begin(), parts.end(), [&](UOp part) {
      return std::find(clauses->begin(), clauses->end(), part) != clauses->end();
    });
    if (implied) clauses->erase(clauses->begin() + static_cast<std::ptrdiff_t>(i--));
  }
}

bool has_complement(Rewriter& rewriter, const Clauses& clauses) {
  for (UOp clause : clauses) {
    // A comparison's negation is covered by bounds; only explicit negations are looked for, and
    // equalities.
    if (!clause.is(Op::CmpNe) && !clause.is(Op::CmpEq)) continue;
    UOp opposite = rewriter.lnot(clause);
    if (std::find(clauses.begin(), clauses.end(), opposite) != clauses.end()) return true;
  }
  return false;
}

UOp logic_rule(const Match& match) {
  UOp node = match.node();
  Rewriter& rewriter = match.rewriter();
  Clauses clauses;
  const i64 absorbing = node.is(Op::Or);
  if (!collect(node, &clauses) || !merge_bounds(node.op(), &clauses))
    return rewriter.constant_int(node.dtype(), absorbing);
  absorb(node.op(), &clauses);
  if (clauses.empty()) return rewriter.constant_int(node.dtype(), !absorbing);
  if (clauses.size() > 1 && has_complement(rewriter, clauses))
    return rewriter.constant_int(node.dtype(), absorbing);
  std::sort(clauses.begin(), clauses.end(), ordered_before);
  UOp chain = clauses[0];
  for (UOp clause : std::span(clauses).subspan(1))
    chain = rewriter.make_canonical(node.op(), node.dtype(), {chain, clause});
  return chain;
}

// CmpNe(c, true) of a comparison is another comparison.
UOp negated_comparison(const Match& match) {
  UOp inner = match.node().src(0), yes = constant_behind(match.node().src(1));
  if (!yes || !yes.is_const(1)) return UOp();
  Rewriter& rewriter = match.rewriter();
  if (inner.is(Op::CmpEq)) return rewriter.ne(inner.src(0), inner.src(1));
  if (inner.is(Op::CmpNe) && !constant_behind(inner.src(1)))
    return rewriter.eq(inner.src(0), inner.src(1));
  if (inner.is(Op::CmpNe) && !inner.src(0).dtype().is_bool())
    return rewriter.eq(inner.src(0), inner.src(1));
  // a < b of unbounded integers: not so where b < a + 1.
  if (!inner.is(Op::CmpLt) || !inner.src(0).dtype().is_index()) return UOp();
  UOp above = rewriter.add(inner.src(0), 1);
  return rewriter.lt(inner.src(1), above);
}

// clang-format off: * and & of patterns are operators
constexpr Rule kRules[] = {
    rw("and", any(Op::And), logic_rule),
    rw("or", any(Op::Or), logic_rule),
    rw("not-not", lnot(lnot(x)), x),
    rw("not-comparison", any(Op::CmpNe), negated_comparison),
    rw("is-not-false", ne(x, 0), x),
    rw("is-true", eq(x, 1), x),
    rw("is-false", eq(x, 0), lnot(x)),
    rw("same", eq(x, x), 1),
    rw("differs-from-itself", ne(x, x), 0),
    rw("exclusive-or", x ^ y, ne(x, y)),
    rw("add-is-or", x + y, x | y),
    rw("max-is-or", max(x, y), x | y),
    rw("mul-is-and", x * y, x & y),
    rw("less-is-and", x < y, lnot(x) & y),
    rw("choice-is-condition", where(x, 1, 0), x),
    rw("choice-is-negation", where(x, 0, 1), lnot(x)),
    rw("choice-of-true", where(x, 1, y), x | y),
    rw("choice-of-false", where(x, y, 0), x & y),
    rw("choice-else-true", where(x, y, 1), lnot(x) | y),
    rw("choice-else-false", where(x, 0, y), lnot(x) & y),
};
// clang-format on

}  // namespace

constinit const RuleTable kBoolRules{"bool", Domain::Bool, kRules};

}  // namespace doorbell::core
