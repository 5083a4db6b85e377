// The graphics core's compute part, and the copy engine.
// [torvalds/linux gfx_v11_0.c gfx_v11_0_hw_init(), gfx_v11_0_cp_compute_enable(),
// gfx_v11_0_config_gfx_rs64(), sdma_v6_0.c sdma_v6_0_gfx_resume(); gfx_v12_0.c gfx_v12_0_hw_init(),
// gfx_v12_0_config_gfx_rs64(), gfx_v12_0_constants_init(), sdma_v7_0.c
// sdma_v7_0_gfx_resume_instance(); tinygrad ip.py AM_GFX, AM_SDMA]
#include "base/util/try.h"
#include "drivers/amd/kernel/pci/boot.h"

namespace doorbell::amd {

using hw::Reg;

namespace {

// [gfx_v11_0.c gfx_v11_0_cp_compute_enable(): udelay(50)]
constexpr u64 kSettle_ns = 50'000;

void select(const RegisterAccess& registers, const hw::GrbmSelect& whose) {
  registers.write(Reg::GrbmGfxCntl, whose);
}

hw::MecControl mec_control(const RegisterAccess& registers) {
  return hw::fields_of<hw::MecControl>(registers.read(Reg::CpMecRs64Cntl));
}

// A processor begins at its firmware's entry, in words, when its reset ends.
void set_entry(const RegisterAccess& registers, u64 entry) {
  select(registers, {.pipe = 0, .me = 1});
  registers.write_pair(Reg::CpMecRs64PrgrmCntrStart, Reg::CpMecRs64PrgrmCntrStartHi, entry >> 2);
  select(registers, {});
  hw::MecControl control = mec_control(registers);
  control.pipe0_reset = true;
  registers.write(Reg::CpMecRs64Cntl, control);
  control.pipe0_reset = false;
  registers.write(Reg::CpMecRs64Cntl, control);
}

// The first pipes of PFP and ME, as tinygrad's AM_GFX._config_mec() has it; the kernel begins two
// pipes of each, and four of the compute processor. [gfx_v12_0.c gfx_v12_0_config_gfx_rs64()]
void set_front_entries(const RegisterAccess& registers, const ProcessorEntries& entries) {
  select(registers, {});
  registers.write_pair(Reg::CpPfpPrgrmCntrStart, Reg::CpPfpPrgrmCntrStartHi, entries.pfp >> 2);
  registers.change(Reg::CpMeCntl, 0, hw::kPfpPipe0Reset);
  registers.change(Reg::CpMeCntl, hw::kPfpPipe0Reset, 0);
  registers.write_pair(Reg::CpMePrgrmCntrStart, Reg::CpMePrgrmCntrStartHi, entries.me >> 2);
  registers.change(Reg::CpMeCntl, 0, hw::kMePipe0Reset);
  registers.change(Reg::CpMeCntl, hw::kMePipe0Reset, 0);
}

void start_processor(const RegisterAccess& registers) {
  hw::MecControl control = mec_control(registers);
  control.pipe0_reset = false;
  control.pipe0_active = true;
  control.halt = false;
  registers.write(Reg::CpMecRs64Cntl, control);
  registers.pause(kSettle_ns);
}

void set_memory_windows(const RegisterAccess& registers) {
  constexpr u8 kVmids = 16;
  for (u8 vmid = 0; vmid < kVmids; ++vmid) {
    select(registers, {.vmid = vmid});
    registers.write(Reg::ShMemConfig, hw::kShMemConfig);
    registers.write(Reg::ShMemBases, hw::kShMemBases);
  }
  select(registers, {});
}

}  // namespace

Result<void> wait_for_graphics(const RegisterAccess& registers) {
  TRY(registers.wait(Reg::RlcRlcsBootloadStatus, hw::kBootloadComplete, hw::kBootloadComplete,
                     "the start of the graphics core"));
  return registers.wait(Reg::CpStat, ~u32{0}, 0, "the command processor's rest");
}

void start_graphics(const BootTarget& target, const ProcessorEntries& entries, bool is_warm) {
  const RegisterAccess& registers = target.registers;
  const BootCaps& caps = registers.caps();
  if (is_warm && caps.resets_compute_by_grbm) {
    registers.write(Reg::GrbmSoftReset, hw::kSoftResetCompute);
    registers.pause(kSettle_ns);
    registers.write(Reg::GrbmSoftReset, 0);
  }
  if (caps.has_front_processors) set_front_entries(registers, entries);
  set_entry(registers, entries.mec);
  if (!is_warm) {
    registers.change(Reg::TcpCntl, 0, hw::kTcpControlUnknown29);
    registers.write(Reg::RlcCntl, 1);
    registers.change(Reg::RlcSrmCntl, 0, hw::kRlcSrmControl);
    registers.write(Reg::RlcSpmMcCntl, hw::kRlcSpmControl);
    // Ports 0 and 3 lead to the compute and the scheduling processor.
    registers.write(Reg::S2aDoorbellEntry0Ctrl,
                    hw::DoorbellEntry{.enable = true, .awid = 3, .address_31_28 = 3});
    registers.write(Reg::S2aDoorbellEntry3Ctrl,
                    hw::DoorbellEntry{.enable = true, .awid = 6, .address_31_28 = 3});
    registers.change(Reg::GrbmCntl, caps.grbm_timeout_mask, hw::kGrbmReadTimeout);
    set_memory_windows(registers);
    registers.write(Reg::CpMecDoorbellRangeLower, hw::kMecDoorbellLower);
    registers.write(Reg::CpMecDoorbellRangeUpper, hw::kMecDoorbellUpper);
  }
  start_processor(registers);
}

void start_copy_engine(const BootTarget& target) {
  const RegisterAccess& registers = target.registers;
  const BootCaps& caps = registers.caps();
  registers.change(Reg::Sdma0WatchdogCntl, hw::kSdmaHangCountMask, hw::kSdmaHangCount);
  registers.change(Reg::Sdma0Utcl1Cntl, hw::kSdmaTlbMask, hw::kSdmaTlb);
  registers.change(Reg::Sdma0Utcl1Page, caps.copy_page_mask, caps.copy_page);
  registers.change(Reg::Sdma0F32Cntl, caps.copy_halt, 0);
  registers.change(Reg::Sdma0Cntl, 0, hw::kSdmaTrapEnable);
  registers.write(Reg::S2aDoorbellEntry2Ctrl,
                  hw::DoorbellEntry{.enable = true,
                                    .awid = 0xe,
                                    .offset = static_cast<u16>(hw::kFirstCopyDoorbell * 2),
                                    .size = 4,
                                    .address_31_28 = 3});
}

}  // namespace doorbell::amd
