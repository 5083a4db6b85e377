// What the parts of a compute queue share: they judge it, stop it and name it in reports, as the
// queue itself does (queue.h).
#pragma once

#include <string>
#include <utility>

#include "emulator/amd/cp/caches.h"
#include "emulator/amd/cp/queue.h"

namespace doorbell::emu::amdgpu {

inline void act_on_caches(const GpuContext& gpu, u32 xcc, const CacheActions& actions) {
  if (gpu.caches && actions.any()) gpu.caches->act(xcc, actions);
}

class QueuePart {
 protected:
  QueuePart(Queue& queue, GpuContext& gpu) : queue_(queue), gpu_(gpu) {}

  // True: the queue has stopped for it.
  bool report_violation(const Check& check, std::string message) {
    return queue_.report_violation(check, std::move(message));
  }
  Outcome stopped(MemoryFault fault) {
    queue_.stop(std::move(fault));
    return Outcome::Stop;
  }
  Outcome stopped(std::string why) {
    queue_.stop(std::move(why));
    return Outcome::Stop;
  }
  std::string where() const { return queue_.where(); }

  Queue& queue_;     // borrowed: the queue that it is a part of
  GpuContext& gpu_;  // borrowed from the GPU
};

}  // namespace doorbell::emu::amdgpu
