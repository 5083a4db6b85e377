// Chip: the table of AMD's chips that the driver drives and the code generator compiles for; both
// make their Caps from a chip's row. What chips of a generation share is with those who use it
// (drivers/amd/caps.cc, codegen/render/amd_caps.cc). The emulator has a table of its own, so that a
// mistake here shows.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "drivers/amd/hw/generation.h"

namespace doorbell::amd::hw {

// Whose matrix instructions there are. [LLVM AMDGPU.td: FeatureWMMA*Insts, FeatureMAIInsts]
enum class Matrix : u8 { None, Rdna3, Rdna4, Cdna3, Cdna4 };

struct Chip {
  std::string_view name;  // as LLVM and the kernel call it
  u8 elf_machine;         // EF_AMDGPU_MACH_AMDGCN_* of its code objects
  int wave_size;          // items of a wave, as we compile
  int compute_units;      // of the largest part that was sold
  i64 group_lds;          // bytes of local memory that a group may take
  i64 lds;                // bytes that the groups on its SIMDs share
  u32 lds_granule;        // bytes; what COMPUTE_PGM_RSRC2.LDS_SIZE counts in
  int simds;              // which share `lds`: of a CU, or of a WGP where a group runs on one
  int vgprs;              // of a SIMD, per lane: its waves share them
  int vgpr_granule;       // they are handed out by so many
  int max_vgprs;          // a wave can have
  int waves;              // a SIMD holds
  Matrix matrix;

  // As the kernel's topology has it: 110003 is gfx1103, 90402 gfx942.
  constexpr u64 target() const;
  constexpr Generation generation() const;
  // Of the vector registers of a compute unit, of which a WGP has two.
  constexpr u32 vgpr_bytes_of_unit() const {
    const int simds_of_unit = wave_size == 64 ? simds : simds / 2;
    return static_cast<u32>(vgprs * wave_size * simds_of_unit) * sizeof(u32);
  }
};

std::span<const Chip> chips();
// Null for a chip that is not in the table.
const Chip* find_chip(std::string_view name);
// "gfx942, gfx950, ...": for messages.
std::string chip_names();

// The last two characters of a name are minor version and stepping, in hex. [LLVM AMDGPUUsage
// "Processors"; torvalds/linux kfd_device.c gfx_target_version: major * 10000 + minor * 100 +
// stepping]
constexpr u64 Chip::target() const {
  const auto digit = [](char c) { return static_cast<u64>(c <= '9' ? c - '0' : c - 'a' + 10); };
  constexpr usize kPrefix = 3;
  u64 major = 0;
  for (const char c : name.substr(kPrefix, name.size() - kPrefix - 2))
    major = major * 10 + digit(c);
  return major * 10000 + digit(name[name.size() - 2]) * 100 + digit(name.back());
}

constexpr Generation Chip::generation() const {
  return static_cast<Generation>(target() / 10000 - 9 + static_cast<u64>(Generation::Gfx9));
}

// Registers, granules and waves: LLVM, llvm/lib/Target/AMDGPU/Utils/AMDGPUBaseInfo.cpp
// (getTotalNumVGPRs, getVGPRAllocGranule, getMaxWavesPerEU) and the features of each chip in
// AMDGPU.td; local memory: FeatureAddressableLocalMemorySize, and its unit AMDGPUUsage
// GRANULATED_LDS_SIZE ("GFX950: roundup(lds-size / (320 * 4))"). ELF: llvm/BinaryFormat/ELF.h. A
// group of gfx10 and later runs on the two CUs of a WGP, which share 128 KiB; it may take half of
// that. Compute units: the ISA guides and the product pages of RX 6900 XT, RX 7900 XTX, 7800 XT,
// 7600, Radeon 780M, 890M, 8060S, RX 9060 XT, RX 9070 XT, MI300X, MI355X.
// clang-format off
inline constexpr Chip kChips[] = {
//  name       elf   wave CUs  group   lds     unit  simds vgprs granule most waves matrix
  {"gfx942",  0x4c, 64,  304, 65536,  65536,  512,  4,    512,  8,      512, 8,    Matrix::Cdna3},
  {"gfx950",  0x4f, 64,  256, 163840, 163840, 1280, 4,    512,  8,      512, 8,    Matrix::Cdna4},
  {"gfx1030", 0x36, 32,  80,  65536,  131072, 512,  4,    1024, 16,     256, 16,   Matrix::None},
  {"gfx1100", 0x41, 32,  96,  65536,  131072, 512,  4,    1536, 24,     256, 16,   Matrix::Rdna3},
  {"gfx1101", 0x46, 32,  60,  65536,  131072, 512,  4,    1536, 24,     256, 16,   Matrix::Rdna3},
  {"gfx1102", 0x47, 32,  32,  65536,  131072, 512,  4,    1024, 16,     256, 16,   Matrix::Rdna3},
  {"gfx1103", 0x44, 32,  12,  65536,  131072, 512,  4,    1024, 16,     256, 16,   Matrix::Rdna3},
  {"gfx1150", 0x43, 32,  16,  65536,  131072, 512,  4,    1024, 16,     256, 16,   Matrix::Rdna3},
  {"gfx1151", 0x4a, 32,  40,  65536,  131072, 512,  4,    1536, 24,     256, 16,   Matrix::Rdna3},
  {"gfx1200", 0x48, 32,  32,  65536,  131072, 512,  4,    1536, 24,     256, 16,   Matrix::Rdna4},
  {"gfx1201", 0x4e, 32,  64,  65536,  131072, 512,  4,    1536, 24,     256, 16,   Matrix::Rdna4},
};
// clang-format on

}  // namespace doorbell::amd::hw
