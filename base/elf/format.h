// The records and numbers of ELF files that Doorbell reads and writes, under the names of <elf.h>,
// which is that of the system where it has one. macOS has none, but reads code objects of GPUs.
// [System V ABI, "gABI" 4.1, chapters 4 and 5; the relocations: AMD64 supplement 1.0, table 4.9]
#pragma once

#if __has_include(<elf.h>) && !defined(DOORBELL_OWN_ELF_FORMAT)
#include <elf.h>
#else

#include "base/util/types.h"

constexpr char ELFMAG[] = "\177ELF";
constexpr unsigned SELFMAG = 4;
// Bytes of e_ident.
enum { EI_CLASS = 4, EI_DATA = 5, EI_VERSION = 6, EI_OSABI = 7, EI_ABIVERSION = 8, EI_NIDENT = 16 };
enum { ELFCLASS64 = 2, ELFDATA2LSB = 1, EV_CURRENT = 1 };
enum { ET_REL = 1, ET_EXEC = 2, ET_DYN = 3 };
enum { EM_X86_64 = 62, EM_AARCH64 = 183, EM_CUDA = 190, EM_AMDGPU = 224 };
enum {
  SHT_NULL = 0,
  SHT_PROGBITS = 1,
  SHT_SYMTAB = 2,
  SHT_STRTAB = 3,
  SHT_RELA = 4,
  SHT_NOTE = 7,
  SHT_NOBITS = 8,
  SHT_REL = 9,
  SHT_DYNSYM = 11,
  SHT_X86_64_UNWIND = 0x70000001,
};
enum { SHN_UNDEF = 0, SHN_LORESERVE = 0xff00, SHN_ABS = 0xfff1 };
enum { SHF_WRITE = 1, SHF_ALLOC = 2, SHF_EXECINSTR = 4 };
enum { STT_OBJECT = 1, STT_FUNC = 2, STB_GLOBAL = 1 };
enum { PT_LOAD = 1, PT_NOTE = 4, NT_GNU_BUILD_ID = 3 };
enum {
  R_X86_64_NONE = 0,
  R_X86_64_64 = 1,
  R_X86_64_PC32 = 2,
  R_X86_64_PLT32 = 4,
  R_X86_64_PC64 = 24,
};

struct Elf64_Ehdr {
  doorbell::u8 e_ident[EI_NIDENT];
  doorbell::u16 e_type, e_machine;
  doorbell::u32 e_version;
  doorbell::u64 e_entry, e_phoff, e_shoff;
  doorbell::u32 e_flags;
  doorbell::u16 e_ehsize, e_phentsize, e_phnum, e_shentsize, e_shnum, e_shstrndx;
};
struct Elf64_Shdr {
  doorbell::u32 sh_name, sh_type;
  doorbell::u64 sh_flags, sh_addr, sh_offset, sh_size;
  doorbell::u32 sh_link, sh_info;
  doorbell::u64 sh_addralign, sh_entsize;
};
struct Elf64_Phdr {
  doorbell::u32 p_type, p_flags;
  doorbell::u64 p_offset, p_vaddr, p_paddr, p_filesz, p_memsz, p_align;
};
struct Elf64_Sym {
  doorbell::u32 st_name;
  doorbell::u8 st_info, st_other;
  doorbell::u16 st_shndx;
  doorbell::u64 st_value, st_size;
};
struct Elf64_Rel {
  doorbell::u64 r_offset, r_info;
};
struct Elf64_Rela {
  doorbell::u64 r_offset, r_info;
  doorbell::i64 r_addend;
};
struct Elf64_Nhdr {
  doorbell::u32 n_namesz, n_descsz, n_type;
};

constexpr doorbell::u64 ELF64_R_SYM(doorbell::u64 info) { return info >> 32; }
constexpr doorbell::u64 ELF64_R_TYPE(doorbell::u64 info) { return info & 0xffffffff; }
constexpr int ELF64_ST_BIND(int info) { return (info & 0xff) >> 4; }
constexpr int ELF64_ST_TYPE(int info) { return info & 0xf; }
constexpr int ELF64_ST_INFO(int bind, int type) { return (bind << 4) + (type & 0xf); }

#endif
