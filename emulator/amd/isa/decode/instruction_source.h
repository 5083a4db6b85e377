// InstructionSource: names and sizes of instructions, from LLVM's disassembler. An interface, so
// that the emulator itself links no LLVM: the implementation (isa/llvm) is a module of its own,
// libdoorbell_amd_decoder.so, opened when the first code is decoded.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/util/result.h"
#include "base/util/types.h"

namespace doorbell::emu::amdgpu {

// Thread safety: one thread at a time.
class InstructionSource {
 public:
  struct Instruction {
    std::string_view name;  // from LLVM; lives as long as the source
    u32 size = 0;           // bytes; 0: not an instruction of this chip
  };
  virtual ~InstructionSource() = default;
  // The instruction at the start of the bytes; `address` is where it is, for relative operands.
  virtual Instruction decode(std::span<const u8> bytes, u64 address) = 0;
  // As assembly, for traces and reports; empty if it is not an instruction.
  virtual std::string print(std::span<const u8> bytes, u64 address) = 0;
};

// Thread safety: any thread.
class InstructionSources {
 public:
  virtual ~InstructionSources() = default;
  virtual Result<std::unique_ptr<InstructionSource>> open(std::string_view chip,
                                                          u32 lanes) const = 0;
};

inline constexpr const char* kInstructionSourcesSymbol = "doorbell_amd_decoder_1";
using InstructionSourcesFunction = const InstructionSources* (*)();

// Opens the module once. Thread safety: any thread.
Result<const InstructionSources*> instruction_sources();

}  // namespace doorbell::emu::amdgpu
