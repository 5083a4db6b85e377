// Every instruction that the emulated chips have, by LLVM's tables, has a handler, or stands in the
// list of those that have none, with the reason. A new LLVM that renames one fails here. Formats
// that are graphics throughout (images, exports, interpolation) are not in opcode_space().
#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <set>
#include <string>
#include <string_view>

#include "base/util/check.h"
#include "emulator/amd/isa/decode/decode.h"
#include "emulator/amd/isa/decode/instruction_source.h"
#include "emulator/amd/isa/decode/normal_name.h"
#include "tests/emulator/amd/isa/decode/opcode_space.h"

namespace doorbell::emu::amdgpu {
namespace {

struct Missing {
  std::string_view part;  // the name's beginning, or, behind a star, its end
  const char* reason;

  bool is_of(std::string_view name) const {
    return part.starts_with('*') ? name.ends_with(part.substr(1)) : name.starts_with(part);
  }
};

// An entry that nothing needs any more fails the test too.
const Missing kMissing[] = {
    // ---- graphics ----
    {"*_TFE", "partially resident textures"},
    {"DS_ADD_GS_REG", "geometry shaders"},
    {"DS_SUB_GS_REG", "geometry shaders"},
    {"DS_ORDERED_COUNT", "ordered pixel shaders"},
    {"DS_BVH_", "ray tracing"},
    {"GLOBAL_ATOMIC_ORDERED_ADD", "ordered pixel shaders"},
    {"S_ENDPGM_ORDERED_PS_DONE", "ordered pixel shaders"},
    {"S_ALLOC_VGPR", "registers by demand, of ray tracing"},
    {"S_SETKILL", "pixel shaders"},
    {"V_INTERP_", "interpolation"},
    {"V_SCREEN_PARTITION", "the screen's shader engines"},
    // ---- no instructions for programs ----
    {"S_CODE_END", "marks the end of code: reaching it is an error"},
    {"V_ILLEGAL", "is illegal"},
    {"S_RFE_", "trap handlers, which the emulated kernel has none of"},
    {"V_MFMA_LD_SCALE_B32", "a half of V_MFMA_SCALE_*, never by itself"},
    // [The RDNA4 ISA document gives them numbers and no meaning. LLVM AMDGPUUsage: how many named
    // barriers a kernel has, .amdhsa_named_barrier_count, begins with gfx1250]
    {"S_BARRIER_INIT", "named barriers, which are of chips after gfx12.0"},
    {"S_BARRIER_JOIN", "named barriers"},
    {"S_BARRIER_LEAVE", "named barriers: the group's own is left at the wave's end only"},
};

// What a chip has: normal names, and those of them that have no handler.
struct Opcodes {
  std::set<std::string> encodings, names, missing;
};

Opcodes opcodes_of(const Chip& chip, u32 lanes) {
  Opcodes opcodes;
  const auto sources = instruction_sources();
  CHECK(sources, "{}", sources.error().message);
  auto source = (*sources)->open(chip.name, lanes);
  CHECK(source, "{}", source.error().message);
  Decoder decoder(chip, lanes, handler_set(), std::move(*source));
  std::vector<Operation> operations;
  for (const testing::Words& words : testing::opcode_space(chip.generation)) {
    operations.clear();
    u8 bytes[sizeof words];
    std::memcpy(bytes, words.data(), sizeof bytes);
    decoder.decode(bytes, 0, operations);
    for (const Operation& op : operations) {
      if (op.name.empty()) continue;  // no instruction
      opcodes.encodings.emplace(op.name);
      // Of a dual instruction decoding makes one operation each, in either order.
      const DualNames dual = dual_names(op.name);
      const std::string name = dual.x.empty() ? normal_name(op.name) : dual.x;
      opcodes.names.insert(name);
      if (!dual.y.empty()) opcodes.names.insert(dual.y);
      if (op.entry == nullptr) opcodes.missing.insert(name);
    }
  }
  return opcodes;
}

// The chips of the documents, and the fewest encodings with names of their own that LLVM 19 to 22
// know of each: a slip in opcode_space() would show.
struct Documented {
  const char* chip;
  u32 lanes;
  usize least;
};
constexpr Documented kDocumented[] = {
    {"gfx1030", 32, 2400}, {"gfx1030", 64, 2400}, {"gfx1100", 32, 3300}, {"gfx1100", 64, 3100},
    {"gfx1201", 32, 3400}, {"gfx1201", 64, 3200}, {"gfx942", 64, 2800},  {"gfx950", 64, 2800},
};

TEST(Coverage, EveryOpcodeHasAHandlerOrAReason) {
  std::set<const Missing*> used;
  for (const Documented& documented : kDocumented) {
    const Opcodes opcodes = opcodes_of(*find_chip(documented.chip), documented.lanes);
    usize without = 0;
    for (const std::string& name : opcodes.missing) {
      const Missing* reason = nullptr;
      for (const Missing& missing : kMissing) {
        if (reason == nullptr && missing.is_of(name)) reason = &missing;
      }
      EXPECT_NE(reason, nullptr) << documented.chip << ": no handler and no reason: " << name;
      used.insert(reason);
      ++without;
    }
    EXPECT_GE(opcodes.encodings.size(), documented.least) << documented.chip;
    std::printf("%s, %u lanes: %zu encodings of %zu instructions, %zu of these without handler\n",
                documented.chip, documented.lanes, opcodes.encodings.size(), opcodes.names.size(),
                without);
  }
  for (const Missing& missing : kMissing) {
    EXPECT_TRUE(used.contains(&missing)) << "nothing is of " << missing.part;
  }
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
}  // namespace doorbell::emu::amdgpu
