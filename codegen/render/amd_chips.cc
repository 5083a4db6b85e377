// The table, and Caps from it.
#include "codegen/render/amd_chips.h"

#include <algorithm>
#include <initializer_list>
#include <string>

namespace doorbell::codegen {

using core::Op;
using core::Scalar;

namespace {

// Numbers in tensor_cores().
constexpr u32 numbers(std::initializer_list<u32> cores) {
  u32 bits = 0;
  for (u32 core : cores) bits |= 1u << core;
  return bits;
}
constexpr u32 kRdna3 = numbers({0, 1, 8, 9}), kRdna4 = numbers({2, 3, 10, 11, 12, 13});
constexpr u32 kCdna3 = numbers({4, 5, 14, 15, 16});
constexpr u32 kCdna4 = numbers({4, 5, 6, 7, 14, 17, 18, 19, 20, 21});

// Registers, granules and waves: LLVM, llvm/lib/Target/AMDGPU/Utils/AMDGPUBaseInfo.cpp
// (getTotalNumVGPRs, getVGPRAllocGranule, getMaxWavesPerEU) and the features of each chip in
// AMDGPU.td; local memory: FeatureAddressableLocalMemorySize. A group of gfx10 and later runs on
// the two CUs of a WGP, which share 128 KiB; it may take half of that. Compute units: the ISA
// guides and the product pages of RX 6900 XT, RX 7900 XTX, 7800 XT, 7600, Radeon 780M, 890M, 8060S,
// RX 9060 XT, RX 9070 XT, MI300X, MI355X.
// clang-format off
constexpr AmdChip kChips[] = {
//  name      wave CUs  group_lds   lds         simds vgprs granule most waves tensor cores
  {"gfx1030", 32,  80,  64 << 10,   128 << 10,  4,    1024, 16,     256, 16, 0},
  {"gfx1100", 32,  96,  64 << 10,   128 << 10,  4,    1536, 24,     256, 16, kRdna3},
  {"gfx1101", 32,  60,  64 << 10,   128 << 10,  4,    1536, 24,     256, 16, kRdna3},
  {"gfx1102", 32,  32,  64 << 10,   128 << 10,  4,    1024, 16,     256, 16, kRdna3},
  {"gfx1103", 32,  12,  64 << 10,   128 << 10,  4,    1024, 16,     256, 16, kRdna3},
  {"gfx1150", 32,  16,  64 << 10,   128 << 10,  4,    1024, 16,     256, 16, kRdna3},
  {"gfx1151", 32,  40,  64 << 10,   128 << 10,  4,    1536, 24,     256, 16, kRdna3},
  {"gfx1200", 32,  32,  64 << 10,   128 << 10,  4,    1536, 24,     256, 16, kRdna4},
  {"gfx1201", 32,  64,  64 << 10,   128 << 10,  4,    1536, 24,     256, 16, kRdna4},
  {"gfx942",  64,  304, 64 << 10,   64 << 10,   4,    512,  8,      512, 8,  kCdna3},
  {"gfx950",  64,  256, 160 << 10,  160 << 10,  4,    512,  8,      512, 8,  kCdna4},
};
// clang-format on

constexpr Op kOps[] = {Op::Cast, Op::Bitcast, Op::Neg,   Op::Sqrt,  Op::Recip, Op::Trunc,
                       Op::Add,  Op::Sub,     Op::Mul,   Op::FDiv,  Op::CDiv,  Op::CMod,
                       Op::Max,  Op::CmpLt,   Op::CmpEq, Op::CmpNe, Op::And,   Op::Or,
                       Op::Xor,  Op::Shl,     Op::Shr,   Op::Where, Op::MulAcc};

}  // namespace

std::span<const AmdChip> amd_chips() { return kChips; }

const AmdChip* find_amd_chip(std::string_view name) {
  const auto found = std::find_if(std::begin(kChips), std::end(kChips),
                                  [&](const AmdChip& chip) { return chip.name == name; });
  return found == std::end(kChips) ? nullptr : found;
}

std::string amd_chip_names() {
  std::string names;
  for (const AmdChip& chip : kChips) names.append(names.empty() ? "" : ", ").append(chip.name);
  return names;
}

Caps amd_caps(const AmdChip& chip, i64 compute_units) {
  Caps caps;
  for (Op op : kOps) caps.ops.set(static_cast<usize>(op));
  // Instructions to one unit in the last place. [AMD "RDNA3 ISA", 16.8: V_EXP_F32, V_LOG_F32]
  for (Op op : {Op::Exp2, Op::Log2}) {
    caps.ops.set(static_cast<usize>(op));
    caps.not_of_f64.set(static_cast<usize>(op));
  }
  // Arithmetic of bf16 and narrower is f32's; conversions are the renderer's.
  for (usize scalar = static_cast<usize>(Scalar::Bool); scalar <= static_cast<usize>(Scalar::F64);
       ++scalar) {
    caps.storage_dtypes.set(scalar);
    const bool narrow =
        scalar >= static_cast<usize>(Scalar::F8E4M3) && scalar <= static_cast<usize>(Scalar::BF16);
    if (!narrow || scalar == static_cast<usize>(Scalar::F16)) caps.dtypes.set(scalar);
  }
  caps.narrow_index = true;
  caps.vector_bytes = 16;
  caps.has_local = true;
  caps.max_local = 1024;
  for (i64& items : caps.max_local_axis) items = 1024;
  // An AQL packet counts items, in 32 bits an axis; gfx12 hands groups their y and z in 16 bits.
  // [HSA System Architecture 1.2, 2.9.6; LLVM AMDGPUUsage, "Initial Kernel Execution State"]
  caps.max_global[0] = (i64{1} << 32) / 1024 - 1;
  caps.max_global[1] = caps.max_global[2] = 65535;
  caps.max_shared_bytes = chip.group_lds;
  caps.tensor_cores = chip.tensor_cores;
  caps.simd = {.waves = chip.waves,
               .wave_items = chip.wave_size,
               .lanes_per_cycle = chip.wave_size == 64 ? 16 : 32,
               .registers = chip.vgprs,
               .register_granule = chip.vgpr_granule,
               .most_registers = chip.most_vgprs,
               .local_bytes = chip.lds,
               .sharing = chip.simds};
  caps.vector_registers = 64;  // an item's, of four: register tiles are bounded by occupancy
  caps.busy_items = 256 * (compute_units > 0 ? compute_units : i64{chip.compute_units});
  return caps;
}

}  // namespace doorbell::codegen
