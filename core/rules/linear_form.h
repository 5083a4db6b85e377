// LinearForm: an Index expression as a sum of factors times terms, plus a constant. The canonical
// form of Index sums is what build() makes of one: terms in a fixed order, each Mul(term, Const) or
// bare, chained to the left, the constant last. For simplifying across terms see index_sum.cc.
//
// A factor or constant beyond i64 makes the form invalid; a rule that gets one does not apply.
#pragma once

#include <span>

#include <absl/container/inlined_vector.h>

#include "core/rewrite/rewriter.h"
#include "core/rules/interval.h"

namespace doorbell::core {

struct LinearTerm {
  UOp base;  // neither Const nor Add nor Mul by a Const
  i64 factor = 0;
};

class LinearForm {
 public:
  LinearForm() = default;
  static LinearForm of(UOp uop);

  void add(UOp node, i64 scale = 1);
  void add(const LinearForm& other, i64 factor = 1);
  void add_term(UOp base, i64 factor);  // merges with a term of the same base
  void add_constant(i64 value);
  void remove(usize term) { terms_.erase(terms_.begin() + static_cast<std::ptrdiff_t>(term)); }

  bool valid() const { return valid_; }
  void invalidate() { valid_ = false; }
  std::span<const LinearTerm> terms() const { return terms_; }
  usize size() const { return terms_.size(); }
  const LinearTerm& operator[](usize i) const { return terms_[i]; }
  i64 constant() const { return constant_; }
  void set_constant(i64 value) { constant_ = value; }
  // The factor of a base; 0 where there is no such term.
  i64 factor_of(UOp base) const;
  Interval bounds() const;
  // Greatest common divisor of the factors, and of `with`.
  i64 gcd(i64 with = 0) const;

  void sort();
  // Interned as canonical: nothing across its terms is left to simplify.
  UOp build(Rewriter& rewriter);

 private:
  absl::InlinedVector<LinearTerm, 6> terms_;
  i64 constant_ = 0;
  bool valid_ = true;
};

// The fixed order of operands: by the innermost Range they vary with (outer first, so that a prefix
// of a sum is constant in an inner loop), then by op, structure and age.
bool ordered_before(UOp a, UOp b);

}  // namespace doorbell::core
