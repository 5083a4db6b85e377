// The memory of a block: global by the address space, shared and local by offset.
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "emulator/nv/compute/block.h"
#include "emulator/nv/compute/rules.h"

namespace doorbell::emu::nvgpu {

u8* Block::global(Warp& warp, u32 lane, u64 address, u32 bytes, bool write, bool atomic) {
  if (address % bytes != 0) {
    stop(warp, kMisaligned, lane, address,
         fmt::format("{} bytes at global address {:#x}", bytes, address));
    return nullptr;
  }
  if (last_range_ == nullptr || generation_ != grid_.memory.generation() ||
      !last_range_->contains(address, bytes)) {
    generation_ = grid_.memory.generation();
    last_range_ = grid_.memory.find(address);
  }
  const bool inside = last_range_ != nullptr && last_range_->contains(address, bytes) &&
                      last_range_->host != nullptr;
  if (!inside || (write && !last_range_->writable)) {
    stop(warp, kGlobalAccess, lane, address,
         fmt::format("{} of {} bytes at global address {:#x}, {}", write ? "write" : "read", bytes,
                     address, inside ? "which is read-only" : grid_.memory.describe(address)));
    return nullptr;
  }
  if (counter_ != nullptr) [[unlikely]]
    counter_->note_global(address, bytes, write);
  u8* const host = last_range_->host + (address - last_range_->start);
  if (grid_.judge != nullptr) [[unlikely]]
    grid_.judge->access(address, host, bytes, write, atomic);
  if (cache_ == nullptr) return host;
  if (!write) return cache_->read(address, host);
  cache_->drop(address);
  return host;
}

u8* Block::judged_shared(Warp& warp, u32 lane, u64 address, u32 bytes, bool write, bool atomic) {
  if (address % bytes != 0) {
    stop(warp, kMisaligned, lane, address,
         fmt::format("{} bytes at shared address {:#x}", bytes, address));
    return nullptr;
  }
  if (address + bytes > shared_.size()) {
    stop(warp, kSharedAccess, lane, address,
         fmt::format("{} of {} bytes at shared address {:#x}, the block has {:#x} bytes",
                     write ? "write" : "read", bytes, address, shared_.size()));
    return nullptr;
  }
  if (judges_shared_ && check_copies(warp, lane, address, bytes))
    note_shared(warp, lane, address, bytes, write, atomic);
  if (warp.fault.rule != nullptr) return nullptr;
  if (counter_ != nullptr) [[unlikely]]
    counter_->note_shared(lane, address, bytes, write);
  return shared_.data() + address;
}

void Block::note_shared(Warp& warp, u32 lane, u64 address, u32 bytes, bool write, bool atomic) {
  const SharedNotes::Access access{address, bytes, static_cast<u16>(warp.index), write, atomic};
  notes_.note(access, [&](const SharedNotes::Finding& finding) {
    const bool race = finding.kind == SharedNotes::Finding::Kind::Race;
    const Check& rule = race ? kSharedRace : kUndefinedShared;
    const std::string message =
        race ? fmt::format(
                   "{}: warps {} and {} access shared address {:#x} without a barrier "
                   "between them",
                   grid_.kernel.name, finding.other, warp.index, finding.at)
             : fmt::format("{}: warp {} reads shared address {:#x}, which was never written",
                           grid_.kernel.name, warp.index, finding.at);
    if (grid_.checks.report(rule, message) != Level::Error) return true;
    stop(warp, rule, lane, finding.at,
         fmt::format("shared address {:#x} is {}", finding.at, race ? "not ordered" : "undefined"));
    return false;
  });
}

// False: the rule was broken, and the warp is stopped.
bool Block::check_copies(Warp& warp, u32 lane, u64 address, u32 bytes) {
  if (is_copied(address, bytes)) return true;
  for (u64 at = address; at < address + bytes; ++at) {
    const u16 copier = copiers_[at];
    if (copier == 0) continue;
    const std::string message = fmt::format(
        "{}: warp {} accesses shared address {:#x}, to which a copy (LDGSTS) of warp "
        "{} is pending",
        grid_.kernel.name, warp.index, at, copier - 1);
    if (grid_.checks.report(kPendingCopy, message) != Level::Error) return true;
    stop(warp, kPendingCopy, lane, at, message);
    return false;
  }
  return true;
}

u8* Block::copy_target(Warp& warp, u32 lane, u64 address, u32 bytes) {
  u8* to = shared(warp, lane, address, bytes, true);
  if (to == nullptr || !judges_shared_) return to;
  copies_.push_back({warp.index, warp.copies_committed, address, bytes});
  std::fill_n(copiers_.begin() + static_cast<std::ptrdiff_t>(address), bytes,
              static_cast<u16>(warp.index + 1));
  return to;
}

// To others, the bytes are written when the warp has waited.
void Block::finish_copies(Warp& warp, u32 groups) {
  std::erase_if(copies_, [&](const Copy& copy) {
    if (copy.warp != warp.index || copy.group >= groups) return false;
    std::fill_n(copiers_.begin() + static_cast<std::ptrdiff_t>(copy.address), copy.bytes, u16{0});
    notes_.note_copy(copy.address, copy.bytes, static_cast<u16>(warp.index));
    return true;
  });
}

u8* Block::local(Warp& warp, u32 lane, u64 address, u32 bytes) {
  const u64 low = grid_.local_bytes, high = grid_.local_high_bytes;
  if (address % bytes != 0) {
    stop(warp, kMisaligned, lane, address,
         fmt::format("{} bytes at local address {:#x}", bytes, address));
    return nullptr;
  }
  u8* const own = local_.data() + thread_of(warp, lane) * (low + high);
  if (address + bytes <= low) return own + address;
  if (address >= kLocalEnd - high && address + bytes <= kLocalEnd)
    return own + low + (address - (kLocalEnd - high));
  stop(warp, kLocalAccess, lane, address,
       fmt::format("{} bytes at local address {:#x}, a thread has {:#x} bytes{}", bytes, address,
                   low + high, high == 0 ? "" : fmt::format(", {:#x} of them at the end", high)));
  return nullptr;
}

}  // namespace doorbell::emu::nvgpu
