// SourceCompiler: of devices whose driver has the text of a kernel compiled: OpenCL's, WebGPU's,
// Metal's.
#pragma once

#include <string>

#include "codegen/compile/compiler.h"

namespace doorbell::runtime {

// `Device` has build(), and max_workgroup_size() where it knows.
template <class Device>
class SourceCompiler final : public codegen::Compiler {
 public:
  // `key`: what determines the result of build() beside the source. `interface`: for messages.
  SourceCompiler(core::Device& device, std::string key, std::string_view interface)
      : device_(static_cast<Device&>(device)), key_(std::move(key)), interface_(interface) {}

  const std::string& key() const override { return key_; }
  bool wants_source() const override { return true; }
  Result<std::vector<u8>> compile(const codegen::LinearProgram& program,
                                  std::string_view source) const override {
    return device_.build(program.name, source);
  }
  Result<i64> max_workgroup_size(const codegen::LinearProgram& program,
                                 std::span<const u8> image) const override {
    if constexpr (requires { device_.max_workgroup_size(program.name, image); })
      return device_.max_workgroup_size(program.name, image);
    else
      return Compiler::max_workgroup_size(program, image);
  }
  Result<std::string> disassemble(std::span<const u8>) const override {
    return fail(ErrorKind::Unsupported, "{} does not tell what machine code a kernel became",
                interface_);
  }

 private:
  Device& device_;  // of the Registry, which never closes a device
  const std::string key_;
  const std::string_view interface_;
};

}  // namespace doorbell::runtime
