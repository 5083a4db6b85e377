// The tree of tables is kept on the host's side too: reading the aperture is slow.
#include "drivers/amd/kernel/pci/page_tables.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/util/check.h"
#include "base/util/try.h"

namespace doorbell::amd {
namespace {

constexpr unsigned kLowest = hw::kPageLevels - 1;

// The greatest power of two that all of these allow.
u64 block_of(u64 va, u64 address, u64 bytes) {
  const u64 limit = std::min(std::bit_floor(bytes), hw::page_span(1));
  const u64 both = va | address;
  return both == 0 ? limit : std::min(limit, both & (~both + 1));
}

}  // namespace

PageTables::PageTables(std::span<u8> vram, u64 root, hcq::Tlsf& free, u64 first_va,
                       hw::BareChip chip)
    : vram_(vram), free_(free), first_va_(first_va), chip_(chip) {
  root_.offset = root;
  root_.below.resize(hw::kPageTableEntries);
  std::memset(vram_.data() + root, 0, hw::kGpuPage);
}

PageTables::~PageTables() = default;

u64 PageTables::index_at(u64 relative, unsigned level) {
  return relative / hw::page_span(level) % hw::kPageTableEntries;
}

void PageTables::write(const Table& table, u64 index, u64 entry) {
  *reinterpret_cast<volatile u64*>(vram_.data() + table.offset + index * sizeof(u64)) = entry;
}

Result<PageTables::Table*> PageTables::below(Table& table, u64 index, bool is_lowest) {
  std::unique_ptr<Table>& found = table.below[index];
  if (found != nullptr) return found.get();
  const std::optional<u64> offset = free_.allocate(hw::kGpuPage, hw::kGpuPage);
  if (!offset) return fail(ErrorKind::OutOfMemory, "the GPU has no memory for its page tables");
  found = std::make_unique<Table>();
  found->offset = *offset;
  if (!is_lowest) found->below.resize(hw::kPageTableEntries);
  std::memset(vram_.data() + *offset, 0, hw::kGpuPage);
  write(table, index, hw::bits_of({.valid = true, .address = *offset}, chip_));
  ++table.used;
  return found.get();
}

Result<void> PageTables::map(u64 va, u64 bytes, const hw::PageEntry& entry) {
  for (u64 done = 0; done < bytes;) {
    Result<u64> block = map_block(va + done, entry, done, bytes - done);
    if (!block) {
      unmap(va, done);
      return std::move(block).error();
    }
    done += *block;
  }
  return {};
}

// The next pages that lie alike; how many bytes they are.
Result<u64> PageTables::map_block(u64 va, const hw::PageEntry& entry, u64 done, u64 bytes) {
  CHECK((va | entry.address | bytes) % hw::kGpuPage == 0, "{:#x} bytes at {:#x} of {:#x}", bytes,
        va, entry.address);
  const u64 relative = va - first_va_, address = entry.address + done;
  const u64 block = block_of(relative, address, bytes);
  unsigned level = 1;
  while (hw::page_span(level) > block) ++level;
  Table* table = &root_;
  for (unsigned above = 0; above < level; ++above) {
    TRY(table, below(*table, index_at(relative, above), above + 1 == kLowest));
  }
  hw::PageEntry page = entry;
  page.valid = true;
  page.is_pte = level != kLowest || hw::marks_every_page(chip_);
  page.fragment = static_cast<u8>(std::countr_zero(block / hw::kGpuPage));
  // A block that no larger table holds ends with this one.
  for (u64 at = 0; at < block; at += hw::page_span(level)) {
    page.address = address + at;
    write(*table, index_at(relative + at, level), hw::bits_of(page, chip_));
    ++table->used;
  }
  return block;
}

void PageTables::unmap(u64 va, u64 bytes) {
  for (u64 done = 0; done < bytes;) {
    const u64 relative = va + done - first_va_;
    // The path down, as far as there are tables.
    std::vector<std::pair<Table*, u64>> path{{&root_, index_at(relative, 0)}};
    while (!path.back().first->below.empty() &&
           path.back().first->below[path.back().second] != nullptr) {
      Table* next = path.back().first->below[path.back().second].get();
      path.emplace_back(next, index_at(relative, static_cast<unsigned>(path.size())));
    }
    const unsigned level = static_cast<unsigned>(path.size() - 1);
    write(*path.back().first, path.back().second, 0);
    --path.back().first->used;
    for (usize i = path.size() - 1; i > 0 && path[i].first->used == 0; --i) {
      auto& [table, index] = path[i - 1];
      empty_.push_back(path[i].first->offset);
      write(*table, index, 0);
      table->below[index].reset();
      --table->used;
    }
    done += hw::page_span(level);
  }
}

void PageTables::release_empty() {
  for (const u64 offset : empty_) free_.release(offset);
  empty_.clear();
}

}  // namespace doorbell::amd
