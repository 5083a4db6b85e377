// The known-answer vectors that Random123 1.14 publishes (tests/kat_vectors, threefry2x32 20).
#include "codegen/lower/threefry.h"

#include <gtest/gtest.h>

#include "core/rules/rules.h"
#include "tests/codegen/lower/batch_eval.h"
#include "tests/codegen/lower/lower_test_support.h"

namespace doorbell::codegen {
namespace {

using core::UOp;

TEST(Threefry, KnownAnswers) {
  core::Arena arena;
  core::Rewriter rewriter(arena, core::simplify_rules());
  Caps caps = basic_caps();
  OpBuilder builder(rewriter, caps);
  UOp counter = operand(arena, core::dtypes::u64, 0), key = operand(arena, core::dtypes::u64, 1);
  UOp root = builder.make(core::Op::Threefry, core::dtypes::u64, {counter, key});
  // counter 0 and 1, key 0 and 1, result 0 and 1 as printed there; the first word is the low one.
  const u64 vectors[][6] = {
      {0x00000000, 0x00000000, 0x00000000, 0x00000000, 0x6b200159, 0x99ba4efe},
      {0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0x1cb996fc, 0xbb002be7},
      {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344, 0xc4923a9c, 0x483df7a0}};
  Batch counters, keys, expected;
  for (const u64* v : vectors) {
    counters.push_back(v[0] | v[1] << 32);
    keys.push_back(v[2] | v[3] << 32);
    expected.push_back(v[4] | v[5] << 32);
  }
  EXPECT_EQ(batch_eval(arena, root, {{counter.id(), counters}, {key.id(), keys}}, false), expected);
}

}  // namespace
}  // namespace doorbell::codegen
