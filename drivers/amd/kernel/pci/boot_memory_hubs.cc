// NBIO, HDP, GMC with its two hubs, IH.
// [torvalds/linux gfxhub_v3_0.c gfxhub_v3_0_gart_enable(), mmhub_v3_0.c, gmc_v11_0.c
// gmc_v11_0_flush_gpu_tlb(), ih_v6_0.c ih_v6_0_irq_init(), nbio_v4_3.c; of GC 9.4.3 gfxhub_v1_2.c,
// mmhub_v1_8.c, gmc_v9_0.c gmc_v9_0_flush_gpu_tlb(), vega20_ih.c vega20_ih_irq_init(), nbio_v7_9.c
// nbio_v7_9_init_registers(); tinygrad ip.py AM_SOC, AM_GMC, AM_IH]
#include "base/util/try.h"
#include "drivers/amd/hw/bare/page_table.h"
#include "drivers/amd/kernel/pci/boot.h"
#include "drivers/amd/kernel/pci/pci_gpu.h"

#include <bit>
#include <cstring>

namespace doorbell::amd {

using hw::Reg;

namespace {

constexpr u64 kMegabytes16 = 24, kKilobytes256 = 18, kPage = 12;  // bits of units

// The registers that both hubs have, each under its own names.
struct HubRegisters {
  Reg agp_base, agp_bot, agp_top, aperture_low, aperture_high, aperture_default_low,
      aperture_default_high, fault_default_low, fault_default_high, fault_control2, l1_tlb, l2[5],
      context, table_low, table_high, start_low, start_high, end_low, end_high, identity_low_low,
      identity_low_high, identity_high_low, identity_high_high, identity_offset_low,
      identity_offset_high, range_low, range_high, semaphore, request, ack;
};
#define DOORBELL_HUB(MC, VM)                                                                  \
  {Reg::MC##VmAgpBase,                                                                        \
   Reg::MC##VmAgpBot,                                                                         \
   Reg::MC##VmAgpTop,                                                                         \
   Reg::MC##VmSystemApertureLowAddr,                                                          \
   Reg::MC##VmSystemApertureHighAddr,                                                         \
   Reg::MC##VmSystemApertureDefaultAddrLsb,                                                   \
   Reg::MC##VmSystemApertureDefaultAddrMsb,                                                   \
   Reg::VM##L2ProtectionFaultDefaultAddrLo32,                                                 \
   Reg::VM##L2ProtectionFaultDefaultAddrHi32,                                                 \
   Reg::VM##L2ProtectionFaultCntl2,                                                           \
   Reg::MC##VmMxL1TlbCntl,                                                                    \
   {Reg::VM##L2Cntl, Reg::VM##L2Cntl2, Reg::VM##L2Cntl3, Reg::VM##L2Cntl4, Reg::VM##L2Cntl5}, \
   Reg::VM##Context0Cntl,                                                                     \
   Reg::VM##Context0PageTableBaseAddrLo32,                                                    \
   Reg::VM##Context0PageTableBaseAddrHi32,                                                    \
   Reg::VM##Context0PageTableStartAddrLo32,                                                   \
   Reg::VM##Context0PageTableStartAddrHi32,                                                   \
   Reg::VM##Context0PageTableEndAddrLo32,                                                     \
   Reg::VM##Context0PageTableEndAddrHi32,                                                     \
   Reg::VM##L2Context1IdentityApertureLowAddrLo32,                                            \
   Reg::VM##L2Context1IdentityApertureLowAddrHi32,                                            \
   Reg::VM##L2Context1IdentityApertureHighAddrLo32,                                           \
   Reg::VM##L2Context1IdentityApertureHighAddrHi32,                                           \
   Reg::VM##L2ContextIdentityPhysicalOffsetLo32,                                              \
   Reg::VM##L2ContextIdentityPhysicalOffsetHi32,                                              \
   Reg::VM##InvalidateEng17AddrRangeLo32,                                                     \
   Reg::VM##InvalidateEng17AddrRangeHi32,                                                     \
   Reg::VM##InvalidateEng17Sem,                                                               \
   Reg::VM##InvalidateEng17Req,                                                               \
   Reg::VM##InvalidateEng17Ack}
constexpr HubRegisters kHubs[] = {DOORBELL_HUB(Gcmc, Gcvm), DOORBELL_HUB(Mmmc, Mmvm)};
#undef DOORBELL_HUB
constexpr const HubRegisters& registers_of(Hub hub) { return kHubs[static_cast<usize>(hub)]; }

void set_apertures(const BootTarget& target, const HubRegisters& hub) {
  const RegisterAccess& registers = target.registers;
  // There is no AGP aperture: its end lies in front of its beginning.
  registers.write(hub.agp_base, 0);
  registers.write(hub.agp_bot, 0xffffff);
  registers.write(hub.agp_top, 0);
  // Addresses of the memory itself go past the page tables.
  registers.write(hub.aperture_low, static_cast<u32>(target.framebuffer >> kKilobytes256));
  registers.write(hub.aperture_high, static_cast<u32>(target.framebuffer_end >> kKilobytes256));
  registers.write_pair(hub.aperture_default_low, hub.aperture_default_high,
                       (target.offset + boot_memory::kScratchPage) >> kPage);
  registers.write_pair(hub.fault_default_low, hub.fault_default_high,
                       (target.offset + boot_memory::kDummyPage) >> kPage);
  registers.change(hub.fault_control2, 0, hw::kFaultControl2ReadRetry);
}

void set_caches(const RegisterAccess& registers, const HubRegisters& hub) {
  hw::L1TlbControl l1 = hw::fields_of<hw::L1TlbControl>(registers.read(hub.l1_tlb));
  l1.enable = true;
  l1.system_access_mode = 3;
  l1.unmapped_access = false;
  l1.advanced_driver_model = true;
  l1.memory_policy = static_cast<u8>(hw::MemoryPolicy::Uncached);
  registers.write(hub.l1_tlb, l1);
  registers.write(hub.l2[0], registers.caps().l2_control);
  registers.change(hub.l2[1], 0, hw::kL2Control2InvalidateAll);
  registers.write(hub.l2[2], registers.caps().l2_control3);
  registers.write(hub.l2[3], hw::kL2Control4);
  if (registers.has(hub.l2[4])) registers.write(hub.l2[4], hw::kL2Control5);
}

void set_context(const BootTarget& target, const HubRegisters& hub) {
  constexpr u64 kValid = 1, kLastAddress = (u64{1} << 47) - 1;
  const RegisterAccess& registers = target.registers;
  registers.write_pair(hub.start_low, hub.start_high, kFirstGpuAddress >> kPage);
  registers.write_pair(hub.end_low, hub.end_high, kLastAddress >> kPage);
  registers.write_pair(hub.table_low, hub.table_high,
                       (target.offset + boot_memory::kRootTable) | kValid);
  registers.write(hub.context, registers.caps().context);
}

}  // namespace

void BootTarget::flush_hdp() const {
  os::fence_writes();
  const u32 at = registers.read(Reg::BifBx0RemapHdpMemFlushCntl);
  registers.write_word(at / 4, 0);
}

void BootTarget::copy_in(u64 at, std::span<const u8> bytes) const {
  const usize whole = bytes.size() / sizeof(u32) * sizeof(u32);
  vram.write_bytes(at, bytes.first(whole));
  if (whole == bytes.size()) return;
  u32 rest = 0;
  std::memcpy(&rest, bytes.data() + whole, bytes.size() - whole);
  vram.write32(at + whole, rest);
}

Result<BootTarget> read_framebuffer(const RegisterAccess& registers, os::DeviceMemory vram) {
  BootTarget target{.registers = registers, .vram = vram};
  const auto address = [&](Reg reg) { return u64{registers.read(reg) & 0xffffff} << kMegabytes16; };
  target.framebuffer = address(Reg::MmmcVmFbLocationBase);
  target.framebuffer_end = address(Reg::MmmcVmFbLocationTop) | ((u64{1} << kMegabytes16) - 1);
  target.offset = address(Reg::MmmcVmFbOffset);
  if (target.framebuffer_end - target.framebuffer + 1 < vram.size())
    return fail(ErrorKind::Corrupt,
                "the memory controller has {:#x} to {:#x}, for {:#x} bytes of memory",
                target.framebuffer, target.framebuffer_end, vram.size());
  return target;
}

namespace {

// A register of the bus interface of another die.
void write_on_aid(const RegisterAccess& registers, u32 aid, u64 address, u32 value) {
  registers.write(Reg::BifBx0PcieIndex2, static_cast<u32>(address * sizeof(u32)));
  registers.write(Reg::BifBx0PcieIndex2Hi, aid | hw::kOtherAid);
  registers.write(Reg::BifBx0PcieData2, value);
  registers.write(Reg::BifBx0PcieIndex2Hi, 0);
}

// Doorbells go to the XCCs that are there, and from die to die.
void open_doorbells(const RegisterAccess& registers) {
  const u32 xccs = (1u << registers.xccs()) - 1;
  registers.write(Reg::XccDoorbellFence, hw::kFenceXccs & ~xccs);
  for (u32 aid = 1; aid < registers.memory_hubs(); ++aid)
    write_on_aid(registers, aid, registers.address(Reg::XccDoorbellFence), hw::kFenceOtherAid);
  registers.write(Reg::BifcGfxIntMonitorMask, hw::kIntMonitorMask);
  registers.write(Reg::BifcDoorbellAccessEnPf, hw::kDoorbellAccess);
}

}  // namespace

void start_bus_interface(const BootTarget& target) {
  const RegisterAccess& registers = target.registers;
  if (registers.caps().has_doorbell_ports)
    registers.change(Reg::RccDev0Epf2Strap2, hw::kStrapNoSoftReset, 0);
  else
    open_doorbells(registers);
  registers.write(Reg::RccDev0Epf0RccDoorbellAperEn, 1);
}

namespace {

void start_one_hub(const BootTarget& target, Hub hub) {
  const HubRegisters& registers = registers_of(hub);
  set_apertures(target, registers);
  set_caches(target.registers, registers);
  set_context(target, registers);
  // The apertures of other contexts, which nobody uses, and what an invalidation covers.
  target.registers.write_pair(registers.identity_low_low, registers.identity_low_high,
                              0xf'ffff'ffff);
  target.registers.write_pair(registers.identity_high_low, registers.identity_high_high, 0);
  target.registers.write_pair(registers.identity_offset_low, registers.identity_offset_high, 0);
  target.registers.write_pair(registers.range_low, registers.range_high, 0x1f'ffff'ffff);
}

Result<void> invalidate_one_hub(const RegisterAccess& registers, Hub hub) {
  const HubRegisters& names = registers_of(hub);
  constexpr u32 kVmid0 = 1;
  // The acknowledgement could be lost when the hub's power goes: the semaphore keeps it.
  if (hub == Hub::Memory)
    TRY(registers.wait(names.semaphore, hw::kSemaphoreTaken, hw::kSemaphoreTaken,
                       "the memory hub's semaphore"));
  registers.write(names.request, registers.caps().invalidate);
  TRY(registers.wait(names.ack, kVmid0, kVmid0, "an invalidation of translations"));
  if (hub == Hub::Graphics) return {};
  registers.write(names.semaphore, 0);
  if (!registers.has(Reg::MmvmL2BankSelectReservedCid2)) return {};
  registers.change(Reg::MmvmL2BankSelectReservedCid2, 0, hw::kPrivateInvalidation);
  (void)registers.read(Reg::MmvmL2BankSelectReservedCid2);
  return {};
}

u32 count_of(const RegisterAccess& registers, Hub hub) {
  return hub == Hub::Graphics ? registers.xccs() : registers.memory_hubs();
}

}  // namespace

void start_hub(const BootTarget& target, Hub hub) {
  for (u32 i = 0; i < count_of(target.registers, hub); ++i) {
    BootTarget one = target;
    one.registers = target.registers.on(i);
    start_one_hub(one, hub);
  }
}

Result<void> invalidate_hub(const BootTarget& target, Hub hub) {
  target.flush_hdp();
  for (u32 i = 0; i < count_of(target.registers, hub); ++i)
    TRY(invalidate_one_hub(target.registers.on(i), hub));
  return {};
}

void start_interrupts(const BootTarget& target) {
  const RegisterAccess& registers = target.registers;
  constexpr u32 kBaseUnit = 8;  // bits of 256 bytes
  hw::IhRingControl control{.size_log2 = static_cast<u8>(
                                std::countr_zero(boot_memory::kInterruptRingBytes / sizeof(u32))),
                            .overflow_enable = true,
                            .snoop = true,
                            .rptr_rearm = true,
                            .mc_space = 4,
                            .overflow_clear = true};
  registers.write_pair(Reg::IhRbBase, Reg::IhRbBaseHi,
                       target.mc_address(boot_memory::kInterruptRing) >> kBaseUnit);
  registers.write(Reg::IhRbCntl, control);
  registers.write_pair(Reg::IhRbWptrAddrLo, Reg::IhRbWptrAddrHi,
                       target.mc_address(boot_memory::kInterruptPointer));
  registers.write(Reg::IhRbWptr, 0);
  registers.write(Reg::IhRbRptr, 0);
  registers.write(Reg::IhDoorbellRptr, 0);
  if (registers.caps().has_interrupt_storms) {
    registers.change(Reg::IhStormClientListCntl, 0, hw::kIhStormClient18);
    registers.change(Reg::IhIntFloodCntl, 0, hw::kIhFloodControl);
    registers.change(Reg::IhMsiStormCtrl, hw::kIhStormDelayMask, hw::kIhStormDelay);
  }
  control.overflow_clear = false;
  control.enable = true;
  control.interrupts = true;
  registers.write(Reg::IhRbCntl, control);
}

}  // namespace doorbell::amd
