// Abacus, the example of docs/adding-a-backend.md: its instruction set, its faults, and tensors on
// it. Expected values are literals. The conformance suite runs on it too.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <numeric>

#include "core/device/registry.h"
#include "examples/backend/assembler.h"
#include "examples/backend/backend.h"
#include "examples/backend/chip.h"
#include "runtime/doorbell.h"
#include "runtime/extension.h"
#include "runtime/runtime.h"

namespace doorbell::abacus {
namespace {

using codegen::LinearProgram;

Result<std::vector<u8>> assemble(std::string_view text) {
  return make_assembler()->compile(LinearProgram(), text);
}

std::string error_of(const auto& result) { return result ? "no error" : result.error().message; }

// Runs a program that leaves 8 bytes at address 0.
u64 result_of(const std::string& text) {
  Result<std::vector<u8>> image = assemble(text + "\nli r9 0\nst.u64 r9 r0\nhalt\n");
  EXPECT_TRUE(image) << error_of(image);
  Result<Code> code = decode(*image);
  EXPECT_TRUE(code) << error_of(code);
  Chip chip(64);
  Result<void> ran = chip.run(*code, {}, {});
  EXPECT_TRUE(ran) << error_of(ran);
  u64 value = 0;
  EXPECT_TRUE(chip.read(&value, 0, 8));
  return value;
}

TEST(Chip, IntegersWrapToTheirType) {
  EXPECT_EQ(result_of("li r1 127\nli r2 1\nadd.i8 r0 r1 r2"), static_cast<u64>(-128));
  EXPECT_EQ(result_of("li r1 255\nli r2 1\nadd.u8 r0 r1 r2"), 0u);
  EXPECT_EQ(result_of("li r1 -2147483648\nli r2 -1\ncdiv.i32 r0 r1 r2"),
            static_cast<u64>(i64{-2147483648}));
  EXPECT_EQ(result_of("li r1 5\nli r2 0\ncdiv.i32 r0 r1 r2"), 0u);
  EXPECT_EQ(result_of("li r1 -8\nli r2 1\nshr.i32 r0 r1 r2"), static_cast<u64>(-4));
  EXPECT_EQ(result_of("li r1 1\nli r2 32\nshl.i32 r0 r1 r2"), 0u);
}

TEST(Chip, FloatsConvertByTruncatingAndSaturating) {
  // 1077936128 is 3.0f, 1325400064 is 2^31 as a float, 2143289344 a NaN.
  EXPECT_EQ(result_of("li r1 1077936128\ncast.i32.f32 r0 r1"), 3u);
  EXPECT_EQ(result_of("li r1 1325400064\ncast.i32.f32 r0 r1"), 2147483647u);
  EXPECT_EQ(result_of("li r1 2143289344\ncast.i32.f32 r0 r1"), 0u);
  EXPECT_EQ(result_of("li r1 3\ncast.f32.i32 r0 r1"), 1077936128u);
}

TEST(Chip, LoopsCount) {
  EXPECT_EQ(result_of("li r0 0\nli r1 0\nli r2 10\nli r3 1\n"
                      "loop0:\njge r1 r2 end0\nadd.i64 r0 r0 r1\nadd.i64 r1 r1 r3\n"
                      "jmp loop0\nend0:"),
            45u);
}

TEST(Chip, BadAddressesAreFaults) {
  Result<std::vector<u8>> image = assemble("li r0 60\nld.u64 r1 r0\nhalt\n");
  ASSERT_TRUE(image);
  Chip chip(64);
  Result<void> ran = chip.run(*decode(*image), {}, {});
  ASSERT_FALSE(ran);
  EXPECT_EQ(ran.error().kind, ErrorKind::DeviceLost);
  EXPECT_EQ(ran.error().message, "fault: 8 bytes at 0x3c, where memory ends at 0x40");
}

TEST(Assembler, SaysWhatIsWrong) {
  EXPECT_EQ(error_of(assemble("frob r1")), "no opcode frob");
  EXPECT_EQ(error_of(assemble("add.f99 r1 r2 r3")), "no type f99");
  EXPECT_EQ(error_of(assemble("add.f32 r1 r2")), "add.f32 lacks operand b");
  EXPECT_EQ(error_of(assemble("jmp nowhere")), "no label nowhere");
  EXPECT_EQ(error_of(assemble("li r1 x")), "x is no number");
}

TEST(Assembler, DisassemblesWhatItMade) {
  Result<std::vector<u8>> image = assemble("li r0 -7\nloop1:\ncast.f32.i32 r1 r0\njmp loop1\n");
  ASSERT_TRUE(image);
  Result<std::string> text = make_assembler()->disassemble(*image);
  ASSERT_TRUE(text);
  EXPECT_EQ(*text, "    0: li r0 -7\n    1: cast.f32.i32 r1 r0\n    2: jmp @1\n");
}

TEST(Image, WhatTheAssemblerDidNotWriteIsRefused) {
  std::vector<u8> good = *assemble("li r1 5\nadd.i32 r0 r1 r1\nhalt\n");
  ASSERT_TRUE(decode(good));
  for (usize length = 0; length < good.size(); ++length)
    EXPECT_FALSE(decode(std::span(good).first(length))) << length;
  auto changed = [&](usize at, u8 value) {
    std::vector<u8> bytes = good;
    bytes[at] = value;
    return error_of(decode(bytes));
  };
  const usize add = sizeof(ImageHeader) + sizeof(Instruction);
  EXPECT_EQ(changed(add, 99), "instruction 1 has opcode 99, expected less than 25");
  EXPECT_EQ(changed(add + 1, 10), "instruction 1: operand t of add is 10, expected less than 10");
  EXPECT_EQ(changed(add + 8, 2), "instruction 1: operand a of add is 2, expected less than 2");
  // Whatever the bytes, an image is refused or stays within its tables.
  u32 state = 1;
  for (int round = 0; round < 2000; ++round) {
    std::vector<u8> bytes = good;
    for (int i = 0; i < 3; ++i) {
      state = state * 1664525u + 1013904223u;
      bytes[state % bytes.size()] = static_cast<u8>(state >> 24);
    }
    Result<Code> code = decode(bytes);
    if (!code) continue;
    for (const Instruction& at : code->instructions) {
      EXPECT_LT(static_cast<int>(at.opcode), 25);
      EXPECT_LT(at.opcode == Opcode::add ? at.b : 0, code->registers);
    }
  }
}

// The runtime takes new kinds of devices before its first tensor only.
class Abacus : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    ASSERT_TRUE(add_abacus());
    ASSERT_EQ(error_of(add_abacus()),
              "device ABACUS with renderer ABACUS: ABACUS has one of the names");
    ASSERT_TRUE(runtime::initialize());
    runtime::DeviceKind late{.name = "LATE"};
    ASSERT_EQ(error_of(runtime::add_device_kind(late)),
              "device LATE comes too late: the runtime has started");
  }
};

TEST_F(Abacus, ComputesWithoutAnInstructionForIt) {
  Tensor x = Tensor::of({0.5, 1.0, 4.0}, {.device = "ABACUS"});
  EXPECT_EQ(x.device(), "ABACUS");
  const std::vector<f32> sine = x.sin().to_vector<f32>(), power = x.exp2().to_vector<f32>();
  EXPECT_NEAR(sine[0], 0.479425539, 1e-6);  // of tables
  EXPECT_NEAR(sine[2], -0.756802495, 1e-6);
  EXPECT_EQ(power[1], 2.0f);
  EXPECT_EQ(power[2], 16.0f);
  EXPECT_EQ(x.max().item<f32>(), 4.0f);
  EXPECT_EQ(x.cast(dtypes::f16).sum().item<f32>(), 5.5f);
}

TEST_F(Abacus, MultipliesMatrices) {
  Tensor a = Tensor::of({{1.0, 2.0}, {3.0, 4.0}}, {.device = "ABACUS"});
  EXPECT_EQ(a.matmul(a).to_vector<f32>(), (std::vector<f32>{7, 10, 15, 22}));
}

TEST_F(Abacus, MovesToTheCpuAndBack) {
  std::vector<i32> numbers(1000);
  std::iota(numbers.begin(), numbers.end(), 0);
  const Tensor x = Tensor::from_data(numbers, {1000}), computed = Tensor::arange(1000);
  for (const Tensor& there : {x.to("ABACUS:1"), computed.to("ABACUS:1")})
    EXPECT_EQ((there * 2).to("CPU").sum().item<i64>(), 999000);
}

TEST_F(Abacus, FullMemoryIsAnError) {
  try {
    Tensor::ones({300 << 20}, {.dtype = dtypes::u8, .device = "ABACUS"}).contiguous().realize();
    FAIL() << "300 MiB fit";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind, ErrorKind::OutOfMemory) << error.message;
  }
  EXPECT_EQ(Tensor::ones({4}, {.device = "ABACUS"}).sum().item<f32>(), 4.0f);
}

TEST_F(Abacus, WhatItLacksIsRefusedByName) {
  try {
    Tensor::of({1.0, 2.0}, {.dtype = dtypes::f64, .device = "ABACUS"}).exp2().realize();
    FAIL() << "f64 is not among the caps";
  } catch (const Error& error) {
    EXPECT_NE(error.message.find("float64"), std::string::npos) << error.message;
  }
}

}  // namespace
}  // namespace doorbell::abacus
