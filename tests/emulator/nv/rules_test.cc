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
    asm volatile("mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
                 "{%0,%1,%2,%3},{%4,%5},{%6,%7},{%0,%1,%2,%3},%8,0x0;"
                 : "+f"(c0), "+f"(c1), "+f"(c2), "+f"(c3)
                 : "r"(a), "r"(a), "r"(a), "r"(a), "r"(a));
    o[threadIdx.x] = __float_as_uint(c0 + c1 + c2 + c3); })");
  if (!cubin_) return;
  expect_fault(this->run(std::vector<u32>(32)), kUnknownInstruction, "HMMA in this form", 0);
}

TEST_P(NvRules, MatrixProductOfSomeLanes) {
  compile(R"(extern "C" __global__ void test(unsigned* o) {
    unsigned a = o[threadIdx.x];
    float c0 = 0, c1 = 0, c2 = 0, c3 = 0;
    if (a == 0)
      asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3},{%4,%5},{%6},"
                   "{%0,%1,%2,%3};" : "+f"(c0), "+f"(c1), "+f"(c2), "+f"(c3)
                   : "r"(a), "r"(a), "r"(a));
    o[threadIdx.x] = __float_as_uint(c0 + c1 + c2 + c3); })");
  if (!cubin_) return;
  std::vector<u32> words(32);
  EXPECT_FALSE(this->run(words).result.fault);
  words[5] = 1;
  expect_fault(this->run(words), kWholeWarp, "lanes 0xffffffdf", 5);
}

TEST_P(NvRules, MisalignedRowOfAMatrix) {
  compile(R"(extern "C" __global__ void test(unsigned* o, int shift) {
    __shared__ __align__(16) unsigned s[160];
    const unsigned t = threadIdx.x;
    for (int i = 0; i < 5; ++i) s[t + 32 * i] = o[t];
    __syncthreads();
    const unsigned at = (unsigned)__cvta_generic_to_shared(s + 4 * t) + (t == 9 ? shift : 0);
    unsigned a, b;
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0,%1}, [%2];"
                 : "=r"(a), "=r"(b) : "r"(at));
    o[t] = a + b; })");
  if (!cubin_) return;
  const std::vector<u32> words(32);
  EXPECT_FALSE(this->run(words, {.more = {16}}).result.fault);
  expect_fault(this->run(words, {.more = {4}}), kMisaligned, "LDSM", 9);
}

// A copy is done for its own threads when they have waited, and for others after a barrier too.
TEST_P(NvRules, CopiesThatAreNotWaitedFor) {
  const std::string head = R"(extern "C" __global__ void test(unsigned* o) {
    __shared__ __align__(16) unsigned s[256];
    const unsigned t = threadIdx.x;
    const unsigned at = (unsigned)__cvta_generic_to_shared(s + 4 * t);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(at), "l"(o + 4 * t));
    asm volatile("cp.async.commit_group;");
  )";
  compile(head + "__syncthreads(); o[t] = s[t]; }");
  if (!cubin_) return;
  const std::vector<u32> words(256);
  const CudaLaunch two{.block = {64, 1, 1}};
  expect_fault(this->run(words, two), kPendingCopy, "LDS", 0);
  compile(head + R"(asm volatile("cp.async.wait_group 1;" ::: "memory");
                    __syncthreads(); o[t] = s[t]; })");
  expect_fault(this->run(words, two), kPendingCopy, "LDS", 0);
  const std::string wait = R"(asm volatile("cp.async.wait_group 0;" ::: "memory");)";
  compile(head + "__syncthreads();" + wait + "o[t] = s[t ^ 160]; }");
  const CudaRun race = this->run(words, two);
  ASSERT_TRUE(race.result.fault);
  EXPECT_TRUE(race.result.fault->rule == &kSharedRace || race.result.fault->rule == &kPendingCopy)
      << to_string(*race.result.fault);
  compile(head + wait + "__syncthreads(); o[t] = s[t ^ 160]; }");
  EXPECT_FALSE(this->run(words, two).result.fault);
}

// An indirect call of an address that is no code.
TEST_P(NvRules, CodeThatDoesNotExist) {
  compile(R"(extern "C" __global__ void test(unsigned long long* o) {
    using Function = void (*)(unsigned long long*);
    reinterpret_cast<Function>(o[0])(o); })");
  if (!cubin_) return;
  expect_fault(this->run({0x7654'3210, 0x1234, 0, 0}), kCodeFetch, "0x123476543210", 0);
}

TEST_P(NvRules, LocalMemoryBeyondTheThread) {
  compile(R"(extern "C" __global__ void test(int* o) {
    int local[64];
    for (int i = 0; i < 64; ++i) local[i] = o[i & 31];
    for (int i = 0; i < 4; ++i) local[o[i] * 1000 + threadIdx.x] += i;
    o[threadIdx.x] = local[o[4] & 63] + local[threadIdx.x]; })");
  if (!cubin_) return;
  std::vector<u32> words(32);
  EXPECT_FALSE(this->run(words).result.fault);
  words[2] = 7;
  expect_fault(this->run(words), kLocalAccess, "a thread has", 0);
}

TEST_P(NvRules, ConstantsBeyondTheirBank) {
  compile(R"(__constant__ int table[16];
    extern "C" __global__ void test(int* o) { o[threadIdx.x] = table[o[threadIdx.x]]; })");
  if (!cubin_) return;
  std::vector<u32> words(32);
  EXPECT_FALSE(this->run(words).result.fault);
  words[3] = 20'000;
  expect_fault(this->run(words), kConstantAccess, "LDC", 3);
}

// The compiler's code, in which operands of bank 0 are moved to its end.
TEST_P(NvRules, OperandsBeyondTheirBank) {
  compile(R"(extern "C" __global__ void test(float* o, float by) { o[threadIdx.x] *= by; })",
          [](Words& words) {
            if (words.field(9, 3) == 5 && words.field(0, 9) == 0x020)  // FMUL of a constant
              words.low = (words.low & ~(u64{0xffff} << 38)) | u64{0xfff0} << 38;
            if (words.field(0, 9) == 0x182 || words.field(0, 12) == 0xab9)  // LDC, ULDC of `by`
              if (words.field(38, 16) == 0x218 || words.field(38, 16) == 0x168)
                words.low = (words.low & ~(u64{0xffff} << 38)) | u64{0xfff0} << 38;
          });
  if (!cubin_) return;
  expect_fault(this->run(std::vector<u32>(32), {.more = {0}}), kConstantAccess, "0xfff0", 0);
}

// The compiler's code of a loop in each branch, behind which the threads of the branch meet; here
// they wait for those of the other branch, too, which never come to that place.
TEST_P(NvRules, ThreadsThatWaitElsewhere) {
  compile(R"(extern "C" __global__ void test(volatile int* o) {
    int sum = o[threadIdx.x];
    if (threadIdx.x & 1) {
      for (int i = 0; i < o[threadIdx.x]; ++i) sum = sum * 3 + o[i];
      sum ^= o[5];
    } else {
      for (int i = 0; i < o[threadIdx.x]; ++i) sum = sum * 5 + o[i + 3];
      sum += o[6];
    }
    o[32 + threadIdx.x] = sum; })",
          [](Words& words) {
            if (words.field(0, 12) == 0x941) words.low &= ~(u64{0xf} << 16);  // BSYNC: of B0
          });
  if (!cubin_) return;
  std::vector<u32> turns(64);
  for (u32 i = 0; i < 32; ++i) turns[i] = i % 7;
  const CudaRun run = this->run(turns);
  ASSERT_TRUE(run.result.fault);
  EXPECT_EQ(run.result.fault->rule, &kConvergence) << to_string(*run.result.fault);
}

// Each half of the warp waits for a thread of the other one, at another place.
TEST_P(NvRules, ThreadsThatDoNotMeet) {
  compile(R"(extern "C" __global__ void test(int* o) {
    if (threadIdx.x < 16) { __syncwarp(0x0001ffff); o[threadIdx.x] = 1; }
    else { __syncwarp(0xffff8000); o[threadIdx.x] = 2; } })");
  if (!cubin_) return;
  const CudaRun run = this->run(std::vector<u32>(32));
  ASSERT_TRUE(run.result.fault);
  EXPECT_EQ(run.result.fault->rule, &kWarpSync) << to_string(*run.result.fault);
  // What they do then is undefined: where the rule is no error, they go on.
  const CudaRun warned = this->run(std::vector<u32>(32), {.levels = "NV-SYNC-005=warn"});
  EXPECT_FALSE(warned.result.fault) << to_string(*warned.result.fault);
  for (usize i = 0; i < 32; ++i) EXPECT_EQ(warned.words[i], i < 16 ? 1u : 2u) << i;
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
