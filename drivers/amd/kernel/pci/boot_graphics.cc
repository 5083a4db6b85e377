// The graphics core's compute part, and the copy engine.
// [torvalds/linux gfx_v11_0.c gfx_v11_0_hw_init(), gfx_v11_0_cp_compute_enable(),
// gfx_v11_0_config_gfx_rs64(), sdma_v6_0.c sdma_v6_0_gfx_resume(); gfx_v12_0.c gfx_v12_0_hw_init(),
// gfx_v12_0_config_gfx_rs64(), gfx_v12_0_constants_init(), sdma_v7_0.c
// sdma_v7_0_gfx_resume_instance(); gfx_v9_4_3.c gfx_v9_4_3_init_golden_registers(),
// gfx_v9_4_3_xcc_cp_compute_enable(), gfx_v9_4_3_constants_init(), sdma_v4_4_2.c
// sdma_v4_4_2_inst_start(), nbio_v7_9.c nbio_v7_9_sdma_doorbell_range(); tinygrad ip.py AM_GFX,
// AM_SDMA]
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
  if (registers.has(Reg::CpMecCntl)) {
    registers.write(Reg::CpMecCntl, 0);
    registers.pause(kSettle_ns);
    return;
  }
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
    registers.write(Reg::ShMemConfig, registers.caps().sh_mem_config);
    registers.write(Reg::ShMemBases, hw::kShMemBases);
  }
  select(registers, {});
}

}  // namespace

Result<void> wait_for_graphics(const RegisterAccess& registers) {
  if (registers.caps().has_autoload)
    TRY(registers.wait(Reg::RlcRlcsBootloadStatus, hw::kBootloadComplete, hw::kBootloadComplete,
                       "the start of the graphics core"));
  return registers.wait(Reg::CpStat, ~u32{0}, 0, "the command processor's rest");
}

namespace {

// What of one graphics core stays set until the whole GPU is reset.
void set_for_ever(const RegisterAccess& registers, u32 xcc) {
  const BootCaps& caps = registers.caps();
  registers.change(Reg::TcpCntl, 0, hw::kTcpControlUnknown29);
  registers.write(Reg::RlcCntl, 1);
  registers.change(Reg::RlcSrmCntl, 0, hw::kRlcSrmControl);
  registers.write(Reg::RlcSpmMcCntl, hw::kRlcSpmControl);
  if (caps.has_doorbell_ports) {
    // Ports 0 and 3 lead to the compute and the scheduling processor.
    registers.write(Reg::S2aDoorbellEntry0Ctrl,
                    hw::DoorbellEntry{.enable = true, .awid = 3, .address_31_28 = 3});
    registers.write(Reg::S2aDoorbellEntry3Ctrl,
                    hw::DoorbellEntry{.enable = true, .awid = 6, .address_31_28 = 3});
  }
  if (registers.has(Reg::GbAddrConfig)) {
    registers.write(Reg::GbAddrConfig, hw::kGbAddrConfigGc94);
    registers.change(Reg::TcpUtcl1Cntl2, hw::kTcpUtcl1SpareMask, hw::kTcpUtcl1Spare);
  }
  registers.change(Reg::GrbmCntl, caps.grbm_timeout_mask, hw::kGrbmReadTimeout);
  set_memory_windows(registers);
  const u32 doorbells = xcc * hw::kMecDoorbellStride;
  registers.write(Reg::CpMecDoorbellRangeLower, hw::kMecDoorbellLower + doorbells);
  registers.write(Reg::CpMecDoorbellRangeUpper, hw::kMecDoorbellUpper + doorbells);
}

void start_one_core(const RegisterAccess& registers, u32 xcc, const ProcessorEntries& entries,
                    bool is_warm) {
  const BootCaps& caps = registers.caps();
  if (is_warm && caps.resets_compute_by_grbm) {
    registers.write(Reg::GrbmSoftReset, hw::kSoftResetCompute);
    registers.pause(kSettle_ns);
    registers.write(Reg::GrbmSoftReset, 0);
  }
  if (caps.has_front_processors) set_front_entries(registers, entries);
  if (registers.has(Reg::CpMecCntl))
    registers.write(Reg::CpMecCntl, hw::kMecStopGc94);
  else
    set_entry(registers, entries.mec);
  if (!is_warm) set_for_ever(registers, xcc);
  start_processor(registers);
}

}  // namespace

void start_graphics(const BootTarget& target, const ProcessorEntries& entries, bool is_warm) {
  for (u32 xcc = 0; xcc < target.registers.xccs(); ++xcc)
    start_one_core(target.registers.on(xcc), xcc, entries, is_warm);
}

void start_copy_engine(const BootTarget& target) {
  const RegisterAccess& registers = target.registers;
  const BootCaps& caps = registers.caps();
  if (!caps.has_doorbell_ports) {
    registers.change(Reg::Sdma0Cntl, 0, hw::kSdmaTrapEnable | hw::kSdmaTlbEnableGc94);
    registers.write(Reg::Doorbell0CtrlEntry1,
                    hw::DoorbellRange{.offset = static_cast<u16>(hw::kFirstCopyDoorbell * 2),
                                      .size = hw::kCopyDoorbells});
    registers.write(Reg::S2aDoorbellEntry1Ctrl,
                    hw::DoorbellEntry{
                        .enable = true, .awid = 0xe, .offset = 0xe, .size = 4, .address_31_28 = 1});
    return;
  }
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
