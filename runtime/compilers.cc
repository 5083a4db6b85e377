// Hands kernels to the backend that the device was opened with.
#include "runtime/compilers.h"

namespace doorbell::runtime {
namespace {

class Compilers final : public engine::KernelCompiler {
 public:
  Result<engine::CompiledKernel> compile(const core::KernelAst&, core::Device& device) override {
    return fail(ErrorKind::Unsupported, "no compiler is built for {}", device.name());
  }
  u32 max_buffers(core::Device&) override { return 31; }
};

}  // namespace

engine::KernelCompiler& compilers() {
  static Compilers& compilers = *new Compilers;  // never freed: kernels may compile while we exit
  return compilers;
}

}  // namespace doorbell::runtime
