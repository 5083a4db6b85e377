// The queue of a device that is called.
#include "hcq/software/launch_device.h"

#include "base/os/host.h"
#include "base/util/try.h"
#include "hcq/software/buffer_addresses.h"
#include "hcq/software/launch_executor.h"

namespace doorbell::hcq {
namespace {

// Launches that take no longer are made by the submitter: waking a thread costs that much.
constexpr u64 kInline_ns = 50'000;

}  // namespace

LaunchDevice::LaunchDevice(core::DeviceSpec spec) : Device(std::move(spec)) {
  Queue::Parts parts;
  parts.device = name();
  parts.name = "compute";
  parts.memory = &queue_memory_;
  parts.signals = &signals_;
  parts.clock = &os::host_clock();
  parts.event = &event_;
  parts.is_polled = true;
  parts.timeout_ns = 600'000'000'000;  // a kernel may run on the host, for minutes
  // A process without memory for a page cannot be helped by an error.
  queue_ = *SoftwareQueue::make(parts, std::make_unique<LaunchExecutor>(*this, *parts.clock),
                                kInline_ns);
}

LaunchDevice::~LaunchDevice() = default;

void LaunchDevice::stop_queue() {
  if (usable()) {
    (void)finish();        // nobody is left to tell an error
    (void)queue_->idle();  // raises signals of what has finished, which other queues may await
  }
  queue_.reset();
}

Result<GpuAddr> LaunchDevice::address_of(const core::Buffer& buffer) {
  return numbered_address(buffer);
}

Result<void> LaunchDevice::synchronize() {
  TRY(usable());
  TRY(queue_->synchronize());
  return finish();
}

}  // namespace doorbell::hcq
