// Kernels that use what they load before they wait for it, in assembly: which instruction is told,
// and that those that wait long enough are not. How long is enough: the ISA documents' chapters on
// data dependencies and S_WAITCNT; LLVM's SIInsertWaitcnts.cpp.
#include <gtest/gtest.h>

#include "tests/emulator/support/test_gpu.h"

namespace doorbell::emu::amdgpu {
namespace {

using testing::Arguments;
using testing::TestGpu;
using testing::TestKernel;

class Waits : public ::testing::TestWithParam<const char*> {
 protected:
  // {vm N}: at most N vector loads are out; {lds N}, {scalar N}: the same of LDS, of scalar loads.
  void run(std::string_view body, bool go_on = false) {
    const TestKernel kernel = gpu.assemble(with_waits(std::string(body)), {.lds_bytes = 1024});
    code = kernel.code;
    const GridOptions options{.missing_wait = [&](const std::string& what) {
      told.push_back(what);
      return !go_on;
    }};
    const u32 lanes = gpu.chip().wave32 ? 32 : 64;
    stop = gpu.launch(kernel, {.group_size = {lanes, 1, 1}, .options = options},
                      Arguments().add(buffer));
  }
  void expect_one(std::string_view what) {
    ASSERT_EQ(told.size(), 1u) << stop.what;
    EXPECT_NE(told[0].find(what), std::string::npos) << told[0];
    EXPECT_EQ(stop.kind, GridStop::Kind::Wait) << stop.what;
  }
  void expect_none() {
    EXPECT_EQ(stop.kind, GridStop::Kind::Done) << stop.what;
    EXPECT_TRUE(told.empty()) << told[0];
  }
  bool gfx12() const { return gpu.chip().generation == Generation::Gfx12; }

  TestGpu gpu{GetParam()};
  const u64 buffer = gpu.allocate(4096);
  std::vector<std::string> told;
  GridStop stop;
  u64 code = 0;

 private:
  std::string with_waits(std::string text) const {
    const std::pair<std::string_view, std::string_view> kNames[] = {
        {"{vm ", gfx12() ? "s_wait_loadcnt " : "s_waitcnt vmcnt("},
        {"{lds ", gfx12() ? "s_wait_dscnt " : "s_waitcnt lgkmcnt("},
        {"{scalar ", gfx12() ? "s_wait_kmcnt " : "s_waitcnt lgkmcnt("}};
    for (const auto& [name, is] : kNames)
      for (usize at = 0; (at = text.find(name)) != text.npos;) {
        text.replace(text.find('}', at), 1, gfx12() ? "" : ")");
        text.replace(at, name.size(), is);
      }
    return text;
  }
};

TEST_P(Waits, VectorLoadsAreWaitedFor) {
  run(R"(
    s_load_dwordx2 s[0:1], s[0:1], 0x0
    v_lshlrev_b32 v1, 2, v0
    {scalar 0}
    global_load_dword v2, v1, s[0:1]
    v_mov_b32 v3, v1
    v_mov_b32 v4, v2
    s_endpgm
  )");
  expect_one("reads v2, which GLOBAL_LOAD_D");
  EXPECT_NE(told[0].find(gfx12() ? "no wait for loadcnt" : "no wait for vmcnt"), std::string::npos)
      << told[0];
}

TEST_P(Waits, SomeOfTheVectorLoadsAreEnough) {
  const char* const kBody = R"(
    s_load_dwordx2 s[0:1], s[0:1], 0x0
    v_lshlrev_b32 v1, 2, v0
    {scalar 0}
    global_load_dword v2, v1, s[0:1]
    global_load_dwordx2 v[4:5], v1, s[0:1]
    {vm 1}
    v_mov_b32 v6, v2
  )";
  run(std::string(kBody) + "{vm 0}\n v_mov_b32 v6, v5\n s_endpgm\n");
  expect_none();
  run(std::string(kBody) + "v_mov_b32 v6, v5\n s_endpgm\n");
  expect_one("reads v5, which");
}

TEST_P(Waits, AddressesOfLoadsAreUsed) {
  run(R"(
    v_mov_b32 v1, 0
    s_load_dwordx2 s[4:5], s[0:1], 0x0
    global_load_dword v2, v1, s[4:5]
    s_endpgm
  )");
  expect_one("reads s4, which S_LOAD_");
}

// They come back in any order, so that waiting for one of two means nothing.
TEST_P(Waits, ScalarLoadsAreWaitedForTogether) {
  run(R"(
    s_load_dword s4, s[0:1], 0x0
    s_load_dword s5, s[0:1], 0x4
    {scalar 1}
    s_mov_b32 s6, s4
    s_endpgm
  )");
  expect_one("reads s4, which");
}

TEST_P(Waits, LoadsOfLdsComeInTheirOrder) {
  const char* const kBody = R"(
    v_mov_b32 v1, 0
    ds_read_b32 v2, v1
    ds_read_b32 v3, v1 offset:8
    {lds 1}
    v_mov_b32 v4, v2
  )";
  run(std::string(kBody) + "{lds 0}\n v_mov_b32 v4, v3\n s_endpgm\n");
  expect_none();
  run(std::string(kBody) + "v_mov_b32 v4, v3\n s_endpgm\n");
  expect_one("reads v3, which DS_");
}

// A result that is written before the load comes back is lost.
TEST_P(Waits, WritesBehindALoadWait) {
  run(R"(
    v_mov_b32 v1, 0
    ds_read_b32 v2, v1
    v_mov_b32 v2, 0
    s_endpgm
  )");
  expect_one("writes v2, which DS_");
}

// Its word has a field for the destination all the same: 0, which is a register.
TEST_P(Waits, AtomicOperationsWithoutAResultLoadNothing) {
  constexpr const char* kBody = R"(
    s_load_dwordx2 s[0:1], s[0:1], 0x0
    v_lshlrev_b32 v1, 2, v0
    {{scalar 0}}
    global_atomic_add {}
    v_mov_b32 v3, v0
    s_endpgm
  )";
  run(fmt::format(kBody, "v1, v1, s[0:1]"));
  expect_none();
  told.clear();
  run(fmt::format(fmt::runtime(kBody), gfx12() ? "v0, v1, v1, s[0:1] th:TH_ATOMIC_RETURN"
                                       : GetParam() == std::string_view("gfx942")
                                           ? "v0, v1, v1, s[0:1] sc0"
                                           : "v0, v1, v1, s[0:1] glc"));
  expect_one("reads v0, which GLOBAL_ATOMIC_ADD");
}

TEST_P(Waits, LoadsIntoTheSameRegisterNeedNot) {
  run(R"(
    v_mov_b32 v1, 0
    ds_read_b32 v2, v1
    ds_read_b32 v2, v1 offset:4
    {lds 0}
    v_mov_b32 v3, v2
    s_endpgm
  )");
  expect_none();
}

// In a loop each is told once, and the wave goes on if that is wanted.
TEST_P(Waits, AreToldOnce) {
  run(R"(
    v_mov_b32 v1, 0
    s_mov_b32 s4, 3
  again:
    ds_read_b32 v2, v1
    v_mov_b32 v3, v2
    s_sub_u32 s4, s4, 1
    s_cmp_lg_u32 s4, 0
    s_cbranch_scc1 again
    s_endpgm
  )",
      true);
  EXPECT_EQ(told.size(), 1u);
  EXPECT_EQ(stop.kind, GridStop::Kind::Done) << stop.what;
}

// Before gfx10 stores have the same counter as loads; then one of their own.
TEST_P(Waits, StoresCountWithLoadsOnGfx9) {
  run(R"(
    s_load_dwordx2 s[0:1], s[0:1], 0x0
    v_mov_b32 v1, 0
    {scalar 0}
    global_load_dword v2, v1, s[0:1]
    global_store_dword v1, v1, s[0:1] offset:64
    {vm 1}
    v_mov_b32 v3, v2
    s_endpgm
  )");
  if (gpu.chip().generation == Generation::Gfx9)
    expect_none();
  else
    expect_one("reads v2, which");
}

INSTANTIATE_TEST_SUITE_P(Chips, Waits, ::testing::Values("gfx942", "gfx1030", "gfx1100", "gfx1201"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace doorbell::emu::amdgpu
