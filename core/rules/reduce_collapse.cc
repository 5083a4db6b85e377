// collapse_sum. The value is seen as a product of factors, some of them conditions (Where(c, x, 0),
// a Bool cast to a number). What does not vary with the range r goes outside the sum. Then
//   a condition r == e leaves the one summand at e:  sum_r [r == e] g(r) = [0 <= e < n] g(e)
//   bounds on r leave a count:  sum_r [lo <= r < hi] x = x * |[lo, hi) n [0, n)|
#include <algorithm>

#include <absl/container/flat_hash_set.h>

#include "core/rewrite/match.h"
#include "core/rules/index_rules.h"
#include "core/rules/reduce.h"

namespace doorbell::core {
namespace {

using Nodes = absl::InlinedVector<UOp, 8>;

bool is_zero(UOp uop) {
  UOp constant = constant_behind(uop);
  if (!constant) return false;
  if (constant.dtype().is_float()) return constant.const_float() == 0;
  return constant.const_int() == 0;
}

// One range's sum being worked out.
class Collapse {
 public:
  Collapse(Rewriter& rewriter, UOp range)
      : rewriter_(rewriter), range_(range), mask_(u64{1} << (range.range_id() & 63)) {}

  UOp sum(UOp value);

 private:
  struct Product {
    DType dtype;
    Nodes inside, outside;          // factors that vary with the range, and that do not
    Nodes conditions, outer_gates;  // the same of conditions
  };
  // r in [lower, upper), as far as known; or r == equal.
  struct Window {
    UOp lower, upper, equal;
  };

  bool varies(UOp uop) const { return uop.range_mask() & mask_; }
  UOp sum_of_product(UOp value);
  void factor(UOp value, Product* product);
  UOp cast_factor(UOp value, Product* product);
  void condition(UOp condition, Product* product);
  bool narrow(UOp clause, Window* window);
  bool narrow_linear(Op op, LinearForm form, Window* window);
  UOp as_index(UOp uop);
  UOp count(const Window& window);
  UOp at(const Product& product, UOp e);
  bool gate_loads(UOp root, UOp e, UOp gate, std::vector<std::pair<UOp, UOp>>* replacements);
  UOp multiply(UOp a, UOp b) { return a ? rewriter_.mul(a, b) : b; }
  UOp number(DType t, i64 v) {
    return rewriter_.constant(t, convert(t, ScalarValue::of_int(dtypes::i64, v)));
  }

  Rewriter& rewriter_;
  UOp range_;
  u64 mask_;
};

// A condition splits into clauses, each looked at on its own.
void Collapse::condition(UOp root, Product* product) {
  Nodes pending = {root};
  while (!pending.empty()) {
    UOp node = pending.back();
    pending.pop_back();
    if (node.is(Op::And)) {
      pending.push_back(node.src(1));
      pending.push_back(node.src(0));
    } else {
      (varies(node) ? product->conditions : product->outer_gates).push_back(node);
    }
  }
}

// Casts of masks: of a Bool, or of a Where with a zero branch. The factor left over, or null.
UOp Collapse::cast_factor(UOp value, Product* product) {
  UOp inner = value.src(0);
  if (inner.dtype().is_bool()) {
    condition(inner, product);
    return number(value.dtype(), 1);
  }
  if (!inner.is(Op::Where)) return UOp();
  if (is_zero(inner.src(2))) {
    condition(inner.src(0), product);
    return rewriter_.cast(inner.src(1), value.dtype());
  }
  if (!is_zero(inner.src(1))) return UOp();
  UOp negated = rewriter_.lnot(inner.src(0));
  condition(negated, product);
  return rewriter_.cast(inner.src(2), value.dtype());
}

void Collapse::factor(UOp root, Product* product) {
  Nodes pending = {root};
  while (!pending.empty()) {
    UOp value = pending.back();
    pending.pop_back();
    if (!varies(value)) {
      product->outside.push_back(value);
    } else if (value.is(Op::Mul)) {
      pending.push_back(value.src(1));
      pending.push_back(value.src(0));
    } else if (value.is(Op::Where) && is_zero(value.src(2))) {
      condition(value.src(0), product);
      pending.push_back(value.src(1));
    } else if (value.is(Op::Where) && is_zero(value.src(1))) {
      UOp negated = rewriter_.lnot(value.src(0));
      condition(negated, product);
      pending.push_back(value.src(2));
    } else if (UOp rest = value.is(Op::Cast) ? cast_factor(value, product) : UOp()) {
      pending.push_back(rest);
    } else {
      product->inside.push_back(value);
    }
  }
}

// An integer as an Index of the same value; null where its own arithmetic varies with the range,
// for that wraps.
UOp Collapse::as_index(UOp uop) {
  if (uop.dtype().is_index()) return uop;
  if (uop.dtype().lanes != 1 || !uop.dtype().is_int()) return UOp();
  UOp inner = uop.is(Op::Cast) ? uop.src(0) : UOp();
  // A cast that changes no value has its operand's bounds.
  if (inner && inner.dtype().is_index() && inner.vmin() == uop.vmin() && inner.vmax() == uop.vmax())
    return inner;
  if (varies(uop)) return UOp();
  return rewriter_.cast(uop, dtypes::index);
}

bool Collapse::narrow_linear(Op op, LinearForm form, Window* window) {
  i64 f = form.factor_of(range_);
  LinearForm rest;
  rest.add(form);
  rest.add_term(range_, -f);
  if (f == 0 || !is_finite(f) || !rest.valid()) return false;
  for (const LinearTerm& term : rest.terms()) {
    if (varies(term.base)) return false;
  }
  // f*r + rest < 0, or == 0.
  LinearForm bound;
  if (op == Op::CmpEq) {
    if (std::abs(f) != 1 || window->equal) return false;
    bound.add(rest, -f);
    window->equal = rules::simplify_sum(rewriter_, bound);
    return static_cast<bool>(window->equal);
  }
  if (f > 0) {  // r < ceil(-rest / f)
    bound.add(rest, -1);
    bound.add_constant(f - 1);
  } else {  // r > rest / -f, so r >= floor(rest / -f) + 1
    bound.add(rest);
  }
  UOp numerator = rules::simplify_sum(rewriter_, bound);
  if (!numerator) return false;
  UOp edge = rewriter_.floordiv(numerator, std::abs(f));
  if (f > 0) {
    window->upper = window->upper ? rewriter_.min(window->upper, edge) : edge;
  } else {
    edge = rewriter_.add(edge, 1);
    window->lower = window->lower ? rewriter_.max(window->lower, edge) : edge;
  }
  return true;
}

bool Collapse::narrow(UOp clause, Window* window) {
  bool negated = clause.is(Op::CmpNe) && clause.src(0).dtype().is_bool() &&
                 clause.src(0).is(Op::CmpLt) && clause.src(1).is_const(1);
  UOp comparison = negated ? clause.src(0) : clause;
  if (!comparison.is(Op::CmpLt) && !comparison.is(Op::CmpEq)) return false;
  UOp a = as_index(comparison.src(0)), b = as_index(comparison.src(1));
  if (!a || !b) return false;
  LinearForm difference;
  if (negated) {  // not a < b: b - a - 1 < 0
    difference.add(b);
    difference.add(a, -1);
    difference.add_constant(-1);
  } else {
    difference.add(a);
    difference.add(b, -1);
  }
  return difference.valid() && narrow_linear(comparison.op(), difference, window);
}

UOp Collapse::count(const Window& window) {
  UOp size = range_.src(0), zero = rewriter_.index(0);
  UOp upper = window.upper ? rewriter_.min(window.upper, size) : size;
  UOp lower = window.lower ? rewriter_.max(window.lower, zero) : zero;
  UOp length = rewriter_.sub(upper, lower);
  return rewriter_.max(length, zero);
}

// Loads below `root` that vary with the range read at e instead, where `gate` holds. False where a
// Reduce inside closes a range that e varies with: it would be captured.
bool Collapse::gate_loads(UOp root, UOp e, UOp gate,
                          std::vector<std::pair<UOp, UOp>>* replacements) {
  struct Frame {
    UOp uop;
    usize next;
  };
  absl::flat_hash_set<const Node*> seen;
  std::vector<Frame> stack;
  auto push = [&](UOp uop) {
    if (varies(uop) && seen.insert(uop.node()).second) stack.push_back({uop, 0});
  };
  push(root);
  while (!stack.empty()) {
    Frame& top = stack.back();
    UOp uop = top.uop;
    if (top.next < uop.nsrc()) {
      push(uop.src(top.next++));
      continue;
    }
    stack.pop_back();
    if (uop.is(Op::Reduce)) {
      for (UOp range : uop.srcs().subspan(1)) {
        if (range.range_mask() & e.range_mask()) return false;
      }
    }
    if (uop.is(Op::Store) || uop.is(Op::End)) return false;
    if (!uop.is(Op::Load) || gate.is_const(1)) continue;
    UOp index = uop.src(0);
    if (!index.is(Op::Index)) return false;
    UOp element = rewriter_.substitute(index.src(1), *replacements), all = gate;
    if (index.nsrc() > 2) {
      UOp old = rewriter_.substitute(index.src(2), *replacements);
      all = rewriter_.land(all, old);
    }
    UOp masked = uop.nsrc() > 1 ? uop.src(1) : number(uop.dtype(), 0);
    UOp gated = rewriter_.make(Op::Index, index.dtype(), {index.src(0), element, all});
    replacements->push_back({uop, rewriter_.make(Op::Load, uop.dtype(), {gated, masked})});
  }
  return true;
}

// The one summand at r = e, 0 where e is outside the range.
UOp Collapse::at(const Product& product, UOp e) {
  if (varies(e)) return UOp();
  UOp below = rewriter_.lt(e, range_.src(0));
  UOp gate = rewriter_.ge(e, 0);
  gate = rewriter_.land(gate, below);
  std::vector<std::pair<UOp, UOp>> replacements = {{range_, e}};
  for (UOp condition : product.conditions) {
    if (!gate_loads(condition, e, gate, &replacements)) return UOp();
  }
  for (UOp factor : product.inside) {
    if (!gate_loads(factor, e, gate, &replacements)) return UOp();
  }
  for (UOp condition : product.conditions) {
    UOp there = rewriter_.substitute(condition, replacements);
    gate = rewriter_.land(gate, there);
  }
  UOp result;
  for (UOp factor : product.inside)
    result = multiply(result, rewriter_.substitute(factor, replacements));
  for (UOp factor : product.outside) result = multiply(result, factor);
  if (!result) result = number(product.dtype, 1);
  UOp nothing = number(product.dtype, 0);
  return rewriter_.where(gate, result, nothing);
}

UOp Collapse::sum_of_product(UOp value) {
  Product product;
  product.dtype = value.dtype();
  factor(value, &product);
  if (product.conditions.empty()) return UOp();
  Window window;
  bool known = true;
  for (UOp condition : product.conditions) known &= narrow(condition, &window);
  UOp result;
  if (window.equal) {
    result = at(product, window.equal);
  } else if (known && product.inside.empty()) {
    result = rewriter_.cast(count(window), product.dtype);
    for (UOp factor : product.outside) result = multiply(result, factor);
  }
  if (!result) return UOp();
  UOp gate;
  for (UOp clause : product.outer_gates) gate = gate ? rewriter_.land(gate, clause) : clause;
  if (!gate) return result;
  UOp nothing = number(product.dtype, 0);
  return rewriter_.where(gate, result, nothing);
}

UOp Collapse::sum(UOp value) {
  // Sums are summed term by term, and a Where without a zero branch as two masked values.
  Nodes pending = {value};
  UOp total;
  while (!pending.empty()) {
    UOp part = pending.back(), sum;
    pending.pop_back();
    if (!varies(part)) {
      UOp size = rewriter_.cast(range_.src(0), part.dtype());
      sum = rewriter_.mul(part, size);
    } else if (part.is(Op::Add)) {
      pending.push_back(part.src(1));
      pending.push_back(part.src(0));
      continue;
    } else if (part.is(Op::Where) && varies(part.src(0)) && !is_zero(part.src(1)) &&
               !is_zero(part.src(2))) {
      UOp nothing = number(part.dtype(), 0), negated = rewriter_.lnot(part.src(0));
      UOp first = rewriter_.where(part.src(0), part.src(1), nothing);
      UOp second = rewriter_.where(negated, part.src(2), nothing);
      UOp a = sum_of_product(first), b = a ? sum_of_product(second) : UOp();
      if (!b) return UOp();
      sum = rewriter_.add(a, b);
    } else {
      sum = sum_of_product(part);
    }
    if (!sum) return UOp();
    total = total ? rewriter_.add(total, sum) : sum;
  }
  return total;
}

}  // namespace

UOp collapse_sum(Rewriter& rewriter, UOp value, UOp range) {
  DType t = value.dtype();
  bool number = (t.is_int() || t.is_index() || t.is_float()) && t.lanes == 1;
  if (!number || !range.is(Op::Range)) return UOp();
  return Collapse(rewriter, range).sum(value);
}

}  // namespace doorbell::core
