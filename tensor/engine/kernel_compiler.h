// KernelCompiler: how the engine gets from a kernel's graph to a binary. The composition root
// installs one, because only it knows which renderer and compiler serve which device.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/util/result.h"
#include "core/device/device.h"
#include "core/schedule/kernel.h"
#include "core/schedule/schedule.h"

namespace doorbell::engine {

// Texts of a kernel for display; parts that were not requested are empty.
struct KernelText {
  std::string graph, plan, linear, source, code;
};

struct CompiledKernel {
  core::Binary binary;
  std::vector<i64> variables;  // names, in the order of launch
  f64 flops = 0, bytes = 0;    // estimates: arithmetic, and bytes touched at least once
  KernelText text;
};

// Thread safety: kernels are compiled on several threads at once.
class KernelCompiler {
 public:
  virtual ~KernelCompiler() = default;
  // `keep_text`: its graph, plan, linear program, source and machine code too, whatever DEBUG says.
  virtual Result<CompiledKernel> compile(const core::KernelAst& kernel, core::Device& device,
                                         bool keep_text) = 0;
  // The same for arguments that are aligned to their elements only, as wrapped memory may be.
  virtual Result<core::Binary> compile_unaligned(const core::KernelAst& kernel,
                                                 core::Device& device) {
    (void)kernel;
    return fail(ErrorKind::Unsupported, "code for {} has no form for unaligned memory",
                device.name());
  }
  // The same as bytes that a linker takes, for export; where a device has such code.
  virtual Result<CompiledKernel> compile_object(const core::KernelAst& kernel,
                                                core::Device& device) {
    (void)kernel;
    return fail(ErrorKind::Unsupported, "code for {} cannot be linked", device.name());
  }
  // Its source in another renderer's language, "WGSL", for what every device of that kind has.
  virtual Result<CompiledKernel> render(const core::KernelAst& kernel, std::string_view renderer) {
    (void)kernel;
    return fail(ErrorKind::Unsupported, "no renderer '{}'", renderer);
  }
  // Whether a binary for one device loads on the other.
  virtual bool share_binaries(core::Device& a, core::Device& b) { return &a == &b; }
  // How the scheduler should cut kernels for this device.
  virtual core::ScheduleOptions schedule_options(core::Device& device) = 0;
};

// `compiler` must live as long as the process. Replaces the one before.
void set_kernel_compiler(KernelCompiler* compiler);
KernelCompiler& kernel_compiler();

// Starts the runtime once, so that a program needs no call of its own before its first tensor. The
// engine only declares doorbell_bootstrap: runtime/, which every program links, defines it.
void ensure_runtime();

}  // namespace doorbell::engine

extern "C" void doorbell_bootstrap();
