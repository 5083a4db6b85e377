// QueueGraph: items of a plan as one graph of hardware queues: kernels on the compute queue of
// their device, copies on the copy queue of the device that they fill, or, between devices that do
// not see each other's memory, on both copy queues through memory that both see. The graph's slots
// are addresses of what a run brings, as each device sees them, then values of variables. Devices
// of one graph wait for each other; copies between others are host_copy.h's.
//
// A run:
//   const hcq::Fence after = part.prepare(memory, variables);
//   part.finish(part.graph().replay(part.values(), after), &started);
//
// Thread safety: one run at a time each.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <vector>

#include "hcq/device.h"
#include "hcq/graph/graph.h"
#include "tensor/engine/plan_part.h"
#include "tensor/engine/staging.h"

namespace doorbell::engine {

class QueueGraph {
 public:
  // Its items are all traced by drivers, or none is, where the process has a trace. Throws Error,
  // also for items that no queue can run.
  explicit QueueGraph(PlanPart part);
  ~QueueGraph();
  QueueGraph(const QueueGraph&) = delete;
  QueueGraph& operator=(const QueueGraph&) = delete;

  // How many nodes of a graph an item becomes; 0: it is a copy that no queue can make. Throws Error
  // as above.
  static usize queue_nodes(const ExecutionPlan& plan, const ExecutionPlan::Item& item);

  // Adds the item's devices to those of a graph. False: one of them cannot wait for another.
  static bool adds_to(std::vector<hcq::Device*>* devices, const ExecutionPlan& plan,
                      const ExecutionPlan::Item& item);

  // Whether the driver of the item's device adds it to the trace, so that its graph must not.
  static bool is_traced_by_driver(const ExecutionPlan& plan, const ExecutionPlan::Item& item);

  // Sets the values of the slots. `memory` by source, of inputs and fresh memory; an input that no
  // item reads may be null. Returns what the run must wait for: everything that the devices were
  // given before. Throws Error.
  hcq::Fence prepare(std::span<core::Buffer* const> memory, std::span<const i64> variables);
  hcq::Graph& graph() { return graph_; }
  std::span<const u64> values() const { return values_; }
  // Adds to `started` what runs, also where the replay failed; throws the Error then.
  void finish(Result<hcq::Fence> replayed, hcq::Fence* started);

 private:
  using Argument = ExecutionPlan::Argument;
  using Item = ExecutionPlan::Item;
  struct Address {
    hcq::Device* device;
    u32 source;
    bool operator==(const Address&) const = default;
  };
  // Where an item runs.
  struct Placement {
    hcq::Device* device = nullptr;  // null: no queue can make the copy
    hcq::Queue* queue = nullptr;
    const Staging* staging = nullptr;  // of a copy in two steps; the device is then the filled one
  };

  static Placement placement_of(const ExecutionPlan& plan, const Item& item);
  static std::vector<Placement> placements_of(const PlanPart& part);
  static hcq::Device& viewer_of(const Placement& placement, usize argument);
  static bool writes_elsewhere(const ExecutionPlan& plan, const Item& item,
                               const Placement& placement);
  static bool joins(const PlanPart& part, std::span<const Placement> placements);
  void make_slots();
  hcq::Operand address_of(hcq::Device& device, const Argument& argument);
  u32 storage_of(const Argument& argument);
  u32 memory_of(hcq::Device& viewer, const Argument& argument, i64 offset, i64 bytes);
  void record(const Item& item, const Placement& placement);
  void record_staged(const Item& item, const Staging& staging);

  const PlanPart part_;
  const std::vector<Placement> placements_;  // by item of the part
  hcq::Graph graph_;
  std::vector<hcq::Queue*> queues_;  // of all devices whose memory takes part
  std::vector<Address> addresses_;   // by slot of the graph; the variables follow
  std::vector<u64> values_;          // by slot of the graph
  hcq::Fence last_;
  // While recording. Looked up, never iterated.
  absl::flat_hash_map<u32, u32> storages_;
  absl::flat_hash_map<const Staging*, u32> staging_storages_;
  u32 inputs_ = 0;  // the storage of all inputs: they may overlap
};

}  // namespace doorbell::engine
