// Replaying as one graph of hardware queues: kernels on the compute queue of their device, copies
// on the copy queue of the device that they fill. What a run brings are the graph's slots:
// addresses, as each device sees them, then values of variables. What a run uses is kept until it
// is done.
#include <absl/container/flat_hash_map.h>

#include <algorithm>

#include "base/util/check.h"
#include "base/util/log.h"
#include "core/util/config.h"
#include "hcq/device.h"
#include "hcq/graph/graph.h"
#include "tensor/engine/in_flight.h"
#include "tensor/engine/must.h"
#include "tensor/engine/replay_executor.h"

namespace doorbell::engine {
namespace {

using core::Buffer;
using hcq::Access;
using hcq::Operand;
using hcq::Queue;

// Whether `at` sees what `of` allocates. Asked with a byte of it, because a device may see some
// memory of another and not all.
bool reaches(hcq::Device& at, core::Device& of) {
  if (&at == &of) return true;
  Result<core::Ref<Buffer>> probe = Buffer::allocate(of, 1);
  return probe && at.address_of(**probe).has_value();
}

// Where an item runs.
struct Placement {
  hcq::Device* device = nullptr;  // null: on no queue
  Queue* queue = nullptr;
};

Placement place(const ReplayLayout& layout, const ReplayLayout::Item& item) {
  const std::span<const ReplayLayout::Argument> arguments = layout.arguments_of(item);
  hcq::Device* own = hcq::Device::of(*item.planned->device);
  if (item.planned->kernel) {
    for (const ReplayLayout::Argument& argument : arguments)
      if (own == nullptr || !reaches(*own, *argument.device)) return {};
    return {own, &own->compute_queue()};
  }
  // The device that it fills, so that whoever waits for it finds it filled; else the other.
  for (usize side : {0, 1}) {
    hcq::Device* device = hcq::Device::of(*arguments[side].device);
    if (device != nullptr && reaches(*device, *arguments[1 - side].device))
      return {device, &device->copy_queue()};
  }
  return {};
}

class QueueGraph final : public ReplayExecutor {
 public:
  QueueGraph(std::shared_ptr<const ReplayLayout> layout, std::span<const Placement> placements,
             bool join);
  ~QueueGraph() override;
  hcq::Fence run(std::span<Buffer* const> memory, std::span<const i64> variables) override;

 private:
  struct Address {
    hcq::Device* device;
    u32 source;
  };
  void make_slots(std::span<const Placement> placements);
  Operand address_of(hcq::Device& device, const ReplayLayout::Argument& argument);
  u32 storage_of(const ReplayLayout::Argument& argument);
  void record(const ReplayLayout::Item& item, const Placement& placement);

  const std::shared_ptr<const ReplayLayout> layout_;  // shared with the Replay and in_flight()
  hcq::Graph graph_;
  std::vector<Queue*> queues_;      // all of the devices that take part
  std::vector<Address> addresses_;  // by slot of the graph; the variables follow
  std::vector<u64> values_;         // by slot of the graph
  hcq::Fence last_;
  // While recording. Looked up, never iterated.
  absl::flat_hash_map<const Buffer*, u32> storages_;
  absl::flat_hash_map<u32, u32> fresh_storages_;
  u32 given_ = 0;  // the storage of all slots: they may overlap
};

QueueGraph::QueueGraph(std::shared_ptr<const ReplayLayout> layout,
                       std::span<const Placement> placements, bool join)
    : layout_(std::move(layout)), graph_({.trace = hcq::Trace::of_process(), .join = join}) {
  make_slots(placements);
  given_ = graph_.storage();
  for (usize i = 0; i < placements.size(); ++i) record(layout_->items[i], placements[i]);
  must(graph_.bind());
  const int debug = core::config().debug;
  if (debug >= 1)
    log().debug("graph: {} nodes, {} slots{}", graph_.node_count(), values_.size(),
                debug >= 2 ? "\n" + graph_.str() : "");
}

// A run that is under way needs arenas, constants and programs.
QueueGraph::~QueueGraph() { in_flight().keep(last_, {.more = layout_}); }

void QueueGraph::make_slots(std::span<const Placement> placements) {
  for (usize i = 0; i < placements.size(); ++i) {
    hcq::Device* device = placements[i].device;
    for (Queue* queue : {&device->compute_queue(), &device->copy_queue()})
      if (std::find(queues_.begin(), queues_.end(), queue) == queues_.end())
        queues_.push_back(queue);
    for (const ReplayLayout::Argument& argument : layout_->arguments_of(layout_->items[i])) {
      const bool known = std::any_of(addresses_.begin(), addresses_.end(), [&](const Address& of) {
        return of.device == device && of.source == argument.source;
      });
      if (argument.source == ReplayLayout::kNoSource || known) continue;
      graph_.slot();
      addresses_.push_back({device, argument.source});
    }
  }
  for (usize i = 0; i < layout_->variable_count; ++i) graph_.slot();
  values_.resize(addresses_.size() + layout_->variable_count);
}

Operand QueueGraph::address_of(hcq::Device& device, const ReplayLayout::Argument& argument) {
  if (argument.source == ReplayLayout::kNoSource)
    return must(device.address_of(*argument.buffer)) + static_cast<u64>(argument.offset);
  CHECK_EQ(argument.offset, 0);
  u32 slot = 0;
  while (addresses_[slot].device != &device || addresses_[slot].source != argument.source) ++slot;
  return Operand::of_slot(slot);
}

// Fresh memory overlaps nothing; slots may be one tensor.
u32 QueueGraph::storage_of(const ReplayLayout::Argument& argument) {
  if (argument.source == ReplayLayout::kNoSource) {
    const auto [at, is_new] = storages_.try_emplace(argument.buffer, 0);
    if (is_new) at->second = graph_.storage();
    return at->second;
  }
  if (argument.source < layout_->reads.size()) return given_;
  const auto [at, is_new] = fresh_storages_.try_emplace(argument.source, 0);
  if (is_new) at->second = graph_.storage();
  return at->second;
}

void QueueGraph::record(const ReplayLayout::Item& item, const Placement& placement) {
  const PlanItem& planned = *item.planned;
  std::vector<hcq::Graph::Argument> buffers;
  for (const ReplayLayout::Argument& argument : layout_->arguments_of(item)) {
    const u32 memory =
        graph_.memory(storage_of(argument), static_cast<u64>(argument.offset),
                      static_cast<u64>(argument.bytes), address_of(*placement.device, argument));
    const u32 written = planned.kernel ? planned.kernel->output_count : 1;
    buffers.push_back({memory, buffers.size() < written ? Access::Write : Access::Read});
  }
  if (!planned.kernel) {
    graph_.copy(*placement.queue, buffers[0].memory, buffers[1].memory,
                static_cast<u64>(planned.copy_bytes));
    return;
  }
  std::vector<Operand> variables;
  for (u32 variable : layout_->variables_of(item))
    variables.push_back(Operand::of_slot(static_cast<u32>(addresses_.size()) + variable));
  graph_.exec(*placement.queue,
              {planned.kernel->program.get(), planned.kernel->name, buffers, variables});
}

hcq::Fence QueueGraph::run(std::span<Buffer* const> memory, std::span<const i64> variables) {
  end_if_stopped();
  u64* value = values_.data();
  for (const Address& address : addresses_)
    *value++ = must(address.device->address_of(*memory[address.source])).value;
  for (i64 variable : variables) *value++ = static_cast<u64>(variable);
  // What other replays put on any queue of these devices may have made, or still read, our memory.
  hcq::Fence after;
  for (Queue* queue : queues_) {
    if (queue->idle()) [[likely]]
      continue;
    after.add(queue->last());
    // Else the parts on other devices would run.
    if (queue->is_dead()) must(queue->wait(queue->last().position));
  }
  Result<hcq::Fence> done = graph_.replay(values_, after);
  if (done) [[likely]] {
    last_ = *std::move(done);
    keep_replay(*layout_, last_, memory);
    return last_;
  }
  // Queues that did not fail may run their part.
  for (Queue* queue : queues_) last_.add(queue->last());
  keep_replay(*layout_, last_, memory);
  throw_error(std::move(done).error());
}

}  // namespace

std::unique_ptr<ReplayExecutor> make_queue_graph(std::shared_ptr<const ReplayLayout> layout) {
  std::vector<Placement> placements;
  bool join = false;
  for (const ReplayLayout::Item& item : layout->items) {
    const Placement placement = place(*layout, item);
    if (placement.device == nullptr) return nullptr;
    // Who waits for the device whose memory this is finds it written only if all end together.
    join |= placement.device != layout->arguments_of(item)[0].device;
    placements.push_back(placement);
  }
  if (placements.empty()) return nullptr;
  return std::make_unique<QueueGraph>(std::move(layout), placements, join);
}

}  // namespace doorbell::engine
