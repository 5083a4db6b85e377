// The split barrier of gfx12. Expected values are those of the pseudo-code of S_BARRIER_SIGNAL,
// S_BARRIER_SIGNAL_ISFIRST and S_GET_BARRIER_STATE in the RDNA4 ISA document.
#include <gtest/gtest.h>

#include "tests/emulator/support/test_gpu.h"

namespace doorbell::emu::amdgpu {
namespace {

using testing::Arguments;
using testing::TestGpu;
using testing::TestKernel;

class SplitBarrier : public ::testing::Test {
 protected:
  GridStop run(std::string_view body, u32 items) {
    out = gpu.allocate(4096);
    // Of each wave s4 to s6 are stored, 128 bytes apart.
    kernel = gpu.assemble("s_load_b64 s[2:3], s[0:1], 0x0\nv_mov_b32 v1, 0\ns_wait_kmcnt 0\n" +
                          std::string(body) + R"(
      v_mov_b32 v1, s4
      v_mov_b32 v2, s5
      v_mov_b32 v3, s6
      v_readfirstlane_b32 s7, v0
      s_mul_i32 s7, s7, 4
      v_mov_b32 v4, s7
      global_store_b96 v4, v[1:3], s[2:3]
      s_endpgm
    )");
    return gpu.launch(kernel, {.group_size = {items, 1, 1}}, Arguments().add(out));
  }
  std::vector<u32> wave(u32 i) const { return gpu.read<u32>(out + i * 128, 3); }

  TestGpu gpu{"gfx1201"};
  TestKernel kernel;
  u64 out = 0;
};

TEST_F(SplitBarrier, ReportsAWaitThatNobodyEnds) {
  GridStop stop = run("s_barrier_wait -1", 64);
  EXPECT_EQ(stop.kind, GridStop::Kind::Deadlock);
  EXPECT_NE(stop.what.find("deadlock at barriers: wave 0 at"), std::string::npos) << stop.what;
}

// Valid in bit 0, members from bit 4, those that have signalled from bit 16. The waves of a plain
// run come one after the other.
TEST_F(SplitBarrier, StateCountsMembersAndSignals) {
  GridStop stop = run(R"(
    s_get_barrier_state s4, -1
    s_barrier_signal -1
    s_get_barrier_state s5, -1
    s_mov_b32 s6, 0
    s_barrier_wait -1
  )",
                      96);
  ASSERT_EQ(stop.kind, GridStop::Kind::Done) << stop.what;
  EXPECT_EQ(wave(0), (std::vector<u32>{0x00031, 0x10031, 0}));
  EXPECT_EQ(wave(1), (std::vector<u32>{0x10031, 0x20031, 0}));
  EXPECT_EQ(wave(2), (std::vector<u32>{0x20031, 0x00031, 0}));
}

// SCC is set before, and cleared by each wave that is not first. The trap handler's barrier and
// barrier 0 are no one's.
constexpr const char* kIsFirst = R"(
  s_mov_b32 m0, 0
  s_cmp_eq_u32 m0, 0
  s_barrier_signal_isfirst -1
  s_cselect_b32 s4, 1, 0
  s_barrier_wait -1
  s_cmp_eq_u32 m0, 0
  s_barrier_signal_isfirst -2
  s_cselect_b32 s5, 1, 0
  s_cmp_eq_u32 m0, 0
  s_barrier_signal_isfirst m0
  s_cselect_b32 s6, 1, 0
  s_barrier_signal m0
  s_barrier_signal -2
)";

TEST_F(SplitBarrier, TellsTheFirstToSignal) {
  GridStop stop = run(kIsFirst, 64);
  ASSERT_EQ(stop.kind, GridStop::Kind::Done) << stop.what;
  EXPECT_EQ(wave(0), (std::vector<u32>{1, 0, 0}));
  EXPECT_EQ(wave(1), (std::vector<u32>{0, 0, 0}));
}

TEST_F(SplitBarrier, IsNoneOfAWaveThatIsAlone) {
  GridStop stop = run(kIsFirst, 32);
  ASSERT_EQ(stop.kind, GridStop::Kind::Done) << stop.what;
  EXPECT_EQ(wave(0), (std::vector<u32>{0, 0, 0}));
  stop = run("s_get_barrier_state s4, -1", 32);
  EXPECT_EQ(stop.kind, GridStop::Kind::Illegal);
  EXPECT_NE(stop.what.find("a group of one wave"), std::string::npos) << stop.what;
}

TEST_F(SplitBarrier, IsTheOnlyOne) {
  for (const char* instruction :
       {"s_barrier_signal 3", "s_barrier_signal_isfirst 3", "s_barrier_signal m0",
        "s_get_barrier_state s4, 3", "s_get_barrier_state s4, m0"}) {
    GridStop stop = run("s_mov_b32 m0, 3\n" + std::string(instruction), 64);
    EXPECT_EQ(stop.kind, GridStop::Kind::Illegal) << instruction;
    EXPECT_NE(stop.what.find("of barrier 3, a wave has only -1"), std::string::npos) << stop.what;
  }
  for (const char* instruction : {"s_barrier_wait -2", "s_get_barrier_state s4, -2"}) {
    GridStop stop = run(instruction, 64);
    EXPECT_EQ(stop.kind, GridStop::Kind::Illegal) << instruction;
    EXPECT_NE(stop.what.find("of barrier -2, a wave has only -1"), std::string::npos) << stop.what;
  }
}

}  // namespace
}  // namespace doorbell::emu::amdgpu
