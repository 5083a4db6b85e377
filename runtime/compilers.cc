// Backends by renderer: which renderer, compiler and cache serve a device. Each is made when it is
// first needed; compiling with it is codegen's.
#include "runtime/compilers.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "base/os/host.h"
#include "base/util/check.h"
#include "base/util/try.h"
#include "codegen/compile/backend.h"
#include "codegen/compile/clang_compiler.h"
#include "codegen/compile/llvm_compiler.h"
#include "codegen/render/clang_renderer.h"
#include "codegen/render/cpu_caps.h"
#include "codegen/render/opencl_renderer.h"
#include "core/uop/print.h"
#include "core/util/config.h"
#include "runtime/amd_backend.h"
#include "runtime/amd_toolchain.h"
#include "runtime/cl_backend.h"
#include "runtime/extension.h"

namespace doorbell::runtime {
namespace {

// What makes code for the device, by the name that NULL, which takes any, has for it: the same
// renderer's name may mean another compiler on another device.
std::string toolchain_name(const core::Device& device) {
  const std::string kind = device.name().substr(0, device.name().find(':'));
  return kind == "AMD" ? "AMD_" + device.spec().renderer : device.spec().renderer;
}

// A backend and what it borrows.
struct Owned {
  std::unique_ptr<codegen::Renderer> renderer;
  std::unique_ptr<codegen::Compiler> compiler;
  codegen::Backend backend;
};

codegen::CompileCache* disk_cache() {
  const core::Config& config = core::config();
  if (config.cache_level < 1 || config.cache_directory.empty()) return nullptr;
  // Never freed: kernels may compile while the process exits. The first caller's directory counts.
  static codegen::CompileCache& cache =
      *new codegen::CompileCache(os::host_system().files, config.cache_directory + "/kernels.db");
  return &cache;
}

codegen::Caps cpu_caps_of(const core::Device& device) {
  codegen::Caps caps = codegen::cpu_caps();
  caps.threads = device.threads();
  return caps;
}

Result<std::unique_ptr<Owned>> make_backend(core::Device& device) {
  auto owned = std::make_unique<Owned>();
  const std::string renderer = toolchain_name(device);
  const DeviceKind* added = added_kind(renderer);
  bool is_host_code = false;
  if (added != nullptr) {
    TRY(Toolchain toolchain, added->make_toolchain(device));
    owned->renderer = std::move(toolchain.renderer);
    owned->compiler = std::move(toolchain.compiler);
  } else if (is_amd_toolchain(renderer)) {
    TRY(Toolchain toolchain,
        make_amd_toolchain(renderer, device.spec().arch, amd_compute_units(device)));
    owned->renderer = std::move(toolchain.renderer);
    owned->compiler = std::move(toolchain.compiler);
  } else if (renderer == "CL") {
    owned->renderer = codegen::make_opencl_renderer(opencl_caps_of(device));
    owned->compiler = make_opencl_compiler(device);
  } else if (renderer == "CLANG") {
    is_host_code = true;
    owned->renderer = codegen::make_clang_renderer(cpu_caps_of(device));
    TRY(owned->compiler, codegen::make_clang_compiler());
  } else {
    CHECK(renderer == "LLVM", "renderer {} is in the table, but not made here", renderer);
    is_host_code = true;
    owned->renderer = codegen::make_llvm_renderer(cpu_caps_of(device));
    owned->compiler = codegen::make_llvm_compiler();
  }
  owned->backend.renderer = owned->renderer.get();
  owned->backend.compiler = owned->compiler.get();
  owned->backend.caps = owned->renderer->caps();
  owned->backend.load = is_host_code && device.runs();
  return owned;
}

// The kernel's graph, for DEBUG=5. Printing marks the arena's nodes, and a kernel may be compiled
// for two devices at once.
std::string print_kernel(const core::KernelAst& kernel) {
  static std::mutex& mutex = *new std::mutex;
  std::lock_guard lock(mutex);
  return core::print(*kernel.arena, kernel.sink);
}

class Compilers final : public engine::KernelCompiler {
 public:
  Result<engine::CompiledKernel> compile(const core::KernelAst& kernel, core::Device& device,
                                         bool keep_text) override {
    TRY(codegen::Backend backend, backend_of(device));
    return compile_with(backend, kernel, keep_text);
  }

  Result<engine::CompiledKernel> compile_object(const core::KernelAst& kernel,
                                                core::Device& device) override {
    TRY(codegen::Backend backend, backend_of(device));
    if (!backend.load)
      return fail(ErrorKind::Unsupported, "code for {} cannot be linked into a program of the host",
                  device.name());
    backend.load = false;
    return compile_with(backend, kernel, false);
  }

  bool share_binaries(core::Device& a, core::Device& b) override {
    return a.spec().arch == b.spec().arch && key_of(a) == key_of(b);
  }

  core::ScheduleOptions schedule_options(core::Device& device) override {
    core::ScheduleOptions options;
    Result<codegen::Backend> backend = backend_of(device);
    if (!backend) return options;  // compile() will say why
    options.max_buffers = static_cast<u32>(backend->caps.max_params);
    options.fuse_rows = true;
    // A worker has enough to do with a few results, a work group of 256 items with one; splitting
    // more would cost memory traffic.
    const i64 groups = backend->caps.has_local ? backend->caps.busy_items / 256 : 0;
    if (device.runs()) options.split_below = std::max<i64>(groups, 16 * device.threads());
    // Where nothing runs, nothing is slower: as few kernels as there can be.
    if (!device.runs()) options.max_nested_work = std::numeric_limits<f64>::infinity();
    return options;
  }

  // The number of workers decides how loops are split, that of compute units how many work items
  // there should be; a device that does not run does not load; OpenCL devices have their own
  // compilers.
  static std::string key_of(core::Device& device) {
    const bool own = device.spec().renderer == "CL" && device.runs();
    return fmt::format("{}:{}:{}:{}:{}:{}", toolchain_name(device), device.spec().arch,
                       device.threads(), amd_compute_units(device), device.runs(),
                       own ? device.name() : "");
  }
  Result<codegen::Backend> backend_of(core::Device& device) {
    const std::string key = key_of(device);
    std::lock_guard lock(mutex_);
    const auto found = backends_.find(key);
    if (found != backends_.end()) return found->second->backend;
    TRY(std::unique_ptr<Owned> made, make_backend(device));
    return backends_.emplace(key, std::move(made)).first->second->backend;
  }

 private:
  static Result<engine::CompiledKernel> compile_with(codegen::Backend& backend,
                                                     const core::KernelAst& kernel,
                                                     bool keep_text) {
    backend.cache = disk_cache();
    const core::Config& config = core::config();
    codegen::CompileOptions options;
    options.lower.optimise = !config.noopt;
    options.keep_source = keep_text || config.debug >= 4;
    options.keep_linear = keep_text || config.debug >= 6;
    options.keep_code = config.debug >= 7;
    TRY(codegen::CompiledKernel made, codegen::compile_kernel(kernel, backend, options));
    engine::CompiledKernel compiled;
    if (keep_text || config.debug >= 5) compiled.text.graph = print_kernel(kernel);
    compiled.text.plan = std::move(made.plan);
    compiled.text.linear = std::move(made.linear);
    compiled.text.source = std::move(made.source);
    compiled.text.code = std::move(made.code);
    compiled.binary = std::move(made.binary);
    compiled.variables = std::move(made.variables);
    compiled.flops = made.flops;
    compiled.bytes = made.bytes;
    return compiled;
  }

  std::mutex mutex_;  // guards backends_; what they own is never replaced
  std::map<std::string, std::unique_ptr<Owned>> backends_;
};

Compilers& all_compilers() {
  static Compilers& compilers = *new Compilers;  // never freed: kernels may compile while we exit
  return compilers;
}

}  // namespace

engine::KernelCompiler& compilers() { return all_compilers(); }

Result<codegen::Caps> caps_of(core::Device& device) {
  TRY(codegen::Backend backend, all_compilers().backend_of(device));
  return backend.caps;
}

Result<core::Binary> compile_linear(const codegen::LinearProgram& program, core::Device& device) {
  TRY(codegen::Backend backend, all_compilers().backend_of(device));
  return codegen::compile_linear(program, backend);
}

}  // namespace doorbell::runtime
