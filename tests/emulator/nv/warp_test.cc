// What lanes, warps and blocks do with each other: expected values are those that CUDA C++ defines
// for the source.
#include <numeric>

#include "tests/emulator/nv/cuda_kernel.h"

namespace doorbell::emu::nvgpu::testing {
namespace {

std::vector<u32> iota(u32 count) {
  std::vector<u32> words(count);
  std::iota(words.begin(), words.end(), 0u);
  return words;
}

TEST_P(CudaTest, ShufflesAndVotes) {
  compile(R"(extern "C" __global__ void test(unsigned* o) {
    const unsigned t = threadIdx.x, v = o[t];
    o[32 + t] = __shfl_xor_sync(~0u, v, 5);
    o[64 + t] = __shfl_up_sync(~0u, v, 3, 16);
    o[96 + t] = __shfl_sync(~0u, v, 9, 8);
    o[128 + t] = __ballot_sync(~0u, v % 3 == 0);
    o[160 + t] = __any_sync(~0u, v == 40) * 2 + __all_sync(~0u, v < 32);
    o[192 + t] = __reduce_add_sync(~0u, v);
    o[224 + t] = __match_any_sync(~0u, v / 8);
  })");
  if (!cubin_) return;
  const CudaRun run = this->run(iota(256));
  ASSERT_FALSE(run.result.fault) << to_string(*run.result.fault);
  for (u32 t = 0; t < 32; ++t) {
    EXPECT_EQ(run.words[32 + t], t ^ 5);
    EXPECT_EQ(run.words[64 + t], t % 16 < 3 ? t : t - 3);
    EXPECT_EQ(run.words[96 + t], t / 8 * 8 + 1);
    EXPECT_EQ(run.words[128 + t], 0x49249249u);
    EXPECT_EQ(run.words[160 + t], 1u);
    EXPECT_EQ(run.words[192 + t], 496u);
    EXPECT_EQ(run.words[224 + t], 0xffu << (t / 8 * 8));
  }
}

// Loops of different lengths, early returns, and lanes that meet again.
TEST_P(CudaTest, LanesThatTakeDifferentWays) {
  compile(R"(extern "C" __global__ void test(int* o) {
    const int t = threadIdx.x;
    int sum = 0;
    for (int i = 0; i < t; ++i) {
      if (i % 3 == 0) { sum += 2 * i; if (sum > 100) break; }
      else for (int j = 0; j < i; ++j) sum ^= j + t;
    }
    if (t == 7) { o[t] = -1; return; }
    o[t] = sum;
    __syncwarp(~(1u << 7));
    o[32 + t] = o[t ^ 1];
  })");
  if (!cubin_) return;
  const CudaRun run = this->run(std::vector<u32>(64, 5));
  ASSERT_FALSE(run.result.fault) << to_string(*run.result.fault);
  std::vector<i32> expected(64, 5);
  for (i32 t = 0; t < 32; ++t) {
    i32 sum = 0;
    for (i32 i = 0; i < t; ++i) {
      if (i % 3 == 0) {
        sum += 2 * i;
        if (sum > 100) break;
      } else {
        for (i32 j = 0; j < i; ++j) sum ^= j + t;
      }
    }
    expected[static_cast<usize>(t)] = t == 7 ? -1 : sum;
  }
  for (usize t = 0; t < 32; ++t)
    if (t != 7 && t != 6) expected[32 + t] = expected[t ^ 1];
  for (usize i = 0; i < 64; ++i)
    EXPECT_TRUE(i == 38 || static_cast<i32>(run.words[i]) == expected[i]) << i;
}

// Threads that took different ways meet where their masks are the same, and shuffle together.
TEST_P(CudaTest, ThreadsThatMeetAtSeveralPlaces) {
  compile(R"(extern "C" __global__ void test(int* o) {
    const int t = threadIdx.x;
    int v = o[t];
    __shared__ int s[32];
    if (t & 1) {
      for (int i = 0; i < v % 5; ++i) v = v * 3 + i;
      s[t] = v;
      __syncwarp();
      v = s[t ^ 1];
    } else {
      for (int i = 0; i < v % 3; ++i) v = v * 5 + i;
      s[t] = v;
      __syncwarp();
      v = s[t ^ 1] + 1;
    }
    o[32 + t] = v;
    if (v & 1) v = __shfl_xor_sync(~0u, v, 7);
    else v = 2 + __shfl_xor_sync(~0u, v, 7);
    o[64 + t] = v;
  })");
  if (!cubin_) return;
  std::vector<u32> words(96);
  for (u32 t = 0; t < 32; ++t) words[t] = t * t % 23;
  const CudaRun run = this->run(words);
  ASSERT_FALSE(run.result.fault) << to_string(*run.result.fault);
  std::array<u32, 32> shared{}, met{};
  for (u32 t = 0; t < 32; ++t) {
    u32 v = words[t];
    for (u32 i = 0; i < v % (t & 1 ? 5 : 3); ++i) v = v * (t & 1 ? 3 : 5) + i;
    shared[t] = v;
  }
  for (u32 t = 0; t < 32; ++t) met[t] = shared[t ^ 1] + (t & 1 ? 0 : 1);
  for (u32 t = 0; t < 32; ++t) {
    EXPECT_EQ(run.words[32 + t], met[t]) << t;
    EXPECT_EQ(run.words[64 + t], met[t ^ 7] + (met[t] & 1 ? 0 : 2)) << t;
  }
}

TEST_P(CudaTest, BarriersBetweenWarps) {
  compile(R"(extern "C" __global__ void test(unsigned* o) {
    __shared__ unsigned s[256];
    extern __shared__ unsigned more[];
    const unsigned t = threadIdx.x;
    s[t] = o[t];
    __syncthreads();
    for (unsigned half = 128; half > 0; half /= 2) {
      if (t < half) s[t] += s[t + half];
      __syncthreads();
    }
    more[t] = s[0] + t;
    __syncthreads();
    o[t] = more[255 - t];
    const int count = __syncthreads_count(t % 5 == 0);
    if (t == 0) o[256 + blockIdx.x] = count;
  })");
  if (!cubin_) return;
  std::vector<u32> words = iota(256);
  words.resize(258);
  const CudaRun run = this->run(words, {.block = {256, 1, 1}, .dynamic_shared = 1024});
  ASSERT_FALSE(run.result.fault) << to_string(*run.result.fault);
  for (u32 t = 0; t < 256; ++t) EXPECT_EQ(run.words[t], 255 * 128 + 255 - t);
  EXPECT_EQ(run.words[256], 52u);
}

TEST_P(CudaTest, AtomicOperations) {
  compile(R"(extern "C" __global__ void test(unsigned* o) {
    __shared__ unsigned s[2], times[4];
    const unsigned t = threadIdx.x;
    if (t < 2) s[t] = 0;
    if (t < 4) times[t] = 0;
    __syncthreads();
    atomicAdd(&times[o[16 + t] % 4], 1u);
    atomicAdd(&s[0], t);
    atomicMax(&s[1], t * 7 % 64);
    atomicAdd(&o[0], 1u);
    atomicMin((int*)&o[1], -(int)t);
    atomicAdd((float*)&o[2], 0.5f);
    atomicInc(&o[3], 9u);
    atomicXor(&o[4], 1u << t % 32);
    for (bool done = false; !done;) {
      if (atomicCAS(&o[5], 0u, 1u) == 0) {
        ((volatile unsigned*)o)[6] += t;
        __threadfence();
        atomicExch(&o[5], 0u);
        done = true;
      }
    }
    __syncthreads();
    if (t == 0) { o[7] = s[0]; o[8] = s[1]; }
    if (t < 4) o[9 + t] = times[t];
  })");
  if (!cubin_) return;
  std::vector<u32> words(80);
  for (u32 t = 0; t < 64; ++t) words[16 + t] = t * t;  // 0 or 1 mod 4
  const CudaRun run = this->run(words, {.block = {64, 1, 1}});
  ASSERT_FALSE(run.result.fault) << to_string(*run.result.fault);
  const u32 expected[] = {
      64, static_cast<u32>(-63), 0x4200'0000, 4, 0, 0, 2016, 2016, 63, 32, 32, 0, 0};
  for (usize i = 0; i < std::size(expected); ++i) EXPECT_EQ(run.words[i], expected[i]) << i;
}

// The thread that has the lock waits at the end of the loop, where it would meet those that spin.
TEST_P(CudaTest, ThreadsThatSpinLetTheOwnerOfTheLockGoOn) {
  compile(R"(extern "C" __global__ void test(unsigned* o) {
    while (atomicCAS(&o[0], 0u, 1u) != 0) {}
    ((volatile unsigned*)o)[1] += threadIdx.x;
    __threadfence();
    atomicExch(&o[0], 0u);
    __syncwarp();
    o[2 + threadIdx.x] = __shfl_xor_sync(~0u, threadIdx.x, 1);
  })");
  if (!cubin_) return;
  const CudaRun run = this->run(std::vector<u32>(66), {.block = {64, 1, 1}});
  ASSERT_FALSE(run.result.fault) << to_string(*run.result.fault);
  EXPECT_EQ(run.words[1], 2016u);
  for (u32 t = 0; t < 64; ++t) EXPECT_EQ(run.words[2 + t], (t ^ 1) % 32 + t / 32 * 32);
}

// The SIMD and DPX functions of CUDA's math API: single instructions on sm_90.
TEST_P(CudaTest, MinimaOfPairs) {
  compile(R"(extern "C" __global__ void test(unsigned* o) {
    const unsigned a = o[0], b = o[1], c = o[2];
    o[3] = __vimin3_s16x2(a, b, c);
    o[4] = __vimax3_u16x2(a, b, c);
    o[5] = __vimin3_s16x2_relu(a, b, c);
    o[6] = __vimax3_s32_relu(a, b, c);
    o[7] = __viaddmax_s16x2(a, b, c);
    o[8] = __viaddmin_u16x2(a, b, c);
    bool high = false, low = false;
    o[9] = __vibmax_s16x2(a, b, &high, &low);
    o[10] = high + 2 * low;
    o[11] = __vibmin_u16x2(a, b, &high, &low);
    o[12] = high + 2 * low;
  })");
  if (!cubin_) return;
  std::vector<u32> words(13);
  words[0] = 0x0003'fff0, words[1] = 0x0002'0007, words[2] = 0x8000'0100;
  const CudaRun run = this->run(words, {.block = {1, 1, 1}});
  ASSERT_FALSE(run.result.fault) << to_string(*run.result.fault);
  const u32 expected[] = {0x8000'fff0, 0x8000'fff0, 0x0000'0000, 0x0003'fff0, 0x0005'0100,
                          0x0005'0100, 0x0003'0007, 1,           0x0002'0007, 0};
  for (usize i = 0; i < std::size(expected); ++i) EXPECT_EQ(run.words[3 + i], expected[i]) << i;
}

// A stack, calls through a pointer, tables of constants, and pointers to any memory.
TEST_P(CudaTest, CallsStacksAndConstants) {
  compile(R"(__device__ __noinline__ int weigh(int n, int* o) {
    if (n < 2) return 1;
    o[0] += n;
    return n * weigh(n - 1, o) + weigh(n - 2, o + 1);
  }
  __constant__ int table[4] = {3, 1, 4, 1};
  extern "C" __global__ void test(int* o) {
    __shared__ int s[32];
    const int t = threadIdx.x;
    int local[32];
    for (int i = 0; i < 32; ++i) local[i] = i * t;
    s[t] = 0;
    int scratch[16] = {};
    int* where = t & 1 ? &s[t] : &o[64 + t];
    *where = weigh(t % 5, scratch);
    o[t] = *where + local[o[t] & 31];
    o[32 + t] = table[t & 3] + scratch[0];
  })");
  if (!cubin_) return;
  const CudaRun run = this->run(std::vector<u32>(96, 3));
  ASSERT_FALSE(run.result.fault) << to_string(*run.result.fault);
  constexpr u32 kWeights[] = {1, 1, 3, 10, 43}, kTable[] = {3, 1, 4, 1}, kSums[] = {0, 0, 2, 5, 9};
  for (u32 t = 0; t < 32; ++t) {
    EXPECT_EQ(run.words[t], kWeights[t % 5] + 3 * t) << t;
    EXPECT_EQ(run.words[32 + t], kTable[t & 3] + kSums[t % 5]) << t;
  }
}

TEST_P(CudaTest, BlocksHaveTheirIndices) {
  compile(R"(extern "C" __global__ void test(unsigned* o) {
    const unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    const unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    o[block * 24 + thread] = block * 1000 + threadIdx.x * 100 + threadIdx.y * 10 + threadIdx.z;
  })");
  if (!cubin_) return;
  const CudaRun run = this->run(std::vector<u32>(12 * 24), {.grid = {3, 2, 2}, .block = {4, 3, 2}});
  ASSERT_FALSE(run.result.fault) << to_string(*run.result.fault);
  for (u32 block = 0; block < 12; ++block)
    for (u32 t = 0; t < 24; ++t)
      EXPECT_EQ(run.words[block * 24 + t], block * 1000 + t % 4 * 100 + t / 4 % 3 * 10 + t / 12);
}

INSTANTIATE_TEST_SUITE_P(Chips, CudaTest, ::testing::Values("sm_86", "sm_89", "sm_90"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace doorbell::emu::nvgpu::testing
