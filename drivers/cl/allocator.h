// Memory of an OpenCL device, and moving bytes in and out of it. The host cannot access it
// directly. core's CachingAllocator keeps released memory.
//
// A transfer waits for the kernels that were launched on that memory, and for no others: it runs
// beside them. Kernels need not wait for transfers, which are complete when they return.
#pragma once

#include <atomic>

#include "core/device/allocator.h"
#include "drivers/cl/device.h"
#include "drivers/cl/event_log.h"
#include "hcq/software/memory_count.h"

namespace doorbell::cl {

// The object behind Allocation::opaque.
struct Memory {
  Owned<cl_mem> mem;
  u64 id;  // from 1, never reused, unlike a handle
  i64 bytes;
  // The last work of the compute queue on it, as EventLog numbers it. Written under Queues::order.
  std::atomic<u64> last_use{0};
  // An image of RGBA f32 over all of it, made when a kernel first reads it as one; under
  // Queues::order.
  Owned<cl_mem> image{};
  bool image_tried = false;
};

inline Memory& memory_of(const core::Allocation& allocation) {
  return *static_cast<Memory*>(allocation.opaque);
}

// The two in-order queues of a device: kernels and copies within the device on one, transfers from
// and to the host on the other. Borrowed from the device.
struct Queues {
  cl_context context;
  cl_command_queue compute, transfer;
  EventLog *computing, *transferring;
  std::mutex* order;  // held from enqueueing on `compute` until the memory's last_use is set
};

class ClAllocator final : public core::Allocator {
 public:
  ClAllocator(const Api& api, const DeviceInfo& info, std::string device, const Queues& queues)
      : api_(api), info_(info), count_(std::move(device)), queues_(queues) {}

  Result<core::Allocation> allocate(i64 bytes) override;
  void release(const core::Allocation& allocation) override;
  Result<void> copy_in(const core::Allocation& to, i64 offset, const void* from,
                       i64 bytes) override;
  Result<void> copy_out(void* to, const core::Allocation& from, i64 offset, i64 bytes) override;
  // Does not wait: the host cannot observe the difference.
  Result<void> copy(const core::Allocation& to, i64 to_offset, const core::Allocation& from,
                    i64 from_offset, i64 bytes) override;
  core::MemoryStats stats() const override { return count_.stats(); }

 private:
  // The event that a transfer of this memory waits for, if any; flushes its work.
  Owned<cl_event> before(const Memory& memory);
  Result<void> finish(cl_int code, cl_event event, bool in, i64 bytes);

  const Api& api_;
  const DeviceInfo& info_;
  hcq::MemoryCount count_;
  const Queues queues_;
  std::atomic<u64> ids_{0};
};

}  // namespace doorbell::cl
