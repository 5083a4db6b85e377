// LinearForm: taking sums apart and putting them together.
#include "core/rules/linear_form.h"

#include <algorithm>
#include <numeric>

namespace doorbell::core {
namespace {

// Written part by part: copying a pair that was just built on the stack stalls on store forwarding,
// which took a tenth of the time of index arithmetic.
template <class Terms>
void append(Terms* terms, UOp base, i64 factor) {
  LinearTerm& term = terms->emplace_back();
  term.base = base;
  term.factor = factor;
}

}  // namespace

bool ordered_before(UOp a, UOp b) {
  if (a == b) return false;
  if (a.range_mask() != b.range_mask()) return a.range_mask() < b.range_mask();
  if (a.op() != b.op()) return a.op() < b.op();
  if (a.node()->hash != b.node()->hash) return a.node()->hash < b.node()->hash;
  return a.id() < b.id();
}

LinearForm LinearForm::of(UOp uop) {
  LinearForm form;
  form.add(uop, 1);
  return form;
}

void LinearForm::add_constant(i64 value) {
  std::optional<i64> sum = checked_add(constant_, value);
  if (sum)
    constant_ = *sum;
  else
    valid_ = false;
}

void LinearForm::add_term(UOp base, i64 factor) {
  if (factor == 0) return;
  if (base.vmin() == base.vmax() && is_finite(base.vmin())) {
    std::optional<i64> product = checked_mul(base.vmin(), factor);
    if (product)
      add_constant(*product);
    else
      valid_ = false;
    return;
  }
  for (usize i = 0; i < terms_.size(); ++i) {
    if (terms_[i].base != base) continue;
    std::optional<i64> sum = checked_add(terms_[i].factor, factor);
    if (!sum)
      valid_ = false;
    else if (*sum == 0)
      remove(i);
    else
      terms_[i].factor = *sum;
    return;
  }
  append(&terms_, base, factor);
}

void LinearForm::add(UOp node, i64 scale) {
  absl::InlinedVector<LinearTerm, 8> pending;
  while (true) {
    // Left-nested chains are walked down their left side.
    while (node.is(Op::Add)) {
      append(&pending, node.src(1), scale);
      node = node.src(0);
    }
    if (node.is(Op::Mul) && node.src(1).is_const()) {
      std::optional<i64> product = checked_mul(scale, node.src(1).const_int());
      if (product && node.src(0).is(Op::Add)) {
        node = node.src(0);
        scale = *product;
        continue;
      }
      if (product)
        add_term(node.src(0), *product);
      else
        valid_ = false;
    } else if (!node.is_const()) {
      add_term(node, scale);
    } else {
      std::optional<i64> product = checked_mul(scale, node.const_int());
      if (product)
        add_constant(*product);
      else
        valid_ = false;
    }
    if (pending.empty()) return;
    node = pending.back().base;
    scale = pending.back().factor;
    pending.pop_back();
  }
}

void LinearForm::add(const LinearForm& other, i64 factor) {
  valid_ = valid_ && other.valid_;
  for (const LinearTerm& term : other.terms_) {
    std::optional<i64> product = checked_mul(term.factor, factor);
    if (product)
      add_term(term.base, *product);
    else
      valid_ = false;
  }
  std::optional<i64> product = checked_mul(other.constant_, factor);
  if (product)
    add_constant(*product);
  else
    valid_ = false;
}

i64 LinearForm::factor_of(UOp base) const {
  for (const LinearTerm& term : terms_) {
    if (term.base == base) return term.factor;
  }
  return 0;
}

Interval LinearForm::bounds() const {
  Interval sum{constant_, constant_};
  for (const LinearTerm& term : terms_) sum.add(Interval::of(term.base, term.factor));
  return sum;
}

i64 LinearForm::gcd(i64 with) const {
  i64 g = with;
  for (const LinearTerm& term : terms_) g = std::gcd(g, term.factor);
  return g;
}

void LinearForm::sort() {
  // The order is total, so any sort gives the same.
  std::sort(terms_.begin(), terms_.end(), [](const LinearTerm& a, const LinearTerm& b) {
    return ordered_before(a.base, b.base);
  });
}

UOp LinearForm::build(Rewriter& rewriter) {
  sort();
  UOp sum;
  for (const LinearTerm& term : terms_) {
    UOp node = term.base;
    if (term.factor != 1) {
      UOp factor = rewriter.index(term.factor);
      node = rewriter.make_canonical(Op::Mul, dtypes::index, {node, factor});
    }
    sum = sum ? rewriter.make_canonical(Op::Add, dtypes::index, {sum, node}) : node;
  }
  if (constant_ == 0 && sum) return sum;
  UOp constant = rewriter.index(constant_);
  return sum ? rewriter.make_canonical(Op::Add, dtypes::index, {sum, constant}) : constant;
}

}  // namespace doorbell::core
