// Registers and the packet that sets them against tinygrad's words (AMDComputeQueue.wreg, with the
// registers of GC 9.4.3, 11.0.0 and 12.0.0).
#include <gtest/gtest.h>

#include "drivers/amd/hw/compute_registers.h"
#include "drivers/amd/hw/pm4/set_register.h"
#include "drivers/amd/hw/program_registers.h"

namespace doorbell::amd::hw {
namespace {

template <usize count>
using Array = std::array<u32, count>;

constexpr Generation kAll[] = {Generation::Gfx9, Generation::Gfx10, Generation::Gfx11,
                               Generation::Gfx12};

TEST(Registers, LieWhereOthersPutThem) {
  for (Generation generation : kAll) {
    EXPECT_EQ(set_sh_reg(generation, ComputePgm{.entry = 0x12'3456'7800'00}),
              (Array<4>{0xc0027600, 0x20c, 0x34567800, 0x12}));
    EXPECT_EQ(set_sh_reg(generation, ComputeResourceLimits{.waves_per_sh = 3}),
              (Array<3>{0xc0017600, 0x215, 0x3}));
    EXPECT_EQ(set_sh_reg(generation, ComputeDispatchScratchBase{.base = 0x9a'1234'5678'00}),
              (Array<4>{0xc0027600, 0x210, 0x12345678, 0x9a}));
    EXPECT_EQ(set_sh_reg(generation, ComputeNumThread{.x = 32, .y = 4, .z = 1}),
              (Array<5>{0xc0037600, 0x207, 0x20, 0x4, 0x1}));
    EXPECT_EQ(set_sh_reg(generation, ComputeStart{.x = 1}),
              (Array<5>{0xc0037600, 0x204, 0x1, 0x0, 0x0}));
    EXPECT_EQ(kComputeUserData0.at(generation) - kShRegStart, 0x240u);
    EXPECT_EQ(register_name(generation, 0x2e43), "COMPUTE_USER_DATA_3");
    EXPECT_EQ(register_name(generation, 0x2e7e), "");
  }
}

TEST(Registers, Rsrc3DiffersByGeneration) {
  EXPECT_EQ(
      set_sh_reg(Generation::Gfx9, ComputePgmRsrc3Gfx9{.accum_offset = 0x15, .tg_split = true}),
      (Array<3>{0xc0017600, 0x22d, 0x10015}));
  EXPECT_EQ(set_sh_reg(Generation::Gfx11,
                       ComputePgmRsrc3Gfx10{.shared_vgpr_cnt = 5, .inst_pref_size = 5}),
            (Array<3>{0xc0017600, 0x228, 0x55}));
  EXPECT_EQ(register_name(Generation::Gfx9, 0x2e2d), "COMPUTE_PGM_RSRC3");
  EXPECT_EQ(register_name(Generation::Gfx12, 0x2e2d), "COMPUTE_STATIC_THREAD_MGMT_SE6");
}

// waves=0x123, wavesize=0x456, and the greatest wavesize of each
TEST(Registers, TmpringGrew) {
  EXPECT_EQ(
      set_sh_reg(Generation::Gfx9, ComputeTmpringSizeGfx9{.waves = 0x123, .wave_size = 0x456}),
      (Array<3>{0xc0017600, 0x218, 0x456123}));
  EXPECT_EQ(encode(ComputeTmpringSizeGfx9{.wave_size = 0x1fff}), (Array<1>{0x01fff000}));
  EXPECT_EQ(encode(ComputeTmpringSizeGfx11{.wave_size = 0x7fff}), (Array<1>{0x07fff000}));
  EXPECT_EQ(encode(ComputeTmpringSizeGfx12{.wave_size = 0x3ffff}), (Array<1>{0x3ffff000}));
  u32 too_much = 0x2000;
  EXPECT_THROW(encode(ComputeTmpringSizeGfx9{.wave_size = too_much}), InternalError);
}

TEST(Registers, ProgramResources) {
  EXPECT_EQ(set_sh_reg(Generation::Gfx11, ComputePgmRsrc1{.vgprs = 5,
                                                          .sgprs = 3,
                                                          .priority = 2,
                                                          .float_mode = 0xc0,
                                                          .priv = true,
                                                          .bulky = true,
                                                          .fp16_ovfl = true}),
            (Array<3>{0xc0017600, 0x212, 0x51c08c5}));
  EXPECT_EQ(set_sh_reg(Generation::Gfx9, ComputePgmRsrc2{.scratch_en = true,
                                                         .user_sgpr = 6,
                                                         .tgid_x_en = true,
                                                         .tgid_z_en = true,
                                                         .tidig_comp_cnt = 2,
                                                         .lds_size = 0x101,
                                                         .excp_en = 0x41}),
            (Array<3>{0xc0017600, 0x213, 0x4180928d}));
}

// exec()'s private segment buffer for a scratch at 0x7f1234560000: base, base | 1 << 31, all ones,
// 0x20c14000.
// Words 1 and 3 as tinygrad makes them (runtime/ops_amd.py _ensure_has_local_memory, of ROCr's
// unions SQ_BUF_RSRC_WORD1 and 3), dumped with a base of 0x2000'0001'0000; gfx10's of ROCr's
// values.
TEST(Registers, ScratchOfAnAqlQueue) {
  const auto words = [](Generation generation) {
    return encode(queue_scratch(generation, 0x2000'0001'0000, 0x40000));
  };
  using Words = std::array<u32, 4>;
  EXPECT_EQ(words(Generation::Gfx9), (Words{0x10000, 0x80002000, 0x40000, 0x00ea4fac}));
  EXPECT_EQ(words(Generation::Gfx10), (Words{0x10000, 0x80002000, 0x40000, 0x21814fac}));
  EXPECT_EQ(words(Generation::Gfx11), (Words{0x10000, 0x40002000, 0x40000, 0x20814fac}));
  EXPECT_EQ(words(Generation::Gfx12), (Words{0x10000, 0x40002000, 0x40000, 0x20814fac}));
}

TEST(Registers, ScratchResource) {
  EXPECT_EQ(encode(ScratchResource{
                .base = 0x7f12'3456'0000, .records = 0xffffffff, .unk_127_96 = 0x20c14000}),
            (Array<4>{0x34560000, 0x7f12 | 1u << 31, 0xffffffff, 0x20c14000}));
}

}  // namespace
}  // namespace doorbell::amd::hw
