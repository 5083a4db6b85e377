// Each rule is broken by a kernel; the fault names the rule, the instruction and the lane.
#include "emulator/nv/compute/rules.h"

#include "tests/emulator/nv/cuda_kernel.h"

namespace doorbell::emu::nvgpu::testing {
namespace {

class NvRules : public CudaTest {
 protected:
  void expect_fault(const CudaRun& run, const Check& rule, const char* part, u32 lane) {
    ASSERT_TRUE(run.result.fault) << "no fault";
    const Fault& fault = *run.result.fault;
    EXPECT_EQ(fault.rule, &rule) << to_string(fault);
    EXPECT_EQ(fault.kernel, "test");
    EXPECT_NE(to_string(fault).find(part), std::string::npos) << to_string(fault);
    EXPECT_EQ(fault.lane, lane) << to_string(fault);
  }
};

TEST_P(NvRules, GlobalMemoryThatIsNotMapped) {
  compile(R"(extern "C" __global__ void test(int* o) { o[threadIdx.x * 200] = 1; })");
  if (!cubin_) return;
  const CudaRun run = this->run(std::vector<u32>(1024));
  expect_fault(run, kGlobalAccess, "STG", 6);
  EXPECT_EQ(run.result.fault->address, 0x10'0000u + 6 * 800);
}

TEST_P(NvRules, MisalignedAddress) {
  compile(R"(extern "C" __global__ void test(char* o) {
    *(int*)(o + (threadIdx.x == 3 ? 402 : 4 * threadIdx.x)) = 1; })");
  if (!cubin_) return;
  expect_fault(this->run(std::vector<u32>(1024)), kMisaligned, "0x100192", 3);
}

TEST_P(NvRules, SharedMemoryBeyondTheBlock) {
  compile(R"(extern "C" __global__ void test(int* o, int at) {
    __shared__ int s[32];
    s[threadIdx.x + at] = 1;
    __syncthreads();
    o[threadIdx.x] = s[31 - threadIdx.x]; })");
  if (!cubin_) return;
  expect_fault(this->run(std::vector<u32>(32), {.more = {20}}), kSharedAccess, "STS", 12);
}

TEST_P(NvRules, SharedMemoryThatWasNeverWritten) {
  compile(R"(extern "C" __global__ void test(int* o) {
    __shared__ int s[64];
    s[threadIdx.x] = 1;
    __syncthreads();
    o[threadIdx.x] = s[threadIdx.x * 2]; })");
  if (!cubin_) return;
  const std::vector<u32> words(32);
  expect_fault(this->run(words), kUndefinedShared, "LDS", 16);
  EXPECT_FALSE(this->run(words, {.levels = "NV-MEM-006=warn"}).result.fault);
}

TEST_P(NvRules, SharedMemoryWithoutABarrier) {
  compile(R"(extern "C" __global__ void test(int* o) {
    __shared__ int s[64];
    s[threadIdx.x] = threadIdx.x;
    __syncthreads();
    s[threadIdx.x] = s[63 - threadIdx.x];
    o[threadIdx.x] = s[threadIdx.x]; })");
  if (!cubin_) return;
  const CudaRun run = this->run(std::vector<u32>(64), {.block = {64, 1, 1}});
  ASSERT_TRUE(run.result.fault);
  EXPECT_EQ(run.result.fault->rule, &kSharedRace) << to_string(*run.result.fault);
}

TEST_P(NvRules, BarrierThatNotAllThreadsReach) {
  compile(R"(extern "C" __global__ void test(int* o) {
    if (threadIdx.x < 32) asm volatile("bar.sync 1, 64;");
    else asm volatile("bar.sync 2, 64;");
    o[threadIdx.x] = 1; })");
  if (!cubin_) return;
  const CudaRun run = this->run(std::vector<u32>(64), {.block = {64, 1, 1}});
  ASSERT_TRUE(run.result.fault);
  EXPECT_EQ(run.result.fault->rule, &kBarrier) << to_string(*run.result.fault);
}

TEST_P(NvRules, KernelsThatNeverEndOrTrap) {
  compile(R"(extern "C" __global__ void test(volatile int* o) {
    if (o[1] == 5) __trap();
    while (o[threadIdx.x] == 0) {} })");
  if (!cubin_) return;
  expect_fault(this->run(std::vector<u32>(32), {.most_instructions = 100'000}), kEndlessKernel,
               "NV-CODE-003", 0);
  expect_fault(this->run(std::vector<u32>(32, 5)), kTrap, "BPT", 0);
}

TEST_P(NvRules, InstructionsThatAreNotExecuted) {
  compile(R"(extern "C" __global__ void test(unsigned* o) {
    unsigned a = o[threadIdx.x];
    float c0 = 0, c1 = 0, c2 = 0, c3 = 0;
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3},{%4,%5},{%6},"
                 "{%0,%1,%2,%3};" : "+f"(c0), "+f"(c1), "+f"(c2), "+f"(c3)
                 : "r"(a), "r"(a), "r"(a));
    o[threadIdx.x] = __float_as_uint(c0 + c1 + c2 + c3); })");
  if (!cubin_) return;
  expect_fault(this->run(std::vector<u32>(32)), kUnknownInstruction, "HMMA in this form", 0);
}

// The compiler's code, in which no instruction waits for a scoreboard (bits 116 to 121).
TEST_P(NvRules, ResultsThatAreNotWaitedFor) {
  const char* kSource = R"(extern "C" __global__ void test(int* o) { o[threadIdx.x] += 1; })";
  compile(kSource);
  if (!cubin_) return;
  EXPECT_FALSE(this->run(std::vector<u32>(32)).result.fault);
  compile(kSource, [](Words& words) { words.high &= ~(u64{63} << 52); });
  const CudaRun run = this->run(std::vector<u32>(32));
  expect_fault(run, kMissingWait, "does not wait for scoreboard", 0);
}

// The compiler's code, in which NOP replaces S2R.
TEST_P(NvRules, AddressesFromRegistersThatWereNeverWritten) {
  compile(R"(extern "C" __global__ void test(int* o) { o[threadIdx.x] = 1; })", [](Words& words) {
    if (words.field(0, 12) == 0x919) words.low = (words.low & ~u64{0xfff}) | 0x918;
  });
  if (!cubin_) return;
  expect_fault(this->run(std::vector<u32>(32)), kUndefinedRegister, "STG", 0);
}

INSTANTIATE_TEST_SUITE_P(Chips, NvRules, ::testing::Values("sm_86", "sm_90"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace doorbell::emu::nvgpu::testing
