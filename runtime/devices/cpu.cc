// CPU: the host's processor, and what makes code for it.
#include <memory>
#include <mutex>

#include "base/os/affinity.h"
#include "base/util/try.h"
#include "codegen/compile/clang_compiler.h"
#include "codegen/compile/llvm_compiler.h"
#include "codegen/render/clang_renderer.h"
#include "codegen/render/cpu_caps.h"
#include "drivers/cpu/device.h"
#include "drivers/cpu/settings.h"
#include "runtime/device_kind.h"
#include "runtime/device_memory.h"
#include "runtime/machine.h"

namespace doorbell::runtime {
namespace {

Result<codegen::Caps> caps_of(const CodeTarget& target) {
  TRY(codegen::Caps caps, codegen::cpu_caps_of(target.arch));
  if (target.device == nullptr) return caps;
  caps.threads = target.device->threads();
  refine(this_machine(), &caps);
  return caps;
}

Result<Toolchain> make_clang(const CodeTarget& target) {
  if (!target.arch.empty())
    return fail(ErrorKind::Unsupported, "CLANG compiles for this CPU, not for {}; LLVM does",
                target.arch);
  TRY(const codegen::Caps caps, caps_of(target));
  Toolchain made{.renderer = codegen::make_clang_renderer(caps), .loads_here = true};
  TRY(made.compiler, codegen::make_clang_compiler());
  return made;
}

Result<Toolchain> make_llvm(const CodeTarget& target) {
  TRY(const codegen::Caps caps, caps_of(target));
  const codegen::LlvmTarget code{codegen::LlvmTarget::Family::Host, target.arch};
  return Toolchain{.renderer = codegen::make_llvm_renderer(caps, code),
                   .compiler = codegen::make_llvm_compiler(code),
                   .loads_here = true};
}

// All CPU devices of a process share one pool: a processor has its threads once. It is made when
// the first of them is opened.
Result<std::shared_ptr<cpu::WorkerPool>> workers_of_process(int threads) {
  struct Shared {
    std::mutex mutex;
    std::shared_ptr<cpu::WorkerPool> workers;
  };
  static Shared& shared = *new Shared;  // never freed: devices outlive main()
  std::lock_guard lock(shared.mutex);
  if (!shared.workers) {
    Workers workers = place_workers(this_machine().topology, os::allowed_cpus(), threads);
    TRY(shared.workers, cpu::make_workers(workers.threads, std::move(workers.cpus)));
  }
  return shared.workers;
}

Result<std::unique_ptr<core::Device>> open(core::DeviceSpec spec, const core::Config& config) {
  cpu::Options options;
  TRY(const cpu::Settings settings, read_settings<cpu::Settings>(setting_values(config)));
  TRY(options.workers, workers_of_process(settings.threads));
  options.max_cached = max_cached_host_bytes(config);
  return std::make_unique<cpu::CpuDevice>(std::move(spec), options);
}

}  // namespace

DeviceKind cpu_kind() {
  const bool llvm = codegen::has_llvm();
  DeviceKind kind{.name = "CPU", .open = open, .settings = declared_settings<cpu::Settings>()};
  kind.renderers = {{.name = "LLVM", .make = llvm ? make_llvm : nullptr, .caps = caps_of},
                    {.name = "CLANG", .make = make_clang, .caps = caps_of}};
  kind.may_be_default = [](const core::Config&) { return true; };
  return kind;
}

}  // namespace doorbell::runtime
