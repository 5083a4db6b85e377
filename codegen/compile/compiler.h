// Compiler: a linear program, or its source text, as bytes a device can load. For loading
// them see load_object.h on the CPU, else the driver; for keeping them on disk compile_cache.h.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/util/result.h"
#include "codegen/linear/program.h"

namespace doorbell::codegen {

// Thread safety: all functions may be called from any thread.
class Compiler {
 public:
  virtual ~Compiler() = default;
  // Everything besides the program that determines the bytes: name, version, options, CPU.
  virtual const std::string& key() const = 0;
  // Whether compile() reads `source`, the renderer's text.
  virtual bool wants_source() const = 0;
  // Whether compile() runs in this process; otherwise it starts a program.
  virtual bool runs_in_process() const { return true; }
  virtual Result<std::vector<u8>> compile(const LinearProgram& program,
                                          std::string_view source) const = 0;
  // The most work items of a group with which the device can run the compiled program, if the
  // program needs more resources than larger groups have; 0: any number within Caps::max_local.
  virtual Result<i64> max_workgroup_size(const LinearProgram&, std::span<const u8>) const {
    return 0;
  }
  // The machine code as text, for DEBUG=7.
  virtual Result<std::string> disassemble(std::span<const u8> binary) const = 0;
};

}  // namespace doorbell::codegen
