// Caps from a chip's row and its generation.
#include "drivers/amd/caps.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "drivers/amd/hw/isa/chip.h"

namespace doorbell::amd {
namespace {

constexpr void make_gfx9(Caps& caps) {
  caps.cache_control = CacheControl::Coher;
  caps.has_wave32 = false;
  caps.sdma_fence_mtype = false;
  caps.scratch_ring = ScratchRing::Gfx9;
  caps.sdma_copy_bytes = u64{1} << 22;
  caps.scratch_granule = 1024;
  caps.scratch_waves_per_engine = false;
  caps.local_granule_is_sure = caps.local_granule == 512;
  caps.saved_unit_waves = 40;
  caps.saved_engine_waves = 512;
  caps.control_stack_wave_bytes = 8;
  caps.ext_coherent = true;
}

constexpr void make_gfx10(Caps& caps) {
  caps.scratch_ring = ScratchRing::Gfx9;
  caps.architected_scratch = false;
  caps.scratch_granule = 1024;
  caps.scratch_waves_per_engine = false;
  caps.control_stack_limit = 0x7000;
}

constexpr void make_gfx12(Caps& caps) {
  caps.scratch_ring = ScratchRing::Gfx12;
  caps.processor_uses_l2 = false;
}

// What the chips of a generation share; what chips differ in is in their rows (hw/isa/chip.h).
// Register files, control stacks and the limit of gfx10's: Linux kfd_queue.c,
// kfd_get_vgpr_size_per_cu() and kfd_queue_ctx_save_restore_size(). Privileged waves and the
// scratch granules: tinygrad ops_amd.py, AMDProgram and _ensure_has_local_memory(). Copy limits:
// Linux sdma_v4_4_2.c, sdma_v5_2.c, sdma_v6_0.c, sdma_v7_0.c, copy_max_bytes.
constexpr Caps caps_of(const hw::Chip& chip) {
  Caps caps;
  caps.arch = chip.name;
  caps.target = chip.target();
  caps.generation = chip.generation();
  caps.local_granule = chip.lds_granule;
  caps.saved_vgpr_bytes = chip.vgpr_bytes_of_unit();
  switch (caps.generation) {
    case hw::Generation::Gfx9: make_gfx9(caps); break;
    case hw::Generation::Gfx10: make_gfx10(caps); break;
    case hw::Generation::Gfx11: caps.privileged_waves = true; break;
    case hw::Generation::Gfx12: make_gfx12(caps); break;
  }
  return caps;
}

constexpr auto kTable = [] {
  std::array<Caps, std::size(hw::kChips)> table;
  std::ranges::transform(hw::kChips, table.begin(), caps_of);
  return table;
}();

constexpr u64 kSaveHeaderBytes = 40;    // kfd_queue.c: SIZEOF_HSA_USER_CONTEXT_SAVE_AREA_HEADER
constexpr u64 kDebugBytesPerWave = 32;  // kfd_queue.c: DEBUGGER_BYTES_PER_WAVE

constexpr u64 round_up(u64 value, u64 to) { return (value + to - 1) / to * to; }

}  // namespace

const Caps* find_caps(u64 gfx_target_version) {
  const auto* found = std::find_if(std::begin(kTable), std::end(kTable), [&](const Caps& caps) {
    return caps.target == gfx_target_version;
  });
  return found == std::end(kTable) ? nullptr : found;
}

std::string arch_name(u64 gfx_target_version) {
  return fmt::format("gfx{}{:x}{:x}", gfx_target_version / 10000, gfx_target_version / 100 % 100,
                     gfx_target_version % 100);
}

SaveArea save_area_of(const Caps& caps, const NodeProperties& properties, u64 page_bytes) {
  const u64 units = properties.compute_units(), engines = properties.shader_engines();
  const u64 waves = std::min<u64>(units * caps.saved_unit_waves, engines * caps.saved_engine_waves);
  constexpr u64 kMinLocalBytes = 0x10000;
  const u64 local = std::max<u64>(kMinLocalBytes, properties.lds_size_in_kb << 10);
  const u64 group_data = round_up(
      units * (caps.saved_vgpr_bytes + caps.saved_sgpr_bytes + local + caps.saved_hardware_bytes),
      page_bytes);
  const u64 stack = std::min<u64>(
      round_up(kSaveHeaderBytes + waves * caps.control_stack_wave_bytes + 8, page_bytes),
      caps.control_stack_limit);
  SaveArea area;
  // Of the control stack the kernel takes its own size only; what it does not tell, it computes as
  // above. The whole may be larger than it tells, and must be where its table of registers is
  // behind the chip. [Linux kfd_queue.c, kfd_queue_acquire_buffers()]
  area.control_stack_bytes =
      static_cast<u32>(properties.ctl_stack_size != 0 ? properties.ctl_stack_size : stack);
  area.context_bytes =
      static_cast<u32>(std::max<u64>(properties.cwsr_size, area.control_stack_bytes + group_data));
  const u64 debug = round_up(waves * kDebugBytesPerWave, 64);
  area.total_bytes = round_up((area.context_bytes + debug) * properties.num_xcc, page_bytes);
  return area;
}

}  // namespace doorbell::amd
