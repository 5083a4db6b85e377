// The power controller, the memory hubs, the interrupt handler, and faults.
// [torvalds/linux smu_cmn.c, smu_v13_0_0_ppsmc.h; gfxhub_v3_0.c, mmhub_v3_0.c, gmc_v11_0.c;
// ih_v6_0.c; irqsrcs_gfx_11_0_0.h]
#include <array>
#include <bit>
#include <cstring>

#include <fmt/format.h>

#include "drivers/amd/hw/bare/fields.h"
#include "drivers/amd/hw/bare/page_table.h"
#include "emulator/amd/bare/bare_checks.h"
#include "emulator/amd/bare/bare_gpu.h"
#include "emulator/amd/cp/rules.h"
#include "emulator/amd/kfd/kfd_checks.h"

namespace doorbell::emu::amdgpu {

using amd::hw::SmuMessage;

namespace {

constexpr u64 kPage = 12;
constexpr u16 kBusMasterBit = 4;
constexpr u32 kVersion = 0x004e7e00;
constexpr u64 kTableBytes = 0x4000;  // of the driver's
// Levels of a clock in MHz, by index.
constexpr std::array<u32, 3> kLevels{300, 1200, 2400};
// A message's argument names a clock in its upper half. [PPCLK_COUNT of smu13_driver_if_v13_0_0.h
// smu14_driver_if_v14_0.h and smu13_driver_if_v13_0_6.h, as tinygrad a9069c1 has them:
// smu_13_0_0.py, smu_14_0_2.py, smu_13_0_6.py]
constexpr std::array<u32, amd::hw::kBareChips> kClocks{13, 11, 6};

}  // namespace

// ---- the power controller -----------------------------------------------------------------------

void BareGpu::send_message(bool is_debug) {
  const u32 message = value(is_debug ? Reg::Mp1SmnC2pmsg75 : Reg::Mp1SmnC2pmsg66);
  u32& argument = value(is_debug ? Reg::Mp1SmnC2pmsg53 : Reg::Mp1SmnC2pmsg82);
  u32& answer = value(is_debug ? Reg::Mp1SmnC2pmsg54 : Reg::Mp1SmnC2pmsg90);
  if (!psp_.has_smu_firmware() || answer != 0) {
    checks_.report(kSmuMessage, fmt::format("message {:#x}, {}", message,
                                            answer != 0 ? "while the answer to the last one stands"
                                                        : "to a controller without firmware"));
    return;
  }
  answer = amd::hw::kSmuOk;
  if (is_debug) {
    if (message == amd::hw::kDebugMode1Reset) return reset();
    checks_.report(kSmuMessage, fmt::format("debug message {:#x} is not known", message));
    answer = amd::hw::kSmuUnknownMessage;
    return;
  }
  for (const SmuMessage known : amd::hw::kSmuMessages)
    if (amd::hw::number_of(known, chip_) == message) return take_message(known, argument, answer);
  checks_.report(kSmuMessage, fmt::format("message {:#x} is not known", message));
  answer = amd::hw::kSmuUnknownMessage;
}

void BareGpu::take_message(SmuMessage message, u32& argument, u32& answer) {
  const u32 clocks = kClocks[static_cast<usize>(chip_)];
  switch (message) {
    case SmuMessage::TestMessage: argument += 1; return;
    case SmuMessage::GetSmuVersion: argument = kVersion; return;
    case SmuMessage::SetDriverDramAddrHigh:
      card_.smu_table = (card_.smu_table & 0xffff'ffff) | u64{argument} << 32;
      return;
    case SmuMessage::SetDriverDramAddrLow:
      card_.smu_table = (card_.smu_table >> 32 << 32) | argument;
      return;
    case SmuMessage::EnableAllSmuFeatures:
      if (memory_.find(card_.smu_table, kTableBytes).empty())
        checks_.report(
            kSmuTable,
            fmt::format("features are enabled with the driver's table at {:#x}", card_.smu_table));
      return;
    case SmuMessage::GetDpmFreqByIndex: {
      if (argument >> 16 >= clocks) {
        answer = amd::hw::kSmuRejected;
        return;
      }
      const u32 index = argument & 0xffff;
      argument = index == 0xff ? static_cast<u32>(kLevels.size())
                               : kLevels[std::min<usize>(index, kLevels.size() - 1)];
      return;
    }
    case SmuMessage::SetSoftMinByFreq:
    case SmuMessage::SetSoftMaxByFreq:
      if (argument >> 16 >= clocks) answer = amd::hw::kSmuRejected;
      return;
    case SmuMessage::ResetGpu:
      if (argument == amd::hw::kSmuResetMode1) return reset();
      answer = amd::hw::kSmuRejected;
      return;
  }
}

// ---- the memory hubs ----------------------------------------------------------------------------

// What is wrong with a hub's L2_CNTL to L2_CNTL5 and its identity aperture, or nothing. Of the
// registers it judges the fields that the kernel sets, and byte order, which the kernel leaves 0 as
// after a reset. The other fields (sizes, ways, clocks, priorities) are not emulated.
// [gfxhub_v3_0.c gfxhub_v3_0_init_cache_regs(), and the same of mmhub_v3_0.c, gfxhub_v12_0.c and
// mmhub_v4_1_0.c; places of the fields: tinygrad a9069c1 regs.py gc_11_0_0, gc_12_0_0]
std::string BareGpu::judge_second_tlb(bool is_graphics, u32 instance) {
  struct Setting {
    Reg graphics, memory;
    u32 mask, wanted, wanted_of_gc94;
  };
  // The last column is of GC 9.4.3, which translates further, with fragments. [gfxhub_v1_2.c
  // gfxhub_v1_2_xcc_init_cache_regs(), which leaves page out as it is; tinygrad sets it]
  static constexpr Setting kSettings[] = {
      // Fragments (1), byte order (5:2), tags (8), page out (11), faults (18), identity (25:19).
      {Reg::GcvmL2Cntl, Reg::MmvmL2Cntl, 0x3fc093f, 0x80801, 0x80803},
      // BANK_SELECT (5:0), L2_CACHE_BIGK_FRAGMENT_SIZE (19:15).
      {Reg::GcvmL2Cntl3, Reg::MmvmL2Cntl3, 0xf803f, 6 << 15 | 9, 9 << 15 | 12},
      // VMC_TAP_PDE_REQUEST_PHYSICAL (6), VMC_TAP_PTE_REQUEST_PHYSICAL (7).
      {Reg::GcvmL2Cntl4, Reg::MmvmL2Cntl4, 0xc0, 0, 0},
      // L2_CACHE_SMALLK_FRAGMENT_SIZE (4:0).
      {Reg::GcvmL2Cntl5, Reg::MmvmL2Cntl5, 0x1f, 0, 0},
  };
  for (const Setting& setting : kSettings) {
    const Reg reg = is_graphics ? setting.graphics : setting.memory;
    const u32 wanted = is_gc94() ? setting.wanted_of_gc94 : setting.wanted;
    if ((value(reg, instance) & setting.mask) != wanted)
      return fmt::format("{} is {:#x}, expected {:#x} in {:#x}", amd::hw::place_of(reg, chip_).name,
                         value(reg, instance), wanted, setting.mask);
  }
  const auto joined = [&](Reg low, Reg high) { return pair(low, high, instance); };
  const u64 low = is_graphics ? joined(Reg::GcvmL2Context1IdentityApertureLowAddrLo32,
                                       Reg::GcvmL2Context1IdentityApertureLowAddrHi32)
                              : joined(Reg::MmvmL2Context1IdentityApertureLowAddrLo32,
                                       Reg::MmvmL2Context1IdentityApertureLowAddrHi32);
  const u64 high = is_graphics ? joined(Reg::GcvmL2Context1IdentityApertureHighAddrLo32,
                                        Reg::GcvmL2Context1IdentityApertureHighAddrHi32)
                               : joined(Reg::MmvmL2Context1IdentityApertureHighAddrLo32,
                                        Reg::MmvmL2Context1IdentityApertureHighAddrHi32);
  // [gfxhub_v3_0.c gfxhub_v3_0_disable_identity_aperture(), of context 1]
  if (low <= high)
    return fmt::format("its identity aperture is open from {:#x} to {:#x}", low, high);
  return "";
}

// What is wrong with a hub's registers, or nothing.
std::string BareGpu::judge_hub(bool is_graphics, u32 instance) {
  const auto pick = [&](Reg graphics, Reg memory) {
    return value(is_graphics ? graphics : memory, instance);
  };
  const u32 word = pick(Reg::GcvmContext0Cntl, Reg::MmvmContext0Cntl);
  // Each kind of fault interrupts and takes the default page; none is tried again. The kernel sets
  // that in contexts 1 to 15, tinygrad in context 0, which is the only one here. [gfxhub_v3_0.c
  // gfxhub_v3_0_setup_vmid_config(), gfxhub_v3_0_init(): vm_cntx_cntl_vm_fault, of context 0
  // gfxhub_v3_0_enable_system_domain(); tinygrad a9069c1 ip.py AM_GMC.enable_vm_addressing()]
  const u8 depth = is_gc94() ? 2 : amd::hw::kPageLevels - 1, block_size = is_gc94() ? 9 : 0;
  const auto is_whole = [&](const auto& context) {
    return context.enable && context.depth == depth && context.block_size == block_size &&
           context.faults == amd::hw::kAllFaults && !context.retry_permission &&
           !context.retry_other;
  };
  if (!(is_gc12() ? is_whole(amd::hw::fields_of<amd::hw::VmContextControlGc12>(word))
                  : is_whole(amd::hw::fields_of<amd::hw::VmContextControl>(word))))
    return fmt::format("context 0 is not on, 4 levels deep, with all faults: {:#x}", word);
  const u64 table =
      pick(Reg::GcvmContext0PageTableBaseAddrLo32, Reg::MmvmContext0PageTableBaseAddrLo32) |
      u64{pick(Reg::GcvmContext0PageTableBaseAddrHi32, Reg::MmvmContext0PageTableBaseAddrHi32)}
          << 32;
  if ((table & 0xfff) != 1 || table >= memory_.bytes())
    return fmt::format("its tables begin with {:#x}", table);
  const auto l1 = amd::hw::fields_of<amd::hw::L1TlbControl>(
      pick(Reg::GcmcVmMxL1TlbCntl, Reg::MmmcVmMxL1TlbCntl));
  // [gfxhub_v3_0.c gfxhub_v3_0_init_tlb_regs()]
  if (!l1.enable || l1.system_access_mode != 3 || !l1.advanced_driver_model || l1.unmapped_access ||
      l1.eco_bits != 0 || l1.memory_policy != static_cast<u8>(amd::hw::MemoryPolicy::Uncached))
    return "its first TLBs are not on, or do not translate";
  if (const std::string wrong = judge_second_tlb(is_graphics, instance); !wrong.empty())
    return wrong;
  constexpr u64 kUnit = 18;
  const u64 low = pick(Reg::GcmcVmSystemApertureLowAddr, Reg::MmmcVmSystemApertureLowAddr);
  const u64 high = pick(Reg::GcmcVmSystemApertureHighAddr, Reg::MmmcVmSystemApertureHighAddr);
  constexpr u64 kWholeUnits = (u64{1} << 24) - 1;  // of MMMC_VM_FB_LOCATION_TOP
  if (low << kUnit != kFramebuffer ||
      high != ((kFramebuffer + memory_.bytes() - 1) | kWholeUnits) >> kUnit)
    return fmt::format("its aperture is from {:#x} to {:#x}", low << kUnit, high << kUnit);
  if (pick(Reg::GcmcVmAgpTop, Reg::MmmcVmAgpTop) >= pick(Reg::GcmcVmAgpBot, Reg::MmmcVmAgpBot))
    return "its AGP aperture is open";
  const u64 range =
      pick(Reg::GcvmInvalidateEng17AddrRangeLo32, Reg::MmvmInvalidateEng17AddrRangeLo32) |
      u64{pick(Reg::GcvmInvalidateEng17AddrRangeHi32, Reg::MmvmInvalidateEng17AddrRangeHi32)} << 32;
  if (range != 0x1f'ffff'ffff) return fmt::format("invalidations cover {:#x}", range);
  // Each like the first of the other kind.
  const u32 graphics = is_graphics ? instance : 0, memory = is_graphics ? 0 : instance;
  const auto is_alike = [&](Reg low, Reg high, Reg other_low, Reg other_high) {
    return pair(low, high, graphics) == pair(other_low, other_high, memory);
  };
  const auto joined = [&](Reg low, Reg high) { return pair(low, high, graphics); };
  const bool are_alike =
      is_alike(Reg::GcvmContext0PageTableBaseAddrLo32, Reg::GcvmContext0PageTableBaseAddrHi32,
               Reg::MmvmContext0PageTableBaseAddrLo32, Reg::MmvmContext0PageTableBaseAddrHi32) &&
      is_alike(Reg::GcvmContext0PageTableStartAddrLo32, Reg::GcvmContext0PageTableStartAddrHi32,
               Reg::MmvmContext0PageTableStartAddrLo32, Reg::MmvmContext0PageTableStartAddrHi32) &&
      is_alike(Reg::GcvmContext0PageTableEndAddrLo32, Reg::GcvmContext0PageTableEndAddrHi32,
               Reg::MmvmContext0PageTableEndAddrLo32, Reg::MmvmContext0PageTableEndAddrHi32);
  if (card_.is_translating[graphics] && !are_alike)
    return "the hubs have different tables or ranges";
  if (joined(Reg::GcvmContext0PageTableEndAddrLo32, Reg::GcvmContext0PageTableEndAddrHi32) >>
          (48 - kPage) !=
      0)
    return "its range ends beyond 48 bits";
  return "";
}

void BareGpu::set_up_context() {
  const auto address = [&](Reg low, Reg high) { return pair(low, high) << kPage; };
  memory_.set_context({.table = pair(Reg::GcvmContext0PageTableBaseAddrLo32,
                                     Reg::GcvmContext0PageTableBaseAddrHi32) &
                                ~u64{0xfff},
                       .first_va = address(Reg::GcvmContext0PageTableStartAddrLo32,
                                           Reg::GcvmContext0PageTableStartAddrHi32),
                       .last_va = address(Reg::GcvmContext0PageTableEndAddrLo32,
                                          Reg::GcvmContext0PageTableEndAddrHi32)});
}

bool BareGpu::is_whole_invalidation(u32 written, u32* vmids) const {
  const auto is_whole = [&](const auto& request) {
    *vmids = request.vmids;
    return request.l1_ptes && request.l2_ptes && request.l2_pde0 && request.l2_pde1 &&
           request.l2_pde2;
  };
  if (is_gc94()) return is_whole(amd::hw::fields_of<amd::hw::InvalidateRequestGc94>(written));
  const auto request = amd::hw::fields_of<amd::hw::InvalidateRequest>(written);
  return is_whole(request) && !request.only_4k;
}

// What a hub does not forget it keeps: on several XCCs translations are as the tables were when the
// last of them was told.
void BareGpu::invalidate(bool is_graphics, u32 instance, u32 written) {
  u32& ack =
      value(is_graphics ? Reg::GcvmInvalidateEng17Ack : Reg::MmvmInvalidateEng17Ack, instance);
  ack = 0;
  if (const std::string wrong = judge_hub(is_graphics, instance); !wrong.empty()) {
    checks_.report(kHubSetUp, fmt::format("the {} hub is asked to invalidate, and {}",
                                          is_graphics ? "graphics" : "memory", wrong));
    return;
  }
  u32 vmids = 0;
  const bool is_whole = is_whole_invalidation(written, &vmids);
  const bool is_held = card_.is_held[instance];
  if (!is_whole || (vmids & 1) == 0 || (!is_graphics && !is_held)) {
    checks_.report(kInvalidation,
                   fmt::format("an invalidation of {:#x}{}", written,
                               is_graphics || is_held ? "" : " without the semaphore"));
    return;
  }
  ack = vmids;
  if (!is_graphics) return;
  const bool was_set_up = memory_.has_context();
  if (instance == 0) set_up_context();
  // The first one comes behind the flush of tables that nobody could walk yet.
  if (!was_set_up) memory_.flush();
  card_.is_translating[instance] = true;
  card_.invalidated |= 1u << instance;
  if (card_.invalidated != (1u << xccs()) - 1) return;
  card_.invalidated = 0;
  memory_.invalidate((card_.command & kBusMasterBit) != 0);
}

// ---- the interrupt handler ----------------------------------------------------------------------

void BareGpu::judge_interrupt_ring(u32 written) {
  const auto control = amd::hw::fields_of<amd::hw::IhRingControl>(written);
  if (control.overflow_clear) value(Reg::IhRbWptr) &= ~amd::hw::kIhOverflow;
  if (!control.enable) return;
  const bool was_enabled = amd::hw::fields_of<amd::hw::IhRingControl>(value(Reg::IhRbCntl)).enable;
  constexpr u32 kUnit = 8;
  const u64 base = pair(Reg::IhRbBase, Reg::IhRbBaseHi) << kUnit;
  const u64 bytes = u64{4} << control.size_log2;
  if (memory_.find(base, bytes).empty() || control.mc_space != 4 || !control.interrupts ||
      base == 0 || bytes < 4096 ||
      (!was_enabled && (card_.interrupt_wptr != 0 || value(Reg::IhRbRptr) != 0)))
    checks_.report(kInterruptRing,
                   fmt::format("interrupts go to {:#x} bytes at {:#x}, space {}, from {:#x} on",
                               bytes, base, control.mc_space, card_.interrupt_wptr));
}

// Under mutex_.
void BareGpu::raise(const amd::hw::InterruptEntry& entry) {
  const auto control = amd::hw::fields_of<amd::hw::IhRingControl>(value(Reg::IhRbCntl));
  const u64 bytes = u64{4} << control.size_log2;
  const std::span<u8> ring = memory_.find(pair(Reg::IhRbBase, Reg::IhRbBaseHi) << 8, bytes);
  if (!control.enable || ring.empty()) {
    checks_.report(kInterruptRing, "an interrupt comes, and its ring is not enabled");
    return;
  }
  const u32 next = static_cast<u32>((card_.interrupt_wptr + amd::hw::kInterruptBytes) % bytes);
  // The ring goes on over what was not taken, and says so.
  if (next == (value(Reg::IhRbRptr) & amd::hw::kIhOffsetMask) && control.overflow_enable)
    value(Reg::IhRbWptr) |= amd::hw::kIhOverflow;
  const Words<amd::hw::InterruptEntry> words = encode(entry);
  std::memcpy(ring.data() + card_.interrupt_wptr, words.data(), sizeof words);
  card_.interrupt_wptr = next;
}

void BareGpu::signal(u32 context_id, unsigned valid_bits) {
  constexpr unsigned kEndOfPipeBits = 32;
  std::lock_guard lock(mutex_);
  if (valid_bits == kEndOfPipeBits)
    raise({.client = amd::hw::kClientGrbmCp,
           .source = amd::hw::kSourceEndOfPipe,
           .context0 = context_id});
  else
    raise({.client = interrupt_sources_.copy_client,
           .source = interrupt_sources_.copy_source,
           .context0 = context_id});
}

void BareGpu::memory_fault(const MemoryFault& fault) {
  std::lock_guard lock(mutex_);
  note_stopped(fault.queue);
  const std::string message = fmt::format(
      "GPU {}: {} at {:#x}{}: {}; {}", device_.slot.index,
      fault.not_present ? "nothing is mapped" : "the mapping does not allow it", fault.va,
      fault.read_only    ? ", a write"
      : fault.no_execute ? ", a fetch"
                         : "",
      fault.what, device_.space.describe(fault.va));
  last_fault_ = message;
  const BareMemory::Page* page = memory_.mapped_now(fault.va);
  const bool is_stale = page != nullptr && (!fault.read_only || page->writable) &&
                        (!fault.no_execute || page->executable);
  if (is_stale)
    checks_.report(kStaleTranslation,
                   message + "; the page tables have it, translations were not invalidated");
  else if (checks_.report(kVmAccess, message) != Level::Error)
    checks_.report(kQueueStopped, message + "; the queue has stopped");
  const u8 kind = fault.not_present  ? amd::hw::kFaultValid
                  : fault.read_only  ? amd::hw::kFaultWrite
                  : fault.no_execute ? amd::hw::kFaultExecute
                                     : amd::hw::kFaultRead;
  if (value(Reg::GcvmL2ProtectionFaultStatus) == 0) {
    value(Reg::GcvmL2ProtectionFaultStatus) = amd::hw::word_of(
        amd::hw::FaultStatus{.permission_faults = kind, .is_write = fault.read_only});
    value(Reg::GcvmL2ProtectionFaultAddrLo32) = static_cast<u32>(fault.va >> kPage);
    value(Reg::GcvmL2ProtectionFaultAddrHi32) = static_cast<u32>(fault.va >> 44);
  }
  raise({.client = interrupt_sources_.fault_client,
         .source = interrupt_sources_.fault_source,
         .context0 = static_cast<u32>(fault.va >> kPage),
         .context1 = static_cast<u32>(fault.va >> 44 & 0xf) |
                     (fault.read_only ? amd::hw::kFaultContextWrite : 0)});
}

void BareGpu::hw_exception(const HwException& exception) {
  std::lock_guard lock(mutex_);
  note_stopped(exception.queue);
  const std::string message =
      fmt::format("GPU {}, {}; the queue has stopped", device_.slot.index, exception.what);
  last_fault_ = message;
  if (!exception.judged) checks_.report(kQueueStopped, message);
  if (exception.told) return;
  if (exception.cause == HwException::Cause::Instruction) {
    std::array<u32, 2> contexts{};
    deposit(contexts, amd::hw::kSqEncoding, amd::hw::kSqEncodingError);
    deposit(contexts, amd::hw::kSqErrorType, amd::hw::kSqIllegalInstruction);
    raise({.client = amd::hw::kClientGrbmCp,
           .source = amd::hw::kSourceSq,
           .context0 = contexts[0],
           .context1 = contexts[1]});
    return;
  }
  raise({.client = amd::hw::kClientGrbmCp, .source = amd::hw::kSourceBadOpcode});
}

}  // namespace doorbell::emu::amdgpu
