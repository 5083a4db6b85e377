// Accesses of global memory by warps and blocks of one grid that nothing orders: NV-RACE-002 finds
// each, no other rule does, and the twin that is ordered is silent. [PTX ISA, "Memory Consistency
// Model"; CUDA Programming Guide, "Memory Fence Functions": the sum of an array]
#include <algorithm>

#include "tests/emulator/nv/cuda_kernel.h"

namespace doorbell::emu::nvgpu::testing {
namespace {

class NvRacesTest : public CudaTest {
 protected:
  // `body`: of a kernel with a buffer `o` of words and the block `b`, the thread `t`.
  void expect_race(const std::string& body, bool races, const CudaLaunch& launch) {
    SCOPED_TRACE(body);
    compile(
        "extern \"C\" __global__ void test(unsigned* o) { const unsigned b = blockIdx.x, t = "
        "threadIdx.x; " +
        body + " }");
    if (!cubin_) return;
    for (const bool judged : {false, true}) {
      CudaLaunch given = launch;
      given.levels = judged ? "error,NV-RACE-002=warn" : "error";
      const CudaRun done = run(std::vector<u32>(4096), given);
      ASSERT_FALSE(done.result.fault) << to_string(*done.result.fault);
      EXPECT_EQ(!done.reports.empty(), judged && races);
      for (const Report& report : done.reports) {
        EXPECT_STREQ(report.check->id, "NV-RACE-002") << report.message;
        last_report_ = report.message;
      }
    }
  }
  void expect_race(const std::string& body, const CudaLaunch& launch = kBlocks) {
    expect_race(body, true, launch);
  }
  void expect_order(const std::string& body, const CudaLaunch& launch = kBlocks) {
    expect_race(body, false, launch);
  }

  static inline const CudaLaunch kBlocks{.grid = {4, 1, 1}, .block = {32, 1, 1}};
  static inline const CudaLaunch kWarps{.grid = {2, 1, 1}, .block = {128, 1, 1}};
  std::string last_report_;
};

TEST_P(NvRacesTest, ABlockReadsWhatAnotherWrote) {
  expect_race("o[b * 32 + t] = b; o[1024 + b * 32 + t] = o[(b ^ 1) * 32 + t];");
  expect_order("o[b * 32 + t] = b; o[1024 + b * 32 + t] = o[b * 32 + (t ^ 1)];");
}

TEST_P(NvRacesTest, AReportNamesBothAccesses) {
  expect_race("if (t == 0) o[b / 2] = b;", {.grid = {2, 1, 1}});
  if (!cubin_) return;
  EXPECT_NE(last_report_.find("block (1, 0, 0), warp 0: STG writes memory at"), std::string::npos)
      << last_report_;
  EXPECT_NE(last_report_.find("which warp 0 of block 0,0,0 wrote by STG at pc"), std::string::npos)
      << last_report_;
}

TEST_P(NvRacesTest, ABlockWritesWhatOthersHaveRead) {
  expect_race(
      "unsigned sum = 0; for (int i = 0; i < 32; ++i) sum += o[i]; if (b == 3) o[t] = sum; "
      "else o[1024 + b * 32 + t] = sum;");
  expect_order(
      "unsigned sum = 0; for (int i = 0; i < 32; ++i) sum += o[i]; "
      "o[1024 + b * 32 + t] = sum;");
}

TEST_P(NvRacesTest, BytesAreApart) {
  expect_order("((unsigned char*)o)[b + t * 4] = b;");
  expect_race("((unsigned char*)o)[t * 4 + b / 2] = b;");
}

TEST_P(NvRacesTest, WarpsOfABlockAreOrderedByBarriers) {
  const char* body[] = {"o[b * 128 + t] = t; ", "o[1024 + b * 128 + t] = o[b * 128 + (t ^ 32)];"};
  expect_race(body[0] + std::string(body[1]), kWarps);
  expect_order(body[0] + std::string("__syncthreads(); ") + body[1], kWarps);
  // A barrier of two warps, by its number, orders these alone.
  const std::string pairs =
      "if (t < 64) asm volatile(\"bar.sync 1, 64;\" ::: \"memory\"); else asm volatile(\"bar.sync "
      "2, "
      "64;\" ::: \"memory\"); ";
  expect_order(body[0] + pairs + body[1], kWarps);
  expect_race(body[0] + pairs + "o[1024 + b * 128 + t] = o[b * 128 + (t ^ 64)];", kWarps);
}

// The guide's sum of an array: the last block adds what all have stored.
std::string sum(const std::string& fence, const std::string& count, const std::string& is_last) {
  return "__shared__ bool last; o[b] = b; " + fence + " if (t == 0) { unsigned n = " + count +
         "; last = " + is_last + "; } __syncthreads(); if (last && t == 0) { unsigned s = 0; " +
         "for (int i = 0; i < 4; ++i) s += ((volatile unsigned*)o)[i]; o[2000] = s; }";
}

TEST_P(NvRacesTest, ACounterBehindAFenceOrdersASum) {
  expect_order(sum("__threadfence();", "atomicAdd(o + 100, 1)", "n == 3"));
}
TEST_P(NvRacesTest, WithoutTheFenceTheSumIsARace) {
  expect_race(sum("", "atomicAdd(o + 100, 1)", "n == 3"));
  expect_race(sum("__threadfence_block();", "atomicAdd(o + 100, 1)", "n == 3"));
}
TEST_P(NvRacesTest, WhoDoesNotLookAtTheCounterIsBehindNothing) {
  expect_race(sum("__threadfence();", "0; atomicAdd(o + 100, 1)", "b == 3"));
}
TEST_P(NvRacesTest, ACounterOfTheBlockOrdersNoOthers) {
  expect_race(sum("__threadfence();", "atomicAdd_block(o + 100, 1)", "n == 3"));
}

TEST_P(NvRacesTest, AtomicOperationsDoNotRaceWithEachOther) {
  expect_order("atomicAdd(o, 1u); atomicMax(o + 1, b);");
  expect_race("atomicAdd(o, 1u); o[100 + b * 32 + t] = o[0];");
}

TEST_P(NvRacesTest, AFlagThatIsPolledHandsOver) {
  const std::string poll =
      "while (*(volatile unsigned*)(o + 64) == 0); o[128 + b * 32 + t] = "
      "((volatile unsigned*)o)[t]; }";
  expect_order(
      "if (b == 0) { o[t] = t; __threadfence(); __syncwarp(); if (t == 0) "
      "*(volatile unsigned*)(o + 64) = 1; } else { " +
      poll);
  expect_race("if (b == 0) { o[t] = t; if (t == 0) *(volatile unsigned*)(o + 64) = 1; } else { " +
              poll);
}

// At error the grid stops there.
TEST_P(NvRacesTest, ARaceStopsTheGrid) {
  compile("extern \"C\" __global__ void test(unsigned* o) { o[threadIdx.x] = blockIdx.x; }");
  if (!cubin_) return;
  const CudaRun done =
      run(std::vector<u32>(64), {.grid = {2, 1, 1}, .levels = "error,NV-RACE=error"});
  ASSERT_TRUE(done.result.fault);
  EXPECT_STREQ(done.result.fault->rule->id, "NV-RACE-002");
}

INSTANTIATE_TEST_SUITE_P(Chips, NvRacesTest, ::testing::Values("sm_86", "sm_90"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace doorbell::emu::nvgpu::testing
