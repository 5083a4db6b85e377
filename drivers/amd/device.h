// AmdDevice: a GPU that this process drives through /dev/kfd: a compute queue, a copy queue, memory
// of its own, code, private memory of kernels. See caps.h for what chips differ in, kernel/ for the
// calls to the kernel.
//
// Thread safety: all functions may be called from any thread.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "base/os/clock.h"
#include "core/device/caching_allocator.h"
#include "drivers/amd/caps.h"
#include "drivers/amd/code_heap.h"
#include "drivers/amd/kernel/kfd_events.h"
#include "drivers/amd/queue.h"
#include "drivers/amd/queue_memory.h"
#include "drivers/amd/scratch.h"
#include "hcq/device.h"
#include "hcq/memory/device_allocator.h"

namespace doorbell::amd {

struct BridgeBuffer;

struct Options {
  // Packets of the compute queue. ByChip: PM4 where there is one XCC, AQL where there are several,
  // and on gfx950.
  enum class Packets : u8 { ByChip, Pm4, Aql } packets = Packets::ByChip;
  bool sdma = true;            // false: no copy engine; buffers are the host's memory
  i64 max_cached = INT64_MAX;  // bytes of released memory kept
  u64 timeline_limit = hcq::Timeline::kLimit;
  u64 timeout_ns = hcq::Queue::kTimeout_ns;
  bool log_packets = false;  // what is submitted goes to the log
  // The message of a hang says where the queue's waves stand. The queue is taken off the hardware
  // for that; if that fails, the kernel resets the whole GPU, displays included.
  bool report_waves = false;
  // More about the death of the GPU with this id than the kernel reports: an emulator knows. Null:
  // nothing.
  std::function<std::string(u32 gpu_id)> explain;
  // Behind USB: see hcq::Queue::Parts::is_apart.
  bool is_apart = false;
  // The same, by the GPU's id: what its bridge has for copies; null: they go word by word.
  std::function<const BridgeBuffer*(u32 gpu_id)> bridge_buffer;
  // Is told what the host copies in and out of buffers; borrowed. Null: nobody asks.
  os::HostAccesses* host_accesses = nullptr;
};

class AmdDevice final : public hcq::Device, private KfdEvents::Listener {
 public:
  // The spec's ordinal counts the supported GPUs of `kfd`, or, where the spec has indices, those;
  // an index of a GPU that is not supported is refused with the reason.
  // shared_ptr: all AMD devices of the process share one.
  static Result<std::unique_ptr<AmdDevice>> open(core::DeviceSpec spec, std::shared_ptr<Kfd> kfd,
                                                 const Options& options);
  ~AmdDevice() override;

  core::Allocator& allocator() override { return allocator_; }
  Result<std::unique_ptr<core::Program>> load(const core::Binary& binary) override;
  Result<void> synchronize() override;
  std::string description() const override;
  hcq::Queue& compute_queue() override { return *compute_; }
  hcq::Queue& copy_queue() override { return copy_ ? *copy_ : *compute_; }
  core::Allocator& shared_memory() override;
  // Also of memory of another AMD device, which is mapped here then.
  Result<hcq::GpuAddr> address_of(const core::Buffer& buffer) override;

  // ---- for programs and queues ------------------------------------------------------------------
  Kfd& kfd() const { return *kfd_; }
  KfdGpu& gpu() const { return gpu_; }
  const Caps& caps() const { return caps_; }
  u32 xccs() const { return static_cast<u32>(gpu_.node().properties.num_xcc); }
  u64 compute_units() const;  // of all XCCs, those that the kernel gives us
  u32 local_bytes() const;
  CodeHeap& code() { return code_; }
  const CodeHeap& code() const { return code_; }
  // Puts code where it will run; queues drop what their caches held there.
  Result<void> write_code(u64 address, std::span<const u8> bytes);
  bool logs_packets() const { return log_packets_; }
  bool reports_waves() const { return reports_waves_; }
  // "; the emulator: ..." of the last fault, or nothing.
  std::string explanation() const;
  u64 code_epoch() const { return code_epoch_.load(std::memory_order_acquire); }
  // The area of kernels' private memory; the second grows it to `item_bytes` per work item.
  Scratch scratch() const { return scratch_.current(); }
  Result<Scratch> scratch(u32 item_bytes);
  // compute_queue(), as programs use it.
  AmdQueue& launch_queue() { return *compute_; }
  // What a launch must wait for, so that it sees what was copied here before.
  // Apart and not inlined: g++ 12 with sanitizers takes it for uninitialised.
  [[gnu::noinline]] hcq::Fence unfinished_copies();
  // The same text, for as long as the device lives.
  const std::string& keep_name(const std::string& name);
  u64 to_ns(u64 ticks) const;

 private:
  AmdDevice(core::DeviceSpec spec, std::shared_ptr<Kfd> kfd, KfdGpu& gpu, const Caps& caps,
            const Options& options);
  Result<void> start(const Options& options);
  void on_memory_exception(const hw::KfdMemoryException& exception) override;
  void on_hw_exception(const hw::KfdHwException& exception) override;
  void on_event() override;
  void die(Error why);

  const std::shared_ptr<Kfd> kfd_;
  KfdGpu& gpu_;  // kfd_'s
  const Caps& caps_;
  const bool log_packets_, reports_waves_;
  const std::function<std::string(u32)> explain_;
  u64 base_ticks_ = 0, base_ns_ = 0;  // the same moment
  hcq::BlockAllocator queue_memory_;
  CodeHeap code_;
  std::atomic<u64> code_epoch_{0};
  ScratchPool scratch_;
  std::mutex names_mutex_;
  std::set<std::string> names_;  // its nodes never move
  std::unique_ptr<AmdQueue> compute_, copy_;
  hcq::DeviceAllocator* vram_;  // behind the cache
  core::CachingAllocator allocator_;
  std::atomic<bool> queue_failed_{false};  // and was reported
  std::atomic<bool> told_of_peers_{false};
};

}  // namespace doorbell::amd
