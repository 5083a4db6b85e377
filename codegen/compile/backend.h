// compile_kernel: the one way from a kernel's graph to code, through lowering, renderer, compiler
// and the cache on disk. The engine shares compiled kernels within a process; the device launches
// them.
#pragma once

#include <memory>
#include <string>

#include "codegen/compile/compile_cache.h"
#include "codegen/compile/compiler.h"
#include "codegen/lower/lower.h"
#include "codegen/render/renderer.h"
#include "core/device/program.h"
#include "core/schedule/kernel.h"

namespace doorbell::codegen {

// The code generator of one device. What it borrows lives as long as the process.
struct Backend {
  const Renderer* renderer = nullptr;
  const Compiler* compiler = nullptr;  // null: kernels are rendered and never run
  CompileCache* cache = nullptr;       // null: not cached on disk
  Caps caps;                           // of the renderer, refined by the device
  bool load = true;                    // into this process; false: the device takes the image
};

struct CompileOptions {
  LowerOptions lower;
  // Fills the texts for display (CompiledKernel::source, ::linear, ::code). Lowers even cached
  // kernels.
  bool keep_source = false, keep_linear = false, keep_code = false;
};

struct CompiledKernel {
  core::Binary binary;
  std::vector<ProgramParam> params;  // by slot
  std::vector<i64> variables;        // interned names, in argument order
  f64 flops = 0, bytes = 0;
  bool from_cache = false;
  std::string plan, source, linear, code;  // of a kernel that was lowered, not found in the cache
};

// Thread safety: from any thread; kernels compile in parallel.
Result<CompiledKernel> compile_kernel(const core::KernelAst& kernel, const Backend& backend,
                                      const CompileOptions& options = {});

// Compiles a linear program as it is, without lowering and cache: for programs written by hand.
Result<core::Binary> compile_linear(const LinearProgram& program, const Backend& backend);

}  // namespace doorbell::codegen
