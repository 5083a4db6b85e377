// Long because all kinds of packets share the queue and the kernel that are set up here.
//
// AQL packets: words by hand from the HSA runtime specification 1.2 (2.9) and hsa.h; the queue's
// and the signals' structures from ROCr's amd_hsa_queue.h and amd_hsa_signal.h.
#include "emulator/amd/all_checks.h"
#include "emulator/core/races/agent_races.h"
#include "tests/emulator/amd/cp/test_gpu.h"

namespace doorbell::emu::amdgpu {
namespace {

class AqlTest : public TestGpu {
 protected:
  static constexpr u64 kQueue = kBase + 0x2000;     // amd_queue_t
  static constexpr u64 kSignal = kBase + 0x5000;    // amd_signal_t: value at 8, mailbox 16, id 24
  static constexpr u64 kInactive = kBase + 0x5040;  // queue_inactive_signal
  static constexpr u64 kCode = kBase + 0x6000, kDescriptor = kCode - 0x40;
  static constexpr u64 kArguments = kBase + 0x7000;

  void open_aql(GpuOptions options = {.generation = hw::Generation::Gfx10},
                Level level = Level::Error) {
    std::memset(host(kRing), 0, kRingBytes);
    for (u64 va = kRing; va < kRing + kRingBytes; va += 64) poke<u16>(va, 1);  // INVALID
    open(options, QueueKind::Aql, level);
    // write_dispatch_id at 56, read_dispatch_id at 128 with its offset behind it.
    gpu_->remove_queue(queue_).value();
    description_.read_pointer = kQueue + 128, description_.write_pointer = kQueue + 56;
    poke<u32>(kQueue + 136, 128);
    poke<u64>(kQueue + 128, 0);
    poke<u64>(kQueue + 56, 0);
    poke<u64>(kQueue + 192, kInactive);  // queue_inactive_signal
    queue_ = gpu_->add_queue(description_).value();
    put_ = 0;

    // The descriptor: 16 bytes of arguments, entry 0x40 behind it, RSRC2 with 2 user SGPRs, kernarg
    // pointer enabled, waves of 32. [LLVM AMDGPUUsage "Code Object V3 Kernel Descriptor"]
    poke<u32>(kDescriptor + 8, 16);
    poke<u64>(kDescriptor + 16, 0x40);
    poke<u32>(kDescriptor + 48, 0x600f0000);
    poke<u32>(kDescriptor + 52, 2 << 1);
    poke<u16>(kDescriptor + 56, 1 << 3 | 1 << 10);
  }

  void put(const std::vector<u32>& packet) {
    for (u32 i = 0; i < 16; ++i) poke<u32>(kRing + put_ * 64 % kRingBytes + i * 4, packet[i]);
    ++put_;
    poke<u64>(kQueue + 56, put_);
  }
  // Words 1 and 3 of the scratch's buffer, as clients write them. [ROCr amd_aql_queue.cpp
  // FillBufRsrcWord1(), _Gfx11(), FillBufRsrcWord3(), _Gfx10(), _Gfx11()]
  void tell_buffer(hw::Generation generation) {
    const bool gfx11 = generation >= hw::Generation::Gfx11;
    poke<u32>(kQueue + 148, gfx11 ? 1u << 30 : 1u << 31);
    poke<u32>(kQueue + 156, generation == hw::Generation::Gfx9 ? 0x00ea4fac
                            : gfx11                            ? 0x20814fac
                                                               : 0x21814fac);
  }
  // A packet of the vendor's that jumps to these words.
  void put_pm4(const std::vector<u32>& words, u64 signal = 0) {
    put_words(kIb, words);
    std::vector<u32> packet{0x1500 | 1 << 16,
                            0xc0023f00,
                            lo(kIb),
                            hi(kIb),
                            static_cast<u32>(words.size()) | 1 << 23,
                            10};
    packet.resize(16);
    packet[14] = lo(signal), packet[15] = hi(signal);
    put(packet);
  }
  void ring() {
    gpu_->ring(queue_, put_ - 1);
    gpu_->run_until_idle();
  }

  // Type 2, barrier bit 8, fences of system scope; a grid of 100 x 3 in groups of 32.
  static std::vector<u32> dispatch(u64 signal, bool barrier = false) {
    u32 header = 2 | (barrier ? 1 << 8 : 0) | 2 << 9 | 2 << 11;
    return {header | 2u << 16,
            32 | 1 << 16,
            1,
            100,
            3,
            1,
            0,
            0,
            lo(kDescriptor),
            hi(kDescriptor),
            lo(kArguments),
            hi(kArguments),
            0,
            0,
            lo(signal),
            hi(signal)};
  }
  static std::vector<u32> barrier(u32 type, u64 a, u64 b, u64 signal) {
    return {type, 0, lo(a), hi(a), lo(b), hi(b), 0, 0, 0, 0, 0, 0, 0, 0, lo(signal), hi(signal)};
  }
};

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

TEST_F(AqlTest, AsksForScratchAndGoesOnWhenItIsThere) {
  open_aql();
  poke<i64>(kInactive + 8, 0);
  auto packet = dispatch(0);
  packet[6] = 64;  // private_segment_size
  put(packet);
  ring();
  EXPECT_TRUE(launcher_.dispatches.empty());
  // wave32 is short: 0x400. [ROCr DynamicQueueEventsHandler]
  EXPECT_EQ(peek<i64>(kInactive + 8), 0x400);
  poke<u32>(kQueue + 140, 32 | 2 << 12);  // compute_tmpring_size: 32 waves of 2 KiB
  poke<u64>(kQueue + 160, kData);         // scratch_backing_memory_location
  poke<u64>(kQueue + 168, 64 << 10);      // scratch_backing_memory_byte_size
  poke<u32>(kQueue + 176, 32);            // scratch_wave64_lane_byte_size
  poke<i64>(kInactive + 8, 0);
  gpu_->run_until_idle();
  ASSERT_EQ(launcher_.dispatches.size(), 1u) << stopped();
  EXPECT_EQ(launcher_.dispatches[0].scratch_base, kData);
  EXPECT_EQ(launcher_.dispatches[0].scratch_waves, 32u);
  EXPECT_EQ(launcher_.dispatches[0].scratch_wave_bytes, 2048u);
  EXPECT_EQ(launcher_.dispatches[0].rsrc2 & 1, 1u);
}

// 128 KiB for two XCCs are 64 KiB for each: in the buffer's NUM_RECORDS, and, of those who fill it
// in, in scratch_backing_memory_byte_size. [Writes: ROCR-Runtime c7785a6 amd_aql_queue.cpp#1627,
// #1883, main_size / num_xcc; tinygrad ops_amd.py _ensure_has_local_memory(), size_per_xcc. Reads:
// ROCdbgapi 61dfa56 queue.cpp#874]
// Offsets in amd_queue_t: compute_tmpring_size 140, scratch_resource_descriptor 144,
// scratch_backing_memory_location 160, queue_properties 180. [amd_hsa_queue.h]
TEST_F(AqlTest, ScratchIsWhereItsDescriptorSays) {
  for (u64 described : {kData, kData + 0x100}) {
    open_aql({.generation = hw::Generation::Gfx11, .engines = 4});
    poke<u32>(kQueue + 140, 8 | 8 << 12);
    poke<u64>(kQueue + 144, described | u64{1} << 62);
    poke<u32>(kQueue + 152, 0x10000);
    poke<u32>(kQueue + 156, 0x20814fac);
    poke<u64>(kQueue + 160, kData);
    poke<u32>(kQueue + 176, 32);
    auto packet = dispatch(0);
    packet[6] = 64;
    put(packet);
    ring();
    EXPECT_EQ(count("AMD-DISP-007"), described == kData ? 0u : 1u) << stopped();
  }
}

// scratch_wave64_lane_byte_size 176 counts as COMPUTE_TMPRING_SIZE does, here waves of 2 KiB; the
// format is FORMAT 32_UINT with ADD_TID_ENABLE, swizzled by bit 62. [ROCr amd_aql_queue.cpp
// FillBufRsrcWord1_Gfx11(), FillBufRsrcWord3_Gfx11(); tinygrad ops_amd.py
// _ensure_has_local_memory()]
TEST_F(AqlTest, ScratchIsToldAlike) {
  const auto broken = [&](u32 lane, u64 swizzle, u32 format) {
    open_aql({.generation = hw::Generation::Gfx11, .engines = 4});
    poke<u32>(kQueue + 140, 8 | 8 << 12);
    poke<u64>(kQueue + 144, kData | swizzle);
    poke<u32>(kQueue + 152, 0x10000), poke<u32>(kQueue + 156, format);
    poke<u64>(kQueue + 160, kData), poke<u32>(kQueue + 176, lane);
    auto packet = dispatch(0);
    packet[6] = 32;
    put(packet);
    ring();
    return count("AMD-AQL-009");
  };
  constexpr u64 kSwizzled = u64{1} << 62;
  EXPECT_EQ(broken(16, kSwizzled, 0x20814fac), 1u);
  EXPECT_EQ(broken(64, kSwizzled, 0x20814fac), 1u);
  EXPECT_EQ(broken(32, u64{1} << 63, 0x20814fac), 1u);
  EXPECT_EQ(broken(32, kSwizzled, 0x20014fac), 1u);
  EXPECT_EQ(broken(32, kSwizzled, 0x20814fac), 0u) << stopped();
  EXPECT_EQ(broken(31, kSwizzled, 0x20814fac), 0u) << "rounded up to 256 bytes: " << stopped();
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

TEST_F(AqlTest, ScratchCoversItsWaves) {
  struct {
    hw::Generation generation;
    u32 xccs, engines, tmpring;
    u32 records;
    u64 byte_size;
    bool covered;
  } const kCases[] = {
      {hw::Generation::Gfx10, 1, 4, 32 | 2 << 12, 0x10000, 0x10000, true},  // 32 waves of 2 KiB
      {hw::Generation::Gfx10, 1, 4, 33 | 2 << 12, 0x10000, 0x10000, false},
      {hw::Generation::Gfx11, 1, 4, 8 | 8 << 12, 0x10000, 0x10000, true},  // 8 of each engine
      {hw::Generation::Gfx11, 1, 4, 9 | 8 << 12, 0x10000, 0x10000, false},
      {hw::Generation::Gfx9, 2, 4, 16 | 4 << 12, 0x10000, 0x10000, true},  // 16 of 4 KiB of an XCC
      {hw::Generation::Gfx9, 2, 4, 17 | 4 << 12, 0x10000, 0x10000, false},
      {hw::Generation::Gfx9, 2, 4, 16 | 4 << 12, 0x10000, 0, true},  // as tinygrad leaves it
      {hw::Generation::Gfx9, 2, 4, 17 | 4 << 12, 0x10000, 0, false},
      {hw::Generation::Gfx9, 2, 4, 16 | 4 << 12, 0x10000, 0x20000, false},  // all XCCs' together
      {hw::Generation::Gfx9, 2, 4, 4 | 4 << 12, 0x10000, 0x8000, false},
  };
  for (const auto& test : kCases) {
    open_aql({.generation = test.generation, .xccs = test.xccs, .engines = test.engines});
    launcher_.dispatches.clear();
    if (test.generation == hw::Generation::Gfx9) poke<u16>(kDescriptor + 56, 1 << 3);
    poke<u32>(kQueue + 140, test.tmpring);
    poke<u32>(kQueue + 152, test.records);  // scratch_resource_descriptor[2]
    tell_buffer(test.generation);
    poke<u32>(kQueue + 176, test.generation == hw::Generation::Gfx9 ? 64 : 32);
    poke<u64>(kQueue + 160, kData);
    poke<u64>(kQueue + 168, test.byte_size);
    auto packet = dispatch(0);
    packet[6] = 64;
    put(packet);
    ring();
    EXPECT_EQ(count("AMD-DISP-007"), test.covered ? 0u : 1u) << test.tmpring << stopped();
    if (!test.covered) continue;
    ASSERT_EQ(launcher_.dispatches.size(), test.xccs);
    EXPECT_EQ(launcher_.dispatches.back().scratch_base, test.xccs == 2 ? kData + 0x10000 : kData);
  }
  open_aql();
  poke<u64>(kQueue + 160, kUnmapped);
  poke<u32>(kQueue + 140, 32 | 2 << 12);
  auto packet = dispatch(0);
  packet[6] = 64;
  put(packet);
  ring();
  EXPECT_EQ(count("AMD-DISP-007"), 1u);
}

// The processor has its copy from when the queue was put on the hardware.
TEST_F(AqlTest, ScratchChangesWhileTheQueueIsOff) {
  for (bool remapped : {false, true}) {
    open_aql();
    launcher_.dispatches.clear();
    poke<u32>(kQueue + 140, 0), poke<u64>(kQueue + 160, 0), poke<u64>(kQueue + 168, 0);
    poke<u32>(kQueue + 176, 0);
    put(dispatch(0));
    ring();
    ASSERT_EQ(launcher_.dispatches.size(), 1u) << stopped();
    auto packet = dispatch(0);
    packet[6] = 64;
    put(packet);
    if (remapped) {
      QueueDescription off = description_;
      off.percentage = 0;
      gpu_->update_queue(queue_, off).value();
    }
    poke<u32>(kQueue + 140, 32 | 2 << 12);  // compute_tmpring_size: 32 waves of 2 KiB
    poke<u64>(kQueue + 160, kData);         // scratch_backing_memory_location, _byte_size
    poke<u64>(kQueue + 168, 32 * 2048);
    poke<u32>(kQueue + 176, 32);  // scratch_wave64_lane_byte_size
    if (remapped) gpu_->update_queue(queue_, description_).value();
    ring();
    EXPECT_EQ(launcher_.dispatches.size(), remapped ? 2u : 1u) << stopped();
    EXPECT_EQ(count("AMD-AQL-007"), remapped ? 0u : 1u);
  }
}

// Scratch of a queue whose client and processor both know amd_queue_v2_t: caps 40,
// scratch_max_use_index 184, alt_scratch_max_use_index 200, alt_scratch_backing_memory_location
// 224, alt_scratch_dispatch_limit_x 232 to z 240, alt_scratch_wave64_lane_byte_size 244,
// alt_compute_tmpring_size 248, scratch_last_used_index 256, of each XCC main and alternate.
// [ROCm/rocm-systems 1b1610f amd_hsa_queue.h; "CP FW Pseudocode" in amd_aql_queue.cpp]
class AqlReclaimTest : public AqlTest {
 protected:
  static constexpr u64 kMain = kData, kAlternate = kData + 0x8000;

  void open_reclaiming(u32 caps = 2, u64 seed = 0) {
    open_aql({.generation = hw::Generation::Gfx9,
              .xccs = 2,
              .scratch_reclaim = true,
              .adversarial = seed != 0,
              .seed = seed});
    launcher_.dispatches.clear();
    poke<u16>(kDescriptor + 56, 1 << 3);
    poke<u32>(kQueue + 40, caps);
    poke<u64>(kQueue + 184, ~u64{0}), poke<u64>(kQueue + 200, ~u64{0});
    set_main(64, kMain);
    set_alternate(256, kAlternate);
    for (u64 at = 0; at < 64; at += 8) poke<u64>(kQueue + 256 + at, 0);
    poke<i64>(kInactive + 8, 0);
  }
  // Waves of 4 KiB, 4 of each XCC.
  void set_main(u32 item_bytes, u64 va) {
    poke<u32>(kQueue + 140, item_bytes == 0 ? 0 : 4 | 4 << 12);
    poke<u64>(kQueue + 144, item_bytes == 0 ? 0 : va | u64{1} << 63);
    poke<u32>(kQueue + 152, item_bytes == 0 ? 0 : 0x4000);
    poke<u32>(kQueue + 156, item_bytes == 0 ? 0 : 0x00ea4fac);
    poke<u64>(kQueue + 160, va);
    poke<u64>(kQueue + 168, 0);
    poke<u32>(kQueue + 176, item_bytes);
  }
  // Waves of 16 KiB, 1 of each XCC, for grids of 100 x 3.
  void set_alternate(u32 item_bytes, u64 va) {
    poke<u64>(kQueue + 224, va);
    poke<u32>(kQueue + 232, 100), poke<u32>(kQueue + 236, 3), poke<u32>(kQueue + 240, 1);
    poke<u32>(kQueue + 244, item_bytes);
    poke<u32>(kQueue + 248, item_bytes == 0 ? 0 : 1 | 16 << 12);
  }
  void put_with(u32 private_bytes, u32 grid_x = 100) {
    auto packet = dispatch(0);
    packet[3] = grid_x, packet[6] = private_bytes;
    put(packet);
  }
  void set_active(bool active) {
    QueueDescription now = description_;
    if (!active) now.percentage = 0;
    gpu_->update_queue(queue_, now).value();
  }
};

TEST_F(AqlReclaimTest, SmallGridsHaveAnAreaOfTheirOwn) {
  open_reclaiming();
  put_with(64), put_with(65), put_with(0);
  ring();
  ASSERT_EQ(launcher_.dispatches.size(), 6u) << stopped();
  EXPECT_EQ(launcher_.dispatches[0].scratch_base, kMain);
  EXPECT_EQ(launcher_.dispatches[1].scratch_base, kMain + 0x4000);
  EXPECT_EQ(launcher_.dispatches[2].scratch_base, kAlternate);
  EXPECT_EQ(launcher_.dispatches[3].scratch_base, kAlternate + 0x4000);
  EXPECT_EQ(launcher_.dispatches[3].scratch_wave_bytes, 0x4000u);
  // A grid that is wider than the limit, and items with more than either area has for one.
  for (auto [bytes, width] : {std::pair{65u, 101u}, {257u, 100u}}) {
    open_reclaiming();
    put_with(bytes, width);
    ring();
    EXPECT_TRUE(launcher_.dispatches.empty());
    EXPECT_EQ(peek<i64>(kInactive + 8), 1);
  }
}

TEST_F(AqlReclaimTest, BothSidesSayThatTheyKnowIt) {
  open_reclaiming();
  put_with(64);
  ring();
  EXPECT_EQ(peek<u32>(kQueue + 40), 3u);
  // The client does not: no second area, and nothing is written behind 256 bytes.
  open_reclaiming(0);
  poke<u64>(kQueue + 184, 0);
  put_with(0), put_with(64), put_with(65);
  ring();
  EXPECT_EQ(peek<u32>(kQueue + 40), 1u);
  EXPECT_EQ(launcher_.dispatches.size(), 4u) << stopped();
  EXPECT_EQ(peek<i64>(kInactive + 8), 1);
  set_active(false);
  EXPECT_EQ(peek<u64>(kQueue + 256), 0u);
}

// The client's side as AsyncReclaimMainScratch() has it.
TEST_F(AqlReclaimTest, GivesTheMainAreaBack) {
  open_reclaiming();
  put_with(0), put_with(64), put_with(65);
  ring();
  ASSERT_EQ(launcher_.dispatches.size(), 6u) << stopped();
  EXPECT_EQ(peek<u64>(kQueue + 256), 0u) << "told when the queue is off the hardware";
  set_active(false);
  for (u64 xcc : {0, 1}) {
    EXPECT_EQ(peek<u64>(kQueue + 256 + xcc * 16), 1u);
    EXPECT_EQ(peek<u64>(kQueue + 264 + xcc * 16), 2u);
  }
  poke<u64>(kQueue + 184, 1);
  set_active(true);
  gpu_->run_until_idle();
  EXPECT_EQ(peek<u64>(kQueue + 128), 3u);
  // Mapped, and changed without a word to the processor: it does not use what was given back.
  put_with(0);
  ring();
  set_main(0, 0);
  put_with(65), put_with(64);
  ring();
  EXPECT_EQ(launcher_.dispatches.size(), 10u) << stopped();
  EXPECT_EQ(launcher_.dispatches.back().scratch_base, kAlternate + 0x4000);
  EXPECT_EQ(peek<i64>(kInactive + 8), 1);
  set_main(64, kMain + 0x10000);
  poke<u64>(kQueue + 184, ~u64{0});
  poke<i64>(kInactive + 8, 0);
  gpu_->run_until_idle();
  ASSERT_EQ(launcher_.dispatches.size(), 12u) << stopped();
  EXPECT_EQ(launcher_.dispatches.back().scratch_base, kMain + 0x14000);
  EXPECT_EQ(checks_->errors(), 0u);
}

// The client frees the area when the read index is past the last packet that used it, or at once
// when it is asked for more. [AsyncReclaimMainScratch(): "wait for it to finish";
// HandleInsufficientScratch(): ReleaseQueueMainScratch()]
TEST_F(AqlReclaimTest, WavesInFlightKeepTheirArea) {
  for (u64 seed = 1; seed < 6; ++seed) {
    open_reclaiming(2, seed);
    int ended = 0;
    launcher_.slices = 20;
    launcher_.effect = [&] {
      ++ended;
      EXPECT_EQ(peek<u64>(kQueue + 128), 0u);
      EXPECT_EQ(peek<i64>(kInactive + 8), 0);
    };
    put_with(64), put_with(257);
    ring();
    EXPECT_EQ(ended, 2);
    EXPECT_EQ(peek<u64>(kQueue + 128), 1u);
    EXPECT_EQ(peek<i64>(kInactive + 8), 1) << stopped();
    launcher_.slices = 1, launcher_.effect = {};
  }
}

// What the processor may still use stays as it is.
TEST_F(AqlReclaimTest, AnAreaInUseDoesNotChange) {
  for (bool alternate : {false, true}) {
    open_reclaiming();
    put_with(0);
    ring();
    alternate ? set_alternate(128, kAlternate) : set_main(32, kMain);
    put_with(0);
    ring();
    EXPECT_EQ(count("AMD-AQL-007"), 1u) << stopped();
  }
}

// As tinygrad does (ops_amd.py, create_queue() and then _ensure_has_local_memory()), and ROCr,
// which fills in scratch_resource_descriptor and compute_tmpring_size behind CREATE_QUEUE.
TEST_F(AqlTest, ScratchMayComeBeforeTheFirstDoorbell) {
  for (bool adversarial : {false, true}) {
    open_aql({.generation = hw::Generation::Gfx10, .adversarial = adversarial, .seed = 5});
    launcher_.dispatches.clear();
    poke<u32>(kQueue + 140, 0), poke<u64>(kQueue + 160, 0), poke<u64>(kQueue + 168, 0);
    for (int turn = 0; turn < 100; ++turn) gpu_->run_once();
    poke<u32>(kQueue + 140, 32 | 2 << 12);
    poke<u64>(kQueue + 160, kData);
    poke<u64>(kQueue + 168, 32 * 2048);
    poke<u32>(kQueue + 176, 32);  // scratch_wave64_lane_byte_size
    auto packet = dispatch(0);
    packet[6] = 64;
    put(packet);
    ring();
    ASSERT_EQ(launcher_.dispatches.size(), 1u) << stopped();
    EXPECT_EQ(launcher_.dispatches[0].scratch_base, kData);
    EXPECT_EQ(count("AMD-AQL-007"), 0u);
  }
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

// The kernel's ENABLE_SGPR_DISPATCH_PTR is bit 1 of the descriptor's properties; the slot is given
// back when the kernel is launched.
TEST_F(AqlTest, PacketsThatTheirKernelReadsStay) {
  for (bool reads : {false, true}) {
    open_aql();
    poke<u32>(kDescriptor + 52, 4 << 1);
    poke<u16>(kDescriptor + 56, (reads ? 1 << 1 : 0) | 1 << 3 | 1 << 10);
    launcher_.slices = 3;
    launcher_.effect = [this] { poke<u32>(kRing + 12, 9); };  // grid_size_x of the next packet
    put(dispatch(0));
    ring();
    EXPECT_EQ(count("AMD-AQL-006"), reads ? 1u : 0u);
    EXPECT_EQ(stopped(), "");  // a warning at most
  }
}

TEST_F(AqlTest, ArgumentsThatChangeInFlightAreFound) {
  open_aql({.generation = hw::Generation::Gfx10}, Level::Warn);
  launcher_.slices = 3;
  launcher_.effect = [this] { poke<u32>(kArguments + 12, 1); };  // the last of 16 bytes
  put(dispatch(0));
  ring();
  EXPECT_EQ(count("AMD-ARG-003"), 1u);
  launcher_.effect = [this] { poke<u32>(kArguments + 16, 1); };  // beyond them
  put(dispatch(0));
  ring();
  EXPECT_EQ(count("AMD-ARG-003"), 1u);
}

// From the doorbell on, too, but behind a packet that waits for a signal (type 3) or is not yet
// handed over. [HSA runtime 1.2, 2.9; hsa.h kernarg_address]
TEST_F(AqlTest, ArgumentsThatChangeBeforeTheyAreReadAreFound) {
  enum Front { Nothing, Done, Open, NotHandedOver };
  for (Front front : {Nothing, Done, Open, NotHandedOver}) {
    open_aql({.generation = hw::Generation::Gfx10, .adversarial = true, .seed = 2});
    poke<u32>(kArguments + 12, 0);
    poke<i64>(kData + 8, front == Open ? 1 : 0);
    if (front == Done || front == Open) put(barrier(3, kData, 0, 0));
    put(dispatch(0));
    const u64 last = kRing + (put_ - 1) * 64;
    const u16 header = peek<u16>(last);
    if (front == NotHandedOver) poke<u16>(last, 1);
    gpu_->ring(queue_, put_ - 1);
    poke<u32>(kArguments + 12, 1);
    poke<i64>(kData + 8, 0);
    poke<u16>(last, header);
    gpu_->poke();
    gpu_->run_until_idle();
    const bool broken = front == Nothing || front == Done;
    EXPECT_EQ(count("AMD-ARG-003"), broken ? 1u : 0u) << front;
    EXPECT_EQ(checks_->errors(), broken ? 1u : 0u) << stopped();
  }
}

// The first kernel writes what the second reads. What is between them waits, or does not.
TEST_F(AqlTest, KernelsOverlapUnlessAPacketWaits) {
  const u32 barrier_and = 3;
  const struct {
    std::vector<u32> between;
    bool barrier_bit, races;
  } kCases[] = {{{}, false, true},
                {{}, true, false},
                {barrier(barrier_and, kSignal, 0, 0), false, false},
                {barrier(barrier_and | 1 << 8, 0, 0, 0), false, false}};
  for (const auto& test : kCases) {
    AgentRaces races;
    launcher_.dispatches.clear();
    u64 found = 0;
    launcher_.look = [&](usize index) {
      const AgentAccess access = index == 0 ? AgentAccess::Write : AgentAccess::Read;
      found += launcher_.dispatches[index].task->access(host(kData), 64, access).has_value();
      return GridState::Running;
    };
    open_aql({.generation = hw::Generation::Gfx10, .races = &races});
    ASSERT_TRUE(checks_->configure("error,AMD-RACE-003=warn", all_checks()));
    poke<u64>(kSignal + 8, 1);
    put(dispatch(kSignal));
    if (!test.between.empty()) put(test.between);
    put(dispatch(0, test.barrier_bit));
    ring();
    EXPECT_EQ(launcher_.dispatches.size(), 2u);
    EXPECT_EQ(found, test.races ? 1u : 0u) << &test - kCases;
    EXPECT_EQ(checks_->reports().size(), 0u);
    gpu_.reset();
    launcher_.dispatches.clear();
  }
}

// Of gfx942, which has a grid on each XCC: they are one kernel's.
TEST_F(AqlTest, GridsOfOneDispatchAreOneAgent) {
  AgentRaces races;
  u64 found = 0;
  launcher_.look = [&](usize index) {
    found +=
        launcher_.dispatches[index].task->access(host(kData), 64, AgentAccess::Write).has_value();
    return GridState::Running;
  };
  open_aql({.generation = hw::Generation::Gfx9, .xccs = 4, .races = &races});
  put(dispatch(0));
  put(dispatch(0, true));
  ring();
  EXPECT_EQ(launcher_.dispatches.size(), 8u);
  EXPECT_EQ(found, 0u);
  gpu_.reset();
  launcher_.dispatches.clear();
}

}  // namespace
}  // namespace doorbell::emu::amdgpu
