// Names of kernels built by hand: what they say, that they are identifiers, and their length. Those
// of the tensor API's functions see tests/e2e/kernel_names_test.cc.
#include "codegen/lower/kernel_name.h"

#include <gtest/gtest.h>

#include <cctype>

#include "codegen/lower/lower.h"
#include "tests/codegen/support/kernels.h"

namespace doorbell::codegen {
namespace {

using core::KernelAst;
using core::Op;
using core::UOp;

std::string name_of(const KernelAst& ast, u64 key = 0xabcd) {
  core::Arena arena;
  return kernel_name(merged_info(ast, arena), key);
}

TEST(KernelName, SaysTheOperationsThenTheLoops) {
  EXPECT_EQ(name_of(add_kernel(24)), "add_24_0000abcd");
  EXPECT_EQ(name_of(matmul_kernel(8, 16, 32)), "matmul_add_relu_8_16_r32_0000abcd");
  EXPECT_EQ(name_of(matmul_kernel(8, 16, 32, true)), "matmul_add_relu_8_16_r32_0000abcd");
  EXPECT_EQ(name_of(conv_kernel(2, 3, 4, 8, 3, 1)), "conv_2_4_8_8_r3_r3_r3_0000abcd");
  EXPECT_EQ(name_of(row_reduce_kernel(Op::Max, 4, 5)), "max_4_r5_0000abcd");
  EXPECT_EQ(name_of(transpose_kernel(4, 5)), "permute_5_4_0000abcd");
  EXPECT_EQ(name_of(reverse_kernel(9)), "flip_9_0000abcd");
  EXPECT_EQ(name_of(gather_kernel(4, 5, 6)), "gather_5_4_0000abcd");
}

// Only the key distinguishes kernels with equal words and sizes; addresses do not matter.
TEST(KernelName, IsTheSameForEqualKernels) {
  EXPECT_EQ(name_of(matmul_kernel(8, 16, 32), 7), name_of(matmul_kernel(8, 16, 32), 7));
  EXPECT_NE(name_of(add_kernel(24), 7), name_of(add_kernel(24), 8));
}

// Every function there is, and every loop: the name stays an identifier of bounded length.
TEST(KernelName, IsAShortIdentifierWhateverTheKernel) {
  KernelBuilder b;
  UOp in = b.param(1, 1), out = b.param(0, 1);
  UOp place = b.arena().index(0), at = place;
  std::vector<UOp> loops;
  for (int i = 0; i < 20; ++i) {
    UOp loop = b.loop(1'000'003 + i);
    at = b.add(b.mul(at, 3), loop);
    loops.push_back(loop);
  }
  UOp value = b.load(in, at);
  for (Op op : {Op::Sin, Op::Sqrt, Op::Exp2, Op::Log2, Op::Recip, Op::Trunc, Op::Neg})
    value = b.add(b.arena().make(op, value.dtype(), {value}), value);
  UOp store = b.arena().make(Op::Store, core::dtypes::void_,
                             {b.arena().make(Op::Index, out.dtype(), {out, at}), value});
  loops.insert(loops.begin(), store);
  const std::string name = name_of(b.finish(b.arena().make(Op::End, core::dtypes::void_, loops)));
  EXPECT_LE(name.size(), kLongestKernelName) << name;
  EXPECT_TRUE(std::isalpha(name[0])) << name;
  for (char c : name) EXPECT_TRUE(std::isalnum(c) || c == '_') << name;
  EXPECT_EQ(name.substr(0, 22), "sin_sqrt_exp2_log2_100") << name;
}

}  // namespace
}  // namespace doorbell::codegen
