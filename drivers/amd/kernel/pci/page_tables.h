// PageTables: the translations of one GPU, in its own memory, written through the PCI aperture.
// What was mapped holds when the GPU's TLBs have been invalidated, which is for the caller.
//
// Thread safety: one thread at a time.
#pragma once

#include <memory>
#include <vector>

#include "base/os/device_memory.h"
#include "drivers/amd/hw/bare/page_table.h"
#include "hcq/memory/tlsf.h"

#include "base/util/result.h"

namespace doorbell::amd {

class PageTables {
 public:
  // Tables lie in `vram`, which the host sees; all but the root, at `root`, come from `free`. Both
  // are borrowed. GPU addresses begin at `first_va`.
  PageTables(os::DeviceMemory vram, u64 root, hcq::Tlsf& free, u64 first_va, hw::BareChip chip);
  ~PageTables();
  PageTables(const PageTables&) = delete;
  PageTables& operator=(const PageTables&) = delete;

  // Maps bytes that follow each other at entry.address, as the entry says, with the largest pages
  // that fit. `va`, the address and `bytes` are multiples of a page. Fails where there is no memory
  // for tables; then nothing is mapped, but a TLB may have seen some of it.
  Result<void> map(u64 va, u64 bytes, const hw::PageEntry& entry);
  // Of what map() mapped, whole.
  void unmap(u64 va, u64 bytes);
  // Tables that unmap() left empty go when no TLB knows them any more: after an invalidation.
  void release_empty();

 private:
  struct Table {
    u64 offset = 0;
    u32 used = 0;
    std::vector<std::unique_ptr<Table>> below;  // by index; empty at the lowest level
  };
  void write(const Table& table, u64 index, u64 entry);
  // Entries that follow each other.
  void write(const Table& table, u64 index, std::span<const u64> entries);
  void clear(u64 table);
  Result<u64> map_block(u64 va, const hw::PageEntry& entry, u64 done, u64 bytes);
  Result<Table*> below(Table& table, u64 index, unsigned level);
  static u64 index_at(u64 relative, unsigned level);

  const os::DeviceMemory vram_;
  hcq::Tlsf& free_;
  const u64 first_va_;
  const hw::BareChip chip_;
  Table root_;
  std::vector<u64> empty_;
};

}  // namespace doorbell::amd
