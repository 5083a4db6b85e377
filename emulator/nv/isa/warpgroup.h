// The forms of the matrix instructions of four warps: HGMMA, QGMMA and IGMMA (PTX: wgmma).
// D = A * B + D, where D has 64 rows, 16 of each warp. A lies in registers or, like B, in shared
// memory, where a descriptor says.
//
// How elements lie: PTX ISA, "Asynchronous warpgroup level matrix register fragment", "...
// shared memory layout"; CUTLASS, include/cute/arch/mma_sm90_desc.hpp (fields of descriptors) and
// include/cute/atom/mma_traits_sm90_gmma.hpp (canonical layouts, fragments). Fields of
// instructions: nvdisasm's text of what NVRTC compiles.
#pragma once

#include <optional>

#include "emulator/nv/isa/matrix.h"

namespace doorbell::emu::nvgpu {

struct WarpgroupForm {
  Element left = Element::Half, right = Element::Half;
  u32 columns = 8;
  bool narrow_sums = false;        // D is of halves, in pairs
  bool saturates = false;          // integer results
  bool left_in_registers = false;  // otherwise by a descriptor
  bool left_by_column = false;     // PTX's trans: M-major
  bool right_by_row = false;       // N-major
  bool negates_left = false, negates_right = false;
  u32 left_descriptor = 0, right_descriptor = 0;  // rows of uniform registers

  // Bytes of an element; those of the depth are always 32.
  u32 element_bytes() const { return left == Element::Tf32 ? 4 : left <= Element::Bfloat ? 2 : 1; }
  u32 depth() const { return 32 / element_bytes(); }
  u32 sum_registers() const { return columns / (narrow_sums ? 4 : 2); }
};

// Nothing where the form is not known: sparse ones.
std::optional<WarpgroupForm> warpgroup_form(const Operation& op);
// HGMMA, QGMMA, IGMMA.
bool is_warpgroup_product(u32 opcode);

}  // namespace doorbell::emu::nvgpu
