// AMD's chips as the code generator knows them: what a kernel may use of each, and what bounds how
// many of its waves run at once. Finding and driving one is drivers/amd's, which asks the kernel
// for what it needs.
#pragma once

#include <span>
#include <string_view>

#include "codegen/caps.h"

namespace doorbell::codegen {

struct AmdChip {
  std::string_view name;  // as LLVM and the kernel call it
  int wave_size;          // items of a wave, as we compile
  int compute_units;      // of the largest part that was sold
  i64 group_lds;          // bytes of local memory that a group may take
  i64 lds;                // bytes that the groups on its SIMDs share
  int simds;              // which share `lds`: of a CU, or of a WGP where a group runs on one
  int vgprs;              // of a SIMD, per lane: its waves share them
  int vgpr_granule;       // they are handed out by so many
  int most_vgprs;         // a wave can have
  int waves;              // a SIMD holds
  u32 tensor_cores;       // bits by number in tensor_cores()
};

std::span<const AmdChip> amd_chips();
// Null for one that we do not compile for.
const AmdChip* find_amd_chip(std::string_view name);
// "gfx1030, gfx1100, ..."
std::string amd_chip_names();

// What the chip offers, whichever compiler makes the code. `compute_units` are those of the GPU at
// hand, of which a smaller part or a partition has fewer; 0: the chip's.
Caps amd_caps(const AmdChip& chip, i64 compute_units = 0);

}  // namespace doorbell::codegen
