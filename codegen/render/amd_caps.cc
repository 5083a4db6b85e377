// Makes Caps from a chip's row.
#include "codegen/render/amd_caps.h"

#include <initializer_list>

#include "base/util/check.h"
#include "codegen/render/gpu_caps.h"

namespace doorbell::codegen {

using core::Op;

namespace {

// Numbers in tensor_cores().
constexpr u32 numbers(std::initializer_list<u32> cores) {
  u32 bits = 0;
  for (u32 core : cores) bits |= 1u << core;
  return bits;
}

u32 tensor_cores_of(amd::hw::Matrix matrix) {
  switch (matrix) {
    case amd::hw::Matrix::None: return 0;
    case amd::hw::Matrix::Rdna3: return numbers({0, 1, 8, 9});
    case amd::hw::Matrix::Rdna4: return numbers({2, 3, 10, 11, 12, 13});
    case amd::hw::Matrix::Cdna3: return numbers({4, 5, 14, 15, 16, 22, 23, 24, 25, 26});
    case amd::hw::Matrix::Cdna4: return numbers({4, 5, 6, 7, 14, 17, 18, 19, 20, 21});
  }
  UNREACHABLE("matrix instructions {}", static_cast<int>(matrix));
}

}  // namespace

Caps amd_caps(const amd::hw::Chip& chip, i64 compute_units) {
  Caps caps = gpu_caps();
  // Instructions to one unit in the last place. [AMD "RDNA3 ISA", 16.8: V_EXP_F32, V_LOG_F32]
  for (Op op : {Op::Exp2, Op::Log2}) {
    caps.ops.set(static_cast<usize>(op));
    caps.not_of_f64.set(static_cast<usize>(op));
  }
  caps.vector_bytes = 16;
  caps.max_local = 1024;
  for (i64& items : caps.max_local_axis) items = 1024;
  // An AQL packet counts items, in 32 bits an axis; gfx12 passes y and z to groups in 16 bits.
  // [HSA System Architecture 1.2, 2.9.6; LLVM AMDGPUUsage, "Initial Kernel Execution State"]
  caps.max_global[0] = (i64{1} << 32) / 1024 - 1;
  caps.max_global[1] = caps.max_global[2] = 65535;
  caps.max_shared_bytes = chip.group_lds;
  caps.tensor_cores = tensor_cores_of(chip.matrix);
  caps.simd = {.waves = chip.waves,
               .wave_items = chip.wave_size,
               .lanes_per_cycle = chip.wave_size == 64 ? 16 : 32,
               .registers = chip.vgprs,
               .register_granule = chip.vgpr_granule,
               .max_registers = chip.max_vgprs,
               .local_bytes = chip.lds,
               .sharing = chip.simds};
  // Of whole rows of 16 bytes. [RDNA4 ISA, 11.6.2 "WMMA Load-Transpose Instructions"]
  caps.transposing_loads = chip.matrix == amd::hw::Matrix::Rdna4;
  if (caps.transposing_loads) caps.param_alignment = 16;
  caps.busy_items = 256 * (compute_units > 0 ? compute_units : i64{chip.compute_units});
  return caps;
}

}  // namespace doorbell::codegen
