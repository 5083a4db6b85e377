// What starting a GPU differs in, by its graphics core: the sequences of boot.h ask here and not
// for versions. [docs/hw/amd-boot.md, "What differs by generation"]
#pragma once

#include "drivers/amd/hw/bare/discovery.h"
#include "drivers/amd/hw/bare/fields.h"
#include "drivers/amd/hw/bare/psp.h"

namespace doorbell::amd {

struct BootCaps {
  hw::BareChip chip;
  // The command processor's other two, PFP and ME, are begun at their firmware's entries as well.
  bool has_front_processors = false;
  // A compute processor that is left alive is reset by GRBM_SOFT_RESET, else by its own register
  // alone. [tinygrad ip.py AM_GFX.reset_mec()]
  bool resets_compute_by_grbm = true;
  // The driver gives memory for firmware; else the boot loader has taken it. LOAD_TOC is
  // sent in both cases. [amdgpu_psp.c psp_early_init(): boot_time_tmr, psp_hw_start(),
  // psp_tmr_init(); tinygrad ip.py AM_PSP.init_hw()]
  bool gives_tmr = true;
  u32 context = 0;  // of *_CONTEXT0_CNTL
  u32 grbm_timeout_mask = 0;
  u32 copy_halt = 0, copy_page = 0, copy_page_mask = 0;
};

inline constexpr BootCaps kBootCaps[hw::kBareChips] = {
    {.chip = hw::BareChip::Gc11,
     .context = hw::word_of(hw::VmContextControl{
         .enable = true, .depth = 3, .faults = hw::kAllFaults, .unk_31_23 = 3}),
     .grbm_timeout_mask = hw::kGrbmReadTimeout,
     .copy_halt = hw::kSdmaHaltOrReset,
     .copy_page = hw::kSdmaPage,
     .copy_page_mask = hw::kSdmaPageMask},
    {.chip = hw::BareChip::Gc12,
     .has_front_processors = true,
     .resets_compute_by_grbm = false,
     .gives_tmr = false,
     .context = hw::word_of(hw::VmContextControlGc12{
         .enable = true, .depth = 3, .faults = hw::kAllFaults, .unk_31_24 = 1}),
     .grbm_timeout_mask = hw::kGrbmReadTimeoutMaskGc12,
     .copy_halt = hw::kSdmaHaltOrResetGc12,
     .copy_page = hw::kSdmaPageGc12,
     .copy_page_mask = hw::kSdmaPageMaskGc12},
};
constexpr const BootCaps& caps_of(hw::BareChip chip) { return kBootCaps[static_cast<usize>(chip)]; }

}  // namespace doorbell::amd
