// Barriers in shared memory: expected values are what PTX says of the instructions of the source.
// [PTX ISA, "mbarrier"]
#include "emulator/nv/compute/rules.h"
#include "tests/emulator/nv/cuda_kernel.h"

namespace doorbell::emu::nvgpu::testing {
namespace {

class NvMbarrier : public CudaTest {};

// What the kernels below call.
const std::string kFunctions = R"(
typedef unsigned long long u64;
__device__ unsigned at(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ void init(u64* b, unsigned count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(at(b)), "r"(count) : "memory");
}
__device__ u64 arrive(u64* b) {
  u64 state;
  asm volatile("mbarrier.arrive.shared::cta.b64 %0, [%1];" : "=l"(state) : "r"(at(b)) : "memory");
  return state;
}
__device__ u64 arrive_many(u64* b, unsigned count) {
  u64 state;
  asm volatile("mbarrier.arrive.shared::cta.b64 %0, [%1], %2;"
               : "=l"(state) : "r"(at(b)), "r"(count) : "memory");
  return state;
}
__device__ u64 drop(u64* b) {
  u64 state;
  asm volatile("mbarrier.arrive_drop.shared::cta.b64 %0, [%1];"
               : "=l"(state) : "r"(at(b)) : "memory");
  return state;
}
__device__ u64 arrive_expect(u64* b, unsigned bytes) {
  u64 state;
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 %0, [%1], %2;"
               : "=l"(state) : "r"(at(b)), "r"(bytes) : "memory");
  return state;
}
__device__ void expect(u64* b, unsigned bytes) {
  asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;"
               :: "r"(at(b)), "r"(bytes) : "memory");
}
__device__ void complete(u64* b, unsigned bytes) {
  asm volatile("mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%0], %1;"
               :: "r"(at(b)), "r"(bytes) : "memory");
}
__device__ unsigned pending(u64 state) {
  unsigned count;
  asm volatile("mbarrier.pending_count.b64 %0, %1;" : "=r"(count) : "l"(state));
  return count;
}
__device__ bool test(u64* b, u64 state) {
  unsigned done;
  asm volatile("{.reg .pred p; mbarrier.test_wait.shared::cta.b64 p, [%1], %2;"
               "selp.b32 %0, 1, 0, p;}" : "=r"(done) : "r"(at(b)), "l"(state) : "memory");
  return done;
}
__device__ bool try_parity(u64* b, unsigned parity) {
  unsigned done;
  asm volatile("{.reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;"
               "selp.b32 %0, 1, 0, p;}" : "=r"(done) : "r"(at(b)), "r"(parity) : "memory");
  return done;
}
)";

// One thread: phases end when the arrivals that were expected came, with a count that drops.
TEST_P(NvMbarrier, PhasesEndWithTheirArrivals) {
  compile(kFunctions + R"(extern "C" __global__ void test(unsigned* o) {
    __shared__ u64 b;
    if (threadIdx.x != 0) return;
    init(&b, 3);
    u64 first = arrive(&b);
    *o++ = pending(first); *o++ = test(&b, first); *o++ = try_parity(&b, 0);
    u64 second = arrive_many(&b, 2);
    *o++ = pending(second); *o++ = test(&b, first); *o++ = try_parity(&b, 0);
    *o++ = try_parity(&b, 1);
    u64 third = drop(&b);
    *o++ = pending(third); *o++ = test(&b, third);
    arrive_many(&b, 2);
    *o++ = test(&b, third); *o++ = try_parity(&b, 1);
    u64 fourth = arrive(&b);
    *o++ = pending(fourth); *o++ = pending(arrive(&b)); *o++ = test(&b, fourth);
  })");
  if (!cubin_) return;
  const CudaRun run = this->run(std::vector<u32>(14, 99));
  ASSERT_FALSE(run.result.fault) << to_string(*run.result.fault);
  // The last phases expect two arrivals: one thread left.
  EXPECT_EQ(run.words, (std::vector<u32>{3, 0, 0, 2, 1, 1, 0, 3, 0, 1, 1, 2, 1, 1}));
}

// A phase also ends no sooner than the bytes that it expects came.
TEST_P(NvMbarrier, PhasesWaitForTheirBytes) {
  compile(kFunctions + R"(extern "C" __global__ void test(unsigned* o) {
    __shared__ u64 b;
    if (threadIdx.x != 0) return;
    init(&b, 1);
    complete(&b, 16);  // may come before it is expected
    u64 state = arrive_expect(&b, 64);
    *o++ = test(&b, state);
    complete(&b, 40);
    *o++ = test(&b, state);
    expect(&b, 100);
    complete(&b, 8);
    *o++ = test(&b, state);
    complete(&b, 100);
    *o++ = test(&b, state); *o++ = try_parity(&b, 1);
  })");
  if (!cubin_) return;
  const CudaRun run = this->run(std::vector<u32>(5, 99));
  ASSERT_FALSE(run.result.fault) << to_string(*run.result.fault);
  EXPECT_EQ(run.words, (std::vector<u32>{0, 0, 0, 1, 0}));
}

// A warp fills a ring of two buffers that another one empties; no other barrier orders them, and
// races are errors.
TEST_P(NvMbarrier, OneWarpFillsWhatAnotherOneEmpties) {
  compile(kFunctions + R"(extern "C" __global__ void test(unsigned* o) {
    __shared__ u64 full[2], empty[2];
    __shared__ unsigned ring[2][32];
    const unsigned t = threadIdx.x % 32;
    if (threadIdx.x == 0)
      for (int i = 0; i < 2; ++i) { init(&full[i], 32); init(&empty[i], 32); }
    __syncthreads();
    for (unsigned i = 0; i < 8; ++i) {
      const unsigned slot = i % 2, round = i / 2 % 2;
      if (threadIdx.x < 32) {
        while (!try_parity(&empty[slot], round ^ 1)) {}
        ring[slot][t] = 100 * i + t;
        arrive(&full[slot]);
      } else {
        while (!try_parity(&full[slot], round)) {}
        o[32 * i + t] = ring[slot][31 - t];
        arrive(&empty[slot]);
      }
    }
  })");
  if (!cubin_) return;
  const CudaRun run = this->run(std::vector<u32>(256), {.block = {64, 1, 1}});
  ASSERT_FALSE(run.result.fault) << to_string(*run.result.fault);
  for (u32 i = 0; i < 8; ++i)
    for (u32 t = 0; t < 32; ++t) EXPECT_EQ(run.words[32 * i + t], 100 * i + 31 - t);
}

// Copies of a thread arrive when they are done, whether the arrival was expected or is.
TEST_P(NvMbarrier, CopiesArrive) {
  compile(kFunctions + R"(extern "C" __global__ void test(unsigned* o) {
    __shared__ u64 b[2];
    __shared__ unsigned copy[2][32];
    const unsigned t = threadIdx.x;
    if (t == 0) { init(&b[0], 32); init(&b[1], 32); }
    __syncthreads();
    for (int i = 0; i < 2; ++i) {
      asm volatile("cp.async.ca.shared.global [%0], [%1], 4;"
                   :: "r"(at(&copy[i][t])), "l"(o + t) : "memory");
      if (i == 0) asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];"
                               :: "r"(at(&b[0])) : "memory");
      else asm volatile("cp.async.mbarrier.arrive.shared::cta.b64 [%0];"
                        :: "r"(at(&b[1])) : "memory");
      if (i == 1) arrive(&b[1]);
      while (!try_parity(&b[i], 0)) {}
    }
    o[32 + t] = copy[0][31 - t] + copy[1][31 - t];
  })");
  if (!cubin_) return;
  std::vector<u32> words(64);
  for (u32 t = 0; t < 32; ++t) words[t] = t;
  const CudaRun run = this->run(words);
  ASSERT_FALSE(run.result.fault) << to_string(*run.result.fault);
  for (u32 t = 0; t < 32; ++t) EXPECT_EQ(run.words[32 + t], 2 * (31 - t));
}

// An arrival that must not end its phase.
TEST_P(NvMbarrier, ArrivalsWithoutCompletion) {
  compile(kFunctions + R"(extern "C" __global__ void test(unsigned* o, unsigned count) {
    __shared__ u64 b;
    if (threadIdx.x != 0) return;
    init(&b, 4);
    u64 state;
    asm volatile("mbarrier.arrive.noComplete.shared::cta.b64 %0, [%1], %2;"
                 : "=l"(state) : "r"(at(&b)), "r"(count) : "memory");
    *o++ = pending(state);
    asm volatile("mbarrier.arrive_drop.noComplete.shared::cta.b64 %0, [%1], 1;"
                 : "=l"(state) : "r"(at(&b)) : "memory");
    *o++ = pending(state); *o++ = test(&b, state);
    state = arrive(&b);
    *o++ = pending(state); *o++ = test(&b, state); *o++ = pending(arrive(&b));
  })");
  if (!cubin_) return;
  const CudaRun run = this->run(std::vector<u32>(6, 99), {.more = {2}});
  ASSERT_FALSE(run.result.fault) << to_string(*run.result.fault);
  // One thread left: the second phase expects three arrivals.
  EXPECT_EQ(run.words, (std::vector<u32>{4, 2, 0, 1, 1, 3}));
  const CudaRun wrong = this->run(std::vector<u32>(6, 99), {.more = {3}});
  ASSERT_TRUE(wrong.result.fault);
  EXPECT_EQ(wrong.result.fault->rule, &kMbarrier) << to_string(*wrong.result.fault);
  EXPECT_NE(wrong.result.fault->message.find(".noComplete"), std::string::npos);
}

// Lanes that arrive together: the state of each has the arrivals of those before it.
TEST_P(NvMbarrier, LanesArriveWithoutCompletion) {
  compile(kFunctions + R"(extern "C" __global__ void test(unsigned* o) {
    __shared__ u64 b;
    if (threadIdx.x == 0) init(&b, 100);
    __syncwarp();
    u64 state;
    if (threadIdx.x % 3 == 0) {
      asm volatile("mbarrier.arrive.noComplete.shared::cta.b64 %0, [%1], 2;"
                   : "=l"(state) : "r"(at(&b)) : "memory");
      o[threadIdx.x] = pending(state);
    }
    __syncwarp();
    if (threadIdx.x == 0) o[32] = pending(arrive(&b));
  })");
  if (!cubin_) return;
  const CudaRun run = this->run(std::vector<u32>(33, 7));
  ASSERT_FALSE(run.result.fault) << to_string(*run.result.fault);
  for (u32 t = 0; t < 32; ++t) EXPECT_EQ(run.words[t], t % 3 == 0 ? 100 - 2 * (t / 3) : 7) << t;
  EXPECT_EQ(run.words[32], 100 - 2 * 11u);
}

// A block of bytes from global memory, of which an mbarrier tells, and back, as a group.
const std::string kBulkCopies = R"(extern "C" __global__ void test(unsigned* o, unsigned bytes,
                                                                   unsigned expected) {
    __shared__ __align__(128) unsigned in[64], out[64];
    __shared__ u64 b;
    const unsigned t = threadIdx.x;
    if (t == 0) {
      init(&b, 1);
      asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
      arrive_expect(&b, expected);
      asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], "
                   "%2, [%3];" :: "r"(at(in)), "l"(o), "r"(bytes), "r"(at(&b)) : "memory");
    }
    __syncthreads();
    while (!try_parity(&b, 0)) {}
    out[t] = t < bytes / 4 ? 3 * in[63 - t - (64 - bytes / 4)] : 0;
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (t == 0) {
      asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;"
                   :: "l"(o + 64), "r"(at(out)), "r"(bytes) : "memory");
      asm volatile("cp.async.bulk.commit_group;" ::: "memory");
      asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
    }
  })";

TEST_P(NvMbarrier, BulkCopies) {
  compile(kFunctions + kBulkCopies);
  if (!cubin_) return;
  for (const u32 count : {4u, 20u, 64u}) {
    std::vector<u32> words(128, 7);
    for (u32 i = 0; i < 64; ++i) words[i] = 100 + i;
    std::vector<u32> expected = words;
    for (u32 i = 0; i < count; ++i) expected[64 + i] = 3 * (100 + count - 1 - i);
    const CudaRun run = this->run(words, {.block = {64, 1, 1}, .more = {4 * count, 4 * count}});
    ASSERT_FALSE(run.result.fault) << to_string(*run.result.fault);
    EXPECT_EQ(run.words, expected) << count;
  }
}

// A phase that expects more bytes than the copy has does not end; addresses are multiples of 16.
TEST_P(NvMbarrier, BulkCopiesThatAreWrong) {
  compile(kFunctions + kBulkCopies);
  if (!cubin_) return;
  const CudaRun endless =
      this->run(std::vector<u32>(128),
                {.block = {64, 1, 1}, .more = {64, 128}, .most_instructions = 100'000});
  ASSERT_TRUE(endless.result.fault);
  EXPECT_EQ(endless.result.fault->rule, &kEndlessKernel) << to_string(*endless.result.fault);
  const CudaRun beyond =
      this->run(std::vector<u32>(128), {.block = {64, 1, 1}, .more = {1 << 14, 1 << 14}});
  ASSERT_TRUE(beyond.result.fault);
  EXPECT_EQ(beyond.result.fault->rule, &kSharedAccess) << to_string(*beyond.result.fault);
  compile(R"(extern "C" __global__ void test(unsigned* o) {
    __shared__ __align__(128) unsigned s[64];
    s[threadIdx.x] = 1;
    if (threadIdx.x == 0)
      asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 16;"
                   :: "l"(o + 1), "r"((unsigned)__cvta_generic_to_shared(s)) : "memory");
  })");
  const CudaRun aligned = this->run(std::vector<u32>(128));
  ASSERT_TRUE(aligned.result.fault);
  EXPECT_EQ(aligned.result.fault->rule, &kMisaligned) << to_string(*aligned.result.fault);
}

TEST_P(NvMbarrier, BrokenRulesAreNamed) {
  compile(kFunctions + R"(extern "C" __global__ void test(unsigned* o, unsigned count) {
    __shared__ u64 b;
    if (threadIdx.x != 0) return;
    if (count != 0) init(&b, 1);
    o[0] = pending(arrive_many(&b, count));
  })");
  if (!cubin_) return;
  EXPECT_FALSE(this->run({0}, {.more = {1}}).result.fault);
  for (const u32 count : {0u, 2u}) {
    const CudaRun run = this->run({0}, {.more = {count}});
    ASSERT_TRUE(run.result.fault);
    EXPECT_EQ(run.result.fault->rule, &kMbarrier) << to_string(*run.result.fault);
    const char* what = count == 0 ? "is not initialised" : "more arrivals";
    EXPECT_NE(run.result.fault->message.find(what), std::string::npos)
        << to_string(*run.result.fault);
  }
}

INSTANTIATE_TEST_SUITE_P(Chips, NvMbarrier, ::testing::Values("sm_90"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace doorbell::emu::nvgpu::testing
