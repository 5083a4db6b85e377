// CudaDevice: an NVIDIA GPU through the CUDA driver API: a compute queue and a copy queue, which
// are streams of the primary context, and memory of its own.
//
// Thread safety: all functions may be called from any thread.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/os/clock.h"
#include "core/device/caching_allocator.h"
#include "drivers/cuda/allocator.h"
#include "drivers/cuda/host_memory.h"
#include "drivers/cuda/queue.h"
#include "hcq/device.h"
#include "hcq/signal/event.h"

namespace doorbell::cuda {

struct Options {
  i64 max_cached = INT64_MAX;  // bytes of released memory kept
  bool graphs = true;          // launches that run again and again become CUDA graphs
  u64 timeline_limit = hcq::Timeline::kLimit;
  u64 timeout_ns = hcq::Queue::kTimeout_ns;
  Context::Explain explain;
};

class CudaDevice final : public hcq::Device, private hcq::Event {
 public:
  // The spec's ordinal counts the GPUs that CUDA shows, or the spec's indices into them.
  static Result<std::unique_ptr<CudaDevice>> open(core::DeviceSpec spec, const Api& api,
                                                  const Options& options);
  // Blocks until the queues are done.
  ~CudaDevice() override;

  core::Allocator& allocator() override { return allocator_; }
  Result<std::unique_ptr<core::Program>> load(const core::Binary& binary) override;
  Result<void> synchronize() override;
  std::string description() const override;
  hcq::Queue& compute_queue() override { return *compute_; }
  hcq::Queue& copy_queue() override { return *copy_; }
  core::Allocator& shared_memory() override { return host_->memory; }
  // Also of memory of another CUDA device, where the two are peers.
  Result<hcq::GpuAddr> address_of(const core::Buffer& buffer) override;

  Context& context() const { return *context_; }
  const std::shared_ptr<Context>& shared_context() const { return context_; }
  bool uses_graphs() const { return uses_graphs_; }
  int multiprocessors() const { return multiprocessors_; }
  // Where other libraries' work on memory of this device must be ordered with ours.
  CUstream compute_stream() const { return compute_->stream(); }
  // As CUDA counts its GPUs.
  int gpu() const { return context_->device(); }

  // What a launch must wait for, so that it sees what was copied here before.
  // Apart and not inlined: g++ 12 takes it for uninitialised.
  [[gnu::noinline]] hcq::Fence unfinished_copies();
  // Unloads it when what was submitted by now is done.
  void unload_later(CUmodule module);
  Result<core::Allocation> foreign_memory(void* memory, i64 bytes) override;
  // Orders work of another library on `stream` with ours: what is submitted here later waits for
  // what the stream holds now, or the other way round. Neither blocks the host.
  Result<void> wait_for_stream(CUstream stream);
  Result<void> let_stream_wait(CUstream stream);

 private:
  struct RetiredModule {
    CUmodule module;
    hcq::Fence until;
  };
  CudaDevice(core::DeviceSpec spec, std::shared_ptr<Context> context, const Options& options);
  Result<void> start(const Options& options);
  Result<void> reach(const CudaDevice& peer);
  Result<void> order(CUstream before, CUstream after);
  void lost(const Error& why);
  void unload_done();
  Result<void> block(const hcq::Signal& signal, u64 seen, u64 timeout_ns) override;
  // The host raises no signal of ours but dead ones, which block() looks for.
  void notify(const hcq::Signal& /*signal*/) override {}

  // shared_ptr: see context.h and SharedHost.
  const std::shared_ptr<Context> context_;
  const std::shared_ptr<SharedHost> host_;
  const bool uses_graphs_;
  std::string gpu_name_;
  int multiprocessors_ = 0;
  std::unique_ptr<CudaQueue> compute_, copy_;
  CudaAllocator* memory_;  // behind the cache
  core::CachingAllocator allocator_;
  std::mutex mutex_;  // guards what follows
  std::vector<RetiredModule> modules_;
  std::vector<const CudaDevice*> peers_;  // reached already
};

}  // namespace doorbell::cuda
