// Caps: what each chip can do and how it wants to be spoken to, and the sizes that follow. All
// differences between chips that the driver knows are here: sequences elsewhere ask for a
// capability, never for a generation. Made from the chip's row in hw/isa/chip.h.
#pragma once

#include <string>
#include <string_view>

#include "base/util/result.h"
#include "drivers/amd/hw/generation.h"
#include "drivers/amd/topology.h"

namespace doorbell::amd {

// How packets name caches: CP_COHER_CNTL, or GCR_CNTL.
enum class CacheControl : u8 { Coher, Gcr };
// How COMPUTE_TMPRING_SIZE lies.
enum class ScratchRing : u8 { Gfx9, Gfx11, Gfx12 };

struct Caps {
  std::string_view arch;  // "gfx1100"
  u64 target = 0;         // 110000, as the topology has it

  hw::Generation generation = hw::Generation::Gfx11;  // index of the tables in hw/
  CacheControl cache_control = CacheControl::Gcr;
  bool has_wave32 = true;
  // The command processor reads and writes memory through the L2; else behind it. [GPUOpen-Drivers/
  // pal gfx12Barrier.cpp: "CP is connected to mall directly (not through GL2)"; Mesa
  // ac_gpu_info.h cp_sdma_ge_use_system_memory_scope]
  bool processor_uses_l2 = true;
  u64 sdma_copy_bytes = u64{1} << 30;  // of one packet
  bool sdma_fence_mtype = true;        // a fence says how its write is cached

  // Where a kernel's private memory comes from: registers of the dispatch ("architected flat
  // scratch"), or user registers that the kernel's first instructions turn into an address.
  bool architected_scratch = true;
  ScratchRing scratch_ring = ScratchRing::Gfx11;
  u32 scratch_granule = 256;             // bytes; what a wave's share is counted in
  bool scratch_waves_per_engine = true;  // the limit on waves is for each shader engine
  // A trap handler of the kernel driver saves waves only from privileged code.
  bool privileged_waves = false;
  u32 local_granule = 512;  // bytes; what COMPUTE_PGM_RSRC2.LDS_SIZE counts in; saved waves, too
  // False: nobody is known to have run PM4 there, so queues are of AQL, where firmware fills in
  // RSRC2.LDS_SIZE.
  bool local_granule_is_sure = true;

  // Page tables tell memory for atomics of system scope between devices (MTYPE CC) from coherent
  // memory. [Linux gmc_v9_0.c, gmc_v9_0_get_coherence_flags(): GC 9.4.3, 9.4.4, 9.5.0]
  bool ext_coherent = false;

  u64 timestamp_hz = 100'000'000;

  // A saved context: bytes of a compute unit, waves, and bytes of a wave on the control stack.
  u32 saved_vgpr_bytes = 0, saved_sgpr_bytes = 0x4000, saved_hardware_bytes = 0x1000;
  u32 saved_unit_waves = 32, saved_engine_waves = ~u32{0};
  u32 control_stack_wave_bytes = 12, control_stack_limit = ~u32{0};
  u32 eop_buffer_bytes = 4096;
};

// Null for a chip that we do not know.
const Caps* find_caps(u64 gfx_target_version);
// "gfx90a" from 90010: as compilers write it.
std::string arch_name(u64 gfx_target_version);

// What a queue's context takes when its waves are put aside: sizes that the kernel checks.
struct SaveArea {
  u32 control_stack_bytes = 0;
  u32 context_bytes = 0;  // of one XCC, with the control stack
  u64 total_bytes = 0;    // of the buffer for all of them, with the debugger's part
};
SaveArea save_area_of(const Caps& caps, const NodeProperties& properties, u64 page_bytes = 4096);

}  // namespace doorbell::amd
