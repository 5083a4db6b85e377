// The same PTX twice: on the interpreter of PTX beside this file, and, as the cubin that nvJitLink
// makes of it, on the interpreter of machine code (emulator/nv). For what is run see the tests.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "codegen/compile/compiler.h"
#include "emulator/nv/compute/cubin.h"
#include "tests/emulator/nv/ptx/module.h"

namespace doorbell::ptx {

// Text that is already there, as a compiler to PTX.
class GivenPtx final : public codegen::Compiler {
 public:
  explicit GivenPtx(std::string text) : text_(std::move(text)) {}
  const std::string& key() const override { return text_; }
  bool wants_source() const override { return false; }
  Result<std::vector<u8>> compile(const codegen::LinearProgram&, std::string_view) const override {
    return std::vector<u8>(text_.begin(), text_.end());
  }
  Result<std::string> disassemble(std::span<const u8>) const override { return text_; }

 private:
  const std::string text_;
};

// NVIDIA's compiler is here; otherwise why it is not.
std::string missing_compiler();
// The cubin of a text, loaded.
Result<std::unique_ptr<emu::nvgpu::Cubin>> assemble(const std::string& text,
                                                    const std::string& chip);

// A launch whose first arguments are buffers; their addresses are chosen here.
struct Work {
  std::array<u32, 3> grid{1, 1, 1}, block{1, 1, 1};
  std::vector<std::vector<u8>> buffers;
  std::vector<i64> variables;
  u32 dynamic_shared = 0;     // bytes
  u64 most_instructions = 0;  // of the interpreter of PTX; 0: no limit
};
struct Done {
  std::string fault;  // empty: none
  bool too_long = false;
  std::vector<std::vector<u8>> buffers;
};
Done run_text(const Kernel& kernel, const Work& work);
Done run_code(const emu::nvgpu::Cubin& cubin, const Work& work);

// Where two results differ: elements of a float format may be any NaN.
struct Tolerance {
  u64 ulps = 0;
  f64 absolute = 0;
  bool any_zero = false;  // PTX leaves the zero's sign open
};
bool same_float(u64 a, u64 b, const Format& format, const Tolerance& tolerance = {});

// add, sub, mul and mad of floats without a rounding may become fma. With one, they are rounded.
std::string with_roundings(const std::string& text);

}  // namespace doorbell::ptx
