// One GPU's view of memory: the mappings of its page tables, and the history of every buffer, so
// that a fault can name the buffer that was there. emulator/amd/kfd checks who may map what; the
// interpreters perform accesses.
#pragma once

#include <array>
#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/util/result.h"
#include "base/util/types.h"

namespace doorbell::emu {

// The location of the bytes, seen from the GPU that maps them.
enum class Place : u8 {
  Local,  // this GPU's own memory
  Peer,   // another GPU's memory
  Host,   // system memory: the kernel's (GTT) or the process's own (userptr)
  Io,     // registers: doorbells, HDP flush; no caches, no code
};

// How this GPU may cache them.
enum class Caching : u8 {
  Cached,    // until the packets or instructions that write back and invalidate
  Coherent,  // the L2 snoops; the caches above it do not
  Uncached,  // not cached
};

struct MemoryType {
  Place place = Place::Local;
  Caching caching = Caching::Cached;
  bool operator==(const MemoryType&) const = default;
};

// A mapped run of pages. Immutable while it is mapped, and never freed: a reader may keep the
// pointer and check AddressSpace::generation() or `mapped` for validity.
struct Range {
  u64 start = 0, end = 0;  // [start, end), multiples of the page
  u8* host = nullptr;      // the byte at `start` in this process
  bool writable = false, executable = false;
  MemoryType type;
  u32 buffer = 0;  // index into the history

  std::atomic<bool> mapped{false};

  Range() = default;
  Range(u64 start, u64 end, u8* host, bool writable, bool executable, MemoryType type, u32 buffer)
      : start(start),
        end(end),
        host(host),
        writable(writable),
        executable(executable),
        type(type),
        buffer(buffer) {}

  bool contains(u64 va, u64 bytes) const { return va >= start && va < end && bytes <= end - va; }
};

// The life of one buffer, for reports.
struct BufferHistory {
  u64 va = 0, bytes = 0;
  std::string kind;      // "VRAM", "GTT", "userptr", "doorbell"
  u64 allocated_at = 0;  // number of the ioctl that made it
  u64 unmapped_at = 0;   // the last that unmapped it from this GPU; 0: none
  u64 freed_at = 0;      // 0: not freed
};

// Thread safety: find(), generation() and at() from any thread, without locks, while one other
// thread maps and unmaps; describe() takes a lock.
// Memory ordering: a reader that sees a range mapped sees its fields; unmap() returns when new
// lookups miss, not when readers have finished with the range.
class AddressSpace {
 public:
  static constexpr u64 kPage = 4096;
  static constexpr unsigned kBits = 48;

  AddressSpace();
  ~AddressSpace();
  AddressSpace(const AddressSpace&) = delete;
  AddressSpace& operator=(const AddressSpace&) = delete;

  // The range that maps this address, or null.
  const Range* find(u64 va) const;
  // The host's bytes if [va, va + bytes) lies in one mapped range that allows the access; otherwise
  // null.
  u8* at(u64 va, u64 bytes, bool write) const {
    const Range* range = find(va);
    if (!range || !range->contains(va, bytes) || !range->host) return nullptr;
    return write && !range->writable ? nullptr : range->host + (va - range->start);
  }

  // Grows with each map and unmap: results of find() stay valid while this is unchanged.
  u64 generation() const { return generation_.load(std::memory_order_acquire); }

  // Starts the history of a buffer.
  u32 add_buffer(BufferHistory history);
  void note_unmapped(u32 buffer, u64 ioctl);
  void note_freed(u32 buffer, u64 ioctl);

  // The range must be page-aligned, canonical and unmapped; otherwise Invalid, naming both ranges.
  Result<const Range*> map(u64 va, u64 bytes, u8* host, bool writable, bool executable,
                           MemoryType type, u32 buffer);
  // `range` is one that map() returned and that is mapped.
  void unmap(const Range* range);

  std::vector<const Range*> ranges() const;  // the mapped ones, by address

  // "in VRAM buffer 3 [0x..., 0x...), allocated by ioctl 17, freed by ioctl 40", "0x1000 bytes past
  // the end of ...", "near no buffer".
  std::string describe(u64 va) const;

 private:
  static constexpr unsigned kLevelBits = 9;
  static constexpr usize kEntries = usize{1} << kLevelBits;
  struct Table;
  // The range of this page or larger block, or the table below; null: not mapped.
  struct Entry {
    std::atomic<const Range*> range{nullptr};
    std::atomic<Table*> below{nullptr};
  };
  struct Table {
    std::array<Entry, kEntries> entries;
  };

  void fill(u64 start, u64 end, const Range* range);
  Table* below(Entry& entry);

  Table* root_ = nullptr;
  std::deque<std::unique_ptr<Table>> tables_;
  std::atomic<u64> generation_{1};
  mutable std::mutex mutex_;  // guards the members below
  std::deque<Range> ranges_;
  std::map<u64, Range*> live_;  // the mapped ranges, by their start
  std::vector<BufferHistory> buffers_;
};

}  // namespace doorbell::emu
