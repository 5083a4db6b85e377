// Matrix instructions: what mma.sync, wmma, ldmatrix and cp.async of PTX do when NVIDIA's compilers
// make machine code of them. Where elements lie is written here as PTX's manual has it ("Matrix
// Fragments for mma.m16n8k4" and so on); with wmma the compiler places them. Values are whole
// numbers, so that no sum is rounded.
#include <fmt/format.h>

#include <random>

#include "emulator/core/number/number.h"
#include "tests/emulator/nv/cuda_kernel.h"

namespace doorbell::emu::nvgpu::testing {
namespace {

// An element's place: which of a lane's elements in which lane.
struct At {
  u32 row = 0, column = 0;
};
using Place = At (*)(u32 group, u32 thread, u32 i);

// A shape as PTX names it, with the tables of its fragments.
struct Shape {
  const char* name;  // "m16n8k16.row.col"
  const char *sum, *left, *right;
  u32 bits;                 // of an element of A and B
  u32 rows, depth;          // 8 columns
  u32 lefts, rights, sums;  // elements of a lane
  Place left_at, right_at, sum_at;
};

constexpr Place kFour = [](u32 g, u32 t, u32 i) { return At{i < 2 ? g : g + 8, t * 2 + (i & 1)}; };
constexpr Place kTwo = [](u32 g, u32 t, u32 i) { return At{g, t * 2 + i}; };
constexpr Place kLeft8 = [](u32 g, u32 t, u32 i) { return At{i < 2 ? g : g + 8, t * 2 + (i & 1)}; };
constexpr Place kRight8 = [](u32 g, u32 t, u32 i) { return At{t * 2 + i, g}; };
constexpr Place kLeft16 = [](u32 g, u32 t, u32 i) {
  return At{i < 2 || (4 <= i && i < 6) ? g : g + 8, t * 2 + (i & 1) + (i < 4 ? 0 : 8)};
};
constexpr Place kRight16 = [](u32 g, u32 t, u32 i) {
  return At{t * 2 + (i & 1) + (i < 2 ? 0 : 8), g};
};
constexpr Place kLeftTf4 = [](u32 g, u32 t, u32 i) { return At{i == 0 ? g : g + 8, t}; };
constexpr Place kRightTf4 = [](u32 g, u32 t, u32) { return At{t, g}; };
constexpr Place kLeftTf8 = [](u32 g, u32 t, u32 i) {
  return At{i == 0 || i == 2 ? g : g + 8, i < 2 ? t : t + 4};
};
constexpr Place kRightTf8 = [](u32 g, u32 t, u32 i) { return At{i == 0 ? t : t + 4, g}; };
constexpr Place kLeftB16 = [](u32 g, u32 t, u32 i) {
  return At{i < 4 ? g : g + 8, t * 4 + (i & 3)};
};
constexpr Place kRightB16 = [](u32 g, u32 t, u32 i) { return At{t * 4 + i, g}; };
constexpr Place kLeftB32 = [](u32 g, u32 t, u32 i) {
  return At{i < 4 || (8 <= i && i < 12) ? g : g + 8, t * 4 + (i & 3) + (i < 8 ? 0 : 16)};
};
constexpr Place kRightB32 = [](u32 g, u32 t, u32 i) {
  return At{t * 4 + (i & 3) + (i < 4 ? 0 : 16), g};
};
constexpr Place kLeftB8 = [](u32 g, u32 t, u32 i) { return At{g, t * 4 + i}; };

// clang-format off
constexpr Shape kShapes[] = {
  {"m16n8k8.row.col",  "f32", "f16",  "f16",  16, 16, 8,  4, 2, 4, kLeft8, kRight8, kFour},
  {"m16n8k16.row.col", "f32", "f16",  "f16",  16, 16, 16, 8, 4, 4, kLeft16, kRight16, kFour},
  {"m16n8k8.row.col",  "f16", "f16",  "f16",  16, 16, 8,  4, 2, 4, kLeft8, kRight8, kFour},
  {"m16n8k16.row.col", "f16", "f16",  "f16",  16, 16, 16, 8, 4, 4, kLeft16, kRight16, kFour},
  {"m16n8k8.row.col",  "f32", "bf16", "bf16", 16, 16, 8,  4, 2, 4, kLeft8, kRight8, kFour},
  {"m16n8k16.row.col", "f32", "bf16", "bf16", 16, 16, 16, 8, 4, 4, kLeft16, kRight16, kFour},
  {"m16n8k4.row.col",  "f32", "tf32", "tf32", 32, 16, 4,  2, 1, 4, kLeftTf4, kRightTf4, kFour},
  {"m16n8k8.row.col",  "f32", "tf32", "tf32", 32, 16, 8,  4, 2, 4, kLeftTf8, kRightTf8, kFour},
  {"m8n8k16.row.col",  "s32", "s8",   "u8",   8,  8,  16, 4, 4, 2, kLeftB8, kRightB16, kTwo},
  {"m16n8k16.row.col", "s32", "u8",   "s8",   8,  16, 16, 8, 4, 4, kLeftB16, kRightB16, kFour},
  {"m16n8k32.row.col", "s32", "s8",   "s8",   8,  16, 32, 16, 8, 4, kLeftB32, kRightB32, kFour},
  {"m16n8k32.row.col.satfinite", "s32", "u8", "u8", 8, 16, 32, 16, 8, 4, kLeftB32, kRightB32,
   kFour},
  {"m16n8k16.row.col", "f32", "e4m3", "e4m3", 8,  16, 16, 8, 4, 4, kLeftB16, kRightB16, kFour},
  {"m16n8k32.row.col", "f32", "e5m2", "e4m3", 8,  16, 32, 16, 8, 4, kLeftB32, kRightB32, kFour},
  {"m16n8k32.row.col", "f16", "e4m3", "e5m2", 8,  16, 32, 16, 8, 4, kLeftB32, kRightB32, kFour},
};
// clang-format on

// The code of a whole number in a format, by its definition.
u32 code_of(i32 value, std::string_view type) {
  if (type == "s8" || type == "u8") return static_cast<u32>(value) & 0xff;
  const u32 single = std::bit_cast<u32>(static_cast<f32>(value));
  if (type == "tf32" || type == "f32") return single;
  if (type == "bf16") return single >> 16;
  if (value == 0) return 0;
  const u32 sign = single >> 31, exponent = (single >> 23 & 0xff) - 127,
            mantissa = single & 0x7fffff;
  if (type == "f16") return sign << 15 | (exponent + 15) << 10 | mantissa >> 13;
  if (type == "e4m3") return sign << 7 | (exponent + 7) << 3 | mantissa >> 20;
  return sign << 7 | (exponent + 15) << 2 | mantissa >> 21;  // e5m2
}

// o[32 t]: 4 words of C, 4 of A from 8, 4 of B from 16.
std::string source_of(const Shape& shape) {
  const bool floats = std::string_view(shape.sum) == "f32";
  const u32 per_word = 32 / shape.bits;
  const u32 sums = std::string_view(shape.sum) == "f16" ? shape.sums / 2 : shape.sums;
  const auto list = [](u32 first, u32 count) {
    std::string text;
    for (u32 i = 0; i < count; ++i) text += fmt::format("{}%{}", i == 0 ? "" : ",", first + i);
    return "{" + text + "}";
  };
  const u32 lefts = shape.lefts / per_word, rights = shape.rights / per_word;
  std::string name = shape.name, satfinite;
  if (name.ends_with(".satfinite")) satfinite = ".satfinite", name.resize(name.size() - 10);
  std::string outs, ins;
  for (u32 i = 0; i < sums; ++i)
    outs += fmt::format("{}\"+{}\"(c[{}])", i == 0 ? "" : ",", floats ? "f" : "r", i);
  for (u32 i = 0; i < lefts; ++i) ins += fmt::format("\"r\"(w[{}]),", 8 + i);
  for (u32 i = 0; i < rights; ++i)
    ins += fmt::format("\"r\"(w[{}]){}", 16 + i, i + 1 == rights ? "" : ",");
  return fmt::format(
      R"(extern "C" __global__ void test(unsigned* o) {{
    unsigned w[24]; {0} c[4];
    for (int i = 0; i < 24; ++i) w[i] = o[32 * threadIdx.x + i];
    for (int i = 0; i < 4; ++i) c[i] = *({0}*)&w[i];
    asm volatile("mma.sync.aligned.{1}{2}.{3}.{4}.{5}.{3} {6},{7},{8},{6};" : {9} : {10});
    for (int i = 0; i < 4; ++i) o[32 * threadIdx.x + i] = *(unsigned*)&c[i];
  }})",
      floats ? "float" : "unsigned", name, satfinite, shape.sum, shape.left, shape.right,
      list(0, sums), list(sums, lefts), list(sums + lefts, rights), outs, ins);
}

void put(std::vector<u32>& words, u32 lane, u32 first, u32 bits, u32 i, u32 code) {
  words[32 * lane + first + i * bits / 32] |= code << (i * bits % 32);
}

class NvMatrices : public CudaTest {
 protected:
  void check(const Shape& shape);
};

void NvMatrices::check(const Shape& shape) {
  SCOPED_TRACE(fmt::format("{} {} {} {}", shape.name, shape.sum, shape.left, shape.right));
  compile(source_of(shape));
  if (!cubin_) return;
  std::mt19937 random(shape.depth * 100 + shape.bits);
  const auto draw = [&](std::string_view type) {
    if (type == "u8") return static_cast<i32>(random() % 256);
    if (type == "s8") return static_cast<i32>(random() % 256) - 128;
    const i32 most = type == "e5m2" ? 4 : 8;
    return static_cast<i32>(random() % (2 * static_cast<u32>(most) + 1)) - most;
  };
  std::vector<std::vector<i32>> left(16, std::vector<i32>(32)), right(32, std::vector<i32>(8)),
      sum(16, std::vector<i32>(8));
  for (auto& row : left)
    for (i32& v : row) v = draw(shape.left);
  for (auto& row : right)
    for (i32& v : row) v = draw(shape.right);
  const std::string_view name = shape.name, type = shape.sum;
  const bool saturates = name.ends_with("satfinite");
  for (auto& row : sum)
    for (i32& v : row) v = static_cast<i32>(random() % 512) + (saturates ? 0x7fff'fe00 : -256);
  std::vector<u32> words(32 * 32);
  const u32 sum_bits = type == "f16" ? 16 : 32;
  for (u32 lane = 0; lane < 32; ++lane) {
    for (u32 i = 0; i < shape.lefts; ++i) {
      const At at = shape.left_at(lane / 4, lane % 4, i);
      put(words, lane, 8, shape.bits, i, code_of(left[at.row][at.column], shape.left));
    }
    for (u32 i = 0; i < shape.rights; ++i) {
      const At at = shape.right_at(lane / 4, lane % 4, i);
      put(words, lane, 16, shape.bits, i, code_of(right[at.row][at.column], shape.right));
    }
    for (u32 i = 0; i < shape.sums; ++i) {
      const At at = shape.sum_at(lane / 4, lane % 4, i);
      const i32 value = sum[at.row][at.column];
      put(words, lane, 0, sum_bits, i,
          type == "s32" ? static_cast<u32>(value) : code_of(value, type));
    }
  }
  const CudaRun run = this->run(words);
  ASSERT_FALSE(run.result.fault) << to_string(*run.result.fault);
  for (u32 lane = 0; lane < 32; ++lane)
    for (u32 i = 0; i < shape.sums; ++i) {
      const At at = shape.sum_at(lane / 4, lane % 4, i);
      i64 expected = sum[at.row][at.column];
      for (u32 k = 0; k < shape.depth; ++k) expected += i64{left[at.row][k]} * right[k][at.column];
      if (saturates) expected = std::min<i64>(expected, 0x7fff'ffff);
      const u32 word = run.words[32 * lane + i * sum_bits / 32];
      const u32 code = sum_bits == 16 ? word >> (i % 2 * 16) & 0xffff : word;
      const u32 wanted =
          type == "s32" ? static_cast<u32>(expected) : code_of(static_cast<i32>(expected), type);
      ASSERT_EQ(code, wanted) << "lane " << lane << ", element " << i;
    }
}

TEST_P(NvMatrices, ProductsOfEveryShape) {
  for (const Shape& shape : kShapes) {
    const std::string_view left = shape.left;
    if (GetParam() == "sm_86" && (left == "e4m3" || left == "e5m2"))
      continue;  // PTX has none there
    check(shape);
    if (!cubin_ || HasFatalFailure()) return;
  }
}

// The compiler knows where it loads the elements of a fragment, and where it stores them.
TEST_P(NvMatrices, ProductsThatTheCompilerPlaces) {
  compile(R"(
  #define EIGHT "{%0,%1,%2,%3,%4,%5,%6,%7}"
  #define ALL(how, x) how(x[0]), how(x[1]), how(x[2]), how(x[3]), how(x[4]), how(x[5]), \
    how(x[6]), how(x[7])
  extern "C" __global__ void test(unsigned* o) {
    unsigned a[8], b[8];
    float c[8];
    asm volatile("wmma.load.a.sync.aligned.row.m16n16k16.global.f16 " EIGHT ", [%8], 16;"
                 : ALL("=r", a) : "l"(o));
    asm volatile("wmma.load.b.sync.aligned.row.m16n16k16.global.f16 " EIGHT ", [%8], 16;"
                 : ALL("=r", b) : "l"(o + 128));
    asm volatile("wmma.load.c.sync.aligned.row.m16n16k16.global.f32 " EIGHT ", [%8], 16;"
                 : ALL("=f", c) : "l"(o + 256));
    asm volatile("wmma.mma.sync.aligned.row.row.m16n16k16.f32.f32 " EIGHT ","
                 "{%8,%9,%10,%11,%12,%13,%14,%15},{%16,%17,%18,%19,%20,%21,%22,%23}," EIGHT ";"
                 : ALL("+f", c) : ALL("r", a), ALL("r", b));
    asm volatile("wmma.store.d.sync.aligned.row.m16n16k16.global.f32 [%8], " EIGHT ", 16;"
                 :: ALL("f", c), "l"(o + 256) : "memory");
  })");
  if (!cubin_) return;
  std::vector<u32> words(512);
  const auto left = [](u32 row, u32 k) { return static_cast<i32>((row * 5 + k * 3) % 11) - 5; };
  const auto right = [](u32 k, u32 column) {
    return static_cast<i32>((k * 7 + column * 2) % 13) - 6;
  };
  for (u32 row = 0; row < 16; ++row)
    for (u32 column = 0; column < 16; ++column) {
      const u32 at = 16 * row + column;
      words[at / 2] |= code_of(left(row, column), "f16") << (at % 2 * 16);
      words[128 + at / 2] |= code_of(right(row, column), "f16") << (at % 2 * 16);
      words[256 + at] = code_of(static_cast<i32>(at), "f32");
    }
  const CudaRun run = this->run(words);
  ASSERT_FALSE(run.result.fault) << to_string(*run.result.fault);
  for (u32 row = 0; row < 16; ++row)
    for (u32 column = 0; column < 16; ++column) {
      i32 expected = static_cast<i32>(16 * row + column);
      for (u32 k = 0; k < 16; ++k) expected += left(row, k) * right(k, column);
      EXPECT_EQ(std::bit_cast<f32>(run.words[256 + 16 * row + column]), static_cast<f32>(expected));
    }
}

// Rows of 16 bytes at any multiple of 16; thread t gets two elements of row t / 4, from 2 (t % 4).
TEST_P(NvMatrices, LoadsOfMatrices) {
  compile(R"(extern "C" __global__ void test(unsigned* o) {
    __shared__ __align__(16) unsigned s[256];
    const unsigned t = threadIdx.x;
    for (int i = 0; i < 8; ++i) s[t + 32 * i] = o[t + 32 * i];
    __syncthreads();
    const unsigned at = (unsigned)__cvta_generic_to_shared(s + 4 * ((t * 5) % 64));
    unsigned r[4];
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(r[0]) : "r"(at));
    o[256 + t] = r[0];
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];"
                 : "=r"(r[0]), "=r"(r[1]) : "r"(at));
    o[288 + t] = r[0], o[320 + t] = r[1];
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(at));
    for (int i = 0; i < 4; ++i) o[352 + 32 * i + t] = r[i];
    asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(r[1]) : "r"(r[0]));
    o[480 + t] = r[1];
  })");
  if (!cubin_) return;
  std::vector<u32> words(512);
  for (u32 i = 0; i < 256; ++i) words[i] = 2 * i | (2 * i + 1) << 16;  // element n is n
  const CudaRun run = this->run(words);
  ASSERT_FALSE(run.result.fault) << to_string(*run.result.fault);
  const auto element = [](u32 matrix, u32 row, u32 column) {
    return (8 * matrix + row) * 5 % 64 * 8 + column;
  };
  for (u32 t = 0; t < 32; ++t) {
    const u32 row = t / 4, column = t % 4 * 2;
    const auto plain = [&](u32 m) {
      return element(m, row, column) | element(m, row, column + 1) << 16;
    };
    const auto turned = [&](u32 m) {
      return element(m, column, row) | element(m, column + 1, row) << 16;
    };
    EXPECT_EQ(run.words[256 + t], plain(0));
    EXPECT_EQ(run.words[288 + t], turned(0));
    EXPECT_EQ(run.words[320 + t], turned(1));
    for (u32 m = 0; m < 4; ++m) EXPECT_EQ(run.words[352 + 32 * m + t], plain(m));
    EXPECT_EQ(run.words[480 + t], turned(0));
  }
}

TEST_P(NvMatrices, CopiesToSharedMemory) {
  compile(R"(extern "C" __global__ void test(unsigned* o, int bytes) {
    __shared__ __align__(16) unsigned s[512];
    const unsigned t = threadIdx.x;
    for (int i = 0; i < 16; ++i) s[t + 32 * i] = 7;
    __syncthreads();
    const unsigned at = (unsigned)__cvta_generic_to_shared(s + 4 * t);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(at), "l"(o + 4 * t));
    asm volatile("cp.async.commit_group;");
    asm volatile("cp.async.ca.shared.global [%0], [%1], 16, %2;"
                 :: "r"(at + 512), "l"(o + 4 * t), "r"(bytes));
    if (t < 5)
      asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(at + 1024), "l"(o + t));
    asm volatile("cp.async.commit_group;\n cp.async.wait_group 1;" ::: "memory");
    __syncthreads();
    for (int i = 0; i < 4; ++i) o[128 + t + 32 * i] = s[t + 32 * i];
    asm volatile("cp.async.wait_all;" ::: "memory");
    __syncthreads();
    for (int i = 4; i < 12; ++i) o[128 + t + 32 * i] = s[t + 32 * i];
  })");
  if (!cubin_) return;
  for (const u32 bytes : {0u, 4u, 8u, 16u}) {
    std::vector<u32> words(512, 9);
    for (u32 i = 0; i < 128; ++i) words[i] = 1000 + i;
    const CudaRun run = this->run(words, {.more = {bytes}});
    ASSERT_FALSE(run.result.fault) << to_string(*run.result.fault);
    for (u32 i = 0; i < 128; ++i) {
      EXPECT_EQ(run.words[128 + i], 1000 + i);
      EXPECT_EQ(run.words[256 + i], i % 4 * 4 < bytes ? 1000 + i : 0) << i << ", " << bytes;
      EXPECT_EQ(run.words[384 + i], i % 4 == 0 && i < 20 ? 1000 + i / 4 : 7) << i;
    }
  }
}

TEST_P(NvMatrices, MatchesOfAllThreads) {
  compile(R"(extern "C" __global__ void test(unsigned* o) {
    const unsigned t = threadIdx.x;
    int same = 0, other = 0;
    o[t] = __match_all_sync(~0u, t * 0 + o[64], &same);
    o[t + 32] = __match_all_sync(~0u, t / 31, &other) + 2 * same + other;
    o[t + 64] = __match_any_sync(~0u, (unsigned long long)(t / 8) << 40);
  })");
  if (!cubin_) return;
  const CudaRun run = this->run(std::vector<u32>(96));
  ASSERT_FALSE(run.result.fault) << to_string(*run.result.fault);
  for (u32 t = 0; t < 32; ++t) {
    EXPECT_EQ(run.words[t], ~0u);
    EXPECT_EQ(run.words[t + 32], 2u);
    EXPECT_EQ(run.words[t + 64], 0xffu << (t / 8 * 8));
  }
}

INSTANTIATE_TEST_SUITE_P(Chips, NvMatrices, ::testing::Values("sm_86", "sm_89", "sm_90"),
                         [](const auto& info) { return info.param; });

// The numbers are the OCP's and IEEE's; PTX's cvt saturates and makes NaN 0x7f.
class NvConversions : public CudaTest {};

TEST_P(NvConversions, FloatsOfEightBits) {
  compile(R"(extern "C" __global__ void test(unsigned* o) {
    const unsigned t = threadIdx.x;
    const float low = __uint_as_float(o[t]), high = __uint_as_float(o[(t + 1) % 32]);
    unsigned short e4, e5, next;
    asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(e4) : "f"(high), "f"(low));
    asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(e5) : "f"(high), "f"(low));
    unsigned halves, pair, back;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(halves) : "f"(high), "f"(low));
    asm("cvt.rn.satfinite.relu.e4m3x2.f16x2 %0, %1;" : "=h"(next) : "r"(halves));
    asm("mov.b32 %0, {%1, %2};" : "=r"(pair) : "h"(e4), "h"(e5));
    o[32 + t] = pair;
    o[64 + t] = next;
    asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(back) : "h"(e4));
    o[96 + t] = back;
    asm("cvt.rn.f16x2.e5m2x2 %0, %1;" : "=r"(back) : "h"((unsigned short)(pair >> 16)));
    o[128 + t] = back;
  })");
  if (!cubin_) return;
  struct Case {
    f32 value;
    u8 e4m3, e5m2;
    u16 half_of_e4m3, half_of_e5m2;
  };
  // 0.015625 / 8 is e4m3's smallest number; 17 lies between 16 and 18.
  const Case cases[] = {{1.0f, 0x38, 0x3c, 0x3c00, 0x3c00},
                        {-2.0f, 0xc0, 0xc0, 0xc000, 0xc000},
                        {17.0f, 0x58, 0x4c, 0x4c00, 0x4c00},
                        {1000.0f, 0x7e, 0x64, 0x5f00, 0x6400},
                        {1e9f, 0x7e, 0x7b, 0x5f00, 0x7b00},
                        {0x1p-9f, 0x01, 0x18, 0x1800, 0x1800},
                        {0x1p-10f, 0x00, 0x14, 0x0000, 0x1400},
                        {-0.0f, 0x80, 0x80, 0x8000, 0x8000},
                        {std::bit_cast<f32>(0x7fc0'0000u), 0x7f, 0x7f, 0x7fff, 0x7fff}};
  constexpr usize kCases = std::size(cases);
  std::vector<u32> words(160);
  for (u32 t = 0; t < 32; ++t) words[t] = std::bit_cast<u32>(cases[t % kCases].value);
  const CudaRun run = this->run(words);
  ASSERT_FALSE(run.result.fault) << to_string(*run.result.fault);
  for (u32 t = 0; t + 1 < 32; ++t) {
    const Case &low = cases[t % kCases], &high = cases[(t + 1) % kCases];
    EXPECT_EQ(run.words[32 + t], low.e4m3 | high.e4m3 << 8 | low.e5m2 << 16 | u32{high.e5m2} << 24)
        << t;
    const auto relu = [](const Case& c) { return c.value < 0 ? 0u : u32{c.e4m3}; };
    if (std::signbit(low.value) && low.value == 0) continue;  // the sign of max(-0, 0)
    if (std::signbit(high.value) && high.value == 0) continue;
    EXPECT_EQ(run.words[64 + t], relu(low) | relu(high) << 8) << t;
    EXPECT_EQ(run.words[96 + t], low.half_of_e4m3 | u32{high.half_of_e4m3} << 16) << t;
    EXPECT_EQ(run.words[128 + t], low.half_of_e5m2 | u32{high.half_of_e5m2} << 16) << t;
  }
}

INSTANTIATE_TEST_SUITE_P(Chips, NvConversions, ::testing::Values("sm_89", "sm_90"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace doorbell::emu::nvgpu::testing
