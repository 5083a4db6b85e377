// An entry of the page tables of GC 11, 12 and 9.4.3: 4 levels of 512 entries, 48 bits.
//
// Directories of level 0 to 2 lead to tables, and on levels 1 and 2 an entry with `is_pte` is a
// page of 1 GiB or 2 MiB; level 3 has pages of 4 KiB. Indices count from the context's
// PAGE_TABLE_START_ADDR.
//
// The hardware of GC 9.4.3 has 3 levels, of which the lowest, here level 2, has pages of 2 MiB that
// are not marked, and entries that are translated further (TF), by a table of level 3. An entry of
// level 1 that leads to such a table says how large its pages are (block fragment size 9).
// [gmc_v9_0.c gmc_v9_0_get_vm_pde(): translate_further; tinygrad ip.py get_pte_flags()]
// [torvalds/linux gmc_v11_0.c, "PTE format", "PDE format"; amdgpu_vm.h AMDGPU_PTE_*,
// AMDGPU_PDE_PTE; tinygrad ip.py get_pte_flags(), memory.py]
#pragma once

#include "base/bits/record.h"
#include "drivers/amd/hw/bare/registers.h"

namespace doorbell::amd::hw {

// [navi10_enum.h MTYPE_*; the kernel's MTYPE_NC 0, MTYPE_CC 2, MTYPE_UC 3 in soc15_enum.h. On GC 12
// MTYPE_NC and MTYPE_UC alone: gmc_v12_0.c gmc_v12_0_get_vm_pte(); tinygrad soc_12.py has UC as 3.
// GC 9.4.3 has MTYPE_RW 1 too, which nobody sets here: soc15_enum.h]
enum class MemoryPolicy : u8 { NonCoherent = 0, CacheCoherent = 2, Uncached = 3 };

// What an entry says; where the bits lie is for the two that follow.
struct PageEntry {
  bool valid = false;
  bool is_system = false;  // a bus address; else an offset in the GPU's memory
  bool snooped = false, encrypted = false, executable = false, readable = false, writable = false;
  u8 fragment = 0;  // the page is one of 2^fragment that lie alike
  u64 address = 0;
  MemoryPolicy policy = MemoryPolicy::NonCoherent;
  bool is_pte = false;  // a page, no table; on Gc11 said in directories only, on Gc94 above level 2
  bool is_translated_further = false;  // Gc94
  u8 block_fragment = 0;               // Gc94

 protected:
  static constexpr void low_fields(auto& p, auto f) {
    f("VALID", Bits{0, 0}, p.valid);
    f("SYSTEM", Bits{1, 1}, p.is_system);
    f("SNOOPED", Bits{2, 2}, p.snooped);
    f("TMZ", Bits{3, 3}, p.encrypted);
    f("EXECUTABLE", Bits{4, 4}, p.executable);
    f("READABLE", Bits{5, 5}, p.readable);
    f("WRITEABLE", Bits{6, 6}, p.writable);
    f("FRAG", Bits{11, 7}, p.fragment);
    f("address", Bits{47, 12}, p.address, Shift{12});
  }
};

// [gmc_v11_0.c, "PTE format", "PDE format"]
struct PageEntryGc11 : PageEntry {
  static constexpr u32 kWords = 2;
  static constexpr void fields(auto& p, auto f) {
    low_fields(p, f);
    f("MTYPE", Bits{50, 48}, p.policy);
    f("PDE_PTE", Bits{54, 54}, p.is_pte);
  }
};
static_assert(sound<PageEntryGc11>());

// [gmc_v12_0.c, "PTE format", "PDE format"; amdgpu_vm.h AMDGPU_PTE_MTYPE_GFX12_SHIFT(),
// AMDGPU_PTE_IS_PTE and AMDGPU_PDE_PTE_GFX12, which are one bit]
struct PageEntryGc12 : PageEntry {
  static constexpr u32 kWords = 2;
  static constexpr void fields(auto& p, auto f) {
    low_fields(p, f);
    f("MTYPE", Bits{55, 54}, p.policy);
    f("IS_PTE", Bits{63, 63}, p.is_pte);
  }
};
static_assert(sound<PageEntryGc12>());

// [amdgpu_vm.h AMDGPU_PTE_MTYPE_VG10(), AMDGPU_PTE_TF, AMDGPU_PDE_BFS(), AMDGPU_PDE_PTE]
struct PageEntryGc94 : PageEntry {
  static constexpr u32 kWords = 2;
  static constexpr void fields(auto& p, auto f) {
    low_fields(p, f);
    f("PDE_PTE", Bits{54, 54}, p.is_pte);
    f("TF", Bits{56, 56}, p.is_translated_further);
    f("MTYPE", Bits{58, 57}, p.policy);
    f("BFS", Bits{63, 59}, p.block_fragment);
  }
};
static_assert(sound<PageEntryGc94>());

constexpr Words<PageEntryGc11> page_words(const PageEntry& entry, BareChip chip) {
  switch (chip) {
    case BareChip::Gc11: return encode(PageEntryGc11{entry});
    case BareChip::Gc12: return encode(PageEntryGc12{entry});
    case BareChip::Gc94: break;
  }
  return encode(PageEntryGc94{entry});
}
constexpr u64 bits_of(const PageEntry& entry, BareChip chip) {
  const Words<PageEntryGc11> words = page_words(entry, chip);
  return words[0] | u64{words[1]} << 32;
}
constexpr PageEntry entry_of(u64 bits, BareChip chip) {
  const std::array<u32, 2> words{static_cast<u32>(bits), static_cast<u32>(bits >> 32)};
  if (chip == BareChip::Gc11) return decode<PageEntryGc11>(words);
  if (chip == BareChip::Gc94) return decode<PageEntryGc94>(words);
  return decode<PageEntryGc12>(words);
}
// Whether an entry of this level that is a page says so; of the lowest level on GC 12. [gmc_v12_0.c
// gmc_v12_0_gart_init(): gart_pte_flags with AMDGPU_PTE_IS_PTE, which amdgpu_ttm.c
// amdgpu_ttm_tt_pte_flags() gives to every page; tinygrad ip.py AM_GMC.get_pte_flags()]
constexpr bool marks_page(BareChip chip, unsigned level) {
  constexpr unsigned kLowest = 3, kLargeOfGc94 = 2;
  return level < (chip == BareChip::Gc12   ? kLowest + 1
                  : chip == BareChip::Gc11 ? kLowest
                                           : kLargeOfGc94);
}
// Whether a valid entry of this level is a page, and no table.
constexpr bool is_page(const PageEntry& entry, BareChip chip, unsigned level) {
  constexpr unsigned kLowest = 3, kLargeOfGc94 = 2;
  if (level == kLowest) return true;
  return chip == BareChip::Gc94 && level == kLargeOfGc94 ? !entry.is_translated_further
                                                         : entry.is_pte;
}
// The entry of this level that leads to a table.
constexpr PageEntry table_entry(u64 address, BareChip chip, unsigned level) {
  constexpr unsigned kAboveLarge = 1, kLargeOfGc94 = 2;
  constexpr u8 kLargePages = 9;
  PageEntry entry{.valid = true, .address = address};
  if (chip != BareChip::Gc94) return entry;
  if (level == kAboveLarge) entry.block_fragment = kLargePages;
  entry.is_translated_further = level == kLargeOfGc94;
  return entry;
}
// What no field has.
constexpr u64 reserved_page_bits(BareChip chip) {
  const Words<PageEntryGc11> mask = chip == BareChip::Gc11   ? fields_mask<PageEntryGc11>()
                                    : chip == BareChip::Gc12 ? fields_mask<PageEntryGc12>()
                                                             : fields_mask<PageEntryGc94>();
  return ~(mask[0] | u64{mask[1]} << 32);
}

inline constexpr unsigned kPageLevels = 4, kPageIndexBits = 9;
inline constexpr u64 kPageTableEntries = u64{1} << kPageIndexBits, kGpuPage = 4096;
// PAGE_TABLE_DEPTH of a context with them.
constexpr u8 context_depth(BareChip chip) { return chip == BareChip::Gc94 ? 2 : kPageLevels - 1; }
// Bytes that an entry of this level covers.
constexpr u64 page_span(unsigned level) {
  return kGpuPage << (kPageIndexBits * (kPageLevels - 1 - level));
}

}  // namespace doorbell::amd::hw
