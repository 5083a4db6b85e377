// One search, one substitution.
#include "codegen/lower/widen_products.h"

#include <absl/container/inlined_vector.h>

#include "core/uop/arena.h"

namespace doorbell::codegen {

using core::Op;
using core::UOp;

namespace {

bool is_multiplied_wide(core::DType t, const Caps& caps) {
  if (!t.is_float()) return false;
  if (!caps.has(t)) return t.bytes() < 4;  // f64 is not narrow
  for (usize i = 0; i < kTensorCoreCount; ++i) {
    if (caps.tensor_cores[i] && tensor_cores()[i].operand == t.scalar) return true;
  }
  return false;
}

}  // namespace

UOp widen_products(core::Rewriter& rewriter, UOp sink, const Caps& caps) {
  absl::InlinedVector<std::pair<UOp, UOp>, 2> replacements;
  for (UOp u : core::topological_order(rewriter.arena(), {&sink, 1})) {
    const bool sums = u.is(Op::Reduce) && u.reduce_op() == Op::Add &&
                      u.dtype() == core::dtypes::f32 && u.src(0).is(Op::Cast);
    if (!sums) continue;
    UOp product = u.src(0).src(0);
    if (!product.is(Op::Mul) || !is_multiplied_wide(product.dtype(), caps)) continue;
    UOp x = rewriter.make(Op::Cast, u.dtype(), {product.src(0)});
    UOp y = rewriter.make(Op::Cast, u.dtype(), {product.src(1)});
    replacements.push_back({u.src(0), rewriter.make(Op::Mul, u.dtype(), {x, y})});
  }
  return replacements.empty() ? sink : rewriter.substitute(sink, replacements);
}

}  // namespace doorbell::codegen
