// The numbers of base/elf/format.h, for the two files that include its two forms.
#pragma once

#include <cstddef>
#include <vector>

#include "base/elf/format.h"

#define ELF_FORMAT_VALUES            \
  {SELFMAG,                          \
   EI_CLASS,                         \
   EI_DATA,                          \
   EI_VERSION,                       \
   EI_OSABI,                         \
   EI_ABIVERSION,                    \
   EI_NIDENT,                        \
   ELFCLASS64,                       \
   ELFDATA2LSB,                      \
   EV_CURRENT,                       \
   ET_REL,                           \
   ET_EXEC,                          \
   ET_DYN,                           \
   EM_X86_64,                        \
   EM_AARCH64,                       \
   EM_CUDA,                          \
   EM_AMDGPU,                        \
   SHT_NULL,                         \
   SHT_PROGBITS,                     \
   SHT_SYMTAB,                       \
   SHT_STRTAB,                       \
   SHT_RELA,                         \
   SHT_NOTE,                         \
   SHT_NOBITS,                       \
   SHT_REL,                          \
   SHT_DYNSYM,                       \
   SHT_X86_64_UNWIND,                \
   SHN_UNDEF,                        \
   SHN_LORESERVE,                    \
   SHN_ABS,                          \
   SHF_WRITE,                        \
   SHF_ALLOC,                        \
   SHF_EXECINSTR,                    \
   STT_OBJECT,                       \
   STT_FUNC,                         \
   STB_GLOBAL,                       \
   PT_LOAD,                          \
   PT_NOTE,                          \
   NT_GNU_BUILD_ID,                  \
   R_X86_64_NONE,                    \
   R_X86_64_64,                      \
   R_X86_64_PC32,                    \
   R_X86_64_PLT32,                   \
   R_X86_64_PC64,                    \
   sizeof(Elf64_Ehdr),               \
   offsetof(Elf64_Ehdr, e_entry),    \
   offsetof(Elf64_Ehdr, e_shoff),    \
   offsetof(Elf64_Ehdr, e_flags),    \
   offsetof(Elf64_Ehdr, e_shstrndx), \
   sizeof(Elf64_Shdr),               \
   offsetof(Elf64_Shdr, sh_flags),   \
   offsetof(Elf64_Shdr, sh_size),    \
   offsetof(Elf64_Shdr, sh_info),    \
   offsetof(Elf64_Shdr, sh_entsize), \
   sizeof(Elf64_Phdr),               \
   offsetof(Elf64_Phdr, p_flags),    \
   offsetof(Elf64_Phdr, p_vaddr),    \
   offsetof(Elf64_Phdr, p_memsz),    \
   offsetof(Elf64_Phdr, p_align),    \
   sizeof(Elf64_Sym),                \
   offsetof(Elf64_Sym, st_info),     \
   offsetof(Elf64_Sym, st_shndx),    \
   offsetof(Elf64_Sym, st_value),    \
   offsetof(Elf64_Sym, st_size),     \
   sizeof(Elf64_Rel),                \
   sizeof(Elf64_Rela),               \
   offsetof(Elf64_Rela, r_info),     \
   offsetof(Elf64_Rela, r_addend),   \
   sizeof(Elf64_Nhdr),               \
   offsetof(Elf64_Nhdr, n_type),     \
   ELF64_R_SYM(0x12'3456'789a),      \
   ELF64_R_TYPE(0x12'3456'789a),     \
   ELF64_ST_BIND(0x25),              \
   ELF64_ST_TYPE(0x25),              \
   ELF64_ST_INFO(2, 5)}

namespace doorbell::test {
std::vector<unsigned long> own_elf_values();
}
