// A work group's waves as the kernel driver's trap handler saves them when their queue is unmapped
// from the hardware: registers in the order and layout of the save area. The waves do not change,
// and continue with their own registers when the queue is mapped again. See grid.h for which groups
// are saved.
#pragma once

#include <optional>

#include "emulator/amd/compute/dispatch.h"
#include "emulator/amd/compute/saved_context.h"
#include "emulator/amd/compute/work_group.h"

namespace doorbell::emu::amdgpu {

// What stopped one wave of the group.
struct StoppedWave {
  usize wave = 0;
  bool memory_violation = false, illegal_instruction = false;
};

// The group's waves that have not ended, if there is room for all of them.
void save_group(const WorkGroup& group, const Dispatch& dispatch, const SaveOptions& options,
                const std::optional<StoppedWave>& stopped, SavedContext& to);

}  // namespace doorbell::emu::amdgpu
