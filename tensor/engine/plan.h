// Plan: a finished schedule, ready to run with other inputs: programs loaded, arguments laid out,
// temporaries placed. Finding the plan of a graph is plan_cache.h's.
//
// Thread safety: a plan does not change; several threads may run it at once.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "core/schedule/graph_key.h"
#include "core/schedule/kernel.h"
#include "core/schedule/shard.h"
#include "tensor/engine/graph_log.h"
#include "tensor/engine/kernel_cache.h"

namespace doorbell::hcq {
class Device;
}

namespace doorbell::engine {

struct PlanItem {
  KernelRef kernel;                    // null: a copy
  core::Device* device;                // where it runs
  u32 first_buffer, buffer_count;      // in Plan::arguments; a copy's are {to, from}
  u32 first_variable, variable_count;  // in Plan::variables
  i64 copy_bytes = 0;
};

// A Buffer node to make for a root.
struct PlanResult {
  u32 buffer;  // in Plan::buffers
  core::DType dtype;
  std::vector<i64> args;  // of the node; the buffer id is filled in at each run
};

struct PlanMemory {
  core::Device* device;
  i64 bytes;
};

struct Plan {
  struct BufferPlace {
    core::ScheduleBuffer::Kind kind;
    u32 index;   // Input: in GraphKey::inputs; Output and Temporary: in the list below
    i64 offset;  // Temporary
    i64 bytes;   // of the value; the most that a symbolic shape may have
  };
  std::vector<BufferPlace> buffers;
  std::vector<PlanMemory> outputs, temporaries;
  std::vector<PlanItem> items;
  std::vector<hcq::Device*> queued;  // devices of items whose work may run on when it is launched
  std::vector<u32> arguments;        // places in `buffers`
  std::vector<u32> variables;        // places in GraphKey::variables
  std::vector<PlanResult> results;   // Buffers; of each root in order one, or one per device
  std::vector<core::ShardedRoot> roots;  // which of them
  i64 kernels = 0, copies = 0;
  f64 flops = 0, bytes = 0;
  // What making it took, and how many kernels are not equal to one before.
  i64 distinct_kernels = 0;
  f64 schedule_seconds = 0, compile_seconds = 0;
};

// Schedules, compiles and lays out the graph of `key`, which was walked with its order. Throws.
// `log` (null: none) is told what was planned.
Plan make_plan(const core::GraphKey& key, std::span<const core::UOp> roots, KernelCache& kernels,
               GraphLog* log = nullptr);

// Launches everything; returns the Buffer nodes of Plan::results. Throws.
void run_plan(const Plan& plan, const core::GraphKey& key, std::vector<core::UOpRef>* results);
// What holds a root: its Buffer, or the Multi of its Buffers.
core::UOpRef holder_of(const core::ShardedRoot& root, std::span<const core::UOpRef> buffers);

// A buffer id that no node has yet.
i64 next_buffer_id();

}  // namespace doorbell::engine
