// What starting a GPU differs in, by its graphics core: the sequences of boot.h ask here and not
// for versions. [docs/hw/amd-boot.md, "What differs by generation"]
#pragma once

#include "drivers/amd/hw/bare/discovery.h"
#include "drivers/amd/hw/bare/fields.h"
#include "drivers/amd/hw/bare/psp.h"

namespace doorbell::amd {

struct BootCaps {
  hw::BareChip chip;
  // The memory for firmware: given by the driver, taken by the boot loader, or taken by it and all
  // the same asked for, with zeros. LOAD_TOC is sent but in the last case. [amdgpu_psp.c
  // psp_early_init(): boot_time_tmr, autoload_supported; psp_hw_start(), psp_tmr_load(); tinygrad
  // ip.py AM_PSP.init_hw()]
  enum class Tmr : u8 { Given, Taken, AskedFor };
  Tmr tmr = Tmr::Given;
  // The RLC loads the graphics core's firmware by itself, on a command; else the list of registers
  // comes last, and processors run what the security processor has loaded: the compute one by
  // CP_MEC_CNTL, the copy engine at once. [gfx_v9_4_3.c, sdma_v4_4_2.c: AMDGPU_FW_LOAD_PSP;
  // tinygrad ip.py AM_PSP.init_hw(), AM_GFX._config_mec()]
  bool has_autoload = true;
  // The bus interface has ports for doorbells of the graphics core; else XCCs and copy engines by
  // dies. [nbio_v4_3.c, nbio_v7_9.c]
  bool has_doorbell_ports = true;
  // The whole GPU is reset by a debug message; else by a message.
  bool resets_by_debug_message = true;
  // Storms of interrupts are held back. [tinygrad ip.py AM_IH.init_hw(): all but 4.4.2]
  bool has_interrupt_storms = true;
  // Clocks are set; else they are the power controller's.
  bool sets_clocks = true;
  // Memory at the end that is firmware's. [tinygrad amdev.py reserved_vram_size]
  u64 reserved_end = u64{64} << 20;
  u32 simds_per_unit = 2;
  // MQDs have words for several XCCs where others have those of shader engines 4 to 7, and other
  // places in CP_HQD_PQ_CONTROL. [v9_structs.h v9_mqd]
  bool has_mqd_of_xccs = false;
  u32 sh_mem_config = hw::kShMemConfig;
  u32 l2_control = hw::word_of(hw::L2Control{.enable = true, .page_out = true, .identity_mode = 1});
  u32 l2_control3 = hw::kL2Control3;
  u32 invalidate = hw::word_of(hw::InvalidateRequest{.vmids = 1});
  // The command processor's other two, PFP and ME, are begun at their firmware's entries as well.
  bool has_front_processors = false;
  // A compute processor that is left alive is reset by GRBM_SOFT_RESET, else by its own register
  // alone. [tinygrad ip.py AM_GFX.reset_mec()]
  bool resets_compute_by_grbm = true;
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
     .tmr = BootCaps::Tmr::Taken,
     .has_front_processors = true,
     .resets_compute_by_grbm = false,
     .context = hw::word_of(hw::VmContextControlGc12{
         .enable = true, .depth = 3, .faults = hw::kAllFaults, .unk_31_24 = 1}),
     .grbm_timeout_mask = hw::kGrbmReadTimeoutMaskGc12,
     .copy_halt = hw::kSdmaHaltOrResetGc12,
     .copy_page = hw::kSdmaPageGc12,
     .copy_page_mask = hw::kSdmaPageMaskGc12},
    {.chip = hw::BareChip::Gc94,
     .tmr = BootCaps::Tmr::AskedFor,
     .has_autoload = false,
     .has_doorbell_ports = false,
     .resets_by_debug_message = false,
     .has_interrupt_storms = false,
     .sets_clocks = false,
     .reserved_end = u64{384} << 20,
     .simds_per_unit = 4,
     .has_mqd_of_xccs = true,
     .sh_mem_config = hw::kShMemConfigGc94,
     .l2_control = hw::word_of(
         hw::L2Control{.enable = true, .fragments = true, .page_out = true, .identity_mode = 1}),
     .l2_control3 = hw::kL2Control3Gc94,
     .invalidate = hw::word_of(hw::InvalidateRequestGc94{.vmids = 1}),
     .context = hw::word_of(hw::VmContextControl{
         .enable = true, .depth = 2, .block_size = 9, .faults = hw::kAllFaults, .unk_31_23 = 3}),
     .grbm_timeout_mask = hw::kGrbmReadTimeout},
};
constexpr const BootCaps& caps_of(hw::BareChip chip) { return kBootCaps[static_cast<usize>(chip)]; }

}  // namespace doorbell::amd
