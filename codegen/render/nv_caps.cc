// Makes Caps from a chip's row, with what all chips of the table share. [CUDA Programming Guide 13,
// 5.1 "Compute Capabilities", "Technical Specifications per Compute Capability"]
#include "codegen/render/nv_caps.h"

#include <fmt/format.h>

#include <algorithm>

#include "codegen/render/gpu_caps.h"
#include "codegen/render/nv_matrix.h"

namespace doorbell::codegen {

namespace {

constexpr i64 kWarp = 32;
constexpr i64 kVectorBytes = 16;         // of the widest access that all chips have
constexpr i64 kPartitions = 4;           // of an SM, with a scheduler and registers each
constexpr i64 kRegisters = 65536;        // of an SM, 32 bits each
constexpr i64 kMaxRegisters = 255;       // of a thread
constexpr i64 kRegisterGranule = 8;      // of a thread: warps take 256 at a time
constexpr i64 kStaticShared = 48 << 10;  // bytes: arrays of a size that the compiler knows
constexpr i64 kMaxGrid[3] = {(i64{1} << 31) - 1, 65535, 65535};
constexpr i64 kMaxBlock = 1024;
constexpr i64 kMaxBlockAxis[3] = {1024, 1024, 64};

bool has_instruction(const nv::hw::Chip& chip, const TensorCore& core, int ptx) {
  if (is_nv_warpgroup(core)) return chip.warpgroup_ptx > 0 && chip.warpgroup_ptx <= ptx;
  return is_nv_matrix(core) &&
         std::ranges::any_of(nv::hw::kMatrixShapes, [&](const nv::hw::MatrixShape& shape) {
           const std::string part = fmt::format(
               ".m{}n{}k{}.row.col.{}.{}.{}.", shape.rows, shape.columns, shape.depth,
               core.result == core::Scalar::F32 ? "f32" : "s32", shape.operand, shape.operand);
           return shape.since <= chip.matrix && shape.ptx <= ptx &&
                  std::string_view(core.name).find(part) != std::string_view::npos;
         });
}

}  // namespace

Caps nv_caps(const nv::hw::Chip& chip, NvTarget target) {
  Caps caps = gpu_caps();
  // Exp2 and Log2 are missing: the instructions, ex2.approx and lg2.approx, approximate, by how
  // much has to be measured on a GPU first. [PTX ISA 9.0, "ex2", "lg2"]
  // A vector access must be aligned to its size [PTX ISA, "ld": "the address must be naturally
  // aligned to a multiple of the access size"]. All memory of ours is; where an argument is not,
  // the driver launches the kernel's form for any alignment (core::Binary::unaligned).
  caps.vector_bytes = kVectorBytes;
  caps.param_alignment = kVectorBytes;
  caps.max_local = kMaxBlock;
  std::copy_n(kMaxBlockAxis, 3, caps.max_local_axis);
  std::copy_n(kMaxGrid, 3, caps.max_global);
  // A block may have more if its launch asks for it. [CUDA Programming Guide 13, 5.1 "Compute
  // Capabilities": "kernels relying on shared memory allocations over 48 KB per thread block must
  // use dynamic shared memory"]
  caps.max_shared_bytes = std::min(chip.shared_of_block, kStaticShared);
  caps.max_dynamic_shared_bytes = chip.shared_of_block;
  for (usize i = 0; i < kTensorCoreCount; ++i) {
    const TensorCore& core = tensor_cores()[i];
    const bool allowed = (core.operand != core::Scalar::F32 || target.allow_tf32) &&
                         (!is_nv_warpgroup(core) || target.warp_groups);
    caps.tensor_cores[i] = allowed && has_instruction(chip, core, target.ptx);
  }
  caps.async_copies = chip.matrix >= nv::hw::Matrix::Ampere;  // [PTX ISA 9.0, "cp.async"]
  // Boxes feed warp groups. Their PTX is as old (8.0). [PTX ISA 9.0, "cp.async.bulk.tensor"]
  caps.tensor_copies = target.tensor_maps && target.warp_groups && chip.warpgroup_ptx > 0 &&
                       chip.warpgroup_ptx <= target.ptx;
  caps.simd = {.waves = chip.warps / kPartitions,
               .wave_items = kWarp,
               .lanes_per_cycle = chip.f32_lanes,
               .registers = kRegisters / kPartitions / kWarp,
               .register_granule = kRegisterGranule,
               .max_registers = kMaxRegisters,
               .local_bytes = chip.shared,
               // 1 KiB of each block from 8.0 on. [cuda_occupancy.h of CUDA 13.0,
               // cudaOccDeviceProp::reservedSharedMemPerBlock]
               .local_reserved = chip.shared - chip.shared_of_block,
               .sharing = kPartitions};
  caps.busy_items =
      512 * (target.multiprocessors > 0 ? target.multiprocessors : i64{chip.multiprocessors});
  return caps;
}

}  // namespace doorbell::codegen
