// Queues by their registers.
// [torvalds/linux gfx_v11_0.c, v11_structs.h, kfd_mqd_manager_v11.c, amdgpu_amdkfd_gfx_v11.c;
// sdma_v6_0.c; CP_HQD_*, SDMA0_QUEUE0_* in gc_11_0_0_sh_mask.h]
#include <bit>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "drivers/amd/hw/bare/fields.h"
#include "emulator/amd/bare/bare_checks.h"
#include "emulator/amd/bare/bare_gpu.h"
#include "emulator/amd/bare/register_bits.h"

namespace doorbell::emu::amdgpu {

using amd::hw::hqd_index;
using amd::hw::Mqd;

namespace {

constexpr u32 kUnit = 8;  // bits: rings lie on 256 bytes
constexpr u32 kCopyNumber = 100;
constexpr u32 kDoorbellRange = 0xffc;  // what the register has bits for

}  // namespace

std::optional<std::pair<u32, u32>> BareGpu::queue_register(u64 word) const {
  for (u32 xcc = 0; xcc < queue_registers_.size(); ++xcc)
    if (word >= queue_registers_[xcc] && word < queue_registers_[xcc] + amd::hw::kHqdRegisters)
      return std::pair{xcc, static_cast<u32>(word - queue_registers_[xcc])};
  return std::nullopt;
}

BareGpu::ComputeSlot* BareGpu::selected(u32 xcc, const char* what) {
  const auto select = amd::hw::fields_of<amd::hw::GrbmSelect>(value(Reg::GrbmGfxCntl, xcc));
  if (select.me == 1 && select.pipe == 0 && select.vmid == 0 && select.queue < kQueues)
    return &slot_of(xcc, select.queue);
  checks_.report(kQueueSelected,
                 fmt::format("a queue's registers are {} while processor {}, pipe {}, queue {} is "
                             "selected",
                             what, select.me, select.pipe, select.queue));
  return nullptr;
}

void BareGpu::write_queue_register(u32 xcc, u32 index, u32 written) {
  ComputeSlot* const slot = selected(xcc, "written");
  if (slot == nullptr) return;
  judge_bits(fmt::format("CP_MQD_BASE_ADDR + {}", index), written,
             defined_queue_bits(index, chip_));
  const bool is_active = (slot->registers[hqd_index(Mqd::Active)] & 1) != 0;
  if (index == hqd_index(Mqd::Active)) {
    if ((written & 1) != 0 && !is_active) return activate(*slot);
    if ((written & 1) == 0 && is_active)
      checks_.report(kQueueDescription, "CP_HQD_ACTIVE is cleared of a queue that runs");
    return;
  }
  if (index == hqd_index(Mqd::DequeueRequest)) {
    // [amdgpu_amdkfd_gfx_v11.c hqd_dequeue_request_type: to save waves there must be an area]
    constexpr u32 kTypes = 0xf, kDrainPipe = 1, kResetWaves = 2;
    const u32 type = written & kTypes;
    if (type != 0 && type != kDrainPipe && type != kResetWaves)
      checks_.report(kQueueDescription, fmt::format("a queue is asked to end by {:#x}", written));
    if (type != 0) dequeue(*slot);
    return;
  }
  if (is_active)
    checks_.report(kQueueDescription,
                   fmt::format("register {} of a queue that runs is written", index));
  slot->registers[index] = written;
}

bool BareGpu::judge_processor(u32 xcc) {
  const auto control = amd::hw::fields_of<amd::hw::MecControl>(value(Reg::CpMecRs64Cntl));
  std::string wrong;
  if (!card_.has_begun[xcc]) wrong = "its processor did not begin at the firmware's entry";
  if (is_gc12() && (!card_.has_pfp_begun || !card_.has_me_begun))
    wrong = "PFP and ME did not begin at their firmware's entries";
  if (is_gc94() ? value(Reg::CpMecCntl, xcc) != 0
                : !control.pipe0_active || control.halt || control.pipe0_reset)
    wrong = "its processor is halted";
  for (const bool is_set : card_.windows[xcc])
    if (!is_set) wrong = "the memory windows of some VMID are not set";
  if (!card_.is_translating[xcc]) wrong = "nothing has been invalidated on its hub";
  // [gfx_v9_4_3.c gfx_v9_4_3_init_golden_registers()]
  if (is_gc94() && value(Reg::GbAddrConfig, xcc) != amd::hw::kGbAddrConfigGc94)
    wrong = fmt::format("GB_ADDR_CONFIG is {:#x}", value(Reg::GbAddrConfig, xcc));
  if (xccs() > 1 && psp_.partitions() != 1) wrong = "the XCCs are no partition";
  if (wrong.empty()) return true;
  checks_.report(kComputeProcessor,
                 fmt::format("a compute queue is put on the hardware, and {}", wrong));
  return false;
}

std::string BareGpu::judge_description(const ComputeSlot& slot, const QueueDescription& queue) {
  const auto word = [&](Mqd at) { return slot.registers[hqd_index(at)]; };
  const u64 base = word(Mqd::BaseAddrLo) | u64{word(Mqd::BaseAddrHi)} << 32;
  const std::span<u8> descriptor = memory_.find(base, amd::hw::kMqdWords * sizeof(u32));
  if (descriptor.empty()) return fmt::format("its descriptor is at {:#x}", base);
  std::array<u32, amd::hw::kMqdWords> words{};
  std::memcpy(words.data(), descriptor.data(), sizeof words);
  if (words[0] != amd::hw::kMqdHeader)
    return fmt::format("its descriptor begins with {:#x}", words[0]);
  for (u32 i = 0; i < amd::hw::kHqdRegisters; ++i)
    if (i != hqd_index(Mqd::Active) && words[amd::hw::kMqdRegisters + i] != slot.registers[i])
      return fmt::format("register {} is {:#x}, its descriptor has {:#x}", i, slot.registers[i],
                         words[amd::hw::kMqdRegisters + i]);
  if (words[amd::hw::index_of(Mqd::StaticThreadMgmtSe0)] == 0)
    return "its descriptor enables no compute unit of shader engine 0";
  const auto doorbell =
      amd::hw::fields_of<amd::hw::HqdDoorbellControl>(word(Mqd::PqDoorbellControl));
  const u32 doorbell_byte = doorbell.offset * 4;
  const u32 lower = value(Reg::CpMecDoorbellRangeLower, slot.xcc);
  const u32 upper = value(Reg::CpMecDoorbellRangeUpper, slot.xcc);
  // Several XCCs have a range each, and a queue's doorbell is the first one's. [tinygrad ip.py
  // AM_GFX.init_hw(), setup_ring()]
  const u32 behind = slot.xcc * amd::hw::kMecDoorbellStride;
  if (!doorbell.enable || doorbell_byte + behind < lower || doorbell_byte + behind > upper ||
      upper > kDoorbellRange || lower < behind)
    return fmt::format("its doorbell {:#x} is not on, or not the processor's", doorbell.offset);
  for (const ComputeSlot& other : slots_)
    if (other.number != slot.number && other.id && other.doorbell == doorbell.offset)
      return fmt::format("doorbell {:#x} is another queue's", doorbell.offset);
  if (word(Mqd::Vmid) != 0) return fmt::format("its VMID is {}", word(Mqd::Vmid));
  // [amdgpu_amdkfd_gfx_v11.c hqd_load_v11(): "WPTR==RPTR before starting the poll"]
  if (word(Mqd::PqRptr) != word(Mqd::PqWptrLo))
    return fmt::format("its read pointer is {:#x}, its write pointer {:#x}", word(Mqd::PqRptr),
                       word(Mqd::PqWptrLo));
  if (word(Mqd::PersistentState) != amd::hw::kHqdPersistentState)
    return fmt::format("its persistent state is {:#x}", word(Mqd::PersistentState));
  struct Part {
    const char* what;
    u64 va, bytes;
  };
  for (const Part& part :
       {Part{"ring", queue.ring, queue.ring_bytes},
        Part{"end-of-pipe buffer", queue.eop, queue.eop_bytes},
        Part{"read pointer", queue.read_pointer, 8}, Part{"write pointer", queue.write_pointer, 8}})
    if (device_.space.at(part.va, part.bytes, true) == nullptr)
      return fmt::format("its {} of {:#x} bytes at {:#x} is not mapped", part.what, part.bytes,
                         part.va);
  return "";
}

// What is wrong with the pointers of a queue of AQL packets. Of several XCCs the first writes the
// read pointer. [kfd_mqd_manager_v9.c init_mqd_v9_4_3(), kfd_mqd_manager_v11.c update_mqd()]
std::string BareGpu::judge_aql(const ComputeSlot& slot) {
  const u32 control = slot.registers[hqd_index(Mqd::PqControl)];
  const bool leaves_pointer = xccs() == 1 || slot.xcc != 0;
  const auto is_right = [&](const auto& fields) {
    return fields.slot_based_wptr == 2 && fields.queue_full_en &&
           fields.no_update_rptr == leaves_pointer;
  };
  const bool is_so = is_gc94() ? is_right(amd::hw::fields_of<amd::hw::HqdPqControlGc94>(control))
                               : is_right(amd::hw::fields_of<amd::hw::HqdPqControl>(control));
  if (!is_so) return "it has AQL packets and no pointers of slots";
  if (xccs() == 1) return "";
  // The command processor of one XCC goes from its descriptor to the others. [gfx_v9_4_3.c:
  // "When CP access the MQD BO, wrong stride size is used", eb6e7f520d6e]
  const u64 base = slot.registers[hqd_index(Mqd::BaseAddrLo)] |
                   u64{slot.registers[hqd_index(Mqd::BaseAddrHi)]} << 32;
  std::array<u32, amd::hw::kMqdWords> words{};
  std::memcpy(words.data(), memory_.find(base, sizeof words).data(), sizeof words);
  const auto word = [&](Mqd at) { return words[amd::hw::index_of(at)]; };
  const auto& first = slot_of(0, slot.number).registers;
  const u64 first_base = first[hqd_index(Mqd::BaseAddrLo)] | u64{first[hqd_index(Mqd::BaseAddrHi)]}
                                                                 << 32;
  const u32 stride = word(Mqd::MqdStrideSize);
  if (word(Mqd::TgChunkSize) != 1 || word(Mqd::CurrentLogicXccId) != slot.xcc)
    return fmt::format("XCC {} takes {} groups at a time, as {}", slot.xcc, word(Mqd::TgChunkSize),
                       word(Mqd::CurrentLogicXccId));
  if (stride < sizeof words || base != first_base + u64{stride} * slot.xcc)
    return fmt::format("its descriptor is at {:#x}, of XCC 0 at {:#x}, {:#x} each", base,
                       first_base, stride);
  return "";
}

// What the registers of a queue differ in between XCCs, or nothing.
std::string BareGpu::judge_together(u32 number) {
  const auto& first = slot_of(0, number).registers;
  for (u32 xcc = 1; xcc < xccs(); ++xcc)
    for (const Mqd at : {Mqd::PqBaseLo, Mqd::PqBaseHi, Mqd::PqRptrReportAddrLo,
                         Mqd::PqRptrReportAddrHi, Mqd::PqWptrPollAddrLo, Mqd::PqWptrPollAddrHi,
                         Mqd::PqDoorbellControl, Mqd::EopBaseAddrLo, Mqd::EopControl})
      if (slot_of(xcc, number).registers[hqd_index(at)] != first[hqd_index(at)])
        return fmt::format("register {} of XCC {} is another", hqd_index(at), xcc);
  return "";
}

void BareGpu::activate(ComputeSlot& slot) {
  const auto word = [&](Mqd at) { return slot.registers[hqd_index(at)]; };
  const auto join = [&](Mqd low) {
    return slot.registers[hqd_index(low)] | u64{slot.registers[hqd_index(low) + 1]} << 32;
  };
  constexpr u32 kSize = 0x3f;  // QUEUE_SIZE, on all chips
  const bool is_aql = (word(Mqd::AqlControl) & 1) != 0;
  QueueDescription queue{.kind = is_aql ? QueueKind::Aql : QueueKind::Pm4,
                         .ring = join(Mqd::PqBaseLo) << kUnit,
                         .ring_bytes = u64{8} << (word(Mqd::PqControl) & kSize),
                         .read_pointer = join(Mqd::PqRptrReportAddrLo),
                         .write_pointer = join(Mqd::PqWptrPollAddrLo),
                         .eop = join(Mqd::EopBaseAddrLo) << kUnit,
                         .eop_bytes = u64{8} << (word(Mqd::EopControl) & 0x3f),
                         .target_xcc = slot.xcc,
                         .number = slot.number};
  if (!judge_processor(slot.xcc)) return;
  std::string wrong = judge_description(slot, queue);
  if (wrong.empty() && is_aql) wrong = judge_aql(slot);
  const auto is_on = [&](u32 xcc) {
    return xcc == slot.xcc || slot_of(xcc, slot.number).registers[hqd_index(Mqd::Active)] == 1;
  };
  // A queue of AQL packets begins when it is on the last of the XCCs.
  bool is_whole = true;
  if (is_aql)
    for (u32 xcc = 0; xcc < xccs(); ++xcc) is_whole &= is_on(xcc);
  if (wrong.empty() && is_aql && is_whole) wrong = judge_together(slot.number);
  if (!wrong.empty()) {
    checks_.report(kQueueDescription,
                   fmt::format("a compute queue is put on the hardware, and {}", wrong));
    return;
  }
  ComputeSlot& owner = is_aql ? slot_of(0, slot.number) : slot;
  if (is_whole) {
    Result<QueueId> id = device_.engine->add_queue(queue);
    if (!id) return;
    owner.id = *id;
  }
  owner.doorbell =
      amd::hw::fields_of<amd::hw::HqdDoorbellControl>(word(Mqd::PqDoorbellControl)).offset;
  slot.registers[hqd_index(Mqd::Active)] = 1;
}

// The kernel waits for a queue's end, too, and not for ever. [amdgpu_amdkfd_gfx_v9.c
// kgd_gfx_v9_hqd_destroy(): "cp queue preemption time out"]
void BareGpu::note_stopped(QueueId queue) {
  for (u32 number = 0; number < kQueues; ++number) {
    bool is_it = false;
    for (u32 xcc = 0; xcc < xccs(); ++xcc) is_it |= slot_of(xcc, number).id == queue;
    for (u32 xcc = 0; xcc < xccs() && is_it; ++xcc)
      if (ComputeSlot& slot = slot_of(xcc, number); slot.registers[hqd_index(Mqd::Active)] == 1)
        slot.is_stuck = settings_.is_adversarial;
  }
}

void BareGpu::dequeue(ComputeSlot& slot) {
  if (slot.is_stuck) return;
  // It is no whole queue any more that lacks an XCC.
  const bool is_aql = (slot.registers[hqd_index(Mqd::AqlControl)] & 1) != 0;
  ComputeSlot& owner = is_aql ? slot_of(0, slot.number) : slot;
  if (owner.id) (void)device_.engine->remove_queue(*owner.id);
  owner.id.reset();
  slot.registers[hqd_index(Mqd::Active)] = 0;
  slot.registers[hqd_index(Mqd::DequeueRequest)] = 0;
}

// The processor reads its entry when its reset ends; of GC 9.4.3 it has none.
void BareGpu::write_processor_control(u32 xcc, u32 written) {
  const auto forget_stuck = [&] {
    for (ComputeSlot& slot : slots_)
      if (slot.is_stuck && slot.xcc == xcc) clear(slot);
  };
  if (is_gc94()) {
    const bool is_stopped = (written & amd::hw::kMecStopGc94) == amd::hw::kMecStopGc94;
    if (is_stopped) forget_stuck();
    const u32 before = std::exchange(value(Reg::CpMecCntl, xcc), written);
    card_.has_begun[xcc] =
        written == 0 &&
        (card_.has_begun[xcc] || (before & amd::hw::kMecStopGc94) == amd::hw::kMecStopGc94);
    return;
  }
  const auto before = amd::hw::fields_of<amd::hw::MecControl>(value(Reg::CpMecRs64Cntl));
  const auto after = amd::hw::fields_of<amd::hw::MecControl>(written);
  if (after.pipe0_reset) {
    card_.has_begun[xcc] = false;
    forget_stuck();
  }
  if (before.pipe0_reset && !after.pipe0_reset) {
    const u64 entry = pair(Reg::CpMecRs64PrgrmCntrStart, Reg::CpMecRs64PrgrmCntrStartHi) << 2;
    card_.has_begun[xcc] = entry == psp_.compute_entry() && entry != 0;
  }
  value(Reg::CpMecRs64Cntl) = written;
}

u32 BareGpu::copy_halt() const {
  return is_gc12() ? amd::hw::kSdmaHaltOrResetGc12 : amd::hw::kSdmaHaltOrReset;
}

// The first pipes alone. [gfx_v12_0.c gfx_v12_0_config_gfx_rs64()]
void BareGpu::write_front_control(u32 written) {
  const u32 ended = value(Reg::CpMeCntl) & ~written;
  const auto begin = [&](u32 reset, Reg low, Reg high, u64 entry, bool* has_begun) {
    if ((written & reset) != 0) *has_begun = false;
    if ((ended & reset) != 0) *has_begun = pair(low, high) << 2 == entry && entry != 0;
  };
  begin(amd::hw::kPfpPipe0Reset, Reg::CpPfpPrgrmCntrStart, Reg::CpPfpPrgrmCntrStartHi,
        psp_.pfp_entry(), &card_.has_pfp_begun);
  begin(amd::hw::kMePipe0Reset, Reg::CpMePrgrmCntrStart, Reg::CpMePrgrmCntrStartHi, psp_.me_entry(),
        &card_.has_me_begun);
  value(Reg::CpMeCntl) = written;
}

void BareGpu::soft_reset(u32 xcc, u32 written) {
  if ((written & amd::hw::kSoftResetCompute) != 0) {
    for (ComputeSlot& slot : slots_)
      if (slot.xcc == xcc) clear(slot);
    card_.has_begun[xcc] = false;
    value(Reg::CpMecCntl, xcc) = amd::hw::kMecStopGc94;
    value(Reg::CpMecRs64Cntl) = amd::hw::word_of(amd::hw::MecControl{.halt = true});
  }
  if (!is_gc94() && (written & amd::hw::kSoftResetSdma0) != 0) {
    stop_copy_queue();
    value(Reg::Sdma0F32Cntl) = copy_halt();
  }
}

// ---- the copy engine ----------------------------------------------------------------------------

void BareGpu::stop_copy_queue() {
  if (copy_queue_) (void)device_.engine->remove_queue(*copy_queue_);
  copy_queue_.reset();
  value(Reg::Sdma0Queue0RbCntl) = 0;
}

void BareGpu::write_copy_control(u32 written) {
  const auto control = amd::hw::fields_of<amd::hw::CopyRingControl>(written);
  if (!control.enable || copy_queue_) {
    if (!control.enable) stop_copy_queue();
    value(Reg::Sdma0Queue0RbCntl) = written;
    return;
  }
  QueueDescription queue{
      .kind = QueueKind::Sdma,
      .ring = pair(Reg::Sdma0Queue0RbBase, Reg::Sdma0Queue0RbBaseHi) << kUnit,
      .ring_bytes = u64{4} << control.size_log2,
      .read_pointer = pair(Reg::Sdma0Queue0RbRptrAddrLo, Reg::Sdma0Queue0RbRptrAddrHi),
      .write_pointer = pair(Reg::Sdma0Queue0RbWptrPollAddrLo, Reg::Sdma0Queue0RbWptrPollAddrHi),
      .number = kCopyNumber};
  std::string wrong;
  // Of SDMA 4.4.2 the security processor starts the engine. [sdma_v4_4_2.c
  // sdma_v4_4_2_inst_enable(), sdma_v4_4_2_inst_start(): UTC_L1_ENABLE]
  if (is_gc94() ? !psp_.has_started_graphics() : (value(Reg::Sdma0F32Cntl) & copy_halt()) != 0)
    wrong = "its engine is halted";
  else if (is_gc94() && (value(Reg::Sdma0Cntl) & amd::hw::kSdmaTlbEnableGc94) == 0)
    wrong = "its engine does not translate";
  else if ((value(Reg::Sdma0Cntl) & amd::hw::kSdmaTrapEnable) == 0)
    wrong = "its engine does not interrupt";
  else if ((value(Reg::Sdma0Queue0Doorbell) & amd::hw::kSdmaDoorbellEnable) == 0)
    wrong = "its doorbell is off";
  else if (value(Reg::Sdma0Queue0MinorPtrUpdate) != 0)
    wrong = "MINOR_PTR_UPDATE still holds its pointers";
  else if (pair(Reg::Sdma0Queue0RbWptr, Reg::Sdma0Queue0RbWptrHi) != 0 ||
           pair(Reg::Sdma0Queue0RbRptr, Reg::Sdma0Queue0RbRptrHi) != 0)
    wrong = "its pointers are not 0";
  else if (!control.write_read_pointer || control.vmid != 0 || !card_.is_translating[0])
    wrong = "its read pointer is not written, or it does not translate";
  else if (device_.space.at(queue.ring, queue.ring_bytes, true) == nullptr)
    wrong = fmt::format("its ring at {:#x} is not mapped", queue.ring);
  if (!wrong.empty()) {
    checks_.report(kCopyEngine, fmt::format("a copy queue is enabled, and {}", wrong));
    return;
  }
  if (Result<QueueId> id = device_.engine->add_queue(queue)) copy_queue_ = *id;
  value(Reg::Sdma0Queue0RbCntl) = written;
}

}  // namespace doorbell::emu::amdgpu
