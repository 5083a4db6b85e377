// Keeps buffers and programs of running work, whose owners may be destroyed, and allocates memory,
// which may have to wait for that work. For .cc files of the engine.
//
// Thread safety: all functions may be called from any thread.
#pragma once

#include "core/device/device.h"
#include "hcq/memory/in_flight_resources.h"
#include "tensor/engine/execution_plan.h"

namespace doorbell::engine {

// The process's.
hcq::InFlightResources& in_flight();

// Keeps the memory of a run, by source, until it is done. The launching code keeps programs.
void keep_run(const ExecutionPlan& plan, const hcq::Fence& until,
              std::span<core::Buffer* const> memory);

// Allocates memory; if there is none, waits for work in flight first. Throws Error.
core::Ref<core::Buffer> take_memory(core::Device& device, i64 bytes);

}  // namespace doorbell::engine
