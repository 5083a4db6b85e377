// The host processor as a device: kernels are functions of this process, run by a worker pool, from
// two hardware queues or at once. Several CPU devices share the processor and its memory. What the
// processor can do (its vector registers) is the renderer's to ask; this only describes it.
#pragma once

#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "core/device/caching_allocator.h"
#include "drivers/cpu/program.h"
#include "drivers/cpu/worker_pool.h"
#include "hcq/device.h"
#include "hcq/memory/host_memory.h"
#include "hcq/software/queue.h"
#include "hcq/software/signal_event.h"

namespace doorbell::cpu {

struct Options {
  int threads = 0;                      // 0: one per hardware thread
  i64 max_cached = INT64_MAX;           // bytes of released memory kept
  i64 max_bytes = INT64_MAX;            // of memory in use, as if the device had no more
  std::shared_ptr<WorkerPool> workers;  // shared by all CPU devices of a process; null: own
  // Work that is known to be shorter is run by the submitter; 0: never.
  u64 inline_ns = 50'000;
  os::Clock* clock = nullptr;  // null: the host's
  u64 timeline_limit = hcq::Timeline::kLimit;
};

// The workers that `threads` asks for; 0: one per hardware thread.
Result<std::shared_ptr<WorkerPool>> make_workers(int threads, WorkerCpus cpus = {});

class CpuDevice final : public hcq::Device {
 public:
  CpuDevice(core::DeviceSpec spec, const Options& options);

  core::Allocator& allocator() override { return allocator_; }
  // Takes loaded code with an entry of the type KernelEntry.
  Result<std::unique_ptr<core::Program>> load(const core::Binary& binary) override;
  // Kernels are done when launch returns; the queues are waited for.
  Result<void> synchronize() override;
  int threads() const override { return workers_->threads(); }
  std::string description() const override;

  hcq::Queue& compute_queue() override { return *compute_; }
  hcq::Queue& copy_queue() override { return *copy_; }
  core::Allocator& shared_memory() override { return queue_memory_; }
  bool realize_waits() const override { return true; }
  // Any memory that the host sees, this device sees.
  Result<hcq::GpuAddr> address_of(const core::Buffer& buffer) override;
  hcq::SignalPool& signals() { return signals_; }

  // As synchronize(), but costs almost nothing where the queues are done.
  Result<void> drain() {
    if (compute_->idle() && copy_->idle()) [[likely]]
      return {};
    return synchronize();
  }
  // The same text, for as long as the device lives.
  const std::string& keep_name(const std::string& name);

 private:
  std::shared_ptr<WorkerPool> workers_;
  core::CachingAllocator allocator_;
  hcq::HostMemory queue_memory_;  // of words and signals
  hcq::SignalPool signals_{queue_memory_};
  hcq::SignalEvent event_;
  std::mutex names_mutex_;
  std::set<std::string> names_;  // its nodes never move
  // Last: their threads use all of the above.
  std::unique_ptr<hcq::SoftwareQueue> compute_, copy_;
};

}  // namespace doorbell::cpu
