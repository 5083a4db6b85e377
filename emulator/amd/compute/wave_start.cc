// [LLVM AMDGPUUsage: "compute_pgm_rsrc1" to "3", "SGPR register set up order", "VGPR register set
// up order", "Flat scratch"; the RDNA4 ISA document for TTMP7 to 9]
#include "emulator/amd/compute/wave_start.h"

#include <algorithm>

namespace doorbell::emu::amdgpu {

namespace {

u32 bits(u32 word, u32 high, u32 low) { return word >> low & ((2u << (high - low)) - 1); }

bool has_accumulators(const Chip& chip) { return chip.vgprs > 256; }

// The unit of RSRC1.VGPRS, whatever granules the chip allocates.
u32 vgpr_units(const Chip& chip, bool wave32) {
  if (has_accumulators(chip)) return 8;
  return wave32 ? 8 : 4;
}

// The lanes' work-item ids, counted with x fastest.
void set_work_items(Wave& wave, const Resources& resources, const WaveStart& start) {
  const std::array<u32, 3>& size = start.group_size;
  const u32 items = size[0] * size[1] * size[2];
  const u32 first = start.wave * wave.lanes;
  u64 exec = 0;
  u32 x = first % size[0], y = first / size[0] % size[1], z = first / size[0] / size[1];
  for (u32 lane = 0; lane < wave.lanes; ++lane) {
    if (first + lane < items) exec |= u64{1} << lane;
    const u32 wanted_y = resources.work_item_dimensions > 1 ? y : 0;
    const u32 wanted_z = resources.work_item_dimensions > 2 ? z : 0;
    if (wave.chip->packed_work_item_ids) {
      wave.row(0)[lane] = x | wanted_y << 10 | wanted_z << 20;
    } else {
      wave.row(0)[lane] = x;
      if (resources.work_item_dimensions > 1) wave.row(1)[lane] = y;
      if (resources.work_item_dimensions > 2) wave.row(2)[lane] = z;
    }
    if (++x == size[0]) {
      x = 0;
      if (++y == size[1]) y = 0, ++z;
    }
  }
  wave.set_mask(kExecLo, exec);
}

}  // namespace

Resources resources(const Chip& chip, const Dispatch& dispatch) {
  Resources r;
  const u32 rsrc1 = dispatch.rsrc1, rsrc2 = dispatch.rsrc2;
  r.vgprs = (bits(rsrc1, 5, 0) + 1) * vgpr_units(chip, dispatch.wave32);
  if (has_accumulators(chip)) {
    // One file of registers, which ACCUM_OFFSET divides.
    const u32 offset = (bits(dispatch.rsrc3, 5, 0) + 1) * 4;
    r.accumulators = r.vgprs > offset ? r.vgprs - offset : 0;
    r.vgprs = offset;
  }
  r.vgprs = std::min(r.vgprs, 256u);
  r.sgprs = chip.generation == Generation::Gfx9 ? (bits(rsrc1, 9, 6) / 2 + 1) * 16 : chip.sgprs;
  r.user_sgprs = bits(rsrc2, 5, 1);
  r.scratch = bits(rsrc2, 0, 0) != 0;
  // Later chips have the group's ids in TTMP registers.
  if (chip.generation < Generation::Gfx12) {
    for (u32 i = 0; i < 3; ++i) r.group_id[i] = bits(rsrc2, 7 + i, 7 + i) != 0;
    r.group_info = bits(rsrc2, 10, 10) != 0;
  }
  r.work_item_dimensions = std::min(bits(rsrc2, 12, 11), 2u) + 1;
  r.mode = bits(rsrc1, 19, 12);
  // gfx12 has neither switch.
  if (chip.generation < Generation::Gfx12) {
    r.mode |= bits(rsrc1, 21, 21) << 8 | bits(rsrc1, 23, 23) << 9;  // DX10_CLAMP, IEEE
  }
  r.mode |= bits(rsrc1, 26, 26) << 23;  // FP16_OVFL
  return r;
}

void start_wave(Wave& wave, const Dispatch& dispatch, const Resources& resources,
                const WaveStart& start) {
  // Kernels of gfx11 count user registers that are not set: the hardware needs at least 16.
  // [LLVM, FeatureUserSGPRInit16Bug]
  const usize set = std::min<usize>(resources.user_sgprs, dispatch.user_sgprs.size());
  std::copy_n(dispatch.user_sgprs.begin(), set, wave.s.begin());
  u32 next = resources.user_sgprs;
  for (u32 i = 0; i < 3; ++i) {
    if (resources.group_id[i]) wave.s[next++] = start.group[i];
  }
  const u64 slot_offset = u64{start.scratch_slot} * dispatch.scratch_wave_bytes;
  // {first wave, ordered id, ..., waves in the group}
  if (resources.group_info) wave.s[next++] = (start.wave == 0 ? 1u << 31 : 0) | start.waves;
  if (resources.scratch && !wave.chip->architected_flat_scratch) {
    wave.s[next++] = static_cast<u32>(slot_offset);
  }
  if (wave.chip->generation >= Generation::Gfx12) {
    wave.s[kTtmp0 + 9] = start.group[0];
    wave.s[kTtmp0 + 7] = start.group[1] | start.group[2] << 16;
    wave.s[kTtmp0 + 8] = start.wave << 25;
  }
  set_work_items(wave, resources, start);

  wave.pc = dispatch.code;
  wave.scc = 0;
  wave.set_mode(resources.mode);
  wave.index_mode = 0;
  wave.vgpr_count = resources.vgprs;
  wave.accumulator_count = resources.accumulators;
  wave.sgpr_count = resources.sgprs;
  wave.scratch_base = dispatch.scratch_base + slot_offset;
  wave.scratch_bytes_per_lane = dispatch.scratch_wave_bytes / wave.lanes;
  wave.flat_scratch = wave.chip->architected_flat_scratch ? wave.scratch_base : 0;
  // [Linux amdkfd/kfd_flat_memory.c, MAKE_LDS_APP_BASE_V9, MAKE_SCRATCH_APP_BASE_V9]
  wave.shared_aperture = u64{1} << 48;
  wave.private_aperture = u64{2} << 48;
  wave.clock = 0;
  wave.wave_in_group = start.wave;
  wave.compute_unit = start.compute_unit;
  wave.xcc = dispatch.xcc;
}

}  // namespace doorbell::emu::amdgpu
