// Recording, and writing the words of each queue. See replay.cc for running.
#include "hcq/graph/graph.h"

#include <algorithm>

#include "base/util/check.h"
#include "base/util/try.h"

namespace doorbell::hcq {

Operand Graph::slot() {
  CHECK(!bound_, "a slot for a graph that is bound");
  return Operand::of_slot(slots_++);
}

u32 Graph::memory(u32 storage, u64 offset, u64 bytes, Operand address) {
  CHECK_LT(storage, storages_);
  memories_.push_back({storage, offset, bytes, address});
  return static_cast<u32>(memories_.size() - 1);
}

u32 Graph::lane_of(Queue& queue) {
  for (u32 i = 0; i < lanes_.size(); ++i)
    if (lanes_[i].queue == &queue) return i;
  Lane& lane = lanes_.emplace_back();
  lane.queue = &queue;
  return static_cast<u32>(lanes_.size() - 1);
}

void Graph::exec(Queue& queue, Exec exec) {
  CHECK(!bound_ && exec.program != nullptr);
  for (const Argument& argument : exec.buffers) CHECK_LT(argument.memory, memories_.size());
  nodes_.push_back({lane_of(queue), std::move(exec)});
}

void Graph::copy(Queue& queue, u32 to, u32 from, u64 bytes) {
  CHECK(!bound_ && to < memories_.size() && from < memories_.size());
  CHECK(bytes <= memories_[to].bytes && bytes <= memories_[from].bytes,
        "copy of {} bytes from {} to {}", bytes, memories_[from].bytes, memories_[to].bytes);
  Exec both;
  both.name = "copy";
  both.buffers = {{to, Access::Write}, {from, Access::Read}};
  nodes_.push_back({lane_of(queue), std::move(both), bytes});
}

// Queues are locked in the order of their numbers, so lanes are kept in it.
void Graph::sort_lanes() {
  std::vector<u32> by_id(lanes_.size()), place(lanes_.size());
  for (u32 i = 0; i < by_id.size(); ++i) by_id[i] = i;
  std::sort(by_id.begin(), by_id.end(),
            [&](u32 a, u32 b) { return lanes_[a].queue->id() < lanes_[b].queue->id(); });
  std::vector<Lane> sorted;
  for (u32 i = 0; i < by_id.size(); ++i) {
    place[by_id[i]] = i;
    sorted.push_back(std::move(lanes_[by_id[i]]));
  }
  lanes_ = std::move(sorted);
  for (Node& node : nodes_) node.lane = place[node.lane];
}

// The edges of two runs in a row: the second tells what it needs of the first.
Order Graph::order() const {
  Hazards hazards(static_cast<u32>(lanes_.size()));
  std::vector<OrderNode> runs[2];
  for (u32 run = 0; run < 2; ++run)
    for (u32 n = 0; n < nodes_.size(); ++n) {
      const Node& node = nodes_[n];
      OrderNode& ordered = runs[run].emplace_back(OrderNode{node.lane, {}});
      for (const Argument& argument : node.exec.buffers) {
        const Memory& memory = memories_[argument.memory];
        const u64 bytes = node.exec.program == nullptr ? node.copy_bytes : memory.bytes;
        hazards.use({memory.storage, memory.offset, bytes, argument.access},
                    run * static_cast<u32>(nodes_.size()) + n, node.lane, &ordered.after);
      }
    }
  return make_order(runs[0], runs[1], static_cast<u32>(lanes_.size()));
}

Result<void> Graph::make_stamps() {
  if (options_.trace == nullptr) return {};
  auto stamps = std::make_shared<Stamps>();
  for (const Node& node : nodes_)
    stamps->add(*lanes_[node.lane].queue, node.exec.name,
                node.exec.program == nullptr ? "copy" : "kernel");
  TRY(stamps->allocate());
  stamps_ = std::move(stamps);
  return {};
}

u32 Graph::number_slots() {
  u32 slots = slots_;
  for (u32 i = 0; i < lanes_.size(); ++i) {
    Lane& lane = lanes_[i];
    lane.address_slot = slots;
    lane.value_slot = slots + 1;
    slots += 1 + signal_count(i);
    lane.waits = waits_of(i);
    for (u32 viewer = 0; viewer < lanes_.size(); ++viewer)
      if (!lanes_[viewer].queue->sees_signals_of(*lane.queue) &&
          lanes_[viewer].queue->can_wait_for(*lane.queue))
        lane.views.push_back({viewer, slots++});
  }
  return slots;
}

Operand Graph::address_of(u32 lane, u32 viewer) const {
  CHECK(lanes_[viewer].queue->can_wait_for(*lanes_[lane].queue), "a {} queue waits for a {} queue",
        lanes_[viewer].queue->device_name(), lanes_[lane].queue->device_name());
  for (const View& view : lanes_[lane].views)
    if (view.viewer == viewer) return Operand::of_slot(view.address_slot);
  return Operand::of_slot(lanes_[lane].address_slot);
}

Result<void> Graph::bind() {
  CHECK(!bound_, "a graph is bound once");
  sort_lanes();
  order_ = order();
  const u32 slots = number_slots();
  Result<void> made = make_stamps();
  for (u32 i = 0; i < lanes_.size() && made; ++i) {
    Lane& lane = lanes_[i];
    const std::unique_ptr<CommandBuffer> commands = lane.queue->make_commands();
    emit(i, commands.get());
    const int instances = stamps_ ? 1 : options_.instances;
    auto bound = ResidentCommands::bind(*lane.queue, *commands, instances);
    if (bound)
      lane.commands = std::move(*bound);
    else
      made = std::move(bound).error();
  }
  if (!made) {
    for (Lane& lane : lanes_) lane.commands.reset();
    stamps_.reset();
    return made;
  }
  if (stamps_) options_.trace->add_source(stamps_);
  table_.assign(slots, 0);
  bound_ = true;
  return {};
}

std::vector<OrderWait> Graph::waits_of(u32 lane) const {
  std::vector<u32> last(lanes_.size(), 0);
  for (u32 n = 0; n < nodes_.size(); ++n) {
    if (nodes_[n].lane != lane) continue;
    for (const OrderWait& wait : order_.nodes[n].waits)
      last[wait.queue] = std::max(last[wait.queue], wait.signal);
  }
  const bool joins = signal_count(lane) > order_.signals[lane];
  std::vector<OrderWait> waits;
  for (u32 other = 0; other < lanes_.size(); ++other) {
    if (joins && other != lane) last[other] = order_.signals[other];
    if (last[other] != 0) waits.push_back({other, last[other]});
  }
  return waits;
}

void Graph::emit(u32 lane, CommandBuffer* commands) const {
  commands->memory_barrier();  // after whatever the queue ran before
  for (u32 n = 0; n < nodes_.size(); ++n)
    if (nodes_[n].lane == lane) emit_node(n, commands);
  if (signal_count(lane) > order_.signals[lane]) emit_join(lane, commands);
}

void Graph::emit_join(u32 lane, CommandBuffer* commands) const {
  for (u32 other = 0; other < lanes_.size(); ++other)
    if (other != lane && order_.signals[other] != 0)
      commands->wait(address_of(other, lane), value_of(other, order_.signals[other]));
  commands->signal(address_of(lane, lane), value_of(lane, signal_count(lane)));
}

void Graph::emit_node(u32 n, CommandBuffer* commands) const {
  const Node& node = nodes_[n];
  const Order::Node& order = order_.nodes[n];
  for (const OrderWait& wait : order.waits)
    commands->wait(address_of(wait.queue, node.lane), value_of(wait.queue, wait.signal));
  if (order.barrier) commands->memory_barrier();
  if (stamps_) commands->timestamp(stamps_->address(n, false));
  if (node.exec.program == nullptr) {
    commands->copy(memories_[node.exec.buffers[0].memory].address,
                   memories_[node.exec.buffers[1].memory].address, node.copy_bytes);
  } else {
    std::vector<Operand> addresses;
    for (const Argument& argument : node.exec.buffers)
      addresses.push_back(memories_[argument.memory].address);
    commands->exec({node.exec.program, addresses, node.exec.variables});
  }
  if (stamps_) commands->timestamp(stamps_->address(n, true));
  if (order.signal != 0)
    commands->signal(address_of(node.lane, node.lane), value_of(node.lane, order.signal));
}

}  // namespace doorbell::hcq
