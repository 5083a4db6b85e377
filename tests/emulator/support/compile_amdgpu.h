// Code objects for tests of the emulator: LLVM IR or assembly text to a relocatable ELF file for
// one AMD chip, in process. Placing the code object in a GPU's memory is left to code_object.h.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/util/result.h"
#include "base/util/types.h"

namespace doorbell::testing {

// `chip` is LLVM's name of it ("gfx1100"); `features` LLVM's switches ("+wavefrontsize64").
Result<std::vector<u8>> compile_ir(std::string_view text, const std::string& chip,
                                   const std::string& features = "");
Result<std::vector<u8>> assemble(std::string_view text, const std::string& chip,
                                 const std::string& features = "");

// What the kernel descriptor of an assembly kernel says.
struct AssemblyOptions {
  u32 vgprs = 64, sgprs = 64;
  u32 lds_bytes = 0, scratch_bytes = 0;
  bool wave64 = false;           // on chips that have both sizes
  u32 work_item_dimensions = 1;  // x, y, z: which work-item ids the wave wants
  bool group_ids = true;         // x, y and z
  std::string directives;        // further .amdhsa_ lines
};

// The assembly of one kernel named "kernel": `body` with what it takes around it. The kernel finds
// the address of its arguments in s[0:1] (where `directives` enables nothing else), the ids of its
// group in the SGPRs behind them (in ttmp9 and ttmp7 on gfx12), its work-item ids in v0 (and v1,
// v2). The body ends with s_endpgm of its own.
std::string assembly_kernel(const std::string& chip, std::string_view body,
                            const AssemblyOptions& options = {});

}  // namespace doorbell::testing
