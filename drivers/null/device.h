// The NULL device: does everything up to the launch, but runs nothing. Its memory has a size but no
// contents. It serves to measure scheduling and compiling alone, for any renderer.
#pragma once

#include <atomic>

#include "drivers/null/queue.h"
#include "hcq/device.h"
#include "hcq/memory/host_memory.h"

namespace doorbell::null {

class NullAllocator final : public core::Allocator {
 public:
  explicit NullAllocator(std::string device) : device_(std::move(device)) {}

  Result<core::Allocation> allocate(i64 bytes) override;
  void release(const core::Allocation& allocation) override;
  Result<void> copy_in(const core::Allocation&, i64, const void*, i64) override { return {}; }
  Result<void> copy_out(void* to, const core::Allocation& from, i64 offset, i64 bytes) override;
  Result<void> copy(const core::Allocation&, i64, const core::Allocation&, i64, i64) override {
    return {};
  }
  core::MemoryStats stats() const override;

 private:
  const std::string device_;
  std::atomic<i64> in_use_{0}, peak_{0};
};

class NullDevice final : public hcq::Device {
 public:
  explicit NullDevice(core::DeviceSpec spec);

  core::Allocator& allocator() override { return allocator_; }
  // Takes any binary.
  Result<std::unique_ptr<core::Program>> load(const core::Binary& binary) override;
  Result<void> synchronize() override { return queue_->synchronize(); }
  bool runs() const override { return false; }
  std::string description() const override { return "compiles, never runs"; }
  hcq::Queue& compute_queue() override { return *queue_; }
  hcq::Queue& copy_queue() override { return *queue_; }
  core::Allocator& shared_memory() override { return queue_memory_; }
  // Any, for none is looked at.
  Result<hcq::GpuAddr> address_of(const core::Buffer& buffer) override {
    return hcq::GpuAddr{buffer.memory().address};
  }

 private:
  NullAllocator allocator_;
  hcq::HostMemory queue_memory_;  // of signals
  hcq::SignalPool signals_{queue_memory_};
  std::unique_ptr<NullQueue> queue_;
};

}  // namespace doorbell::null
