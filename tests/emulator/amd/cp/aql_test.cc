// AQL packets, their barriers, signals, errors and rules.
#include "tests/emulator/amd/cp/aql_test.h"

namespace doorbell::emu::amdgpu {
namespace {

// A packet that is announced and not handed over, then one whose signals are not 0.
TEST_F(AqlTest, TellsWhatItWaitsFor) {
  open_aql();
  poke<i64>(kData + 8, 3);
  put(barrier(3, kData, 0, 0));
  poke<u16>(kRing, 1);
  ring();
  const auto waits = [&](u64 value, u64 mask, u64 va, const char* condition) {
    return fmt::format("GPU 0 queue {} (AQL), packet 0 waits until {:#x} & {:#x} at {:#x} is {}",
                       queue_, value, mask, va, condition);
  };
  ASSERT_EQ(gpu_->waits().size(), 1u);
  EXPECT_EQ(gpu_->waits()[0].what, waits(1, 0xff, kRing, "NotEqual 0x1"));
  poke<u16>(kRing, 3);
  gpu_->poke();
  gpu_->run_until_idle();
  EXPECT_EQ(gpu_->waits().at(0).what, waits(3, ~u64{0}, kData + 8, "Equal 0x0"));
  EXPECT_EQ(gpu_->waits().at(0).memory, host(kData + 8));
}

TEST_F(AqlTest, DispatchesAndCompletes) {
  open_aql();
  poke<i64>(kSignal + 8, 1);
  put(dispatch(kSignal));
  ring();
  ASSERT_EQ(launcher_.dispatches.size(), 1u) << stopped();
  const Dispatch& d = launcher_.dispatches[0];
  EXPECT_EQ(d.code, kCode);
  EXPECT_TRUE(d.wave32);
  EXPECT_EQ(d.groups, (std::array<u32, 3>{4, 3, 1}));
  EXPECT_EQ(d.group_size, (std::array<u32, 3>{32, 1, 1}));
  EXPECT_EQ(d.partial_size, (std::array<u32, 3>{4, 0, 0}));
  EXPECT_EQ(d.user_sgprs, (std::vector<u32>{lo(kArguments), hi(kArguments)}));
  EXPECT_EQ(peek<i64>(kSignal + 8), 0);
  EXPECT_GE(peek<u64>(kSignal + 40), peek<u64>(kSignal + 32));  // end_ts, start_ts
  EXPECT_EQ(peek<u64>(kQueue + 128), 1u);
  EXPECT_EQ(peek<u16>(kRing), 1);  // the slot is the producer's
  EXPECT_TRUE(interrupts_.events.empty());
  EXPECT_EQ(checks_->errors(), 0u);
}

TEST_F(AqlTest, CompletionRaisesTheSignalsEvent) {
  open_aql();
  poke<i64>(kSignal + 8, 1);
  poke<u64>(kSignal + 16, kData);
  poke<u32>(kSignal + 24, 0x55);
  put(dispatch(kSignal));
  ring();
  ASSERT_EQ(interrupts_.events.size(), 1u);
  EXPECT_EQ(interrupts_.events[0].context_id, 0x55u);
  EXPECT_EQ(peek<u64>(kData), 0x55u);
}

TEST_F(AqlTest, WaitsForAHeaderThatComesLate) {
  open_aql();
  put(dispatch(0));
  poke<u16>(kRing, 1);  // INVALID yet
  ring();
  EXPECT_TRUE(launcher_.dispatches.empty());
  poke<u16>(kRing, 2 | 2 << 9 | 2 << 11);
  gpu_->run_until_idle();
  EXPECT_EQ(launcher_.dispatches.size(), 1u);
  EXPECT_EQ(checks_->errors(), 0u);
}

TEST_F(AqlTest, TheBarrierBitWaitsForWhatIsInFlight) {
  for (bool barrier : {false, true}) {
    open_aql({.generation = hw::Generation::Gfx10, .adversarial = true, .seed = 5});
    launcher_.dispatches.clear();
    launcher_.slices = 100;
    usize at_end = 0;
    launcher_.effect = [&] {
      if (at_end == 0) at_end = launcher_.dispatches.size();
    };
    put(dispatch(0));
    put(dispatch(0, barrier));
    ring();
    EXPECT_EQ(launcher_.dispatches.size(), 2u);
    // Without the bit the second is launched while the first runs.
    EXPECT_EQ(at_end, barrier ? 1u : 2u);
  }
}

// A dispatch completes with its own waves: only the barrier bit orders two of them. [HSA Runtime
// 1.2, 2.9.2]
TEST_F(AqlTest, AShortDispatchCompletesBeforeALongOneInFrontOfIt) {
  for (bool with_barrier : {false, true}) {
    open_aql({.generation = hw::Generation::Gfx10, .adversarial = true, .seed = 5});
    launcher_.dispatches.clear();
    launcher_.slices_of = {1000, 1};
    poke<i64>(kSignal + 8, 1), poke<i64>(kData + 8, 1);
    std::vector<i64> second;  // the second's signal when a grid ends
    launcher_.effect = [&] { second.push_back(peek<i64>(kData + 8)); };
    put(dispatch(kSignal));
    put(dispatch(kData, with_barrier));
    ring();
    EXPECT_EQ(second, (with_barrier ? std::vector<i64>{1, 1} : std::vector<i64>{1, 0}));
    EXPECT_EQ(peek<i64>(kSignal + 8), 0);
    EXPECT_EQ(peek<i64>(kData + 8), 0);
    EXPECT_EQ(checks_->errors(), 0u);
  }
}

TEST_F(AqlTest, ABarrierPacketWaitsForItsSignalsOnly) {
  for (bool with_barrier : {false, true}) {
    open_aql({.generation = hw::Generation::Gfx10, .adversarial = true, .seed = 5});
    launcher_.dispatches.clear();
    launcher_.slices_of = {1000};
    poke<i64>(kData + 8, 1);
    i64 at_end = -1;
    launcher_.effect = [&] { at_end = peek<i64>(kData + 8); };
    put(dispatch(0));
    put(barrier(with_barrier ? 3 | 1 << 8 : 3, 0, 0, kData));
    ring();
    EXPECT_EQ(at_end, with_barrier ? 1 : 0);
    EXPECT_EQ(peek<i64>(kData + 8), 0);
  }
}

TEST_F(AqlTest, XccsCompleteADispatchTogether) {
  open_aql({.generation = hw::Generation::Gfx9, .xccs = 2, .adversarial = true, .seed = 3});
  poke<u16>(kDescriptor + 56, 1 << 3);
  poke<i64>(kSignal + 8, 1);
  launcher_.slices_of = {100, 1};
  std::vector<i64> values;
  launcher_.effect = [&] { values.push_back(peek<i64>(kSignal + 8)); };
  put(dispatch(kSignal));
  ring();
  EXPECT_EQ(values, (std::vector<i64>{1, 1}));
  EXPECT_EQ(peek<i64>(kSignal + 8), 0);
}

TEST_F(AqlTest, BarrierAndWaitsForAllBarrierOrForOne) {
  for (u32 type : {3u, 5u}) {
    open_aql();
    poke<i64>(kSignal + 8, 1);
    poke<i64>(kData + 8, 1), poke<i64>(kData + 72, 1);
    put(barrier(type, kData, kData + 64, kSignal));
    ring();
    EXPECT_EQ(peek<i64>(kSignal + 8), 1);
    poke<i64>(kData + 72, 0);
    gpu_->run_until_idle();
    EXPECT_EQ(peek<i64>(kSignal + 8), type == 3 ? 1 : 0);
    poke<i64>(kData + 8, 0);
    gpu_->run_until_idle();
    EXPECT_EQ(peek<i64>(kSignal + 8), 0);
    EXPECT_EQ(checks_->errors(), 0u);
  }
}

TEST_F(AqlTest, VendorPacketsRunPm4) {
  open_aql();
  poke<i64>(kSignal + 8, 1);
  // WRITE_DATA to memory, then the vendor packet as tinygrad's _pm4_pkt has it
  put_pm4({0xc0033700, 5 << 8, lo(kData), hi(kData), 77}, kSignal);
  put(dispatch(0));
  ring();
  EXPECT_EQ(peek<u32>(kData), 77u);
  EXPECT_EQ(peek<i64>(kSignal + 8), 0);
  EXPECT_EQ(launcher_.dispatches.size(), 1u);
  EXPECT_EQ(peek<u64>(kQueue + 128), 2u);
  EXPECT_EQ(checks_->errors(), 0u);
}

// max_cu_id 72, max_wave_id 76. [ROCr amd_aql_queue.cpp AqlQueue()]
TEST_F(AqlTest, TheQueueKnowsItsGpu) {
  for (u32 unit : {94, 95, 96})
    for (u32 wave : {31, 32}) {
      open_aql({.generation = hw::Generation::Gfx11, .compute_units = 96, .waves_per_unit = 32});
      poke<u32>(kQueue + 72, unit), poke<u32>(kQueue + 76, wave);
      put(dispatch(0));
      ring();
      EXPECT_EQ(count("AMD-AQL-008"), unit == 95 && wave == 31 ? 0u : 1u) << stopped();
    }
}

TEST_F(AqlTest, TheQueueHasNoReservedBits) {
  open_aql();
  poke<u32>(kQueue + 180, 1 << 5);
  put(dispatch(0));
  ring();
  EXPECT_EQ(count("AMD-RING-003"), 1u) << stopped();
  open_aql({.generation = hw::Generation::Gfx11});
  poke<u32>(kQueue + 180, 0);
  poke<u32>(kQueue + 140, 1 << 27);
  put(dispatch(0));
  ring();
  EXPECT_EQ(count("AMD-REG-001"), 1u) << stopped();
}
// [ROCr DynamicQueueEventsHandler: 32 a wrong format, 256 a vendor's packet, 2 sizes, 4 LDS]
TEST_F(AqlTest, TellsItsClientWhyItStops) {
  struct {
    u64 code;
    std::function<void(std::vector<u32>&)> change;
  } const kCases[] = {
      {32, [](auto& packet) { packet[0] = (packet[0] & ~0xffu) | 9; }},
      {256, [](auto& packet) { packet[0] = 0x1500 | 7 << 16; }},
      {2, [](auto& packet) { packet[3] = 0; }},
      {4, [](auto& packet) { packet[7] = 1 << 20; }},
  };
  for (const auto& test : kCases) {
    open_aql();
    interrupts_ = {};
    poke<i64>(kInactive + 8, 0);
    poke<u64>(kInactive + 16, kData);
    poke<u32>(kInactive + 24, 0x33);
    auto packet = dispatch(0);
    test.change(packet);
    put(packet);
    ring();
    EXPECT_EQ(peek<u64>(kInactive + 8), test.code);
    EXPECT_EQ(peek<u64>(kData), 0x33u) << test.code;
    ASSERT_EQ(interrupts_.events.size(), 1u) << test.code;
    ASSERT_EQ(interrupts_.exceptions.size(), 1u) << test.code;
    EXPECT_TRUE(interrupts_.exceptions[0].told) << test.code;
  }
}

// Of PM4 between the packets, all XCCs read all: PRED_EXEC 0x23 says who executes.
TEST_F(AqlTest, XccsReleaseOnce) {
  const std::vector<u32> words{0xc0064900, 0x14 | 5 << 8, 1u << 29, lo(kData), hi(kData), 1, 0, 0};
  for (bool predicated : {false, true}) {
    open_aql({.generation = hw::Generation::Gfx9, .xccs = 2});
    poke<u32>(kData, 0);
    std::vector<u32> buffer;
    if (predicated) buffer = {0xc0002300, 8 | 1 << 24};
    buffer.insert(buffer.end(), words.begin(), words.end());
    put_pm4(buffer);
    ring();
    EXPECT_EQ(count("AMD-EOP-005"), predicated ? 0u : 1u);
    EXPECT_EQ(peek<u32>(kData), predicated ? 1u : 0u);
  }
}

// What PRED_EXEC leaves different from XCC to XCC, each dispatches with.
TEST_F(AqlTest, PredicatesByXcc) {
  open_aql({.generation = hw::Generation::Gfx9, .xccs = 4});
  std::memset(host(kDescriptor), 0, 64);
  // USER_DATA_0 of all, then that of XCC 2; NUM_THREAD, PGM, RSRC1 and RSRC2; DISPATCH_DIRECT.
  put_pm4({0xc0017600,
           0x240,
           1,
           0xc0002300,
           3 | 1 << 26,
           0xc0017600,
           0x240,
           7,
           0xc0037600,
           0x207,
           64,
           1,
           1,
           0xc0027600,
           0x20c,
           lo(kCode >> 8),
           hi(kCode >> 8),
           0xc0027600,
           0x212,
           0,
           1 << 1,
           0xc0031500,
           9,
           1,
           1,
           1 | 1 << 2});
  ring();
  ASSERT_EQ(launcher_.dispatches.size(), 4u) << stopped();
  for (u32 xcc = 0; xcc < 4; ++xcc) {
    EXPECT_EQ(launcher_.dispatches[xcc].xcc, xcc);
    EXPECT_EQ(launcher_.dispatches[xcc].xcc_count, 4u);
    EXPECT_EQ(launcher_.dispatches[xcc].user_sgprs, std::vector<u32>{xcc == 2 ? 7u : 1u});
  }
}

TEST_F(AqlTest, XccsShareTheGrid) {
  open_aql({.generation = hw::Generation::Gfx9, .xccs = 2});
  poke<u16>(kDescriptor + 56, 1 << 3);
  poke<i64>(kSignal + 8, 1);
  put(dispatch(kSignal));
  ring();
  ASSERT_EQ(launcher_.dispatches.size(), 2u) << stopped();
  EXPECT_EQ(launcher_.dispatches[1].xcc, 1u);
  EXPECT_FALSE(launcher_.dispatches[1].wave32);
  EXPECT_EQ(peek<i64>(kSignal + 8), 0);  // once
}

TEST_F(AqlTest, BreaksOfItsRulesAreNamed) {
  struct {
    const char* id;
    std::function<void(std::vector<u32>&)> change;
  } const kCases[] = {
      {"AMD-AQL-001", [](auto& packet) { packet[0] = (packet[0] & ~0xffu) | 9; }},
      {"AMD-AQL-001", [](auto& packet) { packet[0] |= 3 << 9; }},
      {"AMD-AQL-001", [](auto& packet) { packet[12] = 1; }},
      {"AMD-AQL-002", [](auto& packet) { packet[0] = (packet[0] & 0xffff) | 1 << 16; }},
      {"AMD-AQL-002", [](auto& packet) { packet[3] = 0; }},
      {"AMD-DISP-002", [](auto& packet) { packet[1] = 2048 | 1 << 16; }},
      {"AMD-ARG-001", [](auto& packet) { packet[10] += 8; }},
      {"AMD-ARG-002", [](auto& packet) { packet[11] = 0x6000; }},
  };
  for (const auto& test : kCases) {
    open_aql();
    auto packet = dispatch(0);
    test.change(packet);
    put(packet);
    ring();
    EXPECT_EQ(count(test.id), 1u) << test.id;
    EXPECT_NE(stopped(), "") << test.id;
  }
  open_aql();
  poke<u64>(kDescriptor + 16, 0x44);
  put(dispatch(0));
  ring();
  EXPECT_EQ(count("AMD-DISP-001"), 1u);
  open_aql();
  poke<u32>(kDescriptor, 1024);  // group_segment_fixed_size
  put(dispatch(0));
  ring();
  EXPECT_EQ(count("AMD-AQL-003"), 1u);
  poke<u32>(kDescriptor, 0);
  open_aql();
  put_words(kIb, {0xffff1000});
  std::vector<u32> vendor{0x1500 | 1 << 16, 0xc0023f00, lo(kIb), hi(kIb), 1 | 1 << 23, 11};
  vendor.resize(16);
  put(vendor);
  ring();
  EXPECT_EQ(count("AMD-AQL-005"), 1u);
  EXPECT_NE(stopped(), "");
}

// amd_hsa_signal.h AMD_SIGNAL_ALIGN_BYTES is 64. Below the level error the queue goes on, at the
// words around the address.
TEST_F(AqlTest, SignalsAtOddAddressesBreakARule) {
  for (Level level : {Level::Error, Level::Warn}) {
    open_aql({.generation = hw::Generation::Gfx10}, level);
    put(barrier(3, kData + 3, kData + 64, 0));
    ring();
    EXPECT_EQ(count("AMD-AQL-004"), 1u);
    EXPECT_EQ(stopped() != "", level == Level::Error) << stopped();

    open_aql({.generation = hw::Generation::Gfx10}, level);
    launcher_.dispatches.clear();
    put(dispatch(kSignal + 1));
    ring();
    EXPECT_EQ(count("AMD-AQL-004"), 1u);
    EXPECT_EQ(launcher_.dispatches.size(), level == Level::Error ? 0u : 1u);

    open_aql({.generation = hw::Generation::Gfx10}, level);
    poke<u64>(kSignal + 16, kData + 5);  // event_mailbox
    poke<u32>(kSignal + 24, 0x55);
    put(dispatch(kSignal));
    ring();
    EXPECT_EQ(count("AMD-AQL-004"), 1u);

    interrupts_.exceptions.clear();
  }
}

TEST_F(AqlTest, AnInactiveSignalAtAnOddAddressIsNotWritten) {
  open_aql();
  poke<u64>(kQueue + 192, kInactive + 2);
  auto packet = dispatch(0);
  packet[6] = 64;  // private_segment_size, and no scratch
  put(packet);
  ring();
  EXPECT_EQ(count("AMD-AQL-004"), 1u);
  EXPECT_EQ(peek<u64>(kInactive + 8), 0u);
  EXPECT_NE(stopped(), "");
}

// [ROCr amd_aql_queue.cpp DynamicQueueEventsHandler: 4, invalid group memory]
TEST_F(AqlTest, MoreLdsThanAGroupHasStopsTheQueue) {
  open_aql();
  auto packet = dispatch(0);
  packet[7] = 0x10000;  // group_segment_size
  put(packet);
  ring();
  EXPECT_EQ(stopped(), "");
  ASSERT_EQ(launcher_.dispatches.size(), 1u);
  packet[7] = 0x10001;
  put(packet);
  ring();
  EXPECT_NE(stopped().find("65537 bytes of LDS, a group may have 65536"), std::string::npos)
      << stopped();
  EXPECT_EQ(peek<i64>(kInactive + 8), 4);
}

}  // namespace
}  // namespace doorbell::emu::amdgpu
