// BoundQueue: recorded commands in memory that the device reads, written there once. A replay
// writes the places whose slots have changed and refers to the words. More than one instance lets
// the host prepare a run while the device is still in the last. Which numbers the slots hold, and
// the submission itself, are the graph's.
//
// Thread safety: one thread at a time.
// Memory ordering: an instance is written only when its last run is done, and read by the device
// only after the submission that follows.
#pragma once

#include <memory>

#include "hcq/queue/hardware_queue.h"

namespace doorbell::hcq {

class BoundQueue {
 public:
  struct Instance {
    std::unique_ptr<BoundWords> words;
    std::vector<u64> applied;  // by `uses_`: the values in the words
    bool fresh = true;         // nothing is applied yet
    Position last = 0;         // of its last run; set by who submits
  };

  static Result<std::unique_ptr<BoundQueue>> bind(HardwareQueue& queue,
                                                  const CommandQueue& commands, int instances);
  // Memory that the device may still read is given back later; nothing waits.
  ~BoundQueue();
  BoundQueue(const BoundQueue&) = delete;
  BoundQueue& operator=(const BoundQueue&) = delete;

  HardwareQueue& queue() const { return queue_; }
  // An instance that is done with its last run.
  Result<Instance*> next();
  void patch(Instance& instance, std::span<const u64> slots) const;

 private:
  struct Use {
    u32 slot, first, end;  // in patches_
  };
  explicit BoundQueue(HardwareQueue& queue) : queue_(queue) {}
  void take_patches(const CommandQueue& commands, u32 data_start);
  Result<void> add_instance(const CommandQueue& commands, u32 data_start);

  HardwareQueue& queue_;
  std::vector<Patch> patches_;  // by slot
  std::vector<Use> uses_;
  std::vector<Instance> instances_;
  usize next_ = 0;  // of the last call
};

}  // namespace doorbell::hcq
