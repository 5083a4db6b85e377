// CUDA C++ compiled for the host, so that what the renderer writes is run somewhere: one thread of
// one block, by clang, with the words and functions of the language that the renderer uses.
#pragma once

#include <memory>

#include "codegen/compile/compiler.h"
#include "codegen/render/renderer.h"

namespace doorbell::codegen::testing {

// The renderer's text, between what the language brings along and a CpuKernel that calls it.
std::unique_ptr<Renderer> make_cuda_host_renderer();
std::unique_ptr<Compiler> make_cuda_host_compiler();

}  // namespace doorbell::codegen::testing
