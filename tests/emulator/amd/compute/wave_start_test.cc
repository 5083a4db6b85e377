// What a wave's registers hold before its first instruction, chip by chip.
// [LLVM AMDGPUUsage, "Initial Kernel Execution State"]
#include "emulator/amd/compute/wave_start.h"

#include <gtest/gtest.h>

#include <numeric>

namespace doorbell::emu::amdgpu {
namespace {

// RSRC2: scratch, user SGPRs, group ids x, y, z, group info, work-item ids of three dimensions.
u32 rsrc2(u32 user_sgprs, bool scratch, bool info) {
  return u32{scratch} | user_sgprs << 1 | 7u << 7 | u32{info} << 10 | 2u << 11;
}

Dispatch dispatch(u32 user_sgprs, bool wave32) {
  Dispatch d;
  d.code = 0x1234500;
  d.wave32 = wave32;
  d.rsrc1 = 3u | 0xf0u << 12 | 1u << 23;  // VGPRs; denormals kept; IEEE
  d.user_sgprs.resize(user_sgprs);
  std::iota(d.user_sgprs.begin(), d.user_sgprs.end(), 100);
  d.scratch_base = 0x7'0000'0000;
  d.scratch_wave_bytes = 4096;
  d.scratch_waves = 8;
  return d;
}

const WaveStart kSecondWave{
    .group = {5, 6, 7}, .group_size = {10, 4, 3}, .wave = 1, .waves = 4, .scratch_slot = 2};

TEST(WaveStart, PutsGroupIdsBehindTheUserRegisters) {
  const Chip& chip = *find_chip("gfx1100");
  Dispatch d = dispatch(3, true);
  d.rsrc2 = rsrc2(3, true, true);
  Wave wave(chip, 32);
  start_wave(wave, d, resources(chip, d), kSecondWave);
  const u32 expected[] = {100, 101, 102, 5, 6, 7, 4};
  for (u32 i = 0; i < 7; ++i) EXPECT_EQ(wave.s[i], expected[i]) << i;
  // Flat scratch is architected: no register holds the offset.
  EXPECT_EQ(wave.flat_scratch, 0x7'0000'2000u);
  EXPECT_EQ(wave.scratch_bytes_per_lane, 128u);
  EXPECT_EQ(wave.pc, 0x1234500u);
  EXPECT_EQ(wave.vgpr_count, 32u);
  EXPECT_EQ(wave.mode_bits() & 0xff, 0xf0u);
}

TEST(WaveStart, GivesTheScratchOffsetWhereKernelsAddItThemselves) {
  const Chip& chip = *find_chip("gfx1030");
  Dispatch d = dispatch(2, true);
  d.rsrc2 = rsrc2(2, true, false);
  Wave wave(chip, 32);
  start_wave(wave, d, resources(chip, d), kSecondWave);
  const u32 expected[] = {100, 101, 5, 6, 7, 8192};
  for (u32 i = 0; i < 6; ++i) EXPECT_EQ(wave.s[i], expected[i]) << i;
  EXPECT_EQ(wave.flat_scratch, 0u);
}

TEST(WaveStart, PutsGroupIdsInTrapRegistersOfGfx12) {
  const Chip& chip = *find_chip("gfx1201");
  Dispatch d = dispatch(2, true);
  d.rsrc2 = rsrc2(2, false, false);
  Wave wave(chip, 32);
  wave.s[2] = 77;
  start_wave(wave, d, resources(chip, d), kSecondWave);
  EXPECT_EQ(wave.s[2], 77u);  // the launch writes nothing behind the user registers
  EXPECT_EQ(wave.s[kTtmp0 + 9], 5u);
  EXPECT_EQ(wave.s[kTtmp0 + 7], 6u | 7u << 16);
  EXPECT_EQ(wave.s[kTtmp0 + 8] >> 25 & 31, 1u);
}

TEST(WaveStart, CountsWorkItemsWithXFastest) {
  for (const char* name : {"gfx1030", "gfx1100", "gfx1201", "gfx942"}) {
    const Chip& chip = *find_chip(name);
    const u32 lanes = chip.wave32 ? 32 : 64;
    Dispatch d = dispatch(0, chip.wave32);
    d.rsrc2 = rsrc2(0, false, false);
    Wave wave(chip, lanes);
    start_wave(wave, d, resources(chip, d), kSecondWave);
    u64 exec = 0;
    for (u32 lane = 0; lane < lanes; ++lane) {
      const u32 item = lanes + lane;  // of 10 x 4 x 3 work items
      exec |= u64{item < 120} << lane;
      if (item >= 120) continue;
      const u32 x = item % 10, y = item / 10 % 4, z = item / 40;
      if (std::string_view(name) == "gfx1030") {
        EXPECT_EQ(wave.row(0)[lane], x);
        EXPECT_EQ(wave.row(1)[lane], y);
        EXPECT_EQ(wave.row(2)[lane], z);
      } else {
        EXPECT_EQ(wave.row(0)[lane], x | y << 10 | z << 20) << name;
      }
    }
    EXPECT_EQ(wave.exec(), exec) << name;
  }
}

TEST(WaveStart, LeavesOutTheDimensionsThatAreNotAskedFor) {
  const Chip& chip = *find_chip("gfx1100");
  Dispatch d = dispatch(0, true);
  d.rsrc2 = 0;  // x only
  Wave wave(chip, 32);
  start_wave(wave, d, resources(chip, d), kSecondWave);
  EXPECT_EQ(wave.row(0)[3], 5u);  // work item 35: x of 5, 3, 0
}

TEST(WaveStart, ReadsRegisterCounts) {
  Dispatch d;
  d.rsrc1 = 6;
  EXPECT_EQ(resources(*find_chip("gfx1100"), d).vgprs, 28u);  // waves of 64: units of 4
  d.wave32 = true;
  EXPECT_EQ(resources(*find_chip("gfx1100"), d).vgprs, 56u);  // of 32: of 8
  d.wave32 = false;
  d.rsrc3 = 7;  // ACCUM_OFFSET: 32
  const Resources r = resources(*find_chip("gfx942"), d);
  EXPECT_EQ(r.vgprs, 32u);
  EXPECT_EQ(r.accumulators, 24u);
}

TEST(UserSgprs, FollowTheOrderOfTheEnableBits) {
  UserSgprSources sources;
  sources.private_segment_buffer = {1, 2, 3, 4};
  sources.dispatch_packet = 0x600000005;
  sources.queue = 0x800000007;
  sources.kernel_arguments = 0xa00000009;
  sources.dispatch_id = 0xc0000000b;
  sources.flat_scratch_init = 0xe0000000d;
  sources.private_segment_bytes = 15;
  const std::vector<u32> all = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  EXPECT_EQ(user_sgprs(0x7f, sources), all);
  EXPECT_EQ(user_sgprs(0x8, sources, {20, 21}), (std::vector<u32>{9, 10, 20, 21}));
  EXPECT_EQ(user_sgprs(0x400, sources), (std::vector<u32>{}));  // the wave size is no register
}

}  // namespace
}  // namespace doorbell::emu::amdgpu
