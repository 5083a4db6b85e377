// Dispatcher: starts the grids of a compute queue, whichever packets described them, and finds the
// kernel descriptors of those that came by registers.
#pragma once

#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "drivers/amd/hw/abi/kernel_descriptor.h"
#include "emulator/amd/cp/pipeline.h"
#include "emulator/amd/cp/queue_part.h"

namespace doorbell::emu::amdgpu {

// Of the user SGPRs, the first with the arguments' address. [LLVM AMDGPUUsage "Initial Kernel
// Execution State"]
inline u32 arguments_sgpr(const amd::hw::KernelDescriptor& descriptor) {
  return (descriptor.enable_sgpr_private_segment_buffer ? 4 : 0) +
         (descriptor.enable_sgpr_dispatch_ptr ? 2 : 0) + (descriptor.enable_sgpr_queue_ptr ? 2 : 0);
}

class Dispatcher : private QueuePart {
 public:
  Dispatcher(Queue& queue, GpuContext& gpu, Pipeline& pipeline)
      : QueuePart(queue, gpu), pipeline_(pipeline) {}

  // The packet at hand launches a grid on so many XCCs; where races are judged, their task.
  std::shared_ptr<RaceTask> begin_dispatch(u32 parts, u64 code);
  // A grid that was judged goes into the pipeline.
  void launch(const Dispatch& dispatch, std::vector<Snapshot> snapshots);
  // Nothing where the memory is not mapped.
  std::optional<Snapshot> snapshot(const char* what, u64 va, u64 bytes) const;

  // The address of the descriptor whose code this is, if the buffer around it has one; else 0.
  u64 find_descriptor(u64 entry);
  // One may come there before the dispatch does.
  void forget_descriptor(u64 entry) { descriptors_.erase(entry); }
  std::optional<amd::hw::KernelDescriptor> read_descriptor(u64 va) const;

 private:
  // An entry without a descriptor in the mappings of that generation.
  struct Descriptor {
    bool none = false;
    u64 generation = 0;
  };

  Pipeline& pipeline_;  // borrowed from the queue
  std::unordered_map<u64, Descriptor> descriptors_;
  std::shared_ptr<RaceTask> task_;  // of the dispatch at hand
};

}  // namespace doorbell::emu::amdgpu
