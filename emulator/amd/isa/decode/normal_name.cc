// Tables of the suffixes that LLVM appends to names, and of names that changed between generations.
#include "emulator/amd/isa/decode/normal_name.h"

#include <cctype>
#include <span>

namespace doorbell::emu::amdgpu {

namespace {

// Suffixes for the chip, the encoding or the form of address, which decoding finds in the words.
constexpr std::string_view kSuffixes[] = {
    "vi",    "ci",        "si",     "e32",    "e64",   "e96",     "dpp",    "dpp8",
    "sdwa",  "t16",       "fake16", "w32",    "w64",   "opsel",   "nosdst", "alt",
    "acd",   "vcd",       "IMM",    "SGPR",   "SADDR", "SVS",     "ST",     "OFFSET",
    "OFFEN", "IDXEN",     "BOTHEN", "ADDR64", "RTN",   "twoaddr", "mac",    "pad",
    "s",     "nop",       "vgpr",   "agpr",   "BO",    "VBUFFER", "lds",    "format",
    "noTFE", "threeaddr", "agpr_s", "exact",  "VE",    "f4",      "f6",     "f8",
};

bool is_suffix(std::string_view token) {
  if (token.starts_with("gfx")) return true;
  for (std::string_view suffix : kSuffixes) {
    if (token == suffix) return true;
  }
  return false;
}

struct Alias {
  std::string_view from, to;
};

// Whole names.
constexpr Alias kAliases[] = {
    {"V_ADDC_CO_U32", "V_ADD_CO_CI_U32"},
    {"V_SUBB_CO_U32", "V_SUB_CO_CI_U32"},
    {"V_SUBBREV_CO_U32", "V_SUBREV_CO_CI_U32"},
    {"V_ADD_U32", "V_ADD_NC_U32"},
    {"V_SUB_U32", "V_SUB_NC_U32"},
    {"V_SUBREV_U32", "V_SUBREV_NC_U32"},
    {"V_ADD_I32", "V_ADD_NC_I32"},
    {"V_SUB_I32", "V_SUB_NC_I32"},
    {"V_ADD_U16", "V_ADD_NC_U16"},
    {"V_SUB_U16", "V_SUB_NC_U16"},
    {"V_SUBREV_U16", "V_SUBREV_NC_U16"},
    {"V_ADD_I16", "V_ADD_NC_I16"},
    {"V_SUB_I16", "V_SUB_NC_I16"},
    {"V_FFBH_U32", "V_CLZ_I32_U32"},
    {"V_FFBH_I32", "V_CLS_I32"},
    {"V_FFBL_B32", "V_CTZ_I32_B32"},
    {"V_CVT_FLR_I32_F32", "V_CVT_FLOOR_I32_F32"},
    {"V_CVT_RPI_I32_F32", "V_CVT_NEAREST_I32_F32"},
    {"V_CVT_PKRTZ_F16_F32", "V_CVT_PK_RTZ_F16_F32"},
    {"V_CVT_PKNORM_I16_F16", "V_CVT_PK_NORM_I16_F16"},
    {"V_CVT_PKNORM_U16_F16", "V_CVT_PK_NORM_U16_F16"},
    {"V_CVT_PKNORM_I16_F32", "V_CVT_PK_NORM_I16_F32"},
    {"V_CVT_PKNORM_U16_F32", "V_CVT_PK_NORM_U16_F32"},
    {"V_MUL_LEGACY_F32", "V_MUL_DX9_ZERO_F32"},
    {"V_FMA_LEGACY_F32", "V_FMA_DX9_ZERO_F32"},
    {"V_FMAC_LEGACY_F32", "V_FMAC_DX9_ZERO_F32"},
    {"V_MAD_CO_U64_U32", "V_MAD_U64_U32"},
    {"V_MAD_CO_I64_I32", "V_MAD_I64_I32"},
    {"V_DOT2ACC_F32_F16", "V_DOT2C_F32_F16"},
    {"V_CMP_TRU_F16", "V_CMP_T_F16"},
    {"V_CMP_TRU_F32", "V_CMP_T_F32"},
    {"V_CMP_TRU_F64", "V_CMP_T_F64"},
    {"V_CMPX_TRU_F16", "V_CMPX_T_F16"},
    {"V_CMPX_TRU_F32", "V_CMPX_T_F32"},
    {"V_CMPX_TRU_F64", "V_CMPX_T_F64"},
};

// "NUM" of the newer chips is the plain minimum and maximum of the older ones.
constexpr std::string_view kNum = "_NUM_";

// Names of widths in memory instructions, longest first.
constexpr Alias kWidths[] = {
    {"DWORDX16", "B512"},
    {"DWORDX8", "B256"},
    {"DWORDX4", "B128"},
    {"DWORDX3", "B96"},
    {"DWORDX2", "B64"},
    {"DWORD", "B32"},
    {"UBYTE_D16_HI", "D16_HI_U8"},
    {"SBYTE_D16_HI", "D16_HI_I8"},
    {"UBYTE_D16", "D16_U8"},
    {"SBYTE_D16", "D16_I8"},
    {"SHORT_D16_HI", "D16_HI_B16"},
    {"SHORT_D16", "D16_B16"},
    {"BYTE_D16_HI", "D16_HI_B8"},
    {"UBYTE", "U8"},
    {"SBYTE", "I8"},
    {"USHORT", "U16"},
    {"SSHORT", "I16"},
    {"BYTE", "B8"},
    {"SHORT", "B16"},
};

void replace_first(std::string& name, std::string_view from, std::string_view to) {
  const auto at = name.find(from);
  if (at == std::string::npos) return;
  name = name.substr(0, at) + std::string(to) + name.substr(at + from.size());
}

void rename_memory(std::string& name) {
  replace_first(name, "DS_READ", "DS_LOAD");
  replace_first(name, "DS_WRITE", "DS_STORE");
  const bool moves =
      name.find("_LOAD_") != std::string::npos || name.find("_STORE_") != std::string::npos;
  if (!moves || name.starts_with("DS_")) return;
  for (const Alias& width : kWidths) {
    if (name.find(width.from) == std::string::npos) continue;
    replace_first(name, width.from, width.to);
    return;
  }
}

}  // namespace

std::string normal_name(std::string_view llvm_name) {
  // An error in LLVM's tables: "V_COS_F16V_COS_F16_t16_e32_gfx11".
  for (auto at = llvm_name.find("V_", 1); at != std::string_view::npos;
       at = llvm_name.find("V_", at + 1)) {
    if (std::isdigit(static_cast<unsigned char>(llvm_name[at - 1]))) {
      llvm_name = llvm_name.substr(0, at);
      break;
    }
  }
  for (;;) {
    const auto at = llvm_name.rfind('_');
    if (at == std::string_view::npos || !is_suffix(llvm_name.substr(at + 1))) break;
    llvm_name = llvm_name.substr(0, at);
  }
  std::string name(llvm_name);
  replace_first(name, kNum, "_");
  rename_memory(name);
  for (const Alias& alias : kAliases) {
    if (name == alias.from) return std::string(alias.to);
  }
  return name;
}

DualNames dual_names(std::string_view llvm_name) {
  constexpr std::string_view kStart = "V_DUAL_", kBetween = "_X_";
  if (!llvm_name.starts_with(kStart)) return {};
  const auto between = llvm_name.find(kBetween);
  if (between == std::string_view::npos) return {};
  const std::string_view x = llvm_name.substr(kStart.size(), between - kStart.size());
  const std::string_view y = llvm_name.substr(between + kBetween.size());
  return {normal_name("V_" + std::string(x)), normal_name("V_" + std::string(y))};
}

}  // namespace doorbell::emu::amdgpu
