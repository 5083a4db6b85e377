// For the life of a scope, kernels that are compiled for a device of a chosen name run a function
// of the test's instead: one that waits, or throws. Everything around the kernel stays as it is.
#pragma once

#include <map>
#include <mutex>
#include <string>

#include "base/util/try.h"
#include "drivers/cpu/program.h"
#include "tensor/engine/kernel_compiler.h"
#include "tensor/engine/realize.h"

namespace doorbell::engine {

class EntryScope final : public KernelCompiler {
 public:
  EntryScope() {
    ensure_runtime();
    clear_schedule_cache();
    before_ = &kernel_compiler();
    set_kernel_compiler(this);
  }
  ~EntryScope() override {
    set_kernel_compiler(before_);
    clear_schedule_cache();
  }

  // Kernels compiled for the device from now on.
  void replace(const std::string& device, cpu::KernelEntry entry) { entries_[device] = entry; }

  Result<CompiledKernel> compile(const core::KernelAst& kernel, core::Device& device,
                                 bool keep_text) override {
    TRY(CompiledKernel compiled, before_->compile(kernel, device, keep_text));
    const auto at = entries_.find(device.name());
    if (at == entries_.end()) return compiled;
    compiled.binary.code.entry = reinterpret_cast<void*>(at->second);
    compiled.binary.threads = 1;
    return compiled;
  }
  core::ScheduleOptions schedule_options(core::Device& device) override {
    return before_->schedule_options(device);
  }

 private:
  KernelCompiler* before_;
  std::map<std::string, cpu::KernelEntry> entries_;
};

}  // namespace doorbell::engine
