// LaunchDevice: a device whose driver has no queues, only calls: core::Program::launch, and copies
// of its core::Allocator. A software queue makes these calls, so that all devices run work alike.
//
//   class MyDevice final : public hcq::LaunchDevice {
//    public:
//     explicit MyDevice(core::DeviceSpec spec) : LaunchDevice(std::move(spec)) {}
//     ~MyDevice() override { stop_queue(); }
//     Result<void> finish() override;  // and allocator(), load(), description()
//   };
//
// Short work is launched by the thread that submits it, as long as it waits for no other device;
// other work by a thread of the queue. An error of a launch or a copy is returned by the call that
// submits it in the former case. In the latter, waits for it fail with it, and what the work was to
// write has no value. Either way the queue goes on.
//
// Thread safety: all functions may be called from any thread. Launches and copies of the queue come
// one after another, but not always from the same thread.
#pragma once

#include <memory>

#include "hcq/device.h"
#include "hcq/memory/host_memory.h"
#include "hcq/software/launch_batch.h"
#include "hcq/software/queue.h"
#include "hcq/software/signal_event.h"

namespace doorbell::hcq {

class LaunchDevice : public Device {
 public:
  explicit LaunchDevice(core::DeviceSpec spec);
  ~LaunchDevice() override;

  Queue& compute_queue() final { return *queue_; }
  Queue& copy_queue() final { return *queue_; }
  core::Allocator& shared_memory() final { return queue_memory_; }
  bool realize_waits() const override { return true; }
  bool copies_any_memory() const final { return true; }
  // Of a buffer of any device: kernels use this device's own, copies and writes any. Polls, signals
  // and timestamps take memory of the queue only.
  Result<GpuAddr> address_of(const core::Buffer& buffer) final;
  // What the queue has, and what was launched past it.
  Result<void> synchronize() final;

  // ---- for the driver ---------------------------------------------------------------------------
  // Waits for everything that was launched and copied so far. Reports, once, what went wrong.
  virtual Result<void> finish() = 0;
  // The number of the last launch or copy, from 1 on, where the driver can tell whether one has
  // finished. 0: it cannot, and the queue calls finish() instead, before it says that work is done.
  virtual u64 last_launch() { return 0; }
  // Launches up to this one have finished. Never waits; asked only where they have numbers.
  virtual u64 finished_launch() { return 0; }
  // What finished launches got wrong, once.
  virtual Result<void> launch_error() { return {}; }
  // For so many launches that run again and again. Null: they are launched one by one.
  virtual Result<std::unique_ptr<LaunchBatch>> make_batch(usize /*launches*/) {
    return std::unique_ptr<LaunchBatch>();
  }
  // Whether this process can use the device at all; asked before each submission.
  virtual Result<void> usable() { return {}; }
  // Whether the driver adds its kernels and copies to the process's trace itself.
  virtual bool adds_spans() const { return false; }
  // Hands the device what launches have collected: called behind those of a submission.
  virtual void submit_launches() {}

 protected:
  // Waits for launches and ends the queue's thread, which uses the device: call it first in the
  // destructor.
  void stop_queue();

 private:
  HostMemory queue_memory_;  // of words and signals
  SignalPool signals_{queue_memory_};
  SignalEvent event_;
  std::unique_ptr<SoftwareQueue> queue_;
};

}  // namespace doorbell::hcq
