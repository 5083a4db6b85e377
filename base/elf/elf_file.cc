// Reading ELF without believing it: every offset and count is checked against the file first.
#include "base/elf/elf_file.h"

#include <cstring>

#include "base/util/try.h"

namespace doorbell::elf {

namespace {

template <class T>
T read_at(std::span<const u8> bytes, u64 offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

}  // namespace

Result<std::span<const u8>> ElfFile::slice(u64 offset, u64 size, std::string_view what) const {
  if (offset > bytes_.size() || size > bytes_.size() - offset) {
    return fail(ErrorKind::Corrupt, "{} at {} with {} bytes lies outside the ELF file of {} bytes",
                what, offset, size, bytes_.size());
  }
  return bytes_.subspan(offset, size);
}

Result<ElfFile> ElfFile::parse(std::span<const u8> bytes) {
  ElfFile file;
  file.bytes_ = bytes;
  if (bytes.size() < sizeof(Elf64_Ehdr)) {
    return fail(ErrorKind::Corrupt, "ELF file of {} bytes, its header alone has {}", bytes.size(),
                sizeof(Elf64_Ehdr));
  }
  file.header_ = read_at<Elf64_Ehdr>(bytes, 0);
  const unsigned char* ident = file.header_.e_ident;
  if (std::memcmp(ident, ELFMAG, SELFMAG) != 0) {
    return fail(ErrorKind::Corrupt, "no ELF file: it begins with {:02x} {:02x} {:02x} {:02x}",
                ident[0], ident[1], ident[2], ident[3]);
  }
  if (ident[EI_CLASS] != ELFCLASS64 || ident[EI_DATA] != ELFDATA2LSB) {
    return fail(ErrorKind::Unsupported,
                "ELF class {} and byte order {}, expected 64-bit ({}) "
                "little-endian ({})",
                ident[EI_CLASS], ident[EI_DATA], ELFCLASS64, ELFDATA2LSB);
  }
  TRY(file.read_sections());
  TRY(file.read_segments());
  return file;
}

Result<void> ElfFile::read_sections() {
  if (header_.e_shnum == 0) return {};
  if (header_.e_shentsize != sizeof(Elf64_Shdr)) {
    return fail(ErrorKind::Corrupt, "section headers of {} bytes, expected {}", header_.e_shentsize,
                sizeof(Elf64_Shdr));
  }
  TRY(auto table,
      slice(header_.e_shoff, u64{header_.e_shnum} * sizeof(Elf64_Shdr), "section header table"));
  std::vector<u32> name_offsets;
  for (usize i = 0; i < header_.e_shnum; ++i) {
    auto raw = read_at<Elf64_Shdr>(table, i * sizeof(Elf64_Shdr));
    Section s{.type = raw.sh_type,
              .link = raw.sh_link,
              .info = raw.sh_info,
              .flags = raw.sh_flags,
              .address = raw.sh_addr,
              .size = raw.sh_size,
              .align = raw.sh_addralign,
              .entry_size = raw.sh_entsize};
    if (raw.sh_type != SHT_NOBITS && raw.sh_type != SHT_NULL) {
      TRY(s.data, slice(raw.sh_offset, raw.sh_size, "section"));
    }
    if ((s.align & (s.align - 1)) != 0) {
      return fail(ErrorKind::Corrupt, "section {} is aligned to {}, no power of two", i, s.align);
    }
    name_offsets.push_back(raw.sh_name);
    sections_.push_back(s);
  }
  if (header_.e_shstrndx == SHN_UNDEF) return {};
  if (header_.e_shstrndx >= sections_.size()) {
    return fail(ErrorKind::Corrupt, "section names are in section {} of {}", header_.e_shstrndx,
                sections_.size());
  }
  for (usize i = 0; i < sections_.size(); ++i) {
    TRY(sections_[i].name, string_at(sections_[header_.e_shstrndx], name_offsets[i]));
  }
  return {};
}

Result<void> ElfFile::read_segments() {
  if (header_.e_phnum == 0) return {};
  if (header_.e_phentsize != sizeof(Elf64_Phdr)) {
    return fail(ErrorKind::Corrupt, "program headers of {} bytes, expected {}", header_.e_phentsize,
                sizeof(Elf64_Phdr));
  }
  TRY(auto table,
      slice(header_.e_phoff, u64{header_.e_phnum} * sizeof(Elf64_Phdr), "program header table"));
  for (usize i = 0; i < header_.e_phnum; ++i) {
    auto raw = read_at<Elf64_Phdr>(table, i * sizeof(Elf64_Phdr));
    Segment s{.type = raw.p_type,
              .flags = raw.p_flags,
              .virtual_address = raw.p_vaddr,
              .memory_size = raw.p_memsz,
              .align = raw.p_align};
    TRY(s.data, slice(raw.p_offset, raw.p_filesz, "segment"));
    segments_.push_back(s);
  }
  return {};
}

Result<std::string_view> ElfFile::string_at(const Section& table, u64 offset) const {
  if (offset >= table.data.size()) {
    return fail(ErrorKind::Corrupt, "string at {} of a table of {} bytes", offset,
                table.data.size());
  }
  const char* begin = reinterpret_cast<const char*>(table.data.data()) + offset;
  const void* end = std::memchr(begin, 0, table.data.size() - offset);
  if (end == nullptr) {
    return fail(ErrorKind::Corrupt, "the string at {} does not end in its table of {} bytes",
                offset, table.data.size());
  }
  return std::string_view(begin, static_cast<usize>(static_cast<const char*>(end) - begin));
}

const Section* ElfFile::find_section(std::string_view name) const {
  for (const Section& s : sections_) {
    if (s.name == name) return &s;
  }
  return nullptr;
}

Result<std::vector<Symbol>> ElfFile::symbols(const Section& table) const {
  if (table.type != SHT_SYMTAB && table.type != SHT_DYNSYM) {
    return fail(ErrorKind::Corrupt, "section {} has type {} and holds no symbols", table.name,
                table.type);
  }
  if (table.data.size() % sizeof(Elf64_Sym) != 0 || table.link >= sections_.size()) {
    return fail(ErrorKind::Corrupt, "symbol table of {} bytes with names in section {} of {}",
                table.data.size(), table.link, sections_.size());
  }
  std::vector<Symbol> symbols;
  for (usize at = 0; at < table.data.size(); at += sizeof(Elf64_Sym)) {
    auto raw = read_at<Elf64_Sym>(table.data, at);
    Symbol s{.type = static_cast<u8>(ELF64_ST_TYPE(raw.st_info)),
             .binding = static_cast<u8>(ELF64_ST_BIND(raw.st_info)),
             .section = raw.st_shndx,
             .value = raw.st_value,
             .size = raw.st_size};
    if (s.section < SHN_LORESERVE && s.section >= sections_.size()) {
      return fail(ErrorKind::Corrupt, "symbol {} is in section {} of {}", at / sizeof(Elf64_Sym),
                  s.section, sections_.size());
    }
    if (raw.st_name != 0) {
      TRY(s.name, string_at(sections_[table.link], raw.st_name));
    }
    symbols.push_back(s);
  }
  return symbols;
}

Result<std::vector<Relocation>> ElfFile::relocations(const Section& table) const {
  if (table.type != SHT_RELA || table.data.size() % sizeof(Elf64_Rela) != 0) {
    return fail(ErrorKind::Corrupt, "section {} has type {} and {} bytes, no relocations",
                table.name, table.type, table.data.size());
  }
  std::vector<Relocation> relocations;
  for (usize at = 0; at < table.data.size(); at += sizeof(Elf64_Rela)) {
    auto raw = read_at<Elf64_Rela>(table.data, at);
    relocations.push_back({.offset = raw.r_offset,
                           .type = static_cast<u32>(ELF64_R_TYPE(raw.r_info)),
                           .symbol = static_cast<u32>(ELF64_R_SYM(raw.r_info)),
                           .addend = raw.r_addend});
  }
  return relocations;
}

}  // namespace doorbell::elf
