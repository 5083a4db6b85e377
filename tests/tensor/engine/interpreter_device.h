// A device whose programs are kernels' graphs, interpreted: it shows what the engine does with
// schedules, without a code generator. Host memory, counted; a limit on request.
#pragma once

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include "core/device/caching_allocator.h"
#include "core/device/registry.h"
#include "core/eval/interpret.h"
#include "hcq/software/launch_device.h"
#include "tensor/engine/kernel_compiler.h"
#include "tensor/engine/realize.h"

namespace doorbell::engine {

class InterpreterMemory final : public core::Allocator {
 public:
  static inline std::atomic<i64> limit{INT64_MAX};

  Result<core::Allocation> allocate(i64 bytes) override {
    if (held_ + bytes > limit) return fail(ErrorKind::OutOfMemory, "limit is {}", limit.load());
    held_ += bytes;
    void* block = std::malloc(static_cast<usize>(bytes) + 1);
    return core::Allocation{block, 0, nullptr, bytes};
  }
  void release(const core::Allocation& allocation) override {
    held_ -= allocation.bytes;
    std::free(allocation.host);
  }
  Result<void> copy_in(const core::Allocation& to, i64 offset, const void* from,
                       i64 bytes) override {
    std::memcpy(static_cast<u8*>(to.host) + offset, from, static_cast<usize>(bytes));
    return {};
  }
  Result<void> copy_out(void* to, const core::Allocation& from, i64 offset, i64 bytes) override {
    std::memcpy(to, static_cast<u8*>(from.host) + offset, static_cast<usize>(bytes));
    return {};
  }
  Result<void> copy(const core::Allocation& to, i64 to_offset, const core::Allocation& from,
                    i64 from_offset, i64 bytes) override {
    return copy_in(to, to_offset, static_cast<u8*>(from.host) + from_offset, bytes);
  }
  core::MemoryStats stats() const override { return {held_, 0, 0}; }

 private:
  std::atomic<i64> held_{0};
};

class InterpretedProgram final : public core::Program {
 public:
  explicit InterpretedProgram(const core::KernelAst* kernel) : kernel_(kernel) {}

  Result<void> launch(std::span<const core::BufferView> buffers,
                      std::span<const i64> variables) override {
    std::vector<void*> params;
    for (const core::BufferView& view : buffers)
      params.push_back(static_cast<u8*>(view.buffer->host()) + view.offset);
    // Reading a graph caches on its nodes, so one at a time.
    static std::mutex mutex;
    std::lock_guard lock(mutex);
    core::interpret(*kernel_, params, variables);
    return {};
  }

 private:
  const core::KernelAst* kernel_;  // kept by the engine's cache
};

class InterpreterDevice final : public hcq::LaunchDevice {
 public:
  explicit InterpreterDevice(core::DeviceSpec spec)
      : LaunchDevice(std::move(spec)),
        allocator_(name(), std::make_unique<InterpreterMemory>(), INT64_MAX) {}
  ~InterpreterDevice() override { stop_queue(); }

  core::Allocator& allocator() override { return allocator_; }
  Result<std::unique_ptr<core::Program>> load(const core::Binary& binary) override {
    return std::unique_ptr<core::Program>(std::make_unique<InterpretedProgram>(
        static_cast<const core::KernelAst*>(binary.code.entry)));
  }
  Result<void> finish() override { return {}; }
  std::string description() const override { return "interprets"; }

 private:
  core::CachingAllocator allocator_;
};

// Serves INTERPRETER and NULL; compiles nothing.
class InterpreterCompiler final : public KernelCompiler {
 public:
  std::atomic<int> compiled{0};
  std::atomic<bool> refuse{false};

  Result<CompiledKernel> compile(const core::KernelAst& kernel, core::Device&, bool) override {
    ++compiled;
    if (refuse) return fail(ErrorKind::Compile, "refused");
    CompiledKernel result;
    result.binary.name = "interpreted";
    result.binary.code.entry = const_cast<core::KernelAst*>(&kernel);
    result.binary.param_count = kernel.param_count;
    result.binary.variable_count = static_cast<u32>(kernel.variables.size());
    result.variables = kernel.variables;
    return result;
  }
  core::ScheduleOptions schedule_options(core::Device& device) override {
    cut_for = &device;
    return {};
  }
  std::atomic<const core::Device*> cut_for{nullptr};  // the device of the last schedule
};

// Installs both for a test, as the default device; the runtime's own come back at the end.
class InterpreterScope {
 public:
  InterpreterScope() {
    ensure_runtime();
    core::Registry& registry = core::Registry::instance();
    registry.add("INTERPRETER", [](core::DeviceSpec spec) -> Result<std::unique_ptr<core::Device>> {
      return std::make_unique<InterpreterDevice>(std::move(spec));
    });
    registry.set_default_order({"INTERPRETER"});
    clear_schedule_cache();
    before_ = &kernel_compiler();
    set_kernel_compiler(&compiler);
  }
  ~InterpreterScope() {
    clear_schedule_cache();
    set_kernel_compiler(before_);
    core::Registry::instance().set_default_order({"CPU"});
  }

  InterpreterCompiler compiler;

 private:
  KernelCompiler* before_;
};

}  // namespace doorbell::engine
