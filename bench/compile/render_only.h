// A kernel compiler that stops after rendering the source text, for measuring Doorbell's own time
// on the NULL device without that of LLVM or clang.
#pragma once

#include "tensor/engine/kernel_compiler.h"

namespace doorbell::bench {

// For kernels of the CPU with this many threads, as C. Never freed.
engine::KernelCompiler& render_only_compiler(int threads);

}  // namespace doorbell::bench
