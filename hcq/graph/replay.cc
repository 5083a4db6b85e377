// Running a graph: numbers into slots, slots into words, words to their queues.
#include <algorithm>

#include "base/util/check.h"
#include "base/util/try.h"
#include "hcq/graph/graph.h"

namespace doorbell::hcq {

Result<Fence> Graph::replay(std::span<const u64> values, const Fence& after) {
  CHECK(bound_, "a graph is replayed after bind()");
  CHECK(values.size() == slots_, "{} numbers for {} slots", values.size(), slots_);
  // Before any lock of a queue is taken: this may wait for an earlier run.
  for (Lane& lane : lanes_) {
    TRY(lane.instance, lane.commands->next());
  }
  if (stamps_) stamps_->begin_run(*options_.trace);
  std::copy(values.begin(), values.end(), table_.begin());
  TRY(submit(after));
  has_run_ = true;
  Fence done;
  for (const Lane& lane : lanes_) done.add({lane.queue, lane.instance->last});
  if (stamps_) stamps_->end_run(done);
  return done;
}

// All or nothing: a position that is reserved must be raised, or its queue would hang.
Result<void> Graph::reserve_all() {
  for (usize i = 0; i < lanes_.size(); ++i) {
    Lane& lane = lanes_[i];
    Result<Position> base = lane.queue->reserve(signal_count(i));
    if (!base) {
      for (usize j = 0; j < i; ++j) lanes_[j].queue->skip();
      return std::move(base).error();
    }
    lane.last_base = lane.base;
    lane.base = *base;
  }
  return {};
}

Result<void> Graph::fill_slots() {
  for (usize i = 0; i < lanes_.size(); ++i) {
    const Lane& lane = lanes_[i];
    const Timeline::SignalValue first = lane.queue->timeline().signal_at(lane.base + 1);
    table_[lane.address_slot] = first.signal.address().value;
    for (u32 k = 0; k < signal_count(i); ++k) table_[lane.value_slot + k] = first.value + k;
    for (const View& view : lane.views) {
      TRY(const GpuAddr address, lanes_[view.viewer].queue->address_of(*lane.queue, first.signal));
      table_[view.address_slot] = address.value;
    }
  }
  return {};
}

Fence Graph::fence_of(const std::vector<OrderWait>& waits, Position Lane::* base) const {
  Fence fence;
  for (const OrderWait& wait : waits)
    fence.add({lanes_[wait.queue].queue, lanes_[wait.queue].*base + wait.signal});
  return fence;
}

Result<void> Graph::submit(const Fence& after) {
  absl::InlinedVector<std::unique_lock<std::mutex>, 4> locks;
  for (const Lane& lane : lanes_) locks.emplace_back(lane.queue->mutex());
  TRY(reserve_all());
  if (Result<void> filled = fill_slots(); !filled) {
    for (const Lane& lane : lanes_) lane.queue->skip();
    return filled;
  }
  Result<void> first_error;
  for (usize i = 0; i < lanes_.size(); ++i) {
    Lane& lane = lanes_[i];
    lane.instance->last = lane.base + signal_count(i);
    lane.commands->patch(*lane.instance, table_);
    const Segment segment{{}, lane.instance->words.get()};
    for (const Point& point : fence_of(lane.waits, &Lane::base)) lane.queue->will_wait(point);
    Result<void> pushed;
    if (order_.carried[i].empty() || !has_run_) {
      pushed = lane.queue->push({&segment, 1}, after);
    } else {
      Fence all = after;
      all.add(fence_of(order_.carried[i], &Lane::last_base));
      pushed = lane.queue->push({&segment, 1}, all);
    }
    if (pushed) continue;
    // The others go on, so that none waits for ever; that it failed is told here.
    lane.queue->skip();
    if (first_error) first_error = std::move(pushed);
  }
  return first_error;
}

}  // namespace doorbell::hcq
