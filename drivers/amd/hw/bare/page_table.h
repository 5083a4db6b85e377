// An entry of the page tables of GC 11 and 12's older form: 4 levels of 512 entries, 48 bits.
//
// Directories of level 0 to 2 lead to tables, and on levels 1 and 2 an entry with `is_pte` is a
// page of 1 GiB or 2 MiB; level 3 has pages of 4 KiB. Indices count from the context's
// PAGE_TABLE_START_ADDR.
// [torvalds/linux gmc_v11_0.c, "PTE format", "PDE format"; amdgpu_vm.h AMDGPU_PTE_*,
// AMDGPU_PDE_PTE; tinygrad ip.py get_pte_flags(), memory.py]
#pragma once

#include "base/bits/record.h"

namespace doorbell::amd::hw {

// [navi10_enum.h MTYPE_*; the kernel's MTYPE_NC 0, MTYPE_CC 2, MTYPE_UC 3 in soc15_enum.h]
enum class MemoryPolicy : u8 { NonCoherent = 0, CacheCoherent = 2, Uncached = 3 };

// [gmc_v11_0.c, "PTE format", "PDE format"]
struct PageEntry {
  static constexpr u32 kWords = 2;
  bool valid = false;
  bool is_system = false;  // a bus address; else an offset in the GPU's memory
  bool snooped = false, encrypted = false, executable = false, readable = false, writable = false;
  u8 fragment = 0;  // the page is one of 2^fragment that lie alike
  u64 address = 0;
  MemoryPolicy policy = MemoryPolicy::NonCoherent;
  bool is_pte = false;  // of a directory: a page, no table
  static constexpr void fields(auto& p, auto f) {
    f("VALID", Bits{0, 0}, p.valid);
    f("SYSTEM", Bits{1, 1}, p.is_system);
    f("SNOOPED", Bits{2, 2}, p.snooped);
    f("TMZ", Bits{3, 3}, p.encrypted);
    f("EXECUTABLE", Bits{4, 4}, p.executable);
    f("READABLE", Bits{5, 5}, p.readable);
    f("WRITEABLE", Bits{6, 6}, p.writable);
    f("FRAG", Bits{11, 7}, p.fragment);
    f("address", Bits{47, 12}, p.address, Shift{12});
    f("MTYPE", Bits{50, 48}, p.policy);
    f("PDE_PTE", Bits{54, 54}, p.is_pte);
  }
};
static_assert(sound<PageEntry>());

constexpr u64 bits_of(const PageEntry& entry) {
  const Words<PageEntry> words = encode(entry);
  return words[0] | u64{words[1]} << 32;
}
constexpr PageEntry entry_of(u64 bits) {
  return decode<PageEntry>(
      std::array<u32, 2>{static_cast<u32>(bits), static_cast<u32>(bits >> 32)});
}
// What no field has.
inline constexpr u64 kReservedPageBits = 0xffb8'0000'0000'0000;

inline constexpr unsigned kPageLevels = 4, kPageIndexBits = 9;
inline constexpr u64 kPageTableEntries = u64{1} << kPageIndexBits, kGpuPage = 4096;
// Bytes that an entry of this level covers.
constexpr u64 page_span(unsigned level) {
  return kGpuPage << (kPageIndexBits * (kPageLevels - 1 - level));
}

// [torvalds/linux amdgpu_vm.h: VALID 1, SYSTEM 2, SNOOPED 4, EXECUTABLE 0x10, READABLE 0x20,
// WRITEABLE 0x40, FRAG << 7, MTYPE_NV10 << 48, PDE_PTE 1 << 54]
static_assert(bits_of({.valid = true,
                       .is_system = true,
                       .snooped = true,
                       .executable = true,
                       .readable = true,
                       .writable = true,
                       .fragment = 9,
                       .address = 0x123456000,
                       .policy = MemoryPolicy::Uncached,
                       .is_pte = true}) == 0x0043'0001'2345'64f7);

}  // namespace doorbell::amd::hw
