// A kernel compiler that stops where the source text is rendered: what the NULL device needs for
// the time of Doorbell's own work, without that of LLVM or clang.
#pragma once

#include "tensor/engine/kernel_compiler.h"

namespace doorbell::bench {

// For kernels of the CPU with this many threads, as C. Never freed.
engine::KernelCompiler& render_only_compiler(int threads);

}  // namespace doorbell::bench
