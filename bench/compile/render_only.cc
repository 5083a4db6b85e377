// Lowers and renders by codegen's usual path, without a compiler.
#include "bench/compile/render_only.h"

#include <limits>
#include <memory>
#include <utility>

#include "base/util/try.h"
#include "codegen/compile/backend.h"
#include "codegen/render/clang_renderer.h"
#include "codegen/render/cpu_caps.h"

namespace doorbell::bench {
namespace {

class RenderOnly final : public engine::KernelCompiler {
 public:
  explicit RenderOnly(int threads) {
    codegen::Caps caps = codegen::cpu_caps();
    caps.threads = threads;
    renderer_ = codegen::make_clang_renderer(caps);
    backend_.renderer = renderer_.get();
    backend_.caps = renderer_->caps();
    backend_.load = false;
  }

  Result<engine::CompiledKernel> compile(const core::KernelAst& kernel, core::Device&,
                                         bool) override {
    TRY(codegen::CompiledKernel made, codegen::compile_kernel(kernel, backend_));
    engine::CompiledKernel compiled;
    compiled.binary = std::move(made.binary);
    compiled.variables = std::move(made.variables);
    compiled.flops = made.flops;
    compiled.bytes = made.bytes;
    return compiled;
  }
  core::ScheduleOptions schedule_options(core::Device&) override {
    core::ScheduleOptions options;
    options.max_buffers = static_cast<u32>(backend_.caps.max_params);
    options.fuse_rows = true;
    options.max_nested_work = std::numeric_limits<f64>::infinity();  // as on NULL
    return options;
  }

 private:
  std::unique_ptr<codegen::Renderer> renderer_;
  codegen::Backend backend_;
};

}  // namespace

engine::KernelCompiler& render_only_compiler(int threads) { return *new RenderOnly(threads); }

}  // namespace doorbell::bench
