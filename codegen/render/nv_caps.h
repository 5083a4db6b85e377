// What NVIDIA's chips offer a kernel: Caps from a chip's row in drivers/nv/hw/isa/chip.h.
#pragma once

#include "codegen/caps.h"
#include "drivers/nv/hw/isa/chip.h"

namespace doorbell::codegen {

// Who makes the code, and for which GPU.
struct NvTarget {
  i64 multiprocessors =
      0;              // of the GPU at hand: a smaller part or a partition has fewer; 0: chip's
  int ptx = kAnyPtx;  // the newest version of PTX that the compiler reads; 84: PTX 8.4
  static constexpr int kAnyPtx = 1000;
  bool allow_tf32 = false;   // products of f32 may round their operands to 10 bits of mantissa
  bool warp_groups = true;   // multiply matrices, where the chip has instructions of theirs
  bool tensor_maps = false;  // launches make them, for copies of boxes
};

Caps nv_caps(const nv::hw::Chip& chip, NvTarget target = {});

}  // namespace doorbell::codegen
