// Instructions that sm_90 brought, besides wgmma and mbarriers: expected values are what PTX says
// of the instructions of the source. [PTX ISA, "stmatrix", "elect.sync"]
#include <bit>

#include "emulator/nv/compute/rules.h"
#include "tests/emulator/nv/cuda_kernel.h"

namespace doorbell::emu::nvgpu::testing {
namespace {

class NvHopper : public CudaTest {};

// Element n is n: that of matrix m, row r and column c is 64 m + 8 r + c. Lane 4 r + c has columns
// 2 c and 2 c + 1 of row r; lane 8 m + r has the address of row r of matrix m, of the last place
// first.
TEST_P(NvHopper, StoresMatrices) {
  compile(R"(extern "C" __global__ void test(unsigned* o) {
    __shared__ __align__(16) unsigned s[3 * 128];
    const unsigned t = threadIdx.x;
    for (int i = 0; i < 12; ++i) s[t + 32 * i] = 0x70007;
    __syncwarp();
    unsigned r[4];
    for (int i = 0; i < 4; ++i) r[i] = o[32 * i + t];
    const unsigned at = (unsigned)__cvta_generic_to_shared(s + 4 * (31 - t));
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1,%2,%3,%4};"
                 :: "r"(at), "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]) : "memory");
    asm volatile("stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%0+512], {%1,%2};"
                 :: "r"(at), "r"(r[2]), "r"(r[3]) : "memory");
    asm volatile("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%0+1024], {%1};"
                 :: "r"(at), "r"(r[1]) : "memory");
    __syncwarp();
    for (int i = 0; i < 12; ++i) o[128 + t + 32 * i] = s[t + 32 * i];
  })");
  if (!cubin_) return;
  std::vector<u32> words(512);
  for (u32 m = 0; m < 4; ++m)
    for (u32 t = 0; t < 32; ++t) {
      const u32 element = 64 * m + 8 * (t / 4) + 2 * (t % 4);
      words[32 * m + t] = element | (element + 1) << 16;
    }
  const CudaRun run = this->run(words);
  ASSERT_FALSE(run.result.fault) << to_string(*run.result.fault);
  // The element in column c of the row whose address lane `lane` had, of the i-th store.
  const auto stored = [&](u32 i, u32 lane, u32 c) {
    const u32 word = run.words[128 + 128 * i + 4 * (31 - lane) + c / 2];
    return c % 2 == 0 ? word & 0xffff : word >> 16;
  };
  for (u32 lane = 0; lane < 32; ++lane)
    for (u32 c = 0; c < 8; ++c) {
      const u32 m = lane / 8, r = lane % 8;
      EXPECT_EQ(stored(0, lane, c), 64 * m + 8 * r + c);
      EXPECT_EQ(stored(1, lane, c), m < 2 ? 64 * (m + 2) + 8 * c + r : 7) << lane << ' ' << c;
      EXPECT_EQ(stored(2, lane, c), m < 1 ? 64 + 8 * r + c : 7) << lane << ' ' << c;
    }
}

// One of the lanes that execute it, and all are told which.
TEST_P(NvHopper, ElectsALane) {
  compile(R"(
  __device__ void elect(unsigned mask, unsigned* o) {
    unsigned leader, is_leader;
    asm volatile("{.reg .pred p; elect.sync %0|p, %2; selp.b32 %1, 1, 0, p;}"
                 : "=r"(leader), "=r"(is_leader) : "r"(mask));
    o[threadIdx.x] = leader;
    o[32 + threadIdx.x] = is_leader;
  }
  extern "C" __global__ void test(unsigned* o) {
    elect(~0u, o);
    if (threadIdx.x % 4 == 3) elect(0x88888888u, o + 64);
  })");
  if (!cubin_) return;
  const CudaRun run = this->run(std::vector<u32>(128, 99));
  ASSERT_FALSE(run.result.fault) << to_string(*run.result.fault);
  for (const auto& [at, mask] : {std::pair(0u, ~0u), std::pair(64u, 0x8888'8888u)}) {
    const u32 leader = run.words[at + static_cast<u32>(std::countr_zero(mask))];
    ASSERT_LT(leader, 32u);
    EXPECT_TRUE(mask >> leader & 1);
    for (u32 t = 0; t < 32; ++t) {
      const bool takes_part = mask >> t & 1;
      EXPECT_EQ(run.words[at + t], takes_part ? leader : 99);
      EXPECT_EQ(run.words[at + 32 + t], takes_part ? t == leader : 99);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Chips, NvHopper, ::testing::Values("sm_90"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace doorbell::emu::nvgpu::testing
