// The form of compiled kernels on disk.
#include "codegen/compile/kernel_binary.h"

#include <gtest/gtest.h>

namespace doorbell::codegen {
namespace {

KernelBinary sample() {
  KernelBinary k;
  k.name = "E_4_8";
  k.params = {{core::dtypes::f32, 32, true}, {core::dtypes::bool_, 7, false, true}};
  k.variables = {core::intern_name("rows"), core::intern_name("start_pos")};
  k.threads = 4;
  k.grid_groups[1] = 5;
  k.group_items[2] = 6;
  k.dynamic_shared_bytes = 98304;
  k.tensor_maps = {{1, 64, 2, {{100, 2, 64}, {40, 208, 8}}}};
  k.flops = 1e9;
  k.bytes = 2.5;
  k.image = {1, 2, 3, 0, 255};
  return k;
}

TEST(KernelBinary, RefusesEveryChangedByte) {
  std::vector<u8> bytes = encode(sample());
  for (usize i = 0; i < bytes.size(); ++i) {
    std::vector<u8> changed = bytes;
    changed[i] ^= 0x10;
    EXPECT_FALSE(decode(changed)) << "byte " << i;
  }
}

TEST(KernelBinary, RefusesEveryOtherLength) {
  std::vector<u8> bytes = encode(sample());
  for (usize i = 0; i < bytes.size(); ++i) EXPECT_FALSE(decode(std::span(bytes).first(i))) << i;
  bytes.push_back(0);
  EXPECT_FALSE(decode(bytes));
}

TEST(KernelBinary, SaysWhatIsWrong) {
  std::vector<u8> bytes = encode(sample());
  bytes[8] = 9;
  auto decoded = decode(bytes);
  ASSERT_FALSE(decoded);
  EXPECT_EQ(decoded.error().message,
            "magic 0x314c454e52454b44 version 9, expected 0x314c454e52454b44 version 4");
}

TEST(KernelBinary, ComesBackAsItWas) {
  KernelBinary expected = sample();
  auto decoded = decode(encode(expected));
  ASSERT_TRUE(decoded) << to_string(decoded.error());
  EXPECT_EQ(decoded->name, "E_4_8");
  ASSERT_EQ(decoded->params.size(), 2u);
  EXPECT_EQ(decoded->params[0].dtype, core::dtypes::f32);
  EXPECT_EQ(decoded->params[0].count, 32);
  EXPECT_TRUE(decoded->params[0].written);
  EXPECT_EQ(decoded->params[1].dtype, core::dtypes::bool_);
  EXPECT_FALSE(decoded->params[1].written);
  EXPECT_FALSE(decoded->params[0].image);
  EXPECT_TRUE(decoded->params[1].image);
  EXPECT_EQ(decoded->variables, expected.variables);
  EXPECT_EQ(decoded->threads, 4);
  EXPECT_EQ(decoded->grid_groups[1], 5);
  EXPECT_EQ(decoded->group_items[2], 6);
  EXPECT_EQ(decoded->dynamic_shared_bytes, 98304);
  EXPECT_EQ(decoded->tensor_maps, expected.tensor_maps);
  EXPECT_EQ(decoded->flops, 1e9);
  EXPECT_EQ(decoded->bytes, 2.5);
  EXPECT_EQ(decoded->image, expected.image);
}

}  // namespace
}  // namespace doorbell::codegen
