// CodeObject: a kernel's ELF file as it will lie in executable memory: sections (or segments)
// placed, relocations resolved, the kernel descriptor found and read. See
// code_heap.h for where it goes.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/util/result.h"
#include "drivers/amd/code_metadata.h"
#include "drivers/amd/hw/abi/kernel_descriptor.h"

namespace doorbell::amd {

struct CodeObject {
  std::vector<u8> image;  // to be placed at a multiple of `alignment`
  u64 alignment = 0;
  u64 descriptor_offset = 0;  // of the 64 bytes of the kernel descriptor
  u64 entry_offset = 0;       // of the first instruction
  hw::KernelDescriptor descriptor;
  u32 elf_flags = 0;  // which chip it is for: hw/abi/elf_chip.h
  u8 abi_version = 0;
  KernelMetadata metadata;

  // Of a relocatable file or a shared object (comgr's) with the kernel `name`. What the file says
  // is checked; what the descriptor asks for is the program's to judge.
  static Result<CodeObject> load(std::span<const u8> file, const std::string& name);
  // Fills in the places that hold addresses, once that of the image is known.
  void relocate(u64 address);

 private:
  struct Absolute {
    u64 offset;
    u64 target;  // in the image
    u32 type;
  };
  std::vector<Absolute> absolutes_;
  friend class CodeObjectLoader;
};

}  // namespace doorbell::amd
