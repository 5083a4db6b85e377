// ElfFile: a bounds-checked view of a 64-bit little-endian ELF file in memory: sections, segments,
// symbols, relocations. The bytes are not trusted: a malformed one is an Error that says where. The
// CPU's object loader and the drivers place code and apply relocations.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "base/elf/format.h"
#include "base/util/result.h"
#include "base/util/types.h"

namespace doorbell::elf {

struct Section {
  std::string_view name;
  u32 type = 0, link = 0, info = 0;  // SHT_..., section indices
  u64 flags = 0, address = 0, size = 0, align = 0, entry_size = 0;
  std::span<const u8> data;  // empty for SHT_NOBITS
};

struct Segment {
  u32 type = 0, flags = 0;  // PT_..., PF_...
  u64 virtual_address = 0, memory_size = 0, align = 0;
  std::span<const u8> data;
};

struct Symbol {
  std::string_view name;
  u8 type = 0, binding = 0;  // STT_..., STB_...
  u16 section = 0;           // SHN_UNDEF, SHN_ABS, ..., or an index below the section count
  u64 value = 0, size = 0;
};

struct Relocation {
  u64 offset = 0;  // into the section that is relocated; not checked here
  u32 type = 0, symbol = 0;
  i64 addend = 0;
};

class ElfFile {
 public:
  // The bytes are borrowed and must outlive the view.
  static Result<ElfFile> parse(std::span<const u8> bytes);

  u16 machine() const { return header_.e_machine; }
  u16 type() const { return header_.e_type; }
  u32 flags() const { return header_.e_flags; }
  u8 os_abi() const { return header_.e_ident[EI_OSABI]; }
  u8 abi_version() const { return header_.e_ident[EI_ABIVERSION]; }

  const std::vector<Section>& sections() const { return sections_; }
  const std::vector<Segment>& segments() const { return segments_; }
  // Null when there is none of that name.
  const Section* find_section(std::string_view name) const;

  // The symbols of a SHT_SYMTAB or SHT_DYNSYM section, the null symbol 0 included.
  Result<std::vector<Symbol>> symbols(const Section& table) const;
  // The entries of a SHT_RELA section.
  Result<std::vector<Relocation>> relocations(const Section& table) const;

 private:
  Result<void> read_sections();
  Result<void> read_segments();
  // The NUL-terminated string at `offset` of the string table `table`.
  Result<std::string_view> string_at(const Section& table, u64 offset) const;
  Result<std::span<const u8>> slice(u64 offset, u64 size, std::string_view what) const;

  std::span<const u8> bytes_;
  Elf64_Ehdr header_{};
  std::vector<Section> sections_;
  std::vector<Segment> segments_;
};

}  // namespace doorbell::elf
