// The host processor as a device: kernels are functions of this process, run by a worker pool. What
// the processor can do (its vector registers) is the renderer's to ask; this only describes it.
#pragma once

#include <memory>

#include "core/device/caching_allocator.h"
#include "core/device/device.h"
#include "drivers/cpu/worker_pool.h"

namespace doorbell::cpu {

struct Options {
  int threads = 0;                      // 0: one per hardware thread
  i64 max_cached = INT64_MAX;           // bytes of released memory kept
  std::shared_ptr<WorkerPool> workers;  // shared by all CPU devices of a process; null: own
};

// The workers that `threads` asks for.
std::shared_ptr<WorkerPool> make_workers(int threads);

class CpuDevice final : public core::Device {
 public:
  CpuDevice(core::DeviceSpec spec, const Options& options);

  core::Allocator& allocator() override { return allocator_; }
  // Takes loaded code with an entry of the type KernelEntry.
  Result<std::unique_ptr<core::Program>> load(const core::Binary& binary) override;
  // Kernels are done when launch returns; nothing is left to wait for.
  Result<void> synchronize() override { return {}; }
  int threads() const override { return workers_->threads(); }
  std::string description() const override;

 private:
  std::shared_ptr<WorkerPool> workers_;
  core::CachingAllocator allocator_;
};

// What a kernel is here: buffer addresses by slot, variables in order, and which of the threads.
using KernelEntry = void (*)(void* const* buffers, const i64* variables, i64 thread);

}  // namespace doorbell::cpu
