// How many groups the compute units hold, by what runs out first.
// [LLVM AMDGPUBaseInfo.cpp: getMaxWorkGroupsPerCU(); getNumWavesPerEUWithNumVGPRs() gives waves for
// registers: gfx1030 4 for 256 of 32 lanes, gfx1100 5; gfx942 8 for 64, 4 for 128, 1 for 512]
#include "emulator/amd/compute/occupancy.h"

#include <gtest/gtest.h>

namespace doorbell::emu::amdgpu {
namespace {

struct Case {
  const char* chip;
  bool wave32, wgp;
  u32 vgprs, items, lds_bytes;
  u64 groups;  // that two compute units hold
};

constexpr Case kCases[] = {
    {"gfx1030", true, false, 256, 32, 0, 16},    // 4 waves a SIMD, 2 SIMDs a unit
    {"gfx1100", true, false, 256, 32, 0, 20},    // 5
    {"gfx1100", true, false, 32, 32, 0, 64},     // slots: 16
    {"gfx1100", true, false, 32, 64, 0, 32},     // 16 barriers a unit
    {"gfx1100", true, true, 32, 64, 0, 32},      // 32 of two units
    {"gfx1100", true, false, 32, 1024, 0, 2},    // a whole unit each
    {"gfx1100", true, true, 256, 1024, 0, 1},    // not to be had on one
    {"gfx1100", true, false, 32, 32, 32768, 4},  // LDS: 64 KiB a unit
    {"gfx1100", true, true, 32, 32, 49152, 2},   // 128 KiB of two
    {"gfx942", false, false, 64, 64, 0, 64},     // 8 waves a SIMD, 4 SIMDs
    {"gfx942", false, false, 128, 64, 0, 32},    // 4
    {"gfx942", false, false, 512, 256, 0, 2},    // 1
    {"gfx942", false, false, 64, 128, 0, 32},    // 16 barriers
    {"gfx942", false, false, 64, 64, 65536, 2},  // LDS
};

TEST(Occupancy, IsWhatRunsOutFirst) {
  for (const Case& c : kCases) {
    const Chip& chip = *find_chip(c.chip);
    const bool cdna = chip.generation == Generation::Gfx9;
    ComputeUnits units{.count = 2, .simds = 2, .waves_per_simd = 16, .vgpr_bytes = 131072};
    if (cdna) units = {.count = 2, .simds = 4, .waves_per_simd = 8, .vgpr_bytes = 131072};
    if (std::string_view(c.chip) == "gfx1100") units.vgpr_bytes = 196608;
    Dispatch dispatch;
    dispatch.wave32 = c.wave32;
    dispatch.rsrc1 = (c.vgprs / 8 - 1) | (c.wgp ? 1u << 29 : 0);
    if (cdna) dispatch.rsrc3 = 3;  // ACCUM_OFFSET: 16 registers, the rest for accumulation
    dispatch.group_size = {c.items, 1, 1};
    dispatch.lds_bytes = c.lds_bytes;
    EXPECT_EQ(max_resident_groups(chip, units, dispatch), c.groups)
        << c.chip << ", " << c.vgprs << " registers, " << c.items << " items, " << c.lds_bytes
        << " bytes of LDS" << (c.wgp ? ", WGP mode" : "");
  }
}

}  // namespace
}  // namespace doorbell::emu::amdgpu
