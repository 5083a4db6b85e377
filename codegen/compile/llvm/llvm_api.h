// LlvmApi: the interface of the LLVM module (libdoorbell_llvm.so). Only the module links to LLVM;
// it is loaded at the first compile, so that a process whose kernels are all cached never pays for
// loading LLVM (about 12 ms and 55 MB). For loading the module see codegen/compile/llvm_compiler.h.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/util/result.h"
#include "codegen/linear/program.h"

namespace doorbell::codegen {

// The target of generated code.
struct LlvmTarget {
  enum class Family : u8 { Host, Amd, Nv };
  Family family = Family::Host;
  std::string chip;  // as LLVM calls it: "gfx1100", "sm_90"; "x86-64-v3"; empty: this CPU
  int ptx = 0;       // of the family Nv: the version to write, 84 for PTX 8.4; 0: the chip's first
};

// Thread safety: all functions may be called from any thread.
class LlvmApi {
 public:
  virtual ~LlvmApi() = default;
  // A relocatable object for the target; of the family Nv, which has none, PTX.
  virtual Result<std::vector<u8>> compile(const LlvmTarget& target,
                                          const LinearProgram& program) const = 0;
  // The IR as it is passed to LLVM's passes.
  virtual std::string print_ir(const LlvmTarget& target, const LinearProgram& program) const = 0;
  // The text section of such an object, one instruction a line; PTX as it is.
  virtual Result<std::string> disassemble(const LlvmTarget& target,
                                          std::span<const u8> object) const = 0;
};

inline constexpr const char* kLlvmApiSymbol = "doorbell_llvm_api_1";
using LlvmApiFunction = const LlvmApi* (*)();

}  // namespace doorbell::codegen
