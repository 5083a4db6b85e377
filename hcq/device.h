// hcq::Device: a device with queues, as graphs see it: of the hardware, or of software
// (software/launch_device.h). Everything else about a device is core::Device's.
//
// Thread safety: all functions may be called from any thread.
#pragma once

#include "core/device/device.h"
#include "hcq/queue/queue.h"

namespace doorbell::hcq {

class Device : public core::Device {
 public:
  using core::Device::Device;

  // Null where the device has none: it only keeps memory (DISK).
  static Device* of(core::Device& device) { return dynamic_cast<Device*>(&device); }

  virtual Queue& compute_queue() = 0;
  // May be the same one.
  virtual Queue& copy_queue() = 0;
  // Of memory that the host sees, this device, and others of its kind: for bytes on their way to a
  // device that does not see this one's own memory.
  virtual core::Allocator& shared_memory() = 0;
  // Whether its queues copy memory of any device, seen by it or not.
  virtual bool copies_any_memory() const { return false; }
  // Whether a realisation waits for its work here, so that it can be stopped and tried again.
  virtual bool realize_waits() const { return false; }
  // Where this device sees a buffer of any device; fails where it cannot. Of its own buffers that
  // is Allocation::address, which callers may read instead, unless copies_any_memory().
  virtual Result<GpuAddr> address_of(const core::Buffer& buffer) {
    if (&buffer.device() != this)
      return fail(ErrorKind::Unsupported, "{} cannot reach memory of {}", name(),
                  buffer.device().name());
    return GpuAddr{buffer.memory().address};
  }
  // Memory of another library that this device sees at the address; Unsupported where it is the
  // host's, Invalid where it is another device's.
  virtual Result<core::Allocation> foreign_memory(void* memory, i64 bytes) {
    return fail(ErrorKind::Unsupported, "{} cannot use {} bytes at {} in place", name(), bytes,
                memory);
  }
  // Everything submitted to this device so far.
  Fence fence() {
    Fence all(compute_queue().last());
    all.add(copy_queue().last());
    return all;
  }
};

}  // namespace doorbell::hcq
