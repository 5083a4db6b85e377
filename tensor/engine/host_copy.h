// Copies between two devices of which one cannot wait for the other: an AMD and an NVIDIA GPU, a
// GPU behind USB and any other. The thread that runs the plan makes them: no queue may wait for
// such a copy, because the copy itself needs queues of both devices. For the choice see
// queue_graph.h.
#pragma once

#include "tensor/engine/execution_plan.h"

namespace doorbell::engine {

// Waits for both devices, reads from one and writes to the other. It is made when this returns.
// Throws Error. `memory` by source, of inputs and fresh memory.
void copy_by_host(const ExecutionPlan& plan, const ExecutionPlan::Item& item,
                  std::span<core::Buffer* const> memory);

}  // namespace doorbell::engine
