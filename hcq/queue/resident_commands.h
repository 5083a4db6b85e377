// ResidentCommands: recorded commands that stay in memory which the device reads. A replay patches
// the fields whose slots have changed and refers to the words. With more than one instance the host
// prepares a run while the device executes the last. See hcq::Graph for the values of slots and for
// the submission.
//
// Thread safety: one thread at a time.
// Memory ordering: an instance is written only when the words of its last run will not be read
// again, and read by the device only after the submission that follows.
#pragma once

#include <memory>

#include "hcq/queue/queue.h"

namespace doorbell::hcq {

class ResidentCommands {
 public:
  struct Instance {
    std::unique_ptr<ResidentWords> words;
    std::vector<u64> applied;  // by `uses_`: the values in the words
    bool fresh = true;         // nothing is applied yet
    Position last = 0;         // of its last run; set by the submitter
  };

  static Result<std::unique_ptr<ResidentCommands>> bind(Queue& queue, const CommandBuffer& commands,
                                                        int instances);
  // Memory that the device may still read is released later, without waiting.
  ~ResidentCommands();
  ResidentCommands(const ResidentCommands&) = delete;
  ResidentCommands& operator=(const ResidentCommands&) = delete;

  Queue& queue() const { return queue_; }
  // An instance whose words are not read any more.
  Result<Instance*> next();
  void patch(Instance& instance, std::span<const u64> slots) const;

 private:
  struct Use {
    u32 slot, first, end;  // in patches_
  };
  explicit ResidentCommands(Queue& queue) : queue_(queue) {}
  void take_patches(const CommandBuffer& commands, u32 data_start);
  Result<void> add_instance(const CommandBuffer& commands, u32 data_start);

  Queue& queue_;
  std::vector<Patch> patches_;  // by slot
  std::vector<Use> uses_;
  std::vector<Instance> instances_;
  usize next_ = 0;  // of the last call
};

}  // namespace doorbell::hcq
