// Matrix products of warp groups (wgmma), compared with sums of products of small integers.
//
// How matrices lie in shared memory: the canonical layouts of CUTLASS,
// include/cute/atom/mma_traits_sm90_gmma.hpp, in units of 16 bytes. How they lie in registers: PTX
// ISA, "Register Fragments for wgmma.mma_async.m64nNk16".
#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "emulator/nv/compute/rules.h"
#include "tests/emulator/nv/cuda_kernel.h"

namespace doorbell::emu::nvgpu::testing {
namespace {

struct Type {
  const char* name;
  u32 bytes;
  u32 codes[4];  // of 0, 1, 2 and 3
  u32 sign;      // bit of the sign; 0: two's complement
  bool is_unsigned = false;

  // The value of the bits that stand for `value`: those of -1 are 255 in u8.
  i32 read(i32 value) const { return is_unsigned && value < 0 ? value + 256 : value; }
};
constexpr Type kF16{"f16", 2, {0, 0x3c00, 0x4000, 0x4200}, 0x8000};
constexpr Type kBf16{"bf16", 2, {0, 0x3f80, 0x4000, 0x4040}, 0x8000};
constexpr Type kTf32{"tf32", 4, {0, 0x3f80'0000, 0x4000'0000, 0x4040'0000}, 0x8000'0000};
constexpr Type kE4m3{"e4m3", 1, {0, 0x38, 0x40, 0x44}, 0x80};
constexpr Type kE5m2{"e5m2", 1, {0, 0x3c, 0x40, 0x42}, 0x80};
constexpr Type kS8{"s8", 1, {0, 1, 2, 3}, 0};
constexpr Type kU8{"u8", 1, {0, 1, 2, 3}, 0, true};

// How A, or B transposed, lies: rows of `depth` elements.
struct Place {
  u32 swizzle = 1;        // units of a swizzled row; 1: none
  bool by_depth = false;  // MN-major
  u32 first_unit = 0;     // where the product's depth begins in a swizzled row of K-major

  u32 leading() const { return swizzle == 1 ? 8 : by_depth ? 16 * swizzle : 1; }
  u32 stride() const { return swizzle == 1 ? 16 : 8 * swizzle; }
  u64 descriptor(u64 start) const {
    const u64 mode = swizzle == 8 ? 1 : swizzle == 4 ? 2 : swizzle == 2 ? 3 : 0;
    return (start / 16 + first_unit) | u64{leading()} << 16 | u64{stride()} << 32 | mode << 62;
  }
  // The byte of an element, from a multiple of 1024.
  u32 byte_of(u32 row, u32 k, u32 bytes) const {
    const u32 per_unit = 16 / bytes;
    u32 unit = 0, rest = 0;
    if (by_depth) {
      const u32 m = row / per_unit;
      rest = row % per_unit;
      unit = swizzle == 1
                 ? m * stride() + k % 8 + k / 8 * leading()
                 : m % swizzle + m / swizzle * leading() + k % 8 * swizzle + k / 8 * stride();
    } else {
      rest = k % per_unit;
      unit = row % 8 * swizzle + row / 8 * stride() + k / per_unit * leading() + first_unit;
    }
    // CuTe's Swizzle<B, 4, 3>: bits 7 and up are added to bits 4 and up, without carry.
    const u32 at = unit * 16;
    return (at ^ ((at >> 3) & ((swizzle - 1) << 4))) + rest * bytes;
  }
};

struct Product {
  Type left = kF16, right = kF16;
  const char* sum = "f32";
  u32 columns = 8;
  Place left_place, right_place;
  bool left_in_registers = false;
  i32 left_sign = 1, right_sign = 1;
  u32 adds = 1;
  bool saturates = false;  // sums begin near the ends of s32

  u32 depth() const { return 32 / left.bytes; }
  bool halves() const { return std::strcmp(sum, "f16") == 0; }
  bool integers() const { return left.sign == 0; }
  u32 registers() const { return halves() ? columns / 4 : columns / 2; }
};

u32 code_of(const Type& type, i32 value) {
  const u32 code = type.codes[std::abs(value)];
  if (type.sign != 0) return value < 0 ? code | type.sign : code;
  return value < 0 ? (0u - code) & 0xff : code;
}
i32 left_value(u32 row, u32 k) { return static_cast<i32>((row * 5 + k * 3 + row / 8) % 7) - 3; }
i32 right_value(u32 k, u32 column) { return static_cast<i32>((column * 3 + k * k) % 7) - 3; }
i32 sum_before(const Product& p, u32 row, u32 column) {
  const i32 sum = static_cast<i32>((row + 2 * column) % 5);
  if (!p.saturates) return sum;
  using Limits = std::numeric_limits<i32>;
  return (row + column) % 2 == 0 ? Limits::min() + sum : Limits::max() - sum;
}

std::string source_of(const Product& p) {
  const u32 registers = p.registers();
  std::string outputs, names;
  for (u32 i = 0; i < registers; ++i) {
    names += (i == 0 ? "%" : ",%") + std::to_string(i);
    outputs += std::string(i == 0 ? "" : ",") + "\"+r\"(d[" + std::to_string(i) + "])";
  }
  u32 next = registers;
  const auto operand = [&] { return "%" + std::to_string(next++); };
  std::string left, inputs = "\"l\"(a)";
  if (p.left_in_registers) {
    for (const char* separator : {"{", ",", ",", ","}) left += separator + operand();
    left += "}";
    inputs = "\"r\"(f[0]),\"r\"(f[1]),\"r\"(f[2]),\"r\"(f[3])";
  } else {
    left = operand();
  }
  const std::string right = operand();
  const std::string adds = operand();
  std::string last = ", " + std::to_string(p.left_sign) + ", " + std::to_string(p.right_sign);
  if (p.left.bytes == 2) {
    if (!p.left_in_registers) last += p.left_place.by_depth ? ", 1" : ", 0";
    last += p.right_place.by_depth ? ", 1" : ", 0";
  }
  if (p.integers()) last = "";
  const std::string instruction = "wgmma.mma_async.sync.aligned.m64n" + std::to_string(p.columns) +
                                  "k" + std::to_string(p.depth()) +
                                  (p.saturates ? ".satfinite." : ".") + p.sum + "." + p.left.name +
                                  "." + p.right.name;
  return R"(extern "C" __global__ void __launch_bounds__(128)
  test(unsigned* o, unsigned al, unsigned ah, unsigned bl, unsigned bh, unsigned adds,
       unsigned words) {
    extern __shared__ __align__(1024) unsigned s[];
    const unsigned t = threadIdx.x;
    for (unsigned i = t; i < words; i += 128) s[i] = o[i];
    asm volatile("fence.proxy.async;" ::: "memory");
    __syncthreads();
    const unsigned start = ((unsigned)__cvta_generic_to_shared(s) & 0x3ffff) >> 4;
    const unsigned long long a = ((unsigned long long)ah << 32 | al) + start;
    const unsigned long long b = ((unsigned long long)bh << 32 | bl) + start;
    unsigned f[4], d[)" +
         std::to_string(registers) + R"(];
    for (int i = 0; i < 4; ++i) f[i] = o[words + t * 4 + i];
    unsigned* const sums = o + words + 512 + t * )" +
         std::to_string(registers) + ";\n#pragma unroll\n for (int i = 0; i < " +
         std::to_string(registers) + R"(; ++i) d[i] = sums[i];
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    asm volatile("{.reg .pred p; setp.ne.b32 p, )" +
         adds + ", 0;" + instruction + " {" + names + "}, " + left + ", " + right + ", p" + last +
         ";}\" : " + outputs + " : " + inputs + R"(, "l"(b), "r"(adds));
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
#pragma unroll
    for (int i = 0; i < )" +
         std::to_string(registers) + R"(; ++i) sums[i] = d[i];
  })";
}

void put(std::vector<u32>& words, usize byte, u32 code, u32 bytes) {
  std::memcpy(reinterpret_cast<u8*>(words.data()) + byte, &code, bytes);
}

constexpr u32 kRightAt = 64 * 128, kImageWords = (64 * 128 + 256 * 128) / 4;

// The words before the product: the two matrices, A's registers, and the sums' registers.
std::vector<u32> make_words(const Product& p) {
  std::vector<u32> words(kImageWords + 512 + 128 * p.registers());
  for (u32 k = 0; k < p.depth(); ++k) {
    for (u32 row = 0; row < 64; ++row)
      put(words, p.left_place.byte_of(row, k, p.left.bytes), code_of(p.left, left_value(row, k)),
          p.left.bytes);
    for (u32 column = 0; column < p.columns; ++column)
      put(words, kRightAt + p.right_place.byte_of(column, k, p.right.bytes),
          code_of(p.right, right_value(k, column)), p.right.bytes);
  }
  const u32 packed = 4 / p.left.bytes;
  for (u32 t = 0; t < 128; ++t)
    for (u32 i = 0; i < 4; ++i)
      for (u32 e = 0; e < packed; ++e) {
        const u32 row = t / 32 * 16 + t % 32 / 4 + i % 2 * 8;
        const u32 k = packed * (t % 4 + i / 2 * 4) + e;
        put(words, (kImageWords + t * 4 + i) * 4 + e * p.left.bytes,
            code_of(p.left, left_value(row, k)), p.left.bytes);
      }
  return words;
}

// Element i of a thread's part of D.
struct Element {
  u32 row, column;
};
Element element_of(u32 thread, u32 i) {
  return {thread / 32 * 16 + thread % 32 / 4 + i / 2 % 2 * 8, i / 4 * 8 + thread % 4 * 2 + i % 2};
}

// The sums as registers have them; halves of these integers are exact.
u32 sum_code(const Product& p, i32 value) {
  if (p.integers()) return static_cast<u32>(value);
  if (!p.halves()) return std::bit_cast<u32>(static_cast<f32>(value));
  if (value == 0) return 0;
  const u32 size = static_cast<u32>(std::abs(value));
  const u32 exponent = static_cast<u32>(std::bit_width(size)) - 1;
  return (value < 0 ? 0x8000u : 0u) | (exponent + 15) << 10 | ((size << 10 >> exponent) & 0x3ff);
}

void put_sum(const Product& p, std::vector<u32>& words, u32 thread, u32 i, i32 value) {
  const u32 bytes = p.halves() ? 2 : 4;
  put(words, (kImageWords + 512 + thread * p.registers()) * 4 + i * bytes, sum_code(p, value),
      bytes);
}

class NvWarpgroup : public CudaTest {
 protected:
  void check(const Product& p) {
    compile(source_of(p));
    if (!cubin_) return;
    std::vector<u32> words = make_words(p), expected = words;
    for (u32 t = 0; t < 128; ++t)
      for (u32 i = 0; i < p.columns / 2; ++i) {
        const Element at = element_of(t, i);
        i32 sum = 0;
        for (u32 k = 0; k < p.depth(); ++k)
          sum += p.left.read(left_value(at.row, k)) * p.right.read(right_value(k, at.column));
        sum *= p.left_sign * p.right_sign;
        const i32 before = sum_before(p, at.row, at.column);
        const i64 after = i64{sum} + (p.adds != 0 ? before : 0);
        put_sum(p, words, t, i, before);
        put_sum(p, expected, t, i, static_cast<i32>(std::clamp<i64>(after, INT32_MIN, INT32_MAX)));
      }
    const u64 a = p.left_place.descriptor(0), b = p.right_place.descriptor(kRightAt);
    const CudaRun run = this->run(
        words, {.block = {128, 1, 1},
                .dynamic_shared = kImageWords * 4,
                .more = {static_cast<u32>(a), static_cast<u32>(a >> 32), static_cast<u32>(b),
                         static_cast<u32>(b >> 32), p.adds, kImageWords}});
    ASSERT_FALSE(run.result.fault) << to_string(*run.result.fault);
    usize wrong = 0, first = 0;
    for (usize i = words.size(); i-- > 0;)
      if (run.words[i] != expected[i]) ++wrong, first = i;
    EXPECT_EQ(wrong, 0u) << p.left.name << ", " << p.columns << " columns: word " << first << " is "
                         << run.words[first] << ", expected " << expected[first]
                         << ", sums begin at " << kImageWords + 512;
  }
};

TEST_P(NvWarpgroup, LayoutsByRow) {
  for (const u32 swizzle : {1u, 2u, 4u, 8u})
    check({.columns = 64, .left_place = {.swizzle = swizzle}, .right_place = {.swizzle = swizzle}});
  check({.columns = 8, .left_place = {8, false, 4}, .right_place = {4, false, 2}});
}

TEST_P(NvWarpgroup, LayoutsByDepth) {
  for (const u32 swizzle : {1u, 2u, 4u, 8u})
    check({.columns = 64,
           .left_place = {.swizzle = swizzle, .by_depth = true},
           .right_place = {.swizzle = swizzle, .by_depth = true}});
  check({.columns = 128, .left_place = {8, true}, .right_place = {.swizzle = 8}});
  check({.columns = 256, .left_place = {8}, .right_place = {.swizzle = 8, .by_depth = true}});
}

TEST_P(NvWarpgroup, Types) {
  check({.left = kBf16, .right = kBf16, .columns = 24});
  check({.left = kTf32, .right = kTf32, .columns = 16, .left_place = {8}});
  check({.sum = "f16", .columns = 32, .right_place = {8}});
  check({.left = kE4m3, .right = kE5m2, .columns = 16, .right_place = {4}});
  check({.left = kE5m2, .right = kE4m3, .sum = "f16", .columns = 8});
  check({.left = kS8, .right = kS8, .sum = "s32", .columns = 32, .left_place = {8}});
  for (const u32 columns : {48u, 144u})
    check({.left = kS8, .right = kS8, .sum = "s32", .columns = columns});
}

TEST_P(NvWarpgroup, BytesWithAndWithoutSign) {
  for (const Type& left : {kS8, kU8})
    for (const Type& right : {kS8, kU8}) {
      check({.left = left, .right = right, .sum = "s32", .columns = 16, .right_place = {8}});
      check({.left = left, .right = right, .sum = "s32", .left_in_registers = true});
      check({.left = left, .right = right, .sum = "s32", .saturates = true});
    }
}

// The sums of the kernel below, which waits for `left` of its two groups before it stores the
// first's.
std::string two_groups(u32 left) {
  return R"(extern "C" __global__ void __launch_bounds__(128) test(unsigned* o) {
    __shared__ __align__(1024) unsigned s[2048];
    const unsigned t = threadIdx.x;
    for (unsigned i = t; i < 2048; i += 128) s[i] = 0;
    asm volatile("fence.proxy.async;" ::: "memory");
    __syncthreads();
    const unsigned long long a =
        (((unsigned)__cvta_generic_to_shared(s) & 0x3ffff) >> 4) | 8ull << 16 | 16ull << 32;
    float d[4] = {1, 2, 3, 4}, e[4] = {5, 6, 7, 8};
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0,%1,%2,%3}, %4, %4, 1, 1, "
                 "1, 0, 0;" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "l"(a));
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0,%1,%2,%3}, %4, %4, 1, 1, "
                 "1, 0, 0;" : "+f"(e[0]), "+f"(e[1]), "+f"(e[2]), "+f"(e[3]) : "l"(a));
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned )" +
         std::to_string(left) + R"(;" ::: "memory");
    for (int i = 0; i < 4; ++i) o[t * 8 + i] = (unsigned)d[i];
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    for (int i = 0; i < 4; ++i) o[t * 8 + 4 + i] = (unsigned)e[i];
  })";
}

TEST_P(NvWarpgroup, SumsOfGroupsThatWereWaitedForAreRead) {
  for (const u32 left : {0u, 1u}) {
    compile(two_groups(left));
    if (!cubin_) return;
    const CudaRun run = this->run(std::vector<u32>(1024), {.block = {128, 1, 1}});
    ASSERT_FALSE(run.result.fault) << to_string(*run.result.fault);
    EXPECT_TRUE(run.reports.empty());
    for (u32 i = 0; i < 1024; ++i) ASSERT_EQ(run.words[i], i % 8 + 1);
  }
}

// Without their waits (WARPGROUP.DEPBAR, bit 80), or with waits that leave one group more.
TEST_P(NvWarpgroup, SumsThatNobodyWaitedForAreNot) {
  for (const bool drops : {true, false}) {
    u32 changed = 0;
    compile(two_groups(0), [&](Words& words) {
      if (words.field(0, 9) != 0x1c5 || !words.bit(80)) return;
      ++changed;
      if (drops)
        words = {0x0000000000007918, words.high & ~u64{0x1ff'ffff'ffff}};  // NOP
      else
        words.high += 1 << 8;  // bits 72 to 74: the groups that are left
    });
    if (!cubin_) return;
    ASSERT_GT(changed, 0u);
    const CudaRun run = this->run(std::vector<u32>(1024), {.block = {128, 1, 1}});
    ASSERT_TRUE(run.result.fault) << drops;
    EXPECT_EQ(run.result.fault->rule, &kMissingWait) << to_string(*run.result.fault);
    EXPECT_NE(run.result.fault->message.find("until WARPGROUP.DEPBAR"), std::string::npos)
        << to_string(*run.result.fault);
  }
}

TEST_P(NvWarpgroup, FactorsInRegistersSignsAndFirstProducts) {
  check({.columns = 16, .left_in_registers = true});
  check({.left = kTf32, .right = kTf32, .columns = 8, .left_in_registers = true, .right_sign = -1});
  check({.left = kE4m3, .right = kE4m3, .columns = 8, .left_in_registers = true, .adds = 0});
  check({.columns = 8, .left_sign = -1, .adds = 0});
}

INSTANTIATE_TEST_SUITE_P(Chips, NvWarpgroup, ::testing::Values("sm_90a"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace doorbell::emu::nvgpu::testing
