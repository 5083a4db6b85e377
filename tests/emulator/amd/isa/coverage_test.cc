// Every instruction that LLVM knows for the emulated chips has a handler, or stands in the list of
// those that have none, with the reason. A new LLVM that renames one fails here.
#include <gtest/gtest.h>

#include <array>
#include <set>

#include "emulator/amd/isa/handlers.h"
#include "emulator/amd/isa/instruction_source.h"
#include "emulator/amd/isa/normal_name.h"

namespace doorbell::emulator::amd {
namespace {

struct Missing {
  const char* prefix;
  const char* reason;
};

// An entry that nothing needs any more fails the test too.
const Missing kMissing[] = {
    {"IMAGE_", "images: no kernel of ours or of HIP's has them"},
    {"TBUFFER_", "typed buffers: graphics"},
    {"BUFFER_LOAD_FORMAT", "typed buffers: graphics"},
    {"BUFFER_STORE_FORMAT", "typed buffers: graphics"},
    {"BUFFER_STORE_LDS_B32", "stores from LDS: no compiler emits them"},
    {"BUFFER_LOAD_B128_TFE", "partially resident textures"},
    {"BUFFER_LOAD_B32_TFE", "partially resident textures"},
    {"BUFFER_LOAD_B64_TFE", "partially resident textures"},
    {"BUFFER_LOAD_B96_TFE", "partially resident textures"},
    {"BUFFER_LOAD_D16_", "partially resident textures"},
    {"BUFFER_LOAD_I", "partially resident textures"},
    {"BUFFER_LOAD_U", "partially resident textures"},
    {"BUFFER_STORE_B", "partially resident textures"},
    {"BUFFER_STORE_D16_", "partially resident textures"},
    {"DS_ADD_GS_REG", "graphics"},
    {"DS_SUB_GS_REG", "graphics"},
    {"DS_GWS_", "global wave sync, which the driver never sets up"},
    {"DS_ORDERED_COUNT", "graphics"},
    {"DS_BVH_", "ray tracing"},
    {"DS_PARAM_LOAD", "graphics"},
    {"DS_DIRECT_LOAD", "graphics"},
    {"LDS_PARAM_LOAD", "graphics"},
    {"LDS_DIRECT_LOAD", "graphics"},
    {"DS_LOAD_", "transposing loads: gfx950 and gfx1250"},
    {"DS_ATOMIC_", "gfx1250"},
    {"DS_CONDXCHG32_RTN_B64", "no compiler emits it"},
    {"DS_", "two-address LDS atomics (SRC2): no compiler emits them"},
    {"GLOBAL_LOAD_TR_", "transposing loads"},
    {"GLOBAL_LOAD_BLOCK", "gfx12 register spilling by blocks"},
    {"GLOBAL_STORE_BLOCK", "gfx12 register spilling by blocks"},
    {"SCRATCH_LOAD_BLOCK", "gfx12 register spilling by blocks"},
    {"SCRATCH_STORE_BLOCK", "gfx12 register spilling by blocks"},
    {"SCRATCH_LOAD_LDS", "scratch to LDS: no compiler emits it"},
    {"GLOBAL_ATOMIC_ORDERED_ADD", "graphics"},
    {"EXP", "exports: graphics"},
    {"S_ALLOC_VGPR", "graphics"},
    {"S_ATC_PROBE", "graphics"},
    {"S_ATOMIC_", "scalar atomics: gfx10.1 only"},
    {"S_BUFFER_ATOMIC_", "scalar atomics: gfx10.1 only"},
    {"S_BUFFER_STORE_", "scalar stores: gfx8 to gfx10.1"},
    {"S_STORE_", "scalar stores: gfx8 to gfx10.1"},
    {"S_SCRATCH_", "scalar stores: gfx8 to gfx10.1"},
    {"S_DCACHE_DISCARD", "scalar stores: gfx8 to gfx10.1"},
    {"S_DCACHE_WB_VOL", "scalar stores: gfx8 to gfx10.1"},
    {"S_BARRIER_", "named barriers of gfx12.5"},
    {"S_GET_BARRIER_STATE", "named barriers of gfx12.5"},
    {"S_WAKEUP_BARRIER", "named barriers of gfx12.5"},
    {"S_CBRANCH_G_FORK", "forks: gfx8"},
    {"S_CBRANCH_I_FORK", "forks: gfx8"},
    {"S_CBRANCH_JOIN", "forks: gfx8"},
    {"S_CODE_END", "marks the end of code: reaching it is an error"},
    {"S_ENDPGM_ORDERED_PS_DONE", "graphics"},
    {"S_RFE_", "trap handlers"},
    {"S_SETKILL", "graphics"},
    {"S_SETVSKIP", "gfx8"},
    {"S_SET_VGPR_MSB", "gfx1250"},
    {"S_SUBVECTOR_LOOP_", "no compiler emits it"},
    {"S_WAIT_ASYNCCNT", "gfx1250"},
    {"S_WAIT_TENSORCNT", "gfx1250"},
    {"S_WAIT_XCNT", "gfx1250"},
    {"V_ADDC_U32", "gfx8's names of carries"},
    {"V_SUBB_U32", "gfx8's names of carries"},
    {"V_SUBBREV_U32", "gfx8's names of carries"},
    {"V_INTERP_", "graphics"},
    {"V_SCREEN_PARTITION", "graphics"},
    {"V_CVT_PKACCUM_U8_F32", "graphics"},
    {"V_MULLIT_F32", "graphics"},
    {"V_CVT_SCALEF32_", "scaled formats of gfx950"},
    {"V_CVT_SR_BF16_F32", "gfx950"},
    {"V_CVT_SR_F16_F32", "gfx950"},
    {"V_ASHR_PK_", "gfx950"},
    {"V_PRNG_B32", "gfx950"},
    {"V_MFMA_", "matrices of gfx950, and of bf16 as gfx908 had them"},
    {"V_SMFMAC_", "sparse matrices"},
    {"V_SWMMAC_", "sparse matrices"},
    {"V_DOT2_F16_F16", "LLVM emits it for no plain code"},
    {"V_DOT2_BF16_BF16", "LLVM emits it for no plain code"},
    {"V_DOT4_F32_", "8-bit floats in dot products: intrinsics only"},
    {"V_MQSAD_U32_U8", "four registers of sums: intrinsics only"},
    {"V_PERMLANE_", "gfx1250"},
    {"V_TRIG_PREOP_F64", "LLVM emits it for no plain code"},
};

// Whether LLVM's name is of one of the emulated chips. "vi" marks what gfx9 has from gfx8.
bool is_emulated(std::string_view name) {
  for (std::string_view chip : {"_vi", "_gfx9", "_gfx90a", "_gfx940", "_gfx10", "_gfx11", "_gfx12",
                                "_gfx940_acd", "_gfx940_vcd", "_gfx90a_acd", "_gfx90a_vcd"}) {
    if (name.ends_with(chip)) return true;
  }
  return false;
}

TEST(Coverage, EveryInstructionHasAHandlerOrAReason) {
  const auto sources = instruction_sources();
  ASSERT_TRUE(sources) << sources.error().message;
  const HandlerSet& handlers = handler_set();
  std::set<std::string> unknown, checked;
  std::set<const Missing*> used;
  for (const std::string& name : (*sources)->names()) {
    if (!is_emulated(name)) continue;
    const DualNames dual = dual_names(name);
    const std::array parts = {dual.x.empty() ? normal_name(name) : dual.x, dual.y};
    for (const std::string& part : parts) {
      if (part.empty() || !checked.insert(part).second || handlers.find(part) != nullptr) continue;
      const Missing* reason = nullptr;
      for (const Missing& missing : kMissing) {
        if (reason == nullptr && part.starts_with(missing.prefix)) reason = &missing;
      }
      if (reason == nullptr) unknown.insert(part + " (" + name + ")");
      used.insert(reason);
    }
  }
  for (const std::string& name : unknown) ADD_FAILURE() << "no handler and no reason: " << name;
  for (const Missing& missing : kMissing) {
    EXPECT_TRUE(used.contains(&missing)) << "nothing begins with " << missing.prefix;
  }
  // So many that a slip in the filter above would show.
  EXPECT_GT(checked.size(), 2500u);
}

TEST(Coverage, NormalNamesAreTheNewestChips) {
  EXPECT_EQ(normal_name("V_ADD_F32_e64_dpp_gfx11"), "V_ADD_F32");
  EXPECT_EQ(normal_name("V_COS_F16V_COS_F16_t16_e32_gfx11"), "V_COS_F16");
  EXPECT_EQ(normal_name("V_MAX_NUM_F32_e64_gfx12"), "V_MAX_F32");
  EXPECT_EQ(normal_name("V_ADDC_CO_U32_e32_gfx9"), "V_ADD_CO_CI_U32");
  EXPECT_EQ(normal_name("V_FFBL_B32_e32_gfx10"), "V_CTZ_I32_B32");
  EXPECT_EQ(normal_name("GLOBAL_LOAD_DWORDX4_SADDR_vi"), "GLOBAL_LOAD_B128");
  EXPECT_EQ(normal_name("DS_WRITE_B32_gfx12"), "DS_STORE_B32");
  EXPECT_EQ(normal_name("S_LOAD_DWORDX2_IMM_vi"), "S_LOAD_B64");
  const DualNames dual = dual_names("V_DUAL_ADD_F32_e32_X_MOV_B32_e32_gfx11");
  EXPECT_EQ(dual.x, "V_ADD_F32");
  EXPECT_EQ(dual.y, "V_MOV_B32");
}

}  // namespace
}  // namespace doorbell::emulator::amd
