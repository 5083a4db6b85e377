// The walk, and what an invalidation changes. What stays as it is keeps its range, because kernels
// may be running on it.
// [torvalds/linux amdgpu_vm.c; gmc_v11_0.c and gmc_v12_0.c, "PTE format"; MTYPE: navi10_enum.h, of
// GC 12 gmc_v12_0.c gmc_v12_0_get_vm_pte()]
#include "emulator/amd/bare/bare_memory.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "emulator/amd/bare/bare_checks.h"

namespace doorbell::emu::amdgpu {
namespace {

using amd::hw::entry_of;
using amd::hw::PageEntry;

constexpr unsigned kLowest = amd::hw::kPageLevels - 1;
constexpr u64 kTableBytes = amd::hw::kGpuPage;

// Whether a page says that it is one: on the lowest level GC 12 does, GC 11 does not, and GC 9.4.3
// does neither there nor on the level above. [gmc_v12_0.c gmc_v12_0_gart_init(); gmc_v9_0.c
// gmc_v9_0_get_vm_pde()]
constexpr bool says_page(amd::hw::BareChip chip, unsigned level) {
  if (chip == amd::hw::BareChip::Gc94) return level < kLowest - 1;
  return level < kLowest || chip == amd::hw::BareChip::Gc12;
}

bool continues(const BareMemory::Page& before, const BareMemory::Page& page) {
  return before.va + before.bytes == page.va && before.host + before.bytes == page.host &&
         before.writable == page.writable && before.executable == page.executable &&
         before.type == page.type;
}

// The run that has all of `page`, at the same place, or null. `runs` are sorted.
const BareMemory::Page* containing(const std::vector<BareMemory::Page>& runs,
                                   const BareMemory::Page& page) {
  auto after = std::ranges::upper_bound(runs, page.va, {}, &BareMemory::Page::va);
  if (after == runs.begin()) return nullptr;
  const BareMemory::Page& run = *--after;
  const bool is_inside = page.va + page.bytes <= run.va + run.bytes;
  const bool is_same = run.host + (page.va - run.va) == page.host && run.type == page.type &&
                       run.writable == page.writable && run.executable == page.executable;
  return is_inside && is_same ? &run : nullptr;
}

}  // namespace

std::span<u8> BareMemory::find(u64 mc_address, u64 bytes) const {
  if (mc_address < kFramebuffer) return {};
  const u64 offset = mc_address - kFramebuffer;
  if (offset > bytes_ || bytes > bytes_ - offset) return {};
  return {at(offset), bytes};
}

void BareMemory::add_page(u64 va, unsigned level, u64 bits, const PageEntry& entry,
                          std::vector<Page>& into) {
  const u64 bytes = amd::hw::page_span(level);
  const auto refuse = [&](std::string why) {
    checks_.report(kPageEntry,
                   fmt::format("the entry {:#x} of level {} for {:#x}: {}", bits, level, va, why));
  };
  Page page{.va = va, .bytes = bytes, .writable = entry.writable, .executable = entry.executable};
  using amd::hw::MemoryPolicy;
  page.type.caching = entry.policy == MemoryPolicy::Uncached        ? Caching::Uncached
                      : entry.policy == MemoryPolicy::CacheCoherent ? Caching::Coherent
                                                                    : Caching::Cached;
  if (entry.address % bytes != 0)
    return refuse(fmt::format("{:#x} is no multiple of the page", entry.address));
  if (!entry.readable) return refuse("the page is not readable, which nobody has");
  if (!entry.is_system) {
    if (entry.address > bytes_ || bytes > bytes_ - entry.address)
      return refuse(fmt::format("the GPU has {:#x} bytes of memory", bytes_));
    page.host = at(entry.address);
    page.type.place = Place::Local;
    return into.push_back(page);
  }
  // Whatever is one page for the GPU may be several on the bus.
  for (u64 done = 0; done < bytes; done += BusMemory::kPage) {
    const std::optional<BusMemory::Target> target = bus_->find(entry.address + done);
    if (!target) {
      checks_.report(kPinned, fmt::format("the entry {:#x} for {:#x} leads to {:#x} on the bus, "
                                          "where nothing is pinned",
                                          bits, va, entry.address + done));
      return;
    }
    Page part = page;
    part.va = va + done;
    part.bytes = BusMemory::kPage;
    part.host = target->host;
    part.type.place = target->gpu ? Place::Peer : Place::Host;
    if (!into.empty() && continues(into.back(), part))
      into.back().bytes += part.bytes;
    else
      into.push_back(part);
  }
}

void BareMemory::walk_table(u64 table, unsigned level, u64 va, std::vector<Page>& into) {
  for (u64 i = 0; i < amd::hw::kPageTableEntries; ++i) {
    u64 bits = 0;
    std::memcpy(&bits, at(table + i * sizeof bits), sizeof bits);
    if (bits == 0) continue;
    const PageEntry entry = entry_of(bits, chip_);
    if (!entry.valid) continue;
    const u64 here = va + i * amd::hw::page_span(level);
    if (here > context_.last_va) return;
    if ((bits & amd::hw::reserved_page_bits(chip_)) != 0 || entry.encrypted) {
      checks_.report(kPageEntry,
                     fmt::format("the entry {:#x} of level {} for {:#x} has reserved bits", bits,
                                 level, here));
      continue;
    }
    if (amd::hw::is_page(entry, chip_, level)) {
      const bool is_odd = level == 0 || entry.is_pte != says_page(chip_, level) ||
                          entry.block_fragment != 0 || entry.is_translated_further;
      if (is_odd)
        checks_.report(kPageEntry,
                       fmt::format("the entry {:#x} for {:#x} says that it is {}, on level {}",
                                   bits, here, entry.is_pte ? "a page" : "no page", level));
      else
        add_page(here, level, bits, entry, into);
      continue;
    }
    // A directory's entry has an address, and that it is valid.
    const bool is_of_large =
        chip_ != amd::hw::BareChip::Gc94 || (entry.block_fragment == (level == 1 ? 9 : 0) &&
                                             entry.is_translated_further == (level == 2));
    if (entry.is_system || entry.address > bytes_ - kTableBytes || entry.writable ||
        entry.executable || entry.fragment != 0 || !is_of_large)
      checks_.report(kPageEntry,
                     fmt::format("the entry {:#x} of level {} for {:#x} leads to no table "
                                 "in the GPU's memory",
                                 bits, level, here));
    else
      walk_table(entry.address, level + 1, here, into);
  }
}

std::vector<BareMemory::Page> BareMemory::walk() {
  std::vector<Page> pages, runs;
  if (has_context()) walk_table(context_.table, 0, context_.first_va, pages);
  for (const Page& page : pages)
    if (!runs.empty() && continues(runs.back(), page))
      runs.back().bytes += page.bytes;
    else
      runs.push_back(page);
  ++walks_;
  return runs;
}

void BareMemory::flush() { flushed_ = walk(); }

void BareMemory::map(const Page& page, u64 start, u64 end) {
  const char* const kind = page.type.place == Place::Local  ? "memory of the GPU"
                           : page.type.place == Place::Host ? "pinned memory"
                                                            : "memory of another GPU";
  const u32 buffer = device_.space.add_buffer(
      {.va = start, .bytes = end - start, .kind = kind, .allocated_at = walks_});
  Page part = page;
  part.host += start - page.va;
  part.va = start;
  part.bytes = end - start;
  if (Result<const Range*> range = device_.space.map(start, end - start, part.host, part.writable,
                                                     part.executable, part.type, buffer))
    mapped_.push_back({part, *range});
}

void BareMemory::invalidate(bool may_reach_host) {
  const std::vector<Page> now = walk();
  if (now != flushed_)
    checks_.report(kHdpFlush,
                   "page tables are written through the aperture, and not flushed, before "
                   "translations are invalidated");
  // What is no longer so goes; what stays keeps its range.
  std::vector<Mapped> kept;
  for (const Mapped& mapped : mapped_) {
    if (containing(flushed_, mapped.page) != nullptr) {
      kept.push_back(mapped);
      continue;
    }
    const u64 start = mapped.range->start, end = mapped.range->end;
    device_.space.note_unmapped(mapped.range->buffer, walks_);
    device_.space.unmap(mapped.range);
    if (device_.engine != nullptr) device_.engine->unmapped(start, end);
  }
  mapped_ = std::move(kept);
  std::ranges::sort(mapped_, {}, [](const Mapped& mapped) { return mapped.page.va; });
  const std::vector<Mapped> old = mapped_;
  auto next = old.begin();
  for (const Page& run : flushed_) {
    if (!may_reach_host && run.type.place != Place::Local)
      checks_.report(kBusMaster,
                     fmt::format("{:#x} leads to the bus, and the GPU is no bus master", run.va));
    u64 at = run.va;
    for (; next != old.end() && next->page.va < run.va + run.bytes; ++next) {
      if (next->page.va > at) map(run, at, next->page.va);
      at = next->page.va + next->page.bytes;
    }
    if (at < run.va + run.bytes) map(run, at, run.va + run.bytes);
  }
}

void BareMemory::reset() {
  context_ = {};
  flushed_.clear();
  invalidate(true);
}

void BareMemory::host_unpinned(const u8* host, u64 bytes) {
  const auto overlaps = [&](const Page& page) {
    return page.host < host + bytes && host < page.host + page.bytes;
  };
  std::vector<Mapped> kept;
  for (const Mapped& mapped : mapped_) {
    if (!overlaps(mapped.page)) {
      kept.push_back(mapped);
      continue;
    }
    checks_.report(kPinned,
                   fmt::format("memory that the GPU has at {:#x} is given back by the process",
                               mapped.page.va));
    const u64 start = mapped.range->start, end = mapped.range->end;
    device_.space.unmap(mapped.range);
    if (device_.engine != nullptr) device_.engine->unmapped(start, end);
  }
  mapped_ = std::move(kept);
}

const BareMemory::Page* BareMemory::mapped_now(u64 va) {
  looked_at_ = walk();
  for (const Page& page : looked_at_)
    if (va >= page.va && va - page.va < page.bytes) return &page;
  return nullptr;
}

}  // namespace doorbell::emu::amdgpu
