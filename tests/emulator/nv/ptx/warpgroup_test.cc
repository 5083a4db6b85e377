// Products of warp groups, chosen by DOORBELL_SEED: what PTX says they do, and what the machine
// code that NVIDIA's compiler makes of them does on the interpreter. Factors are small integers,
// whose sums are exact in any order.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <random>

#include "tests/emulator/nv/ptx/both.h"
#include "tests/emulator/nv/ptx/machine.h"

namespace doorbell::ptx {
namespace {

constexpr u32 kThreads = 128, kRightStart = 16384, kSharedBytes = 65536;

struct Factors {
  const char *sum, *factor;  // types
  const Format* format;      // of the factors; null: integers
  u32 bytes;                 // of a factor
};
constexpr Factors kFactors[] = {
    {"f32", "f16", &kF16, 2},   {"f16", "f16", &kF16, 2},   {"f32", "bf16", &kBf16, 2},
    {"f32", "e4m3", &kE4m3, 1}, {"f32", "e5m2", &kE5m2, 1}, {"s32", "s8", nullptr, 1},
    {"s32", "u8", nullptr, 1},
};

struct Product {
  Factors of;
  u32 columns = 8;
  std::array<u64, 2> descriptors{};
  std::array<bool, 2> transposes{};
  bool adds = true;
  std::array<int, 2> signs{1, 1};

  u32 registers() const { return columns / (std::strcmp(of.sum, "f16") == 0 ? 4 : 2); }
};

// Any distances will do: rows that overlap are multiplied like others.
u64 descriptor(std::mt19937_64& random, u32 start) {
  const u64 mode = random() % 4;
  const u64 units = mode == 0 ? 8 : 64 >> (mode - 1);  // of eight rows
  const u64 leading = units * (1 + random() % 2), stride = units;
  return start / 16 | leading << 16 | stride << 32 | mode << 62;
}

Product any_product(std::mt19937_64& random) {
  Product p{.of = kFactors[random() % std::size(kFactors)]};
  constexpr u32 kColumns[] = {8, 24, 64, 128, 256};
  p.columns = kColumns[random() % std::size(kColumns)];
  // Integers have no products of every multiple of eight columns.
  if (p.of.format == nullptr && p.columns == 24) p.columns = 32;
  p.descriptors = {descriptor(random, 0), descriptor(random, kRightStart)};
  p.adds = random() % 4 != 0;
  for (usize i = 0; i < 2; ++i) {
    p.transposes[i] = p.of.bytes == 2 && random() % 2 == 0;
    p.signs[i] = p.of.format != nullptr && random() % 4 == 0 ? -1 : 1;
  }
  return p;
}

std::string text_of(const Product& p) {
  std::string sums, loads, stores, last;
  for (u32 i = 0; i < p.registers(); ++i) {
    sums += fmt::format("{}%d{}", i == 0 ? "" : ", ", i);
    loads += fmt::format("ld.global.b32 %d{}, [%sums+{}];\n", i, 4 * i);
    stores += fmt::format("st.global.b32 [%to+{}], %d{};\n", 4 * i, i);
  }
  if (p.of.format != nullptr) last = fmt::format(", {}, {}", p.signs[0], p.signs[1]);
  if (p.of.bytes == 2) last += fmt::format(", {:d}, {:d}", p.transposes[0], p.transposes[1]);
  return fmt::format(
      R"(.version 8.1
.target sm_90a
.address_size 64
.extern .shared .align 1024 .b8 factors[];
.visible .entry test(.param .u64 out, .param .u64 in) .reqntid {threads}, 1, 1
{{
.reg .pred %p<2>;
.reg .{type} %d<{registers}>;
.reg .b32 %i, %at, %word;
.reg .b64 %to, %from, %sums, %a, %b;
ld.param.u64 %to, [out];
ld.param.u64 %from, [in];
mov.u32 %i, %tid.x;
mad.wide.u32 %to, %i, {bytes}, %to;
mad.wide.u32 %sums, %i, {bytes}, %from;
add.u64 %sums, %sums, {shared};
mul.wide.u32 %a, %i, 4;
add.u64 %from, %from, %a;
shl.b32 %i, %i, 2;
mov.u32 %at, factors;
add.u32 %at, %at, %i;
copy:
ld.global.b32 %word, [%from];
st.shared.b32 [%at], %word;
add.u64 %from, %from, {step};
add.u32 %at, %at, {step};
add.u32 %i, %i, {step};
setp.lt.u32 %p0, %i, {shared};
@%p0 bra copy;
{loads}fence.proxy.async.shared::cta;
bar.sync 0;
mov.u32 %at, factors;
shr.u32 %at, %at, 4;
cvt.u64.u32 %a, %at;
add.u64 %b, %a, {right};
add.u64 %a, %a, {left};
mov.u32 %word, {adds:d};
setp.ne.b32 %p1, %word, 0;
wgmma.fence.sync.aligned;
wgmma.mma_async.sync.aligned.m64n{columns}k{depth}.{sum}.{factor}.{factor}
  {{{sums}}}, %a, %b, %p1{last};
wgmma.commit_group.sync.aligned;
wgmma.wait_group.sync.aligned 0;
{stores}ret;
}}
)",
      fmt::arg("threads", kThreads),
      fmt::arg("type", std::strcmp(p.of.sum, "f32") == 0 ? "f32" : "b32"),
      fmt::arg("registers", p.registers()), fmt::arg("bytes", 4 * p.registers()),
      fmt::arg("shared", kSharedBytes), fmt::arg("step", 4 * kThreads), fmt::arg("loads", loads),
      fmt::arg("columns", p.columns), fmt::arg("depth", 32 / p.of.bytes), fmt::arg("sum", p.of.sum),
      fmt::arg("factor", p.of.factor), fmt::arg("sums", sums), fmt::arg("adds", p.adds),
      fmt::arg("left", p.descriptors[0]), fmt::arg("right", p.descriptors[1]),
      fmt::arg("last", last), fmt::arg("stores", stores));
}

void put(std::vector<u8>& bytes, usize at, i64 value, const Format* format, u32 size) {
  const u64 bits = format == nullptr ? static_cast<u64>(value)
                                     : encode(from_integer(value), *format, Rounding::Nearest);
  std::memcpy(bytes.data() + at, &bits, size);
}

// Factors in all of shared memory, then the sums before.
std::vector<u8> inputs_of(std::mt19937_64& random, const Product& p) {
  const auto small = [&] { return static_cast<i64>(random() % 7) - 3; };
  std::vector<u8> bytes(kSharedBytes + usize{kThreads} * p.registers() * 4);
  for (usize at = 0; at < kSharedBytes; at += p.of.bytes)
    put(bytes, at, small(), p.of.format, p.of.bytes);
  const bool halves = std::strcmp(p.of.sum, "f16") == 0;
  const Format* const sums = halves ? &kF16 : p.of.format == nullptr ? nullptr : &kF32;
  for (usize at = kSharedBytes; at < bytes.size(); at += halves ? 2 : 4)
    put(bytes, at, small(), sums, halves ? 2 : 4);
  return bytes;
}

TEST(PtxWarpgroups, DoWhatTheirMachineCodeDoes) {
  if (const std::string missing = missing_compiler(); !missing.empty()) GTEST_SKIP() << missing;
  constexpr int kProducts = 24;
  const char* seed = std::getenv("DOORBELL_SEED");
  std::mt19937_64 random(seed == nullptr ? 1 : std::strtoull(seed, nullptr, 0));
  for (int i = 0; i < kProducts; ++i) {
    const Product product = any_product(random);
    const std::string text = text_of(product);
    SCOPED_TRACE(text);
    const auto kernel = parse(text);
    ASSERT_TRUE(kernel) << to_string(kernel.error());
    const auto cubin = assemble(text, "sm_90");
    ASSERT_TRUE(cubin) << to_string(cubin.error());
    Work work{.grid = {1, 1, 1}, .block = {kThreads, 1, 1}, .dynamic_shared = kSharedBytes};
    work.buffers.emplace_back(usize{kThreads} * product.registers() * 4);
    work.buffers.push_back(inputs_of(random, product));
    const Done by_text = run_text(*kernel, work), by_code = run_code(**cubin, work);
    ASSERT_EQ(by_text.fault, "");
    ASSERT_EQ(by_code.fault, "");
    EXPECT_TRUE(by_text.buffers[0] == by_code.buffers[0]);
    // Not all are as before.
    EXPECT_FALSE(std::equal(by_text.buffers[0].begin(), by_text.buffers[0].end(),
                            work.buffers[1].begin() + kSharedBytes));
  }
}

}  // namespace
}  // namespace doorbell::ptx
