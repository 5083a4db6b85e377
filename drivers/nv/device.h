// NvDevice: a GPU that this process drives through NVIDIA's kernel modules, without libcuda: a
// compute and a copy queue, memory of its own, code, local memory of kernels. See kernel/ for the
// calls to the kernel modules.
//
// Thread safety: all functions may be called from any thread.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "core/device/caching_allocator.h"
#include "drivers/nv/cubin.h"
#include "drivers/nv/events.h"
#include "drivers/nv/kernel/nvk_gpu.h"
#include "drivers/nv/queue.h"
#include "hcq/device.h"
#include "hcq/memory/block_allocator.h"
#include "hcq/memory/device_allocator.h"

namespace doorbell::nv {

struct Options {
  i64 max_cached = INT64_MAX;  // bytes of released memory kept
  u64 timeline_limit = hcq::Timeline::kLimit;
  u64 timeout_ns = hcq::Queue::kTimeout_ns;
  bool log_packets = false;  // what is submitted goes to the log
  // More about what stopped the GPU than the kernel modules report: an emulator knows. Null:
  // nothing.
  std::function<std::string()> explain;
  // Is told what the host copies in and out of buffers; borrowed. Null: nobody asks.
  os::HostAccesses* host_accesses = nullptr;
};

class NvDevice final : public hcq::Device {
 public:
  // Where shared and local memory appear in the generic address space of grids: 4 GiB each, where
  // no buffer lies.
  static constexpr u64 kSharedWindow = 0x7294'0000'0000, kLocalWindow = 0x7293'0000'0000;

  // The spec's ordinal counts the GPUs of `nvk`, or, where the spec has indices, those.
  // shared_ptr: all NV devices of the process share one.
  static Result<std::unique_ptr<NvDevice>> open(core::DeviceSpec spec, std::shared_ptr<Nvk> nvk,
                                                const Options& options);
  ~NvDevice() override;

  core::Allocator& allocator() override { return allocator_; }
  Result<std::unique_ptr<core::Program>> load(const core::Binary& binary) override;
  Result<void> synchronize() override;
  std::string description() const override;
  hcq::Queue& compute_queue() override { return *compute_; }
  hcq::Queue& copy_queue() override { return *copy_; }
  core::Allocator& shared_memory() override;
  // Also of memory of another NV device, which is mapped here then.
  Result<hcq::GpuAddr> address_of(const core::Buffer& buffer) override;
  i64 multiprocessors() const;

  // ---- for programs and queues ------------------------------------------------------------------
  Nvk& nvk() const { return *nvk_; }
  NvkGpu& gpu() const { return gpu_; }
  bool logs_packets() const { return log_packets_; }
  NvQueue& launch_queue() { return *compute_; }
  // What a launch must wait for, so that it sees what was copied here before.
  hcq::Fence unfinished_copies();
  // A cubin's image, relocated, where it will run.
  Result<core::Allocation> place_code(Cubin& cubin);
  // Gives it back once what was submitted is done.
  void release_code(const core::Allocation& code);
  // Grids that are launched from now on have so many bytes a thread.
  Result<void> grow_local_memory(u32 bytes);
  // The same text, for as long as the device lives.
  const std::string& keep_name(const std::string& name);
  // What the debugger reports, or nothing.
  std::string faults() const { return compute_ == nullptr ? "" : compute_->channel().faults(); }
  // "; the emulator: ..." or nothing.
  std::string explanation() const;

 private:
  NvDevice(core::DeviceSpec spec, std::shared_ptr<Nvk> nvk, NvkGpu& gpu, const Options& options);
  Result<void> start(const Options& options);
  void sweep_code();

  const std::shared_ptr<Nvk> nvk_;
  NvkGpu& gpu_;  // nvk_'s
  const bool log_packets_;
  const std::function<std::string()> explain_;
  NvEvents events_;
  hcq::BlockAllocator queue_memory_, code_memory_;
  std::mutex names_mutex_;
  std::set<std::string> names_;  // its nodes never move
  std::mutex local_mutex_;       // guards what follows
  u32 local_bytes_ = 0;          // of a thread
  std::unique_ptr<NvkMemory> local_;
  struct RetiredLocal {
    std::unique_ptr<NvkMemory> memory;
    hcq::Fence until;
  };
  std::list<RetiredLocal> retired_local_;
  struct RetiredCode {
    core::Allocation memory;
    hcq::Fence until;
  };
  std::mutex code_mutex_;  // guards retired_code_
  std::list<RetiredCode> retired_code_;
  std::unique_ptr<ChannelGroup> group_;
  std::unique_ptr<NvQueue> compute_, copy_;
  hcq::DeviceAllocator* memory_;  // behind the cache
  core::CachingAllocator allocator_;
};

}  // namespace doorbell::nv
