// Scratch of AQL queues: when the processor asks for it, where it lies, how it is given back.
#include "tests/emulator/amd/cp/aql_test.h"

namespace doorbell::emu::amdgpu {
namespace {

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

}  // namespace
}  // namespace doorbell::emu::amdgpu
