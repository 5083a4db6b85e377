// The tree of tables is kept on the host's side too: reading the aperture is slow.
#include "drivers/amd/kernel/pci/page_tables.h"

#include <algorithm>
#include <array>
#include <bit>

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

PageTables::PageTables(os::DeviceMemory vram, u64 root, hcq::Tlsf& free, u64 first_va,
                       hw::BareChip chip)
    : vram_(vram), free_(free), first_va_(first_va), chip_(chip) {
  root_.offset = root;
  root_.below.resize(hw::kPageTableEntries);
  clear(root);
}

PageTables::~PageTables() = default;

u64 PageTables::index_at(u64 relative, unsigned level) {
  return relative / hw::page_span(level) % hw::kPageTableEntries;
}

void PageTables::write(const Table& table, u64 index, std::span<const u64> entries) {
  if (vram_.mapped() != nullptr)
    // Whole ones: the GPU may walk the tables meanwhile.
    for (usize i = 0; i < entries.size(); ++i)
      vram_.write64(table.offset + (index + i) * sizeof(u64), entries[i]);
  else
    vram_.write_bytes(table.offset + index * sizeof(u64),
                      {reinterpret_cast<const u8*>(entries.data()), entries.size_bytes()});
}

void PageTables::write(const Table& table, u64 index, u64 entry) {
  write(table, index, std::span(&entry, 1));
}

void PageTables::clear(u64 table) {
  constexpr std::array<u8, hw::kGpuPage> kZeros{};
  vram_.write_bytes(table, kZeros);
}

Result<PageTables::Table*> PageTables::below(Table& table, u64 index, unsigned level) {
  std::unique_ptr<Table>& found = table.below[index];
  if (found != nullptr) return found.get();
  const std::optional<u64> offset = free_.allocate(hw::kGpuPage, hw::kGpuPage);
  if (!offset) return fail(ErrorKind::OutOfMemory, "the GPU has no memory for its page tables");
  found = std::make_unique<Table>();
  found->offset = *offset;
  if (level + 1 != kLowest) found->below.resize(hw::kPageTableEntries);
  clear(*offset);
  write(table, index, hw::bits_of(hw::table_entry(*offset, chip_, level), chip_));
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
    TRY(table, below(*table, index_at(relative, above), above));
  }
  hw::PageEntry page = entry;
  page.valid = true;
  page.is_pte = hw::marks_page(chip_, level);
  page.fragment = static_cast<u8>(std::countr_zero(block / hw::kGpuPage));
  // A block that no larger table holds ends with this one.
  std::array<u64, hw::kPageTableEntries> entries;
  const usize count = block / hw::page_span(level);
  for (usize i = 0; i < count; ++i) {
    page.address = address + i * hw::page_span(level);
    entries[i] = hw::bits_of(page, chip_);
  }
  write(*table, index_at(relative, level), std::span(entries).first(count));
  table->used += static_cast<u32>(count);
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
