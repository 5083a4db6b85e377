// Index expressions as sums of terms by range. The optimiser's stride analysis and the expander's
// vector accesses use this; core/rules simplifies expressions.
#pragma once

#include <absl/container/inlined_vector.h>

#include <optional>

#include "core/rewrite/rewriter.h"

namespace doorbell::codegen {

// expr = constant + sum(coefficient * range) + sum(coefficient * other).
struct Affine {
  struct Term {
    core::UOp value;
    i64 coefficient;
  };
  i64 constant = 0;
  absl::InlinedVector<Term, 6> ranges;  // Range nodes, each once
  absl::InlinedVector<Term, 2> others;  // anything that is not a Range or constant
  u64 nonlinear_mask = 0;               // ranges that occur inside `others`

  // The factor of Range `id`; empty if it occurs non-linearly.
  std::optional<i64> coefficient(i64 id) const {
    if (nonlinear_mask >> id & 1) return std::nullopt;
    for (const Term& t : ranges) {
      if (t.value.range_id() == id) return t.coefficient;
    }
    return 0;
  }
};

Affine to_affine(core::UOp expr);

// expr = base + stride * range, with base free of the range; empty if it does not have that form.
struct LinearIn {
  core::UOp base;
  i64 stride;
};
std::optional<LinearIn> linear_in(core::Rewriter& rewriter, core::UOp expr, core::UOp range);

}  // namespace doorbell::codegen
