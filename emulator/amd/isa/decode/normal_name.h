// Normal names of instructions: one per meaning, for all chips and encodings of LLVM's names.
// Handler tables are keyed by them.
#pragma once

#include <string>
#include <string_view>

namespace doorbell::emu::amdgpu {

// "V_ADD_F32_e64_dpp_gfx11" is V_ADD_F32, "GLOBAL_LOAD_DWORDX4_SADDR_vi" is GLOBAL_LOAD_B128,
// "V_FFBL_B32_e32_gfx10" is V_CTZ_I32_B32. If chips differ, the newest chip's name is used.
std::string normal_name(std::string_view llvm_name);

// The halves of a VOPD instruction, "V_DUAL_ADD_F32_e32_X_MOV_B32_e32_gfx11": V_ADD_F32 and
// V_MOV_B32. Empty for any other name.
struct DualNames {
  std::string x, y;
};
DualNames dual_names(std::string_view llvm_name);

}  // namespace doorbell::emu::amdgpu
