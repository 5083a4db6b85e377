// The ELF reader and the object loader on any bytes: they may refuse, nothing else.
#include "base/elf/elf_file.h"
#include "codegen/compile/load_object.h"

using namespace doorbell;

extern "C" int LLVMFuzzerTestOneInput(const u8* data, std::size_t size);

int LLVMFuzzerTestOneInput(const u8* data, std::size_t size) {
  std::span<const u8> bytes(data, size);
  if (auto file = elf::ElfFile::parse(bytes)) {
    for (const elf::Section& section : file->sections()) {
      (void)file->symbols(section).has_value();
      (void)file->relocations(section).has_value();
    }
  }
  (void)codegen::load_object(bytes, "kernel").has_value();
  return 0;
}
