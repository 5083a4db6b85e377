// Four levels of nine bits, as the hardware's tables: a range fills the largest blocks that it
// covers. Tables are never freed while the address space lives, so that readers need no lock.
#include "emulator/core/address_space.h"

#include <iterator>

#include <fmt/format.h>

#include "base/util/check.h"

namespace doorbell::emu {
namespace {

constexpr unsigned kTopShift = 39;  // of the bits that index the root

std::string print(const BufferHistory& buffer, u32 index) {
  std::string text = fmt::format("{} buffer {} [{:#x}, {:#x}), allocated by ioctl {}", buffer.kind,
                                 index, buffer.va, buffer.va + buffer.bytes, buffer.allocated_at);
  if (buffer.unmapped_at) text += fmt::format(", unmapped by ioctl {}", buffer.unmapped_at);
  if (buffer.freed_at) text += fmt::format(", freed by ioctl {}", buffer.freed_at);
  return text;
}

}  // namespace

AddressSpace::AddressSpace() { root_ = tables_.emplace_back(std::make_unique<Table>()).get(); }
AddressSpace::~AddressSpace() = default;

const Range* AddressSpace::find(u64 va) const {
  if (va >> kBits) return nullptr;
  const Table* table = root_;
  for (unsigned shift = kTopShift;; shift -= kLevelBits) {
    const Entry& entry = table->entries[(va >> shift) % kEntries];
    if (const Range* range = entry.range.load(std::memory_order_acquire)) return range;
    table = entry.below.load(std::memory_order_acquire);
    if (!table) return nullptr;
  }
}

AddressSpace::Table* AddressSpace::below(Entry& entry) {
  Table* table = entry.below.load(std::memory_order_relaxed);
  if (table) return table;
  table = tables_.emplace_back(std::make_unique<Table>()).get();
  entry.below.store(table, std::memory_order_release);
  return table;
}

void AddressSpace::fill(u64 start, u64 end, const Range* range) {
  for (u64 va = start; va < end;) {
    Table* table = root_;
    unsigned shift = kTopShift;
    // Whether it fills a whole block of this level; blocks of the root are too large to be useful.
    while (shift == kTopShift || va % (u64{1} << shift) != 0 || end - va < u64{1} << shift) {
      table = below(table->entries[(va >> shift) % kEntries]);
      shift -= kLevelBits;
    }
    table->entries[(va >> shift) % kEntries].range.store(range, std::memory_order_release);
    va += u64{1} << shift;
  }
}

u32 AddressSpace::add_buffer(BufferHistory history) {
  std::lock_guard lock(mutex_);
  buffers_.push_back(std::move(history));
  return static_cast<u32>(buffers_.size() - 1);
}

void AddressSpace::note_unmapped(u32 buffer, u64 ioctl) {
  std::lock_guard lock(mutex_);
  buffers_.at(buffer).unmapped_at = ioctl;
}

void AddressSpace::note_freed(u32 buffer, u64 ioctl) {
  std::lock_guard lock(mutex_);
  buffers_.at(buffer).freed_at = ioctl;
}

Result<const Range*> AddressSpace::map(u64 va, u64 bytes, u8* host, bool writable, bool executable,
                                       MemoryType type, u32 buffer) {
  u64 limit = u64{1} << kBits;
  if (va % kPage || bytes % kPage || bytes == 0 || va >= limit || bytes > limit - va)
    return fail(ErrorKind::Invalid, "{:#x} bytes at {:#x} are not whole pages below {:#x}", bytes,
                va, limit);
  std::lock_guard lock(mutex_);
  auto next = live_.lower_bound(va);
  const Range* other = next != live_.end() && next->first < va + bytes ? next->second : nullptr;
  if (!other && next != live_.begin() && std::prev(next)->second->end > va)
    other = std::prev(next)->second;
  if (other)
    return fail(ErrorKind::Invalid, "[{:#x}, {:#x}) overlaps [{:#x}, {:#x}), which is mapped", va,
                va + bytes, other->start, other->end);
  Range& range = ranges_.emplace_back(va, va + bytes, host, writable, executable, type, buffer);
  range.mapped.store(true, std::memory_order_relaxed);
  live_.emplace(range.start, &range);
  fill(range.start, range.end, &range);
  generation_.fetch_add(1, std::memory_order_release);
  return &range;
}

void AddressSpace::unmap(const Range* range) {
  std::lock_guard lock(mutex_);
  CHECK(range && range->mapped.load(std::memory_order_relaxed), "the range is not mapped");
  const_cast<Range*>(range)->mapped.store(false, std::memory_order_release);
  live_.erase(range->start);
  fill(range->start, range->end, nullptr);
  generation_.fetch_add(1, std::memory_order_release);
}

std::vector<const Range*> AddressSpace::ranges() const {
  std::lock_guard lock(mutex_);
  std::vector<const Range*> mapped;
  for (const auto& [start, range] : live_) mapped.push_back(range);
  return mapped;
}

std::string AddressSpace::describe(u64 va) const {
  std::lock_guard lock(mutex_);
  // The youngest buffer that contained the address, otherwise the nearest one below it.
  const BufferHistory* below = nullptr;
  u32 below_index = 0;
  for (usize i = buffers_.size(); i-- > 0;) {
    const BufferHistory& buffer = buffers_[i];
    if (va >= buffer.va && va - buffer.va < buffer.bytes)
      return fmt::format("{:#x} bytes into {}", va - buffer.va, print(buffer, static_cast<u32>(i)));
    if (buffer.va + buffer.bytes <= va &&
        (!below || buffer.va + buffer.bytes > below->va + below->bytes)) {
      below = &buffer;
      below_index = static_cast<u32>(i);
    }
  }
  constexpr u64 kNear = 1 << 20;
  if (!below || va - (below->va + below->bytes) >= kNear) return "near no buffer";
  return fmt::format("{:#x} bytes past the end of {}", va - (below->va + below->bytes),
                     print(*below, below_index));
}

}  // namespace doorbell::emu
