// The one table from the kind of a queue to its processor.
#pragma once

#include <memory>

#include "emulator/amd/cp/queue.h"

namespace doorbell::emu::amdgpu {

std::unique_ptr<Queue> make_queue(QueueId id, const QueueDescription& description, GpuContext& gpu);

}  // namespace doorbell::emu::amdgpu
