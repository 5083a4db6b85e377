// Every rule of dispatches, broken by hand.
#include "tests/emulator/amd/cp/rules_test.h"

namespace doorbell::emu::amdgpu {
namespace {

TEST_F(DispatchRulesTest, ASoundDispatchBreaksNone) {
  open_pm4();
  submit(State{}.dispatch());
  submit(State{}.go());  // a kernel may follow itself with the arguments it had
  // PRIV and the LDS are the driver's.
  submit(State{.rsrc1 = 0x601f0000, .rsrc2 = 2 << 1 | 1 << 15}.dispatch());
  EXPECT_EQ(launcher_.dispatches.size(), 3u);
  EXPECT_TRUE(checks_->reports().empty()) << stopped();
}

TEST_F(DispatchRulesTest, GroupsHaveTheirLimits) {
  expect_broken("AMD-DISP-002", State{.threads = 0}.dispatch());
  expect_broken("AMD-DISP-002", State{.threads = 1025}.dispatch());
}

TEST_F(DispatchRulesTest, ResourcesAreTheDescriptors) {
  expect_broken("AMD-DISP-003", State{.rsrc1 = 0x600f0001}.dispatch());
  expect_broken("AMD-DISP-003", State{.rsrc2 = 2 << 1 | 1 << 7}.dispatch());
  expect_broken("AMD-DISP-003", State{.rsrc3 = 1}.dispatch());
}

TEST_F(DispatchRulesTest, AnotherKernelsArgumentsAreWritten) {
  // A second kernel, whose user data are not written.
  poke<u64>(kDescriptor + 0x400 + 16, 0x40);
  poke<u32>(kDescriptor + 0x400 + 48, 0x600f0000);
  poke<u32>(kDescriptor + 0x400 + 52, 2 << 1);
  poke<u16>(kDescriptor + 0x400 + 56, 1 << 3 | 1 << 10);
  u64 other = kCode + 0x400;
  expect_broken("AMD-DISP-004",
                State{}.dispatch() +
                    std::vector<u32>{packet3(0x76, 3), 0x20c, lo(other >> 8), hi(other >> 8)} +
                    State{}.go());
}

TEST_F(DispatchRulesTest, WaveSizeIsTheDescriptors) {
  expect_broken("AMD-DISP-005", State{.initiator = 1 | 1 << 2}.dispatch());
  // gfx9 has no such bit.
  expect_broken("AMD-RING-003", State{}.dispatch(), {.generation = hw::Generation::Gfx9});
}

TEST_F(DispatchRulesTest, NothingIsInheritedFromNobody) {
  open_pm4();
  submit(State{}.go());
  EXPECT_EQ(count("AMD-DISP-006"), 1u);
  EXPECT_NE(stopped().find("COMPUTE_PGM_LO"), std::string::npos) << stopped();
}

TEST_F(DispatchRulesTest, ScratchCoversItsWaves) {
  poke<u32>(kDescriptor + 4, 64);                                           // 64 bytes a work item
  expect_broken("AMD-DISP-007", State{}.dispatch());                        // none
  expect_broken("AMD-DISP-007", State{.tmpring = 8 | 7 << 12}.dispatch());  // 1792 of 2048
  expect_broken("AMD-DISP-007", State{.tmpring = 0x400 | 8 << 12}.dispatch());  // beyond the buffer
  open_pm4();
  put_ = 0;
  submit(State{.tmpring = 8 | 8 << 12}.dispatch());
  EXPECT_TRUE(checks_->reports().empty()) << stopped();
}

// From gfx11 on WAVES counts for each shader engine: an area for 82 waves of 2 KiB, six times, fits
// behind kData (0xf8000 bytes), for 83 it does not. [ROCr FillComputeTmpRingSize_Gfx11]
TEST_F(DispatchRulesTest, ScratchCoversEveryShaderEngine) {
  poke<u32>(kDescriptor + 4, 64);
  for (u32 waves : {82u, 83u}) {
    open({.generation = hw::Generation::Gfx11, .engines = 6}, QueueKind::Pm4);
    put_ = 0;
    submit(State{.tmpring = waves | 8 << 12}.dispatch());
    EXPECT_EQ(count("AMD-DISP-007"), waves == 83 ? 1u : 0u) << stopped();
  }
  EXPECT_EQ(launcher_.dispatches.at(0).scratch_waves, 492u);
}

// gfx10 counts all waves and has no register for the area's place: it stands in user SGPRs 0 and 1.
TEST_F(DispatchRulesTest, ScratchOfGfx10IsWhereItsSgprsSay) {
  poke<u32>(kDescriptor + 4, 64);
  poke<u32>(kDescriptor + 52, 6 << 1);
  poke<u16>(kDescriptor + 56, 1 | 1 << 3 | 1 << 10);
  for (u32 waves : {248u, 249u, 8u}) {
    open({.generation = hw::Generation::Gfx10, .engines = 4}, QueueKind::Pm4);
    put_ = 0;
    u64 area = waves == 8 ? kUnmapped : kData;
    State state{.rsrc2 = 6 << 1, .tmpring = waves | 4 << 12};
    std::vector<u32> words = state.dispatch();
    words.resize(words.size() - 9);  // its arguments and the launch
    words = words +
            std::vector<u32>{packet3(0x76, 7), 0x240,         lo(area), hi(area) | 0xa0000, 0, 0,
                             lo(kArguments),   hi(kArguments)};
    submit(words + state.go());
    EXPECT_EQ(count("AMD-DISP-007"), waves == 248 ? 0u : 1u) << waves << stopped();
  }
}

TEST_F(DispatchRulesTest, TheShaderIsEnabled) {
  expect_broken("AMD-DISP-008", State{.initiator = 1 << 2 | 1 << 15}.dispatch());
}

// Offsets from 0x2c00: COMPUTE_START_X 0x204, COMPUTE_NUM_THREAD_X 0x207, COMPUTE_RESTART_X 0x21b.
TEST_F(DispatchRulesTest, WhatALaunchDoesNotReadIsZero) {
  const std::vector<u32> sound = State{}.dispatch();
  const auto with = [&](std::vector<u32> more, u32 initiator) {
    std::vector<u32> words = sound;
    words.resize(words.size() - 5);
    return words + more + State{.initiator = initiator}.go();
  };
  constexpr u32 kSound = 1 | 1 << 2 | 1 << 15;
  expect_broken("AMD-DISP-011", with({packet3(0x76, 4), 0x204, 0, 1, 0}, kSound));
  expect_broken("AMD-DISP-011", with({packet3(0x76, 4), 0x21b, 0, 0, 1}, kSound));
  expect_broken("AMD-DISP-011", with({packet3(0x76, 4), 0x207, 32 | 8 << 16, 1, 1}, kSound));
  open_pm4();
  put_ = 0;
  submit(with({packet3(0x76, 4), 0x207, 32 | 8 << 16, 1, 1}, kSound | 1 << 1));
  submit(with({packet3(0x76, 4), 0x204, 0, 0, 0}, kSound ^ 1 << 2));
  EXPECT_TRUE(checks_->reports().empty()) << stopped();
}

TEST_F(DispatchRulesTest, LdsCoversTheDescriptors) {
  poke<u32>(kDescriptor, 1024);
  expect_broken("AMD-DISP-009", State{.rsrc2 = 2 << 1 | 1 << 15}.dispatch());
  open_pm4();
  put_ = 0;
  submit(State{.rsrc2 = 2 << 1 | 2 << 15}.dispatch());
  EXPECT_TRUE(checks_->reports().empty()) << stopped();
}

// 100,000 bytes are 79 units of gfx950, which are 196 of other chips.
TEST_F(DispatchRulesTest, LdsIsWhatAComputeUnitHas) {
  expect_broken("AMD-DISP-010", State{.rsrc2 = 2 << 1 | 129 << 15}.dispatch());
  const GpuOptions kGfx950{
      .generation = hw::Generation::Gfx9, .lds_unit = 1280, .lds_bytes = 160 * 1024};
  poke<u16>(kDescriptor + 56, 1 << 3);
  poke<u32>(kDescriptor, 100'000);
  for (const auto& [units, id] :
       {std::pair{79u, ""}, {196u, "AMD-DISP-010"}, {78u, "AMD-DISP-009"}}) {
    open(kGfx950, QueueKind::Pm4);
    put_ = 0;
    State state{.rsrc2 = 2 << 1 | units << 15, .initiator = 1 | 1 << 2};
    std::vector<u32> words = state.dispatch();
    for (u32& word : words)
      if (word == 0x228) word = 0x22d;  // COMPUTE_PGM_RSRC3 of gfx9
    submit(words);
    const bool sound = id[0] == 0;
    EXPECT_EQ(checks_->reports().size(), sound ? 0u : 1u) << units << ": " << stopped();
    EXPECT_EQ(count(id), sound ? 0u : 1u) << units << ": " << stopped();
  }
}

// SCALAR_L1_INV_VOL, VECTOR_L1_INV_VOL, DISABLE_DISP_PREMPT_EN. [gc_11_0_0_sh_mask.h
// COMPUTE_DISPATCH_INITIATOR]
TEST_F(DispatchRulesTest, LaunchesInvalidateNothingThemselves) {
  for (u32 bit : {10, 11, 17})
    expect_broken("AMD-RING-006", State{.initiator = 1 | 1 << 2 | 1 << 15 | 1u << bit}.dispatch());
}

TEST_F(DispatchRulesTest, ArgumentsAreAlignedAndMapped) {
  expect_broken("AMD-ARG-001", State{.arguments = kArguments + 8}.dispatch());
  expect_broken("AMD-ARG-002", State{.arguments = kBase + kBytes}.dispatch());
}

TEST_F(DispatchRulesTest, ArgumentsStayUntilTheDispatchRetires) {
  launcher_.slices = 3;
  launcher_.effect = [this] { poke<u32>(kArguments, peek<u32>(kArguments) + 1); };
  open_pm4(hw::Generation::Gfx11, Level::Warn);
  submit(State{}.dispatch());
  EXPECT_EQ(count("AMD-ARG-003"), 1u);
}

}  // namespace
}  // namespace doorbell::emu::amdgpu
