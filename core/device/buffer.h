// Buffer: the memory behind a Buffer node, owned and counted. The tensor graph knows which node
// stands for which version of its contents; an Allocator provides the memory.
//
// Thread safety: size and location never change; queues order accesses to the contents. poison()
// and is_poisoned() from any thread.
#pragma once

#include <atomic>
#include <functional>

#include "core/device/allocator.h"
#include "core/util/ref.h"

namespace doorbell::core {

class Device;

class Buffer final : public Payload {
 public:
  // New memory of a device; contents are undefined.
  static Result<Ref<Buffer>> allocate(Device& device, i64 bytes);
  // Wraps memory of the caller, for from_blob: `release`, if given, runs when the last owner is
  // destroyed. `host` may be null for memory that only the device can access.
  static Ref<Buffer> wrap(Device& device, const Allocation& memory,
                          std::function<void()> release = {});

  ~Buffer() override;

  Device& device() const { return *device_; }
  i64 bytes() const { return memory_.bytes; }
  const Allocation& memory() const { return memory_; }
  // Null if the host cannot access the memory.
  void* host() const { return memory_.host; }
  // Memory of someone else.
  bool is_wrapped() const { return !owned_; }

  // Marks it as without a value, for good: the work that was to write it was stopped.
  void poison() { poisoned_.store(true, std::memory_order_release); }
  bool is_poisoned() const { return poisoned_.load(std::memory_order_acquire); }

  Result<void> copy_in(const void* from, i64 bytes, i64 offset = 0);
  Result<void> copy_out(void* to, i64 bytes, i64 offset = 0) const;

 private:
  Buffer(Device& device, const Allocation& memory, bool owned, std::function<void()> release);

  Device* device_;  // owned by the Registry, which never closes a device
  Allocation memory_;
  bool owned_;  // freed by the device's allocator; otherwise by `release_`
  std::function<void()> release_;
  std::atomic<bool> poisoned_{false};
};

// `bytes` at `offset` of one buffer to another's, on any two devices. Work that wrote or reads them
// is done. Complete when it returns, unless both are of one device.
Result<void> copy_bytes(Buffer& to, i64 to_offset, const Buffer& from, i64 from_offset, i64 bytes);
// The same after everything that the devices were given.
Result<void> copy_between(Buffer& to, i64 to_offset, const Buffer& from, i64 from_offset,
                          i64 bytes);

}  // namespace doorbell::core
