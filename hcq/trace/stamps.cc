// Memory for stamps, and reading them.
#include "hcq/trace/stamps.h"

#include <cstring>

#include "base/util/check.h"
#include "base/util/try.h"

namespace doorbell::hcq {

Stamps::~Stamps() {
  for (const Lane& lane : lanes_)
    if (lane.memory.host != nullptr)
      lane.queue->release_after(lane.queue->last().position, lane.memory);
}

void Stamps::add(Queue& queue, std::string name, std::string category) {
  u32 lane = 0;
  while (lane < lanes_.size() && lanes_[lane].queue != &queue) ++lane;
  if (lane == lanes_.size()) lanes_.push_back({&queue});
  nodes_.push_back({lane, lanes_[lane].nodes++, std::move(name), std::move(category)});
}

Result<void> Stamps::allocate() {
  for (Lane& lane : lanes_) {
    TRY(lane.memory, lane.queue->memory().allocate(lane.bytes()));
    CHECK(lane.memory.host != nullptr, "stamps in memory that the host cannot see");
  }
  return {};
}

GpuAddr Stamps::address(u32 node, bool end) const {
  const Node& of = nodes_[node];
  const Lane& lane = lanes_[of.lane];
  return GpuAddr{lane.memory.address} + (of.place * u64{2} + end) * lane.queue->timestamp_bytes();
}

u64 Stamps::ticks_of(const Node& node, bool end) const {
  const Lane& lane = lanes_[node.lane];
  const usize bytes = lane.queue->timestamp_bytes();
  const auto* stamps = static_cast<const u8*>(lane.memory.host);
  u64 ticks = 0;
  std::memcpy(&ticks, stamps + (node.place * usize{2} + end + 1) * bytes - sizeof ticks,
              sizeof ticks);
  return ticks;
}

void Stamps::begin_run(Trace& trace) {
  std::lock_guard lock(mutex_);
  if (pending_) add_spans(trace);
  for (const Lane& lane : lanes_)
    std::memset(lane.memory.host, 0, static_cast<usize>(lane.bytes()));
}

void Stamps::end_run(const Fence& done) {
  std::lock_guard lock(mutex_);
  last_ = done;
  pending_ = true;
}

bool Stamps::collect(Trace& trace) {
  std::lock_guard lock(mutex_);
  if (!pending_) return true;
  if (!last_.done()) return false;
  add_spans(trace);
  return true;
}

void Stamps::add_spans(Trace& trace) {
  pending_ = false;
  for (const Node& node : nodes_) {
    const Queue& queue = *lanes_[node.lane].queue;
    const u64 end = ticks_of(node, true);
    // A device that never runs anything, or one that died before this node.
    if (end == 0) continue;
    trace.add({queue.device_name(), queue.name(), node.name, node.category,
               queue.to_ns(ticks_of(node, false)), queue.to_ns(end)});
  }
}

}  // namespace doorbell::hcq
