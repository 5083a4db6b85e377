// Engine: runs the queues of one GPU. In a machine it is the Gpu of emulator/amd/cp, in tests a
// fake.
#pragma once

#include <vector>

#include "base/util/result.h"
#include "emulator/amd/compute/saved_context.h"
#include "emulator/amd/cp/queue_description.h"

namespace doorbell::emu::amdgpu {

// Thread safety: from any thread.
class Engine {
 public:
  virtual ~Engine() = default;
  virtual Result<QueueId> add_queue(const QueueDescription& description) = 0;
  virtual Result<void> remove_queue(QueueId id) = 0;
  virtual Result<void> update_queue(QueueId id, const QueueDescription& description) = 0;
  // The saved waves of a preempted queue, by XCC.
  virtual Result<std::vector<SavedContext>> save_waves(QueueId id, const SaveOptions& options) = 0;
  virtual void ring(QueueId id, u64 value, unsigned bytes) = 0;
  // [start, end) was unmapped: returns when no access to it is in progress.
  virtual void unmapped(u64 start, u64 end) = 0;
};

}  // namespace doorbell::emu::amdgpu
