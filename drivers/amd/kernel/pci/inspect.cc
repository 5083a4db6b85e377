// [torvalds/linux gmc_v11_0.c, "PTE format"; v11_structs.h; gfx_v11_0.c, sdma_v6_0.c, ih_v6_0.c:
// what each register holds; umr src/lib/read_vram.c, ring_decode.c: what a tool of this kind shows]
#include "drivers/amd/kernel/pci/inspect.h"

#include <algorithm>
#include <cstring>

#include "drivers/amd/hw/aql.h"
#include "drivers/amd/hw/bare/page_table.h"
#include "drivers/amd/kernel/pci/boot.h"

namespace doorbell::amd {

using hw::hqd_index;
using hw::Mqd;
using hw::Reg;

namespace {

constexpr u64 kPage = 12;
constexpr u32 kBaseUnit = 8;  // bits: rings and end-of-pipe buffers lie on 256 bytes

u64 pair(const RegisterAccess& registers, Reg low, Reg high) {
  return registers.read(low) | u64{registers.read(high)} << 32;
}

}  // namespace

// ---- translations -------------------------------------------------------------------------------

PageWalk walk_pages(const BareView& view, u64 va) {
  const RegisterAccess& registers = view.registers;
  const auto address = [&](Reg low, Reg high) { return pair(registers, low, high) << kPage; };
  const u64 first =
      address(Reg::GcvmContext0PageTableStartAddrLo32, Reg::GcvmContext0PageTableStartAddrHi32);
  const u64 last =
      address(Reg::GcvmContext0PageTableEndAddrLo32, Reg::GcvmContext0PageTableEndAddrHi32);
  // These two lie alike on all chips.
  const auto context = hw::fields_of<hw::VmContextControl>(registers.read(Reg::GcvmContext0Cntl));
  PageWalk walk;
  const auto end = [&](const char* why) {
    walk.ends = why;
    return walk;
  };
  if (!context.enable) return end("the context is off");
  if (context.depth != hw::context_depth(registers.caps().chip))
    return end("the context is not 4 levels deep");
  if (va < first || va > (last | (hw::kGpuPage - 1)))
    return end("the address is outside of the context's range");
  u64 table = pair(registers, Reg::GcvmContext0PageTableBaseAddrLo32,
                   Reg::GcvmContext0PageTableBaseAddrHi32) &
              ~(hw::kGpuPage - 1);
  // Behind the memory of other GPUs; entries have none.
  table -= std::min(table, u64{registers.read(Reg::MmmcVmFbOffset)} << 24);
  for (unsigned level = 0; level < hw::kPageLevels; ++level) {
    if (table > view.vram.size() || view.vram.size() - table < hw::kGpuPage)
      return end("the table lies outside of the GPU's memory");
    WalkStep step{.level = level,
                  .table = table,
                  .index = (va - first) / hw::page_span(level) % hw::kPageTableEntries};
    step.bits = view.vram.read64(table + step.index * sizeof step.bits);
    walk.steps.push_back(step);
    const hw::PageEntry entry = hw::entry_of(step.bits, registers.caps().chip);
    if (!entry.valid) return end("the entry is not valid");
    if (hw::is_page(entry, registers.caps().chip, level)) {
      walk.target = {.is_system = entry.is_system,
                     .address = entry.address + (va - first) % hw::page_span(level),
                     .page_bytes = hw::page_span(level)};
      return walk;
    }
    if (entry.is_system) return end("the table lies in the host's memory");
    table = entry.address;
  }
  return walk;
}

std::optional<std::vector<u8>> read_memory(const BareView& view, u64 va, u64 bytes,
                                           const HostByte& host) {
  std::vector<u8> all;
  while (all.size() < bytes) {
    const u64 at = va + all.size();
    const u64 count = std::min(bytes - all.size(), hw::kGpuPage - at % hw::kGpuPage);
    const PageWalk walk = walk_pages(view, at);
    if (!walk.target) return std::nullopt;
    const u64 target = walk.target->address;
    if (walk.target->is_system) {
      const u8* const from = host ? host(target) : nullptr;
      if (from == nullptr) return std::nullopt;
      all.insert(all.end(), from, from + count);
    } else {
      const u64 first = target / sizeof(u32) * sizeof(u32);
      const u64 end = (target + count + sizeof(u32) - 1) / sizeof(u32) * sizeof(u32);
      if (end > view.vram.size()) return std::nullopt;
      std::vector<u8> words(end - first);
      view.vram.read_bytes(first, words);
      const auto from = words.begin() + static_cast<i64>(target - first);
      all.insert(all.end(), from, from + static_cast<i64>(count));
    }
  }
  return all;
}

// ---- queues -------------------------------------------------------------------------------------

std::array<u32, hw::kHqdRegisters> read_queue_registers(const RegisterAccess& registers,
                                                        u32 queue) {
  std::array<u32, hw::kHqdRegisters> words{};
  const u32 before = registers.read(Reg::GrbmGfxCntl);
  registers.write(Reg::GrbmGfxCntl, hw::GrbmSelect{.me = 1, .queue = static_cast<u8>(queue)});
  for (u32 i = 0; i < hw::kHqdRegisters; ++i)
    words[i] = registers.read_behind(Reg::CpMqdBaseAddr, i);
  registers.write(Reg::GrbmGfxCntl, before);
  return words;
}

QueueView read_compute_queue(const RegisterAccess& registers, u32 queue) {
  const std::array<u32, hw::kHqdRegisters> words = read_queue_registers(registers, queue);
  const auto word = [&](Mqd at) { return words[hqd_index(at)]; };
  const auto join = [&](Mqd low) {
    return words[hqd_index(low)] | u64{words[hqd_index(low) + 1]} << 32;
  };
  const auto doorbell = hw::fields_of<hw::HqdDoorbellControl>(word(Mqd::PqDoorbellControl));
  const auto control = hw::fields_of<hw::HqdPqControl>(word(Mqd::PqControl));
  return {.kind = (word(Mqd::AqlControl) & hw::kHqdAql) != 0 ? hw::StreamKind::Aql
                                                             : hw::StreamKind::Pm4,
          .is_active = (word(Mqd::Active) & 1) != 0,
          .doorbell = doorbell.offset,
          .has_doorbell = doorbell.enable,
          .ring = join(Mqd::PqBaseLo) << kBaseUnit,
          .ring_bytes = u64{8} << control.size,
          .eop = join(Mqd::EopBaseAddrLo) << kBaseUnit,
          .descriptor = join(Mqd::BaseAddrLo),
          .read_pointer_at = join(Mqd::PqRptrReportAddrLo),
          .write_pointer_at = join(Mqd::PqWptrPollAddrLo),
          .read_register = word(Mqd::PqRptr),
          .write_register = join(Mqd::PqWptrLo)};
}

QueueView read_copy_queue(const RegisterAccess& registers) {
  const auto control = hw::fields_of<hw::CopyRingControl>(registers.read(Reg::Sdma0Queue0RbCntl));
  const auto doorbell =
      hw::fields_of<hw::HqdDoorbellControl>(registers.read(Reg::Sdma0Queue0DoorbellOffset));
  const auto join = [&](Reg low, Reg high) { return pair(registers, low, high); };
  return {
      .kind = hw::StreamKind::Sdma,
      .is_active = control.enable,
      .doorbell = doorbell.offset,
      .has_doorbell = (registers.read(Reg::Sdma0Queue0Doorbell) & hw::kSdmaDoorbellEnable) != 0,
      .ring = join(Reg::Sdma0Queue0RbBase, Reg::Sdma0Queue0RbBaseHi) << kBaseUnit,
      .ring_bytes = u64{4} << (control.size_log2 & 0x1f),
      .read_pointer_at = join(Reg::Sdma0Queue0RbRptrAddrLo, Reg::Sdma0Queue0RbRptrAddrHi),
      .write_pointer_at = join(Reg::Sdma0Queue0RbWptrPollAddrLo, Reg::Sdma0Queue0RbWptrPollAddrHi),
      .read_register = join(Reg::Sdma0Queue0RbRptr, Reg::Sdma0Queue0RbRptrHi),
      .write_register = join(Reg::Sdma0Queue0RbWptr, Reg::Sdma0Queue0RbWptrHi)};
}

// A compute queue's pointers count words, a copy queue's bytes.
namespace {

// From a pointer in the queue's unit.
u64 word_of_pointer(hw::StreamKind kind, u64 pointer) {
  switch (kind) {
    case hw::StreamKind::Sdma: return pointer / sizeof(u32);
    case hw::StreamKind::Aql: return pointer * (hw::kAqlPacketBytes / sizeof(u32));
    case hw::StreamKind::Pm4: break;
  }
  return pointer;
}

}  // namespace

RingView read_ring(const BareView& view, const QueueView& queue, const HostByte& host) {
  constexpr u64 kMostBytes = u64{16} << 20;
  RingView ring{.read = queue.read_register, .write = queue.write_register};
  const auto read = read_memory(view, queue.read_pointer_at, sizeof(u64), host);
  const auto write = read_memory(view, queue.write_pointer_at, sizeof(u64), host);
  if (read && write) {
    std::memcpy(&ring.read, read->data(), sizeof ring.read);
    std::memcpy(&ring.write, write->data(), sizeof ring.write);
    ring.is_by_memory = true;
  }
  // A GPU that does not answer reads all ones, by which a ring has no bytes, or very many.
  if (queue.ring_bytes == 0 || queue.ring_bytes > kMostBytes) return ring;
  const u64 words = queue.ring_bytes / sizeof(u32);
  ring.read = word_of_pointer(queue.kind, ring.read) % words;
  ring.write = word_of_pointer(queue.kind, ring.write) % words;
  std::vector<u32> unread;
  for (u64 at = ring.read; at != ring.write; at = (at + 1) % words) {
    // A page at a time would be faster; a ring that hangs has few words.
    const auto word = read_memory(view, queue.ring + at * sizeof(u32), sizeof(u32), host);
    if (!word) return ring;
    u32 value = 0;
    std::memcpy(&value, word->data(), sizeof value);
    unread.push_back(value);
  }
  ring.unread = std::move(unread);
  return ring;
}

// ---- interrupts ---------------------------------------------------------------------------------

InterruptsView read_interrupts(const BareView& view, usize most_taken) {
  const RegisterAccess& registers = view.registers;
  const auto control = hw::fields_of<hw::IhRingControl>(registers.read(Reg::IhRbCntl));
  const u32 write = registers.read(Reg::IhRbWptr);
  InterruptsView all{.is_enabled = control.enable,
                     .has_lost = (write & hw::kIhOverflow) != 0,
                     .ring = pair(registers, Reg::IhRbBase, Reg::IhRbBaseHi) << kBaseUnit,
                     .ring_bytes = u64{4} << (control.size_log2 & 0x1f),
                     .read = registers.read(Reg::IhRbRptr) & hw::kIhOffsetMask,
                     .write = write & hw::kIhOffsetMask};
  const u64 framebuffer = u64{registers.read(Reg::MmmcVmFbLocationBase) & 0xffffff} << 24;
  const u64 offset = all.ring - framebuffer;
  if (!all.is_enabled || all.ring < framebuffer || offset > view.vram.size() ||
      all.ring_bytes > view.vram.size() - offset || all.read >= all.ring_bytes ||
      all.write >= all.ring_bytes)
    return all;
  const auto entry_at = [&](u64 at) {
    Words<hw::InterruptEntry> words{};
    view.vram.read_bytes(offset + at, {reinterpret_cast<u8*>(words.data()), sizeof words});
    return decode<hw::InterruptEntry>(words);
  };
  for (u64 at = all.read; at != all.write; at = (at + hw::kInterruptBytes) % all.ring_bytes)
    all.waiting.push_back(entry_at(at));
  for (usize back = most_taken; back > 0; --back) {
    const u64 distance = back * hw::kInterruptBytes;
    // In front of the ring's beginning nothing was taken, unless it went around.
    if (distance <= all.read) all.taken.push_back(entry_at(all.read - distance));
  }
  return all;
}

// ---- firmware -----------------------------------------------------------------------------------

FirmwareState read_firmware_state(const RegisterAccess& registers, bool asks) {
  // Without those registers what runs is known by what this project leaves set.
  bool has_started = registers.read(Reg::ScratchReg7) != 0, is_compute_running = has_started;
  bool is_copy_running = has_started;
  if (registers.has(Reg::RlcRlcsBootloadStatus)) {
    const auto mec = hw::fields_of<hw::MecControl>(registers.read(Reg::CpMecRs64Cntl));
    has_started = (registers.read(Reg::RlcRlcsBootloadStatus) & hw::kBootloadComplete) != 0;
    is_compute_running = mec.pipe0_active && !mec.halt && !mec.pipe0_reset;
    is_copy_running = (registers.read(Reg::Sdma0F32Cntl) & registers.caps().copy_halt) == 0;
  } else {
    is_compute_running &= registers.read(Reg::CpMecCntl) == 0;
  }
  FirmwareState state{.is_psp_alive = is_psp_alive(registers),
                      .has_psp_ring = registers.read(Reg::Mp0SmnC2pmsg71) != 0,
                      .has_started_graphics = has_started,
                      .is_compute_running = is_compute_running,
                      .is_copy_running = is_copy_running,
                      .owner = registers.read(Reg::ScratchReg7),
                      .live = registers.read(Reg::ScratchReg6)};
  if (asks && state.has_started_graphics)
    if (const Result<u32> version = read_smu_version(registers)) state.power_version = *version;
  return state;
}

}  // namespace doorbell::amd
