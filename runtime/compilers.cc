// Backends by renderer: which renderer, compiler and cache serve a device. Each is made when it is
// first needed; codegen compiles with it.
#include "runtime/compilers.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/os/host.h"
#include "base/util/check.h"
#include "base/util/log.h"
#include "base/util/try.h"
#include "codegen/compile/backend.h"
#include "codegen/compile/kernel_key.h"
#include "codegen/opt/split_depth.h"
#include "core/uop/print.h"
#include "core/util/config.h"
#include "runtime/device_table.h"
#include "runtime/tuner.h"

namespace doorbell::runtime {
namespace {

// The renderer that the device was opened with. A device that a test put into the Registry, of a
// kind that the table lacks, names one as NULL does.
Result<NamedRenderer> renderer_of(const core::Device& device) {
  const DeviceKind* kind = find_device(device.name().substr(0, device.name().find(':')));
  if (kind == nullptr) kind = find_device("NULL");
  for (const NamedRenderer& renderer : renderers_of(*kind))
    if (renderer.name == device.spec().renderer && renderer.is_built()) return renderer;
  return fail(ErrorKind::Unsupported, "device {} has no renderer '{}'", device.name(),
              device.spec().renderer);
}

CodeTarget target_of(core::Device& device) {
  return {.device = device.runs() ? &device : nullptr, .arch = device.spec().arch};
}

// A backend and what it borrows.
struct Owned {
  Toolchain toolchain;
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

Result<std::unique_ptr<Owned>> make_backend(const RendererKind& renderer,
                                            const CodeTarget& target) {
  auto owned = std::make_unique<Owned>();
  TRY(owned->toolchain, renderer.make(target));
  owned->backend.renderer = owned->toolchain.renderer.get();
  owned->backend.compiler = owned->toolchain.compiler.get();
  owned->backend.caps = owned->toolchain.renderer->caps();
  owned->backend.load = owned->toolchain.loads_here && target.device != nullptr;
  return owned;
}

// Devices of the same key share a backend, and so binaries.
Result<std::string> key_of(const NamedRenderer& renderer, core::Device& device) {
  std::string key =
      fmt::format("{}:{}:{}:{}:{}", renderer.owner->name, renderer.kind->name, device.spec().arch,
                  device.runs(), renderer.kind->is_per_device ? device.name() : "");
  if (renderer.kind->caps == nullptr) return key;
  TRY(const codegen::Caps caps, renderer.kind->caps(target_of(device)));
  return key + ':' + codegen::key_text(caps);
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
    const core::Config& config = core::config();
    std::optional<codegen::Plan> plan;
    if (config.beam >= 0 && !config.noopt)
      plan = tuner().plan_of(kernel, device, backend, config.beam);
    if (!plan) return compile_with(backend, kernel, keep_text);
    try {
      return compile_with(backend, kernel, keep_text, true, &*plan);
    } catch (const InternalError& error) {
      // It was found by another version, or made by hand.
      log().warn("the plan {} does not fit its kernel: {}", codegen::print(*plan), error.message);
      return compile_with(backend, kernel, keep_text);
    }
  }

  Result<core::Binary> compile_unaligned(const core::KernelAst& kernel,
                                         core::Device& device) override {
    TRY(codegen::Backend backend, backend_of(device));
    TRY(engine::CompiledKernel compiled, compile_with(backend, kernel, false, false));
    return std::move(compiled.binary);
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

  Result<engine::CompiledKernel> render(const core::KernelAst& kernel,
                                        std::string_view renderer) override {
    for (const NamedRenderer& named : renderers_of(*find_device("NULL"))) {
      if (named.name != renderer || !named.is_built()) continue;
      TRY(const std::unique_ptr<Owned> made, make_backend(*named.kind, {nullptr, ""}));
      return compile_with(made->backend, kernel, true);
    }
    return fail(ErrorKind::Unsupported, "no renderer '{}'", renderer);
  }

  bool share_binaries(core::Device& a, core::Device& b) override {
    const Result<NamedRenderer> of_a = renderer_of(a), of_b = renderer_of(b);
    if (!of_a || !of_b) return false;  // compile() will say why
    const Result<std::string> key_a = key_of(*of_a, a), key_b = key_of(*of_b, b);
    return key_a && key_b && *key_a == *key_b;
  }

  core::ScheduleOptions schedule_options(core::Device& device) override {
    core::ScheduleOptions options;
    Result<codegen::Backend> backend = backend_of(device);
    if (!backend) return options;  // compile() will say why
    options.max_buffers = static_cast<u32>(backend->caps.max_params);
    options.fuse_rows = true;
    // A few results keep a worker busy, and one a work group of 256 items; splitting more would
    // cost memory traffic.
    const i64 groups = backend->caps.has_local ? backend->caps.busy_items / 256 : 0;
    if (device.runs()) options.split_below = std::max<i64>(groups, 16 * device.threads());
    if (device.runs() && backend->caps.has_local)
      options.depth_parts = [caps = backend->caps](const core::ProductShape& product) {
        return codegen::depth_parts(product, caps);
      };
    // A device that runs nothing gets as few kernels as possible.
    if (!device.runs()) options.max_nested_work = std::numeric_limits<f64>::infinity();
    return options;
  }

  Result<codegen::Backend> backend_of(core::Device& device) {
    TRY(const NamedRenderer renderer, renderer_of(device));
    TRY(const std::string key, key_of(renderer, device));
    std::lock_guard lock(mutex_);
    const auto found = backends_.find(key);
    if (found != backends_.end()) return found->second->backend;
    TRY(std::unique_ptr<Owned> made, make_backend(*renderer.kind, target_of(device)));
    return backends_.emplace(key, std::move(made)).first->second->backend;
  }

 private:
  static Result<engine::CompiledKernel> compile_with(codegen::Backend& backend,
                                                     const core::KernelAst& kernel, bool keep_text,
                                                     bool aligned = true,
                                                     const codegen::Plan* plan = nullptr) {
    backend.cache = disk_cache();
    const core::Config& config = core::config();
    codegen::CompileOptions options;
    options.lower.optimise = !config.noopt;
    options.lower.aligned = aligned;
    options.lower.plan = plan;
    options.keep_source = keep_text || config.debug >= 4;
    options.keep_linear = keep_text || config.debug >= 6;
    options.keep_code = keep_text || config.debug >= 7;
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

  std::mutex mutex_;  // guards backends_; their objects are never replaced
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
