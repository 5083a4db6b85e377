// Chip: properties of each GPU that the emulator supports. The table shares nothing with the
// drivers, so that their mistakes are found.
#pragma once

#include <span>
#include <string_view>

#include "base/util/types.h"

namespace doorbell::emu::amdgpu {

// The instruction set's generation, in the order in which they appeared.
enum class Generation : u8 { Gfx9, Gfx10, Gfx11, Gfx12 };

// [LLVM, docs/AMDGPUUsage.rst "Target properties", "Code object v3+ kernel descriptor"; AMD's
// "RDNA2", "RDNA3", "RDNA4" and "CDNA3 Instruction Set Architecture" documents, chapters on state]
struct Chip {
  std::string_view name;       // as LLVM calls it
  u32 major, minor, stepping;  // of the graphics core, as in gfx_target_version
  Generation generation;
  bool wave32, wave64;  // the wave sizes that kernels may have
  u32 vgprs;            // rows that an instruction can name, accumulation registers included
  u32 vgpr_granule_32;  // allocation granules of VGPRs in waves of 32 and of 64 lanes
  u32 vgpr_granule_64;
  u32 sgprs;                      // that a kernel may use, without VCC and the like
  u32 lds_bytes;                  // that a work group may have
  u32 lds_granule;                // bytes per unit of GRANULATED_LDS_SIZE
  bool packed_work_item_ids;      // v0 holds x, y and z in ten bits each
  bool architected_flat_scratch;  // the flat scratch base is not in the kernel's SGPRs

  // The scalar operand codes of M0 and NULL: gfx11 swapped them; gfx9 has no NULL.
  u32 m0_code() const { return generation >= Generation::Gfx11 ? 125 : 124; }
  bool has_null() const { return generation >= Generation::Gfx10; }
  u32 null_code() const { return generation >= Generation::Gfx11 ? 124 : 125; }
};

std::span<const Chip> chips();
// Null for an unknown name.
const Chip* find_chip(std::string_view name);

}  // namespace doorbell::emu::amdgpu
