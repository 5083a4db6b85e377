// Cubin: a kernel of an ELF file of NVIDIA's compilers, ready to be placed: the bytes that go to
// the GPU's memory, and what a launch must say. See program.h for launches.
//
// The bytes are not trusted: a malformed file is an Error that says where.
#pragma once

#include <array>
#include <span>
#include <string>
#include <vector>

#include "base/util/result.h"
#include "base/util/types.h"
#include "drivers/nv/hw/isa/cubin.h"

namespace doorbell::nv {

struct Cubin {
  static constexpr u64 kAlignment = 256;  // of the image in the GPU's memory
  static constexpr usize kBanks = 8;

  // A constant bank in the image; no bytes: the kernel has none.
  struct Bank {
    u64 offset = 0;
    u32 bytes = 0;
  };
  struct Parameter {
    u32 offset = 0, bytes = 0;  // among the parameters
  };
  struct Relocation {
    u64 offset = 0;  // in the image
    hw::CubinRelocation type{};
    u64 target = 0;  // in the image, addend included
  };

  // Corrupt for a malformed file, NotFound where it has no such kernel, Unsupported for relocations
  // that are not known. Copies what it needs.
  static Result<Cubin> load(std::span<const u8> file, const std::string& kernel);
  // Writes addresses for an image that lies at `address`.
  void relocate(u64 address);

  u32 chip = 0;  // 86 of sm_86
  std::vector<u8> image;
  u64 entry_offset = 0, code_bytes = 0;
  u32 registers = 0;  // of a thread
  u32 barriers = 0;
  u32 shared_bytes = 0;                         // of a block, what the system reserves included
  u32 stack_bytes = 0;                          // of a thread's local memory
  u32 parameter_base = 0, parameter_bytes = 0;  // in constant bank 0
  std::vector<Parameter> parameters;
  std::array<u32, 3> required_block{};  // 0: any
  std::array<u32, 3> most_threads{};    // of a block; 0: not stated
  std::array<Bank, kBanks> banks{};     // bank 0 is made for each launch
  std::vector<Relocation> relocations;
};

}  // namespace doorbell::nv
