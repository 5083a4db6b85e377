// ReplayExecutor: how the kernels and copies of a layout get to their devices. Two ways: one after
// another through core::Program, which every device has; and as one graph of hardware queues, where
// all devices have them (hcq/device.h). What they run is replay_layout.h's.
//
// Thread safety: one run() at a time each.
#pragma once

#include <memory>
#include <span>

#include "hcq/signal/fence.h"
#include "tensor/engine/replay_layout.h"

namespace doorbell::engine {

class ReplayExecutor {
 public:
  virtual ~ReplayExecutor() = default;
  // Starts everything, after all that was launched on its devices before. `memory` by source; of a
  // slot that is not read it may be null. Memory may be let go of as soon as this returns or
  // throws; the work may still run, until what is returned is done. Throws Error.
  virtual hcq::Fence run(std::span<core::Buffer* const> memory, std::span<const i64> variables) = 0;
};

std::unique_ptr<ReplayExecutor> make_launch_list(std::shared_ptr<const ReplayLayout> layout);
// Null where a device has no queues, or cannot reach what it should copy.
std::unique_ptr<ReplayExecutor> make_queue_graph(std::shared_ptr<const ReplayLayout> layout);

}  // namespace doorbell::engine
