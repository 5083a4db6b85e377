// Contractions by words (opt/tile_dots.cc), of sizes that are no multiples of words, tiles or
// vectors, against loops of this file: as the definition of linear programs has it, and as machine
// code, where the CPU has the instructions by them.
#include <algorithm>
#include <bit>
#include <random>

#include "codegen/linear/dot.h"
#include "codegen/lower/lower.h"
#include "codegen/opt/heuristic.h"
#include "codegen/render/cpu_caps.h"
#include "tests/codegen/render/cpu_kernel.h"
#include "tests/codegen/support/kernels.h"
#include "tests/codegen/support/run_linear.h"

namespace doorbell::codegen::testing {
namespace {

using core::DType;
using core::Op;
using core::UOp;
namespace dt = core::dtypes;

struct Sizes {
  i64 m, n, k;
};

Caps word_caps() {
  Caps caps = cpu_caps();
  caps.vector_bytes = 64, caps.vector_registers = 32;
  caps.ops.set(static_cast<usize>(Op::Wmma));
  return caps;
}

// out[m, n] = sum over k of a[m, k] * b[k, n], or b[n, k], each converted to i32 or f32.
core::KernelAst product(DType left, DType right, Sizes s, bool transposed) {
  KernelBuilder k;
  const DType wide = left.is_float() ? dt::f32 : dt::i32;
  UOp out = k.param(0, s.m * s.n, wide);
  UOp a = k.param(1, s.m * s.k, left), b = k.param(2, s.k * s.n, right);
  UOp i = k.loop(s.m), j = k.loop(s.n), r = k.reduced(s.k);
  UOp x = k.load(a, k.add(k.mul(i, s.k), r));
  UOp y = k.load(b, transposed ? k.add(k.mul(j, s.k), r) : k.add(k.mul(r, s.n), j));
  x = k.arena().make(Op::Cast, wide, {x}), y = k.arena().make(Op::Cast, wide, {y});
  UOp sum = k.reduce(Op::Add, k.mul(x, y), {r});
  return k.store(out, k.add(k.mul(i, s.n), j), sum, {i, j});
}

// An operand, as in memory and as numbers: bytes of which many are extremes, or small whole numbers
// in bf16, whose sums are exact.
struct Values {
  std::vector<u8> memory;
  std::vector<i32> numbers;

  Values(DType t, i64 count, u32 seed) {
    std::mt19937 random(seed);
    for (i64 n = 0; n < count; ++n) {
      i32 number = static_cast<i32>(random() % 33) - 16;
      if (!t.is_float()) {
        const i32 low = t.is_unsigned() ? 0 : -128;
        const i32 edges[] = {low, low + 255, low + static_cast<i32>(random() % 256)};
        number = edges[random() % 3];
        memory.push_back(static_cast<u8>(number));
      } else {
        const u32 bits = std::bit_cast<u32>(static_cast<f32>(number));
        memory.insert(memory.end(), {static_cast<u8>(bits >> 16), static_cast<u8>(bits >> 24)});
      }
      numbers.push_back(number);
    }
  }
};

struct Trial {
  DType left, right;
  Sizes s;
  bool transposed;
  Values a{left, s.m* s.k, 1}, b{right, s.k* s.n, 2};
  std::vector<u32> out = std::vector<u32>(static_cast<usize>(s.m * s.n), 0xdead);

  std::vector<void*> params() { return {out.data(), a.memory.data(), b.memory.data()}; }
  std::vector<u32> expected() const {
    std::vector<u32> sums;
    const auto at = [](const Values& v, i64 n) { return v.numbers[static_cast<usize>(n)]; };
    for (i64 i = 0; i < s.m; ++i) {
      for (i64 j = 0; j < s.n; ++j) {
        i32 sum = 0;
        for (i64 k = 0; k < s.k; ++k)
          sum += at(a, i * s.k + k) * at(b, transposed ? j * s.k + k : k * s.n + j);
        sums.push_back(left.is_float() ? std::bit_cast<u32>(static_cast<f32>(sum))
                                       : static_cast<u32>(sum));
      }
    }
    return sums;
  }
};

using Pair = std::pair<DType, DType>;
constexpr Pair kPairs[] = {{dt::i8, dt::i8}, {dt::u8, dt::i8}, {dt::bf16, dt::bf16}};

TEST(Dot, SumsBlocksOfWordsOfAnySize) {
  std::mt19937 random(18);
  const auto pick = [&](i64 n) { return static_cast<i64>(random() % static_cast<u32>(n)); };
  for (int round = 0; round < 60; ++round) {
    const auto& [left, right] = kPairs[round % 3];
    const Sizes sizes{2 + pick(8), 2 + pick(40), 2 + pick(30)};
    Trial run{left, right, sizes, pick(2) == 0};
    const core::KernelAst ast = product(left, right, sizes, run.transposed);
    const i64 parts = 4 / left.bytes(), rows = 1 + pick(3), lanes = i64{2} << pick(5);
    const Plan plan{{OptOp::Tile, 2, parts * (1 + pick(4))},
                    {OptOp::Tile, 1, lanes * (1 + pick(2))},
                    {OptOp::Tile, 0, rows * (1 + pick(3))},
                    {OptOp::Upcast, 0, rows},
                    {OptOp::Vector, 1, lanes},
                    {OptOp::Stage, 1, parts},
                    {OptOp::Stage, 2, parts}};
    core::Arena arena;
    const LinearProgram program = lower(ast, word_caps(), arena, {.plan = &plan});
    run_linear(program, run.params());
    ASSERT_EQ(run.out, run.expected()) << round << " interpreted, " << print(plan);
    const CpuTarget& target = cpu_target("LLVM");
    if (!target.missing.empty()) continue;
    std::ranges::fill(run.out, 0xdead);
    const RunningKernel kernel = compile_for(target, program);
    for (i64 part = 0; part < program.threads; ++part) kernel(run.params(), {}, part);
    ASSERT_EQ(run.out, run.expected()) << round << " compiled, " << print(plan);
  }
}

// 7 * 4 products of 255 and -128, or of -128 and -128, exceed 16 bits, in which VPMADDUBSW would
// saturate.
TEST(Dot, SumsExtremesOfBytesExactly) {
  for (const auto& [left, right] : {kPairs[0], kPairs[1]}) {
    Trial run{left, right, {3, 17, 29}, false};
    std::ranges::fill(run.a.memory, left.is_unsigned() ? 0xff : 0x80);
    std::ranges::fill(run.b.memory, 0x80);
    const Plan plan{{OptOp::Tile, 2, 16},   {OptOp::Tile, 1, 16}, {OptOp::Upcast, 0, 3},
                    {OptOp::Vector, 1, 16}, {OptOp::Stage, 1, 4}, {OptOp::Stage, 2, 4}};
    core::Arena arena;
    const LinearProgram program =
        lower(product(left, right, run.s, false), word_caps(), arena, {.plan = &plan});
    const i32 sum = 29 * (left.is_unsigned() ? 255 : -128) * -128;
    const std::vector<u32> expected(run.out.size(), static_cast<u32>(sum));
    run_linear(program, run.params());
    EXPECT_EQ(run.out, expected);
    if (!cpu_target("LLVM").missing.empty()) continue;
    compile_for(cpu_target("LLVM"), program)(run.params());
    EXPECT_EQ(run.out, expected);
  }
}

// The heuristic's plans, where this CPU has the instructions.
TEST(Dot, IsOneInstructionWhereTheCpuHasIt) {
  const CpuTarget& target = cpu_target("LLVM");
  if (!target.missing.empty()) GTEST_SKIP() << target.missing;
  const Caps caps = cpu_caps();
  if (!caps.dot_products) GTEST_SKIP() << "this CPU lacks AVX512_BF16 or AVX512_VNNI";
  for (const auto& [left, right] : kPairs) {
    Trial run{left, right, {131, 259, 67}, left.is_unsigned()};
    core::Arena arena;
    const LinearProgram program = lower(product(left, right, run.s, run.transposed), caps, arena);
    const std::string words = "STAGE(1," + std::to_string(4 / left.bytes()) + ")";
    EXPECT_NE(program.plan.find(words), std::string::npos) << program.plan;
    Result<std::vector<u8>> object = target.compiler->compile(program, "");
    ASSERT_TRUE(object) << to_string(object.error());
    Result<std::string> text = target.compiler->disassemble(*object);
    ASSERT_TRUE(text) << to_string(text.error());
    EXPECT_NE(text->find(left.is_float() ? "vdpbf16ps" : "vpdpbusd"), std::string::npos);
    // The word of A that all lanes share is read by the instruction itself.
    if (left.is_float()) {
      EXPECT_NE(text->find("{1to16}"), std::string::npos);
    }
    const RunningKernel kernel = compile_for(target, program);
    for (i64 part = 0; part < program.threads; ++part) kernel(run.params(), {}, part);
    EXPECT_EQ(run.out, run.expected()) << program.plan;
  }
}

// No instruction takes unsigned bytes of B.
TEST(Dot, LeavesOtherProductsAsTheyAre) {
  for (const auto& [left, right] : {Pair{dt::u8, dt::u8}, Pair{dt::i8, dt::u8}}) {
    const core::KernelAst ast = product(left, right, {128, 128, 128}, false);
    core::Arena arena;
    const Plan plan = choose_plan(merged_info(ast, arena), word_caps());
    EXPECT_EQ(find_opt(plan, OptOp::Stage)->amount, 1) << print(plan);
  }
}

}  // namespace
}  // namespace doorbell::codegen::testing
