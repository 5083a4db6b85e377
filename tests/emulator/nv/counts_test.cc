// Counts of kernels, worked out by hand: of machine code word by word, and of CUDA C++ what its
// compiler cannot change.
#include "emulator/core/counts.h"

#include <cstring>

#include "emulator/nv/compute/block.h"
#include "tests/emulator/nv/cuda_kernel.h"

namespace doorbell::emu::nvgpu::testing {
namespace {

using enum InstructionClass;

// Words as nvdisasm prints them: three times FFMA R0, -R5, R5, R0; then IADD3 R31, R31, 0x1, RZ;
// ISETP.NE.AND P0, PT, R31, 0x5, PT; @P0 BRA to the first; EXIT.
TEST(NvCounts, OfALoopByHand) {
  const Words words[] = {
      {0x0000000505007223, 0x000fc80000000100}, {0x0000000505007223, 0x000fc80000000100},
      {0x0000000505007223, 0x000fc80000000100}, {0x000000011f1f7810, 0x000fc80007ffe0ff},
      {0x000000051f00780c, 0x000fe40003f05270}, {0xffffffa000000947, 0x000fea000383ffff},
      {0x000000000000794d, 0x000fea0003800000}};
  CubinKernel kernel;
  kernel.name = "loop";
  kernel.entry = Cubin::kCodeStart;
  Counts counts;
  const Launch launch{.grid = {2, 1, 1}, .block = {40, 1, 1}, .counts = &counts};
  AddressSpace memory;
  Checks checks(Level::Off);
  std::vector<u8> code(sizeof words);
  std::memcpy(code.data(), words, sizeof words);
  const Program program = decode(code, Cubin::kCodeStart, 86);
  Grid grid{.kernel = kernel, .launch = launch, .memory = memory, .checks = checks};
  grid.set_program(program);
  u64 instructions = 0;
  const auto fault = run_blocks(grid, &instructions);
  ASSERT_FALSE(fault) << to_string(*fault);
  const CountsByKernel kernels = counts.kernels();
  ASSERT_EQ(kernels.size(), 1u);
  const KernelCounts& loop = kernels.at("loop");
  constexpr u64 kWarps = 2 * 2, kRounds = 5;  // 40 threads are two warps
  EXPECT_EQ(loop.launches, 1u);
  EXPECT_EQ(loop.of(Vector), kWarps * kRounds * 5);
  EXPECT_EQ(loop.of(Branch), kWarps * (kRounds + 1));
  EXPECT_EQ(loop.all_instructions(), instructions);
  EXPECT_EQ(loop.bank_conflicts + loop.bytes_read + loop.bytes_written + loop.sectors, 0u);
}

class NvCountsOfCuda : public CudaTest {
 protected:
  KernelCounts count(std::vector<u32> words, CudaLaunch launch) {
    Counts counts;
    launch.counts = &counts;
    const CudaRun run = this->run(std::move(words), launch);
    EXPECT_FALSE(run.result.fault) << to_string(*run.result.fault);
    const KernelCounts one = counts.kernels().at("test");
    EXPECT_EQ(one.all_instructions(), run.result.instructions);
    return one;
  }
};

TEST_P(NvCountsOfCuda, BankConflictsAndBytes) {
  compile(R"(extern "C" __global__ void test(unsigned* o, unsigned stride) {
    __shared__ unsigned s[32 * 64];
    s[threadIdx.x * stride] = o[threadIdx.x];
    __syncthreads();
    o[64 + threadIdx.x] = s[(threadIdx.x ^ 1) * stride];
  })");
  if (!cubin_) return;
  // Of 64 threads, lane by lane: words that are `stride` apart.
  for (const auto& [stride, conflicts] :
       {std::pair(1u, 0u), std::pair(2u, 1u), std::pair(32u, 31u), std::pair(31u, 0u)}) {
    const KernelCounts one = count(std::vector<u32>(128), {.block = {64, 1, 1}, .more = {stride}});
    EXPECT_EQ(one.bank_conflicts, 2 * 2 * conflicts) << stride;
    EXPECT_EQ(one.of(Shared), 2 * 2u);
    EXPECT_EQ(one.of(Global), 2 * 2u);
    EXPECT_EQ(one.of(Barrier), 2u);
    EXPECT_EQ(one.bytes_read, 256u);
    EXPECT_EQ(one.bytes_written, 256u);
    EXPECT_EQ(one.sectors, 16u);
  }
}

// Columns of 16 bytes in rows of 64 bytes: eight lanes at once have four rows in the same banks.
TEST_P(NvCountsOfCuda, WideAccesses) {
  compile(R"(extern "C" __global__ void test(uint4* o, unsigned stride) {
    extern __shared__ uint4 s[];
    s[threadIdx.x * stride] = o[threadIdx.x];
    __syncwarp();
    o[threadIdx.x] = s[threadIdx.x * stride];
  })");
  if (!cubin_) return;
  for (const auto& [stride, conflicts] :
       {std::pair(1u, 0u), std::pair(4u, 4 * 3u), std::pair(5u, 0u), std::pair(8u, 4 * 7u)}) {
    const KernelCounts one =
        count(std::vector<u32>(128), {.dynamic_shared = 32 * 8 * 16, .more = {stride}});
    EXPECT_EQ(one.bank_conflicts, 2 * conflicts) << stride;
    EXPECT_EQ(one.bytes_read, 512u);
    EXPECT_EQ(one.sectors, 32u);
  }
}

INSTANTIATE_TEST_SUITE_P(Chips, NvCountsOfCuda, ::testing::Values("sm_86", "sm_90"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace doorbell::emu::nvgpu::testing
