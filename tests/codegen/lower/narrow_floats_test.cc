// Conversions of narrow floats on a target that takes subnormal f32 for zero, which this machine is
// made to be while a graph is evaluated.
#include "codegen/lower/narrow_floats.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "core/eval/float_format.h"
#include "core/rules/rules.h"
#include "tests/codegen/lower/batch_eval.h"
#include "tests/codegen/lower/lower_test_support.h"

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

namespace doorbell::codegen {
namespace {

using core::DType;
using core::UOp;
namespace dtypes = core::dtypes;

#if defined(__SSE2__)
class Flushing {
 public:
  // Results that are subnormal become zero (bit 15), so do operands (bit 6).
  Flushing() : before_(_mm_getcsr()) { _mm_setcsr(before_ | 0x8040); }
  ~Flushing() { _mm_setcsr(before_); }

 private:
  const u32 before_;
};

constexpr DType kNarrow[] = {dtypes::f16, dtypes::f8e4m3, dtypes::f8e5m2, dtypes::f8e4m3fnuz,
                             dtypes::f8e5m2fnuz};

TEST(NarrowFloats, NoSubnormalF32IsNeeded) {
  Caps caps = basic_caps();
  caps.flushes_subnormals = true;
  for (DType t : kNarrow) {
    SCOPED_TRACE(t.str());
    core::Arena arena;
    core::Rewriter rewriter(arena, core::simplify_rules());
    OpBuilder builder(rewriter, caps);
    UOp stored = operand(arena, stored_dtype(t, caps));
    UOp wide = wide_from_stored(builder, t, stored), back = round_to_stored(builder, t, wide);
    Batch all(usize{1} << t.bits());
    for (usize i = 0; i < all.size(); ++i) all[i] = i;
    Batch floats, bits;
    {
      Flushing flushing;
      floats = batch_eval(arena, wide, {{stored.id(), all}}, false);
      bits = batch_eval(arena, back, {{stored.id(), all}}, false);
    }
    for (usize i = 0; i < all.size(); ++i) {
      const f32 want = static_cast<f32>(core::float_from_bits(t.scalar, i));
      const f32 got = std::bit_cast<f32>(static_cast<u32>(floats[i]));
      if (std::isnan(want)) {
        EXPECT_TRUE(std::isnan(got)) << i;
        continue;
      }
      ASSERT_EQ(std::bit_cast<u32>(got), std::bit_cast<u32>(want))
          << i << ": " << got << ", " << want;
      if (std::isinf(want) && t != dtypes::f16) continue;  // f8e5m2 has none as results
      ASSERT_EQ(bits[i], i);
    }
  }
}
#endif

}  // namespace
}  // namespace doorbell::codegen
