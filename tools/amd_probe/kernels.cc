// A relocatable ELF file around a kernel: one section with descriptor and code, one symbol.
#include "tools/amd_probe/kernels.h"

#include <elf.h>

#include <cstring>
#include <string>

#include "drivers/amd/hw/abi/kernel_descriptor.h"
#include "drivers/amd/hw/isa/chip.h"

namespace doorbell::tools {
namespace {

namespace hw = amd::hw;

#define KERNEL(name, generation, ...) constexpr u32 k_##name##generation[] = {__VA_ARGS__};
#include "tools/amd_probe/kernel_words.inc"
#undef KERNEL

struct Row {
  std::string_view name;
  hw::Generation generation;
  std::span<const u32> words;
};
constexpr Row kRows[] = {
#define KERNEL(name, generation, ...) {#name, hw::Generation::generation, k_##name##generation},
#include "tools/amd_probe/kernel_words.inc"
#undef KERNEL
};

constexpr u64 kCodeAt = hw::kCodeAlignment;  // behind the descriptor, in the section

class Elf {
 public:
  // Where it begins in the file.
  u64 append(const void* bytes, usize count) {
    const u64 at = image_.size();
    image_.resize(at + count);
    std::memcpy(image_.data() + at, bytes, count);
    return at;
  }
  void align(u64 to) { image_.resize((image_.size() + to - 1) / to * to); }
  void write(u64 at, const void* bytes, usize count) {
    std::memcpy(image_.data() + at, bytes, count);
  }
  std::vector<u8> take() { return std::move(image_); }

 private:
  std::vector<u8> image_;
};

Elf64_Shdr section(u32 name, u32 type, u64 offset, u64 size, u64 alignment) {
  Elf64_Shdr header{};
  header.sh_name = name;
  header.sh_type = type;
  header.sh_offset = offset;
  header.sh_size = size;
  header.sh_addralign = alignment;
  return header;
}

std::vector<u8> make_object(std::string_view name, const hw::Chip& chip,
                            const Words<hw::KernelDescriptor>& descriptor,
                            std::span<const u32> code) {
  Elf elf;
  Elf64_Ehdr header{};
  elf.append(&header, sizeof header);
  elf.align(hw::kCodeAlignment);
  const u64 kernel_at = elf.append(descriptor.data(), sizeof descriptor);
  elf.align(kCodeAt);
  const u64 end = elf.append(code.data(), code.size_bytes()) + code.size_bytes();
  const std::string names = '\0' + std::string(".kernel") + '\0' + std::string(name) + ".kd" + '\0';
  const u64 names_at = elf.append(names.data(), names.size());
  elf.align(alignof(Elf64_Sym));
  constexpr u32 kKernelName = 1, kSymbolName = 9;
  Elf64_Sym symbols[2]{};
  symbols[1].st_name = kSymbolName;
  symbols[1].st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT);
  symbols[1].st_shndx = 1;
  symbols[1].st_size = hw::kKernelDescriptorBytes;
  const u64 symbols_at = elf.append(symbols, sizeof symbols);
  Elf64_Shdr sections[] = {
      {},
      section(kKernelName, SHT_PROGBITS, kernel_at, end - kernel_at, hw::kCodeAlignment),
      section(0, SHT_SYMTAB, symbols_at, sizeof symbols, alignof(Elf64_Sym)),
      section(0, SHT_STRTAB, names_at, names.size(), 1)};
  sections[1].sh_flags = SHF_ALLOC | SHF_EXECINSTR;
  constexpr u16 kStrings = 3;
  sections[2].sh_link = kStrings;
  sections[2].sh_info = 1;
  sections[2].sh_entsize = sizeof(Elf64_Sym);
  const u64 sections_at = elf.append(sections, sizeof sections);

  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  constexpr u8 kHsa = 64, kCodeObjectV5 = 3;  // ELFOSABI_AMDGPU_HSA [LLVM AMDGPUUsage, "Header"]
  header.e_ident[EI_OSABI] = kHsa;
  header.e_ident[EI_ABIVERSION] = kCodeObjectV5;
  header.e_type = ET_REL;
  header.e_machine = hw::kElfMachine;
  header.e_version = EV_CURRENT;
  header.e_flags = chip.elf_machine;
  header.e_ehsize = sizeof header;
  header.e_shoff = sections_at;
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = std::size(sections);
  header.e_shstrndx = kStrings;
  elf.write(0, &header, sizeof header);
  return elf.take();
}

}  // namespace

std::span<const u32> kernel_words(std::string_view name, hw::Generation generation) {
  for (const Row& row : kRows)
    if (row.name == name && row.generation == generation) return row.words;
  return {};
}

Result<core::Binary> probe_kernel(std::string_view name, const amd::Caps& caps,
                                  const KernelShape& shape) {
  const std::span<const u32> words = kernel_words(name, caps.generation);
  const hw::Chip* chip = hw::find_chip(caps.arch);
  if (words.empty() || chip == nullptr)
    return fail(ErrorKind::Unsupported, "the kernel {} is not there for {}", name, caps.arch);
  Words<hw::KernelDescriptor> raw;
  std::memcpy(raw.data(), words.data(), sizeof raw);
  auto descriptor = decode<hw::KernelDescriptor>(raw);
  descriptor.entry_offset = kCodeAt;
  descriptor.group_segment_fixed_size = shape.local_bytes;
  core::Binary binary;
  binary.name = name;
  binary.image = make_object(name, *chip, encode(descriptor), words.subspan(raw.size()));
  binary.param_count = shape.params;
  binary.variable_count = shape.variables;
  binary.group_items[0] = shape.items;
  binary.grid_groups[0] = shape.groups;
  return binary;
}

}  // namespace doorbell::tools
