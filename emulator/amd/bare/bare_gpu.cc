// Registers by address, the bus, reset.
#include "emulator/amd/bare/bare_gpu.h"

#include <sys/file.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include <fmt/format.h>

#include "base/util/check.h"
#include "drivers/amd/hw/bare/fields.h"
#include "emulator/amd/bare/bare_checks.h"
#include "emulator/amd/bare/made_tables.h"
#include "emulator/amd/bare/register_bits.h"
#include "emulator/amd/cp/rules.h"

namespace doorbell::emu::amdgpu {

using amd::hw::Block;

namespace {

constexpr u64 kMiB = u64{1} << 20;
// Where a write flushes the aperture: in the page that the bus interface leaves free.
// [amdgpu_drv.c AMDGPU_MMIO hole: nbio_v4_3.c MMIO_REG_HOLE_OFFSET]
constexpr u32 kHdpFlushAt = 0x7f000;
constexpr u64 kBusOfGpus = u64{1} << 43, kBusOfGpu = u64{1} << 40;

// What a reset leaves in registers whose contents nobody promises.
constexpr u32 kPoison = 0xdb0bdb0b;
constexpr amd::hw::Reg kUnknownAtReset[] = {
    amd::hw::Reg::CpMecRs64PrgrmCntrStart,
    amd::hw::Reg::CpMecRs64PrgrmCntrStartHi,
    amd::hw::Reg::CpPfpPrgrmCntrStart,
    amd::hw::Reg::CpPfpPrgrmCntrStartHi,
    amd::hw::Reg::CpMePrgrmCntrStart,
    amd::hw::Reg::CpMePrgrmCntrStartHi,
    amd::hw::Reg::CpMecDoorbellRangeLower,
    amd::hw::Reg::CpMecDoorbellRangeUpper,
    amd::hw::Reg::GcmcVmAgpTop,
    amd::hw::Reg::MmmcVmAgpTop,
    amd::hw::Reg::GcvmContext0PageTableBaseAddrLo32,
    amd::hw::Reg::GcvmContext0PageTableBaseAddrHi32,
    amd::hw::Reg::GcvmContext0PageTableStartAddrLo32,
    amd::hw::Reg::GcvmContext0PageTableStartAddrHi32,
    amd::hw::Reg::GcvmContext0PageTableEndAddrLo32,
    amd::hw::Reg::GcvmContext0PageTableEndAddrHi32,
    amd::hw::Reg::MmvmContext0PageTableBaseAddrLo32,
    amd::hw::Reg::MmvmContext0PageTableBaseAddrHi32,
    amd::hw::Reg::MmvmContext0PageTableStartAddrLo32,
    amd::hw::Reg::MmvmContext0PageTableStartAddrHi32,
    amd::hw::Reg::MmvmContext0PageTableEndAddrLo32,
    amd::hw::Reg::MmvmContext0PageTableEndAddrHi32,
    amd::hw::Reg::IhRbBase,
    amd::hw::Reg::IhRbBaseHi,
    amd::hw::Reg::IhRbRptr,
    amd::hw::Reg::Mp1SmnC2pmsg82,
    amd::hw::Reg::Sdma0Queue0RbBase,
    amd::hw::Reg::Sdma0Queue0RbBaseHi,
    amd::hw::Reg::Sdma0Queue0RbRptr,
    amd::hw::Reg::Sdma0Queue0RbRptrHi,
    amd::hw::Reg::Sdma0Queue0RbWptr,
    amd::hw::Reg::Sdma0Queue0RbWptrHi,
    amd::hw::Reg::Sdma0Queue0RbRptrAddrLo,
    amd::hw::Reg::Sdma0Queue0RbRptrAddrHi,
    amd::hw::Reg::Sdma0Queue0RbWptrPollAddrLo,
    amd::hw::Reg::Sdma0Queue0RbWptrPollAddrHi,
    amd::hw::Reg::Sdma0Queue0DoorbellOffset,
};

// Registers of the graphics core that may be written while it sleeps.
bool is_awake_always(amd::hw::Reg reg) {
  using Reg = amd::hw::Reg;
  return reg == Reg::ScratchReg6 || reg == Reg::ScratchReg7;
}

}  // namespace

BareGpu::BareGpu(Device& device, Checks& checks, BusMemory& bus, std::function<u64()> now_ticks,
                 const Settings& settings, CardState* card)
    : device_(device),
      checks_(checks),
      bus_(bus),
      now_ticks_(std::move(now_ticks)),
      settings_(settings),
      chip_(*bare_chip(*device.slot.node)),
      interrupt_sources_(amd::hw::interrupt_sources(chip_)),
      own_card_(card == nullptr ? std::make_unique<CardState>() : nullptr),
      card_(card == nullptr ? *own_card_ : *card),
      memory_(device, checks, bus, device.slot.node->vram_bytes / kMiB * kMiB, chip_),
      psp_(memory_, checks, chip_, card_.security) {
  const Node& node = *device.slot.node;
  for (u32 xcc = 0; xcc < node.xccs; ++xcc)
    for (u32 number = 0; number < kQueues; ++number)
      slots_.push_back({.registers = card_.queues[xcc][number], .xcc = xcc, .number = number});
  for (usize i = 0; i < amd::hw::kRegisters; ++i) {
    const amd::hw::RegisterPlace& place = amd::hw::places_of(chip_)[i];
    if (place.name.empty()) continue;
    // Of the many copy engines the first alone is emulated.
    const u32 count = place.block == Block::Sdma0 ? 1 : instances_of(place.block, node);
    for (u32 instance = 0; instance < count; ++instance) {
      const u64 word = bases_of(place.block, chip_, instance)[place.segment] + place.offset;
      names_[word] = {static_cast<Reg>(i), instance};
      if (static_cast<Reg>(i) == Reg::CpMqdBaseAddr) queue_registers_.push_back(word);
    }
  }
  const std::vector<u8> table = make_discovery_table(*device.slot.node);
  std::copy(table.begin(), table.end(), memory_.at(memory_.bytes() - amd::hw::kDiscoveryFromEnd));
  if (card_.magic != CardState::kMagic) {
    card_.shown_bytes = settings.shown == 0 ? std::bit_ceil(memory_.bytes()) : settings.shown;
  }
  show_on_bus();
  // A card that another process left is as it was: its queues are on, and nobody runs them any
  // more, as on hardware after a hang.
  if (card_.magic == CardState::kMagic) return;
  reset();
  card_.magic = CardState::kMagic;
}

void BareGpu::clear(ComputeSlot& slot) {
  if (slot.id) (void)device_.engine->remove_queue(*slot.id);
  slot.id.reset();
  slot.doorbell = 0;
  slot.is_stuck = false;
  slot.registers = {};
}

// What board firmware leaves.
void BareGpu::reset() {
  for (ComputeSlot& slot : slots_) {
    clear(slot);
    slot.registers.fill(kPoison);
    for (const amd::hw::Mqd known : {amd::hw::Mqd::Active, amd::hw::Mqd::DequeueRequest})
      slot.registers[amd::hw::hqd_index(known)] = 0;
  }
  stop_copy_queue();
  card_.values = {};
  for (auto& values : card_.values)
    for (const Reg reg : kUnknownAtReset) values[static_cast<usize>(reg)] = kPoison;
  card_.windows = {};
  psp_.reset();
  memory_.reset();
  card_.has_begun = card_.is_translating = card_.is_held = {};
  card_.has_pfp_begun = card_.has_me_begun = false;
  card_.smu_table = 0;
  card_.interrupt_wptr = kPoison & amd::hw::kIhOffsetMask;
  for (u32 hub = 0; hub < instances_of(Block::MmHub, *device_.slot.node); ++hub) {
    value(Reg::MmmcVmFbLocationBase, hub) = static_cast<u32>(kFramebuffer >> 24);
    value(Reg::MmmcVmFbLocationTop, hub) =
        static_cast<u32>((kFramebuffer + memory_.bytes() - 1) >> 24);
  }
  value(Reg::BifBx0RemapHdpMemFlushCntl) = kHdpFlushAt;
  value(Reg::RccDev0Epf2Strap2) = amd::hw::kStrapNoSoftReset;
  value(Reg::CpMecRs64Cntl) = amd::hw::word_of(amd::hw::MecControl{.halt = true});
  value(Reg::Sdma0F32Cntl) = copy_halt();
  for (u32 xcc = 0; xcc < xccs(); ++xcc) value(Reg::CpMecCntl, xcc) = amd::hw::kMecStopGc94;
  value(Reg::XccDoorbellFence) = amd::hw::kFenceXccs;
}

// ---- regions of the bus -------------------------------------------------------------------------

u64 BareGpu::shown_bytes() const {
  std::lock_guard lock(mutex_);
  return card_.shown_bytes;
}

u64 BareGpu::shown_address() const {
  constexpr u64 kOfSmall = u64{1} << 38;
  const bool is_small = shown_bytes() < std::bit_ceil(memory_.bytes());
  return kBusOfGpus + device_.slot.index * kBusOfGpu + (is_small ? kOfSmall : 0);
}

// A base address of 32 bits.
u64 BareGpu::register_address() const {
  constexpr u64 kRegisters = 0xfc000000;
  return kRegisters + device_.slot.index * kRegisterBytes;
}

u64 BareGpu::doorbell_address() const {
  constexpr u64 kOfDoorbells = u64{1} << 39;
  return kBusOfGpus + device_.slot.index * kBusOfGpu + kOfDoorbells;
}

u64 BareGpu::shown_sizes() const {
  constexpr unsigned kSmallest = 8;  // 256 MiB
  const unsigned largest =
      static_cast<unsigned>(std::countr_zero(std::bit_ceil(memory_.bytes()))) - 20;
  return ((u64{2} << largest) - 1) >> kSmallest << kSmallest;
}

bool BareGpu::resize(u64 log2_mib) {
  if (log2_mib >= 44 || (shown_sizes() >> log2_mib & 1) == 0) return false;
  {
    std::lock_guard lock(mutex_);
    if (mapped_regions_ != 0)
      checks_.report(kRegionMapped, fmt::format("the memory's region is resized, and {} regions "
                                                "of the device are mapped",
                                                mapped_regions_));
    const u64 bytes = kMiB << log2_mib;
    if (settings_.most_shown != 0 && bytes > settings_.most_shown) return false;
    card_.shown_bytes = bytes;
  }
  show_on_bus();
  return true;
}

void BareGpu::show_on_bus() {
  bus_.set_window(shown_address(), std::min(shown_bytes(), memory_.bytes()), memory_.at(0),
                  device_.slot.index);
}

void BareGpu::note_mapped(int change) {
  std::lock_guard lock(mutex_);
  mapped_regions_ += change;
}

// A word of the memory by MM_INDEX; empty, and told of: it leads nowhere.
std::span<u8> BareGpu::behind_window(const char* what) {
  constexpr u64 kLowBits = 31;
  const u64 at = u64{card_.mm_index_hi} << kLowBits | (card_.mm_index & ~amd::hw::kMmAperture);
  const bool is_memory = (card_.mm_index & amd::hw::kMmAperture) != 0;
  if (is_memory && at % sizeof(u32) == 0 && at + sizeof(u32) <= memory_.bytes())
    return {memory_.at(at), sizeof(u32)};
  checks_.report(kUnknownRegister, fmt::format("MM_DATA is {}, behind which is {} {:#x}", what,
                                               is_memory ? "no memory at" : "a register,", at));
  return {};
}

// ---- registers ----------------------------------------------------------------------------------

u32 BareGpu::read_register(u64 offset) {
  std::lock_guard lock(mutex_);
  return read_word(offset / 4);
}

void BareGpu::write_register(u64 offset, u32 value) {
  std::lock_guard lock(mutex_);
  write_word(offset / 4, value);
}

u16 BareGpu::command_word() const {
  std::lock_guard lock(mutex_);
  return card_.command;
}

void BareGpu::set_command_word(u16 value) {
  std::lock_guard lock(mutex_);
  card_.command = value;
}

// A file's lock is its process's, however that ends.
bool BareGpu::take() {
  std::lock_guard lock(mutex_);
  if (is_taken_ || flock(device_.memory->descriptor(), LOCK_EX | LOCK_NB) != 0) return false;
  is_taken_ = true;
  return true;
}

void BareGpu::give_back() {
  std::lock_guard lock(mutex_);
  is_taken_ = false;
  (void)flock(device_.memory->descriptor(), LOCK_UN);
}

void BareGpu::host_unpinned(const u8* host, u64 bytes) {
  std::lock_guard lock(mutex_);
  memory_.host_unpinned(host, bytes);
}

std::string BareGpu::last_fault() const {
  std::lock_guard lock(mutex_);
  return last_fault_;
}

void BareGpu::tell_leaks() {
  std::lock_guard lock(mutex_);
  usize queues = copy_queue_ ? 1 : 0;
  for (const ComputeSlot& slot : slots_) queues += slot.id ? 1 : 0;
  if (queues != 0)
    checks_.report(kLeftRunning, fmt::format("the process ends with {} queues on GPU {}", queues,
                                             device_.slot.index));
}

u32 BareGpu::read_word(u64 word) {
  if (word == amd::hw::kConfigMemsize) return static_cast<u32>(memory_.bytes() / kMiB);
  if (word == amd::hw::kMmData) {
    const std::span<u8> bytes = behind_window("read");
    u32 data = ~u32{0};
    if (!bytes.empty()) std::memcpy(&data, bytes.data(), sizeof data);
    return data;
  }
  if (const auto queue = queue_register(word)) {
    const ComputeSlot* slot = selected(queue->first, "read");
    return slot == nullptr ? ~u32{0} : slot->registers[queue->second];
  }
  const auto found = names_.find(word);
  if (found == names_.end()) {
    checks_.report(kUnknownRegister, fmt::format("register {:#x} is read", word));
    return ~u32{0};
  }
  const auto [reg, instance] = found->second;
  switch (amd::hw::place_of(reg, chip_).block) {
    case Block::Mp0: return psp_.read(reg);
    default: break;
  }
  switch (reg) {
    case Reg::BifBxPf0RsmuData: {
      const u64 target = value(Reg::BifBxPf0RsmuIndex) / 4;
      return target == word ? ~u32{0} : read_word(target);
    }
    case Reg::RlcRlcsBootloadStatus:
      return psp_.has_started_graphics() ? amd::hw::kBootloadComplete : 0;
    // Reading takes it, where nobody has it.
    case Reg::MmvmInvalidateEng17Sem:
      return std::exchange(card_.is_held[instance], true) ? 0 : amd::hw::kSemaphoreTaken;
    case Reg::IhRbWptr: return card_.interrupt_wptr | value(Reg::IhRbWptr);
    case Reg::GoldenTscCountLower: return static_cast<u32>(now_ticks_());
    case Reg::GoldenTscCountUpper: return static_cast<u32>(now_ticks_() >> 32);
    default: return value(reg, instance);
  }
}

void BareGpu::write_word(u64 word, u32 written) {
  if (word == kHdpFlushAt / 4) return memory_.flush();
  if (word == amd::hw::kMmIndex || word == amd::hw::kMmIndexHi) {
    (word == amd::hw::kMmIndex ? card_.mm_index : card_.mm_index_hi) = written;
    return;
  }
  if (word == amd::hw::kMmData) {
    if (const std::span<u8> bytes = behind_window("written"); !bytes.empty())
      std::memcpy(bytes.data(), &written, sizeof written);
    return;
  }
  const auto queue = queue_register(word);
  const auto found = names_.find(word);
  if (found == names_.end() && !queue) {
    checks_.report(kUnknownRegister,
                   fmt::format("{:#x} is written to register {:#x}", written, word));
    return;
  }
  const bool is_graphics = queue || amd::hw::place_of(found->second.reg, chip_).block == Block::Gc;
  if (is_graphics && !psp_.has_started_graphics() &&
      (queue || !is_awake_always(found->second.reg))) {
    checks_.report(
        kGraphicsAsleep,
        fmt::format("{:#x} is written to register {:#x} of the graphics core, which sleeps",
                    written, word));
    return;
  }
  if (queue)
    write_queue_register(queue->first, queue->second, written);
  else
    write_known(found->second.reg, found->second.instance, written);
}

// The window to other dies has the fence alone, which nobody may leave out. [nbio_v7_9.c
// nbio_v7_9_init_registers()]
void BareGpu::write_on_aid(u32 written) {
  const u32 high = value(Reg::BifBx0PcieIndex2Hi), aid = high & 3;
  const amd::hw::RegisterPlace& fence = amd::hw::place_of(Reg::XccDoorbellFence, chip_);
  const u64 at = (bases_of(fence.block, chip_, 0)[fence.segment] + fence.offset) * sizeof(u32);
  if (high != (aid | amd::hw::kOtherAid) || aid == 0 || value(Reg::BifBx0PcieIndex2) != at)
    checks_.report(kUnknownRegister, fmt::format("{:#x} is written to register {:#x} of die {:#x}",
                                                 written, value(Reg::BifBx0PcieIndex2), high));
  else
    value(Reg::XccDoorbellFence, aid) = written;
}

void BareGpu::judge_bits(std::string_view name, u32 written, u32 defined) {
  if ((written & ~defined) != 0)
    checks_.report(kUndefinedBits, fmt::format("{:#x} is written to {}, which has fields in {:#x}",
                                               written, name, defined));
}

void BareGpu::write_known(Reg reg, u32 instance, u32 written) {
  judge_bits(amd::hw::place_of(reg, chip_).name, written, defined_bits(reg, chip_));
  if (amd::hw::place_of(reg, chip_).block == Block::Mp0) return psp_.write(reg, written);
  if (reg == Reg::Sdma0Queue0RbCntl) return write_copy_control(written);
  if (reg == Reg::CpMecRs64Cntl || reg == Reg::CpMecCntl)
    return write_processor_control(instance, written);
  if (reg == Reg::CpMeCntl) return write_front_control(written);
  if (reg == Reg::IhRbCntl) judge_interrupt_ring(written);
  value(reg, instance) = written;
  switch (reg) {
    case Reg::BifBxPf0RsmuData:
      // The window on itself is nothing.
      if (const u64 target = value(Reg::BifBxPf0RsmuIndex) / 4;
          !names_.contains(target) || names_.at(target).reg != reg)
        write_word(target, written);
      return;
    case Reg::BifBx0PcieData2: return write_on_aid(written);
    case Reg::RlcCaptureGpuClockCount: {
      const u64 ticks = now_ticks_();
      value(Reg::RlcGpuClockCountLsb, instance) = static_cast<u32>(ticks);
      value(Reg::RlcGpuClockCountMsb, instance) = static_cast<u32>(ticks >> 32);
      return;
    }
    case Reg::GcvmInvalidateEng17Req: return invalidate(true, instance, written);
    case Reg::MmvmInvalidateEng17Req: return invalidate(false, instance, written);
    case Reg::MmvmInvalidateEng17Sem: card_.is_held[instance] = false; return;
    case Reg::GcvmL2ProtectionFaultCntl:
      if ((written & amd::hw::kFaultControlClear) != 0) {
        value(Reg::GcvmL2ProtectionFaultStatus, instance) = 0;
        value(reg, instance) &= ~amd::hw::kFaultControlClear;
      }
      return;
    case Reg::Mp1SmnC2pmsg66: return send_message(false);
    case Reg::Mp1SmnC2pmsg75: return send_message(true);
    case Reg::IhRbWptr:
      value(reg) = written & amd::hw::kIhOverflow;
      card_.interrupt_wptr = written & amd::hw::kIhOffsetMask;
      return;
    case Reg::GrbmSoftReset: return soft_reset(instance, written);
    case Reg::ShMemBases:
    case Reg::ShMemConfig: {
      const auto select =
          amd::hw::fields_of<amd::hw::GrbmSelect>(value(Reg::GrbmGfxCntl, instance));
      const u32 config = is_gc94() ? amd::hw::kShMemConfigGc94 : amd::hw::kShMemConfig;
      card_.windows[instance][select.vmid] =
          value(Reg::ShMemBases, instance) == amd::hw::kShMemBases &&
          value(Reg::ShMemConfig, instance) == config;
      return;
    }
    default: return;
  }
}

// Why a doorbell is not passed on, or nothing.
std::string BareGpu::judge_doorbell(u32 word, bool is_copy) {
  const Reg port = is_gc94() ? Reg::S2aDoorbellEntry1Ctrl
                   : is_copy ? Reg::S2aDoorbellEntry2Ctrl
                             : Reg::S2aDoorbellEntry0Ctrl;
  const auto entry = amd::hw::fields_of<amd::hw::DoorbellEntry>(value(port));
  if (value(Reg::RccDev0Epf0RccDoorbellAperEn) != 1) return "the aperture is closed";
  if (is_gc94()) {
    if (value(Reg::BifcDoorbellAccessEnPf) != amd::hw::kDoorbellAccess) return "access is not on";
    if (!is_copy) {
      // Every XCC gets it. [nbio_v7_9.c nbio_v7_9_init_registers(): XCC_DOORBELL_FENCE]
      if (value(Reg::XccDoorbellFence) != (amd::hw::kFenceXccs & ~((1u << xccs()) - 1)))
        return "XCCs are fenced off";
      for (u32 aid = 1; aid < instances_of(Block::MmHub, *device_.slot.node); ++aid)
        if (value(Reg::XccDoorbellFence, aid) != amd::hw::kFenceOtherAid)
          return "a die is fenced off";
      return "";
    }
    const auto range = amd::hw::fields_of<amd::hw::DoorbellRange>(value(Reg::Doorbell0CtrlEntry1));
    constexpr u8 kAwid = 0xe, kOffset = 0xe, kAddress = 1;
    if (word < range.offset || word >= range.offset + range.size * 1u) return "it is out of range";
    if (!entry.enable || entry.awid != kAwid || entry.offset != kOffset ||
        entry.address_31_28 != kAddress || entry.size == 0)
      return "its port leads elsewhere";
    return "";
  }
  // [nbio_v4_3.c nbio_v4_3_gc_doorbell_init(), nbio_v4_3_sdma_doorbell_range()]
  constexpr u8 kComputeAwid = 3, kCopyAwid = 0xe, kAddress = 3;
  if (entry.size != 0 && (word < entry.offset || word >= entry.offset + entry.size * 8u))
    return "it is out of range";
  if (!entry.enable || entry.awid != (is_copy ? kCopyAwid : kComputeAwid) ||
      entry.address_31_28 != kAddress)
    return "its port leads elsewhere";
  return "";
}

// A store of a client that may be in the middle of anything.
void BareGpu::ring(u64 offset, unsigned bytes, u64 written) {
  std::optional<QueueId> id;
  {
    std::lock_guard lock(mutex_);
    const u32 word = static_cast<u32>(offset / 4);
    const bool is_copy = word >= amd::hw::kFirstCopyDoorbell * 2;
    if (const std::string wrong = judge_doorbell(word, is_copy); !wrong.empty())
      checks_.report(
          kDoorbellPort,
          fmt::format("doorbell {:#x} is rung, which is not passed on: {}", offset, wrong));
    else if (is_copy && copy_queue_ &&
             value(Reg::Sdma0Queue0DoorbellOffset) ==
                 amd::hw::word_of(amd::hw::HqdDoorbellControl{.offset = word}))
      id = copy_queue_;
    else if (!is_copy)
      for (const ComputeSlot& slot : slots_)
        if (slot.id && slot.doorbell == word) id = slot.id;
  }
  if (id)
    device_.engine->ring(*id, written, bytes);
  else
    checks_.report(
        kDoorbellOfNobody,
        fmt::format("{:#x} stored at doorbell {:#x}, which is no queue's", written, offset));
}

}  // namespace doorbell::emu::amdgpu
