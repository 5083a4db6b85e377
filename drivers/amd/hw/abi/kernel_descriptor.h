// The kernel descriptor: 64 bytes in .rodata under the name `<kernel>.kd`, which the compiler
// writes and the command processor (AQL) or a driver (PM4) reads before a launch.
#pragma once

#include "drivers/amd/hw/program_registers.h"

namespace doorbell::amd::hw {

inline constexpr u32 kKernelDescriptorBytes = 64;
inline constexpr u32 kCodeAlignment = 256;

// The launch enters at the descriptor's own address + entry_offset, with COMPUTE_PGM_RSRC1..3 as
// given; the enable_sgpr bits ask for values in the first user SGPRs, in the order of the bits.
// [LLVM AMDGPUUsage "Code Object V3 Kernel Descriptor";
// llvm/Support/AMDHSAKernelDescriptor.h kernel_descriptor_t, KERNEL_CODE_PROPERTY_*]
struct KernelDescriptor {
  static constexpr u32 kWords = 16;

  u32 group_segment_fixed_size = 0;    // LDS, bytes of a work group
  u32 private_segment_fixed_size = 0;  // scratch, bytes of a work-item
  u32 kernarg_size = 0;
  i64 entry_offset = 0;
  u32 rsrc3 = 0, rsrc1 = 0, rsrc2 = 0;
  bool enable_sgpr_private_segment_buffer = false;  // 4 SGPRs
  bool enable_sgpr_dispatch_ptr = false;            // 2
  bool enable_sgpr_queue_ptr = false;               // 2
  bool enable_sgpr_kernarg_segment_ptr = false;     // 2
  bool enable_sgpr_dispatch_id = false;             // 2
  bool enable_sgpr_flat_scratch_init = false;       // 2
  bool enable_sgpr_private_segment_size = false;    // 1
  bool enable_wavefront_size32 = false;
  bool uses_dynamic_stack = false;
  u8 kernarg_preload_length = 0;   // words put into user SGPRs after the above (gfx90a, gfx942)
  u16 kernarg_preload_offset = 0;  // in words

  static constexpr void fields(auto& p, auto f) {
    f("group_segment_fixed_size", word(0), p.group_segment_fixed_size);
    f("private_segment_fixed_size", word(1), p.private_segment_fixed_size);
    f("kernarg_size", word(2), p.kernarg_size);
    f("entry_offset", Bits{191, 128}, p.entry_offset);
    f("rsrc3", word(11), p.rsrc3);
    f("rsrc1", word(12), p.rsrc1);
    f("rsrc2", word(13), p.rsrc2);
    f("enable_sgpr_private_segment_buffer", word(14, 0, 0), p.enable_sgpr_private_segment_buffer);
    f("enable_sgpr_dispatch_ptr", word(14, 1, 1), p.enable_sgpr_dispatch_ptr);
    f("enable_sgpr_queue_ptr", word(14, 2, 2), p.enable_sgpr_queue_ptr);
    f("enable_sgpr_kernarg_segment_ptr", word(14, 3, 3), p.enable_sgpr_kernarg_segment_ptr);
    f("enable_sgpr_dispatch_id", word(14, 4, 4), p.enable_sgpr_dispatch_id);
    f("enable_sgpr_flat_scratch_init", word(14, 5, 5), p.enable_sgpr_flat_scratch_init);
    f("enable_sgpr_private_segment_size", word(14, 6, 6), p.enable_sgpr_private_segment_size);
    f("enable_wavefront_size32", word(14, 10, 10), p.enable_wavefront_size32);
    f("uses_dynamic_stack", word(14, 11, 11), p.uses_dynamic_stack);
    f("kernarg_preload_length", word(14, 22, 16), p.kernarg_preload_length);
    f("kernarg_preload_offset", word(14, 31, 23), p.kernarg_preload_offset);
  }
};
static_assert(sound<KernelDescriptor>());

// The ELF of code objects. [LLVM AMDGPUUsage "ELF Code Object": Header, Relocation Records]
inline constexpr u16 kElfMachine = 224;  // EM_AMDGPU
inline constexpr u32 kRelocationAbs32Lo = 1, kRelocationAbs32Hi = 2, kRelocationAbs64 = 3;
inline constexpr u32 kRelocationRel32 = 4, kRelocationRel64 = 5, kRelocationAbs32 = 6;
inline constexpr u32 kRelocationRel32Lo = 10, kRelocationRel32Hi = 11, kRelocationRelative64 = 13;

}  // namespace doorbell::amd::hw
