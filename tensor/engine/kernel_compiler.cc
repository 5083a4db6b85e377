// The installed compiler, and the first need of the runtime.
#include "tensor/engine/kernel_compiler.h"

#include <atomic>
#include <mutex>

#include "base/util/check.h"

namespace doorbell::engine {
namespace {

constinit std::atomic<KernelCompiler*> g_compiler{nullptr};
constinit std::atomic<bool> g_started{false};

}  // namespace

void set_kernel_compiler(KernelCompiler* compiler) {
  g_compiler.store(compiler, std::memory_order_release);
}

KernelCompiler& kernel_compiler() {
  KernelCompiler* compiler = g_compiler.load(std::memory_order_acquire);
  CHECK(compiler != nullptr, "no kernel compiler is installed");
  return *compiler;
}

void ensure_runtime() {
  if (g_started.load(std::memory_order_acquire)) [[likely]]
    return;
  doorbell_bootstrap();  // does nothing the second time; throws if the environment is malformed
  g_started.store(true, std::memory_order_release);
}

}  // namespace doorbell::engine
