// A sum is a multiple of what its terms are.
#include "codegen/linear/multiple.h"

#include <absl/container/inlined_vector.h>

#include <algorithm>

namespace doorbell::codegen {

using core::Op;
using core::UOp;

namespace {

constexpr i64 kMax = 64;

// The power of two in a product; saturates.
i64 power_of(i64 value) {
  i64 power = 1;
  while (power < kMax && value % (2 * power) == 0) power *= 2;
  return power;
}

}  // namespace

i64 known_multiple(UOp expr) {
  struct Term {
    UOp value;
    i64 factor;  // a power of two
  };
  i64 multiple = kMax;
  absl::InlinedVector<Term, 8> stack{{expr, 1}};
  while (!stack.empty()) {
    auto [e, factor] = stack.back();
    stack.pop_back();
    if (factor >= multiple) continue;
    if (e.is_const()) {
      multiple = std::min(multiple, factor * power_of(e.const_int()));
    } else if (e.is(Op::Add) || e.is(Op::Sub)) {
      stack.push_back({e.src(0), factor});
      stack.push_back({e.src(1), factor});
    } else if (e.is(Op::Mul) && (e.src(0).is_const() || e.src(1).is_const())) {
      UOp constant = e.src(0).is_const() ? e.src(0) : e.src(1);
      UOp other = e.src(0).is_const() ? e.src(1) : e.src(0);
      stack.push_back({other, std::min(kMax, factor * power_of(constant.const_int()))});
    } else if (e.is(Op::Shl) && e.src(1).is_const() && e.src(1).const_int() < 6) {
      stack.push_back({e.src(0), std::min(kMax, factor << e.src(1).const_int())});
    } else if (e.is(Op::Cast) && (e.src(0).dtype().is_int() || e.src(0).dtype().is_index())) {
      stack.push_back({e.src(0), factor});
    } else {
      multiple = std::min(multiple, factor);
    }
  }
  return multiple;
}

}  // namespace doorbell::codegen
