// Kernels whose loops are far longer than any machine runs: planning and lowering take a number of
// steps that does not grow with the loops. A scan over a size would hang here. Lengths are primes
// and round numbers near 2^31, 2^40 and 2^62.
#include <gtest/gtest.h>

#include "codegen/lower/lower.h"
#include "codegen/opt/heuristic.h"
#include "tests/codegen/support/group_caps.h"
#include "tests/codegen/support/kernels.h"

namespace doorbell::codegen {
namespace {

using core::KernelAst;
using core::Op;

constexpr i64 kPrime31 = 2147483647;           // 2^31 - 1
constexpr i64 kPrime40 = 1099511627689;        // 2^40 - 87
constexpr i64 kPrime61 = 2305843009213693951;  // 2^61 - 1
constexpr i64 kTrillion = 1000000000000;
constexpr i64 kLengths[] = {kPrime31,
                            i64{1} << 31,
                            kPrime40,
                            kTrillion,
                            kPrime61,
                            i64{1} << 61,
                            (i64{1} << 62) - 57,
                            i64{3} * 715827883 * 1000};

Caps cpu_caps() {
  Caps caps;
  caps.ops.set();
  caps.dtypes.set();
  caps.storage_dtypes.set();
  caps.masked_access = true;
  caps.host_threads = true;
  caps.threads = 64;
  caps.private_arrays = true;
  caps.vector_bytes = 64;
  caps.vector_registers = 32;
  caps.l1_bytes = 48 << 10;
  caps.l2_bytes = 64 << 20;
  return caps;
}

Caps gpu_caps() {
  Caps caps = group_caps();
  caps.max_local = caps.max_local_axis[0] = caps.max_local_axis[1] = 1024;
  caps.max_local_axis[2] = 64;
  caps.max_shared_bytes = 48 << 10;
  caps.max_global[0] = INT32_MAX;
  caps.max_global[1] = caps.max_global[2] = 65535;
  return caps;
}

// Under both kinds of targets. The plan is bounded, and so is what is lowered by it.
void expect_lowers(const KernelAst& ast) {
  for (const Caps& caps : {cpu_caps(), gpu_caps()}) {
    core::Arena arena;
    const LinearProgram program = lower(ast, caps, arena);
    EXPECT_LT(program.ops.size(), 5000u);
  }
}

TEST(HugeLoops, Elementwise) {
  for (i64 n : kLengths) expect_lowers(add_kernel(n));
}

TEST(HugeLoops, RowsThatAreReduced) {
  for (i64 n : kLengths) {
    expect_lowers(row_reduce_kernel(Op::Add, 1, n));
    expect_lowers(row_reduce_kernel(Op::Max, n, 1));
    if (n < kPrime61) expect_lowers(row_reduce_kernel(Op::Add, 1000003, n));
    if (n < kPrime61) expect_lowers(row_reduce_kernel(Op::Add, n, 1000003));
  }
}

TEST(HugeLoops, RowsThatAreReadTwice) {
  for (i64 n : {kPrime31, kPrime40, kTrillion}) {
    expect_lowers(two_row_sums_kernel(n, 17));
    expect_lowers(two_row_sums_kernel(1009, n));
  }
}

TEST(HugeLoops, Transpositions) {
  expect_lowers(transpose_kernel(kPrime31, kPrime31 / 2));
  expect_lowers(transpose_kernel(kPrime40, 1 << 20));
  expect_lowers(transpose_kernel(7, kPrime40));
}

TEST(HugeLoops, Contractions) {
  expect_lowers(matmul_kernel(kPrime31, 1024, 1024));
  expect_lowers(matmul_kernel(1024, 1024, kPrime40));
  expect_lowers(matmul_kernel(1 << 20, kPrime31, 64, true));
}

TEST(HugeLoops, LargestDivisors) {
  using detail::largest_divisor;
  for (i64 n = 1; n < 200; ++n) {  // beside the definition
    for (i64 limit : {1, 7, 30, 250}) {
      i64 expected = 0;
      for (i64 d = 1; d <= limit; ++d) expected = n % d == 0 ? d : expected;
      EXPECT_EQ(largest_divisor(n, limit, 1), expected) << n << " " << limit;
    }
  }
  EXPECT_EQ(largest_divisor(kPrime61, INT32_MAX, 1), 1);
  EXPECT_EQ(largest_divisor(kPrime31, INT32_MAX, 1), kPrime31);
  EXPECT_EQ(largest_divisor(i64{1} << 40, INT32_MAX, 1), i64{1} << 30);
  EXPECT_EQ(largest_divisor(kTrillion, 1 << 20, 1), 1000000);
  const i64 product = i64{71} * 839 * 1471 * 6857;
  EXPECT_EQ(largest_divisor(product, 1000000, 1), 71 * 6857);
  EXPECT_EQ(largest_divisor(product * 4, 4000000, 4), 71 * 6857 * 4);
  EXPECT_EQ(largest_divisor(product, 4000000, 4), 0);
  EXPECT_EQ(largest_divisor(kPrime31 * 6, INT32_MAX, 1), kPrime31);
}

}  // namespace
}  // namespace doorbell::codegen
