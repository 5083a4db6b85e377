// Running a graph: numbers into slots, slots into words, words to their queues.
#include <algorithm>

#include "base/util/check.h"
#include "base/util/try.h"
#include "hcq/graph/graph.h"

namespace doorbell::hcq {

Result<Fence> Graph::replay(std::span<const u64> values, const Fence& after) {
  CHECK(bound_, "a graph is replayed after bind()");
  CHECK(values.size() == slots_, "{} numbers for {} slots", values.size(), slots_);
  TRY(take_instances());
  if (stamps_) stamps_->begin_run(*options_.trace);
  Result<void> first_error;
  {
    absl::InlinedVector<std::unique_lock<std::mutex>, 4> locks;
    for (const Lane& lane : lanes_) locks.emplace_back(lane.queue->mutex());
    TRY(reserve_all());
    TRY(fill_slots(values));
    for (usize i = 0; i < lanes_.size(); ++i) {
      Queue& queue = *lanes_[i].queue;
      Result<std::span<const Segment>> segments = segments_of(i, after);
      Result<void> written = segments ? queue.write(*segments, lanes_[i].instance->last)
                                      : Result<void>(std::move(segments).error());
      if (written) [[likely]]
        continue;
      // The others go on, so that none waits for ever; that it failed is told here.
      queue.skip();
      if (first_error) first_error = std::move(written);
    }
  }
  TRY(std::move(first_error));
  has_run_ = true;
  Fence done;
  for (const Lane& lane : lanes_) done.add({lane.queue, lane.instance->last});
  if (stamps_) stamps_->end_run(done);
  return done;
}

// Before any lock of a queue is taken: this may wait for an earlier run.
Result<void> Graph::take_instances() {
  for (Lane& lane : lanes_) {
    TRY(lane.instance, lane.commands->next());
  }
  return {};
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

Result<void> Graph::fill_slots(std::span<const u64> values) {
  std::copy(values.begin(), values.end(), table_.begin());
  for (usize i = 0; i < lanes_.size(); ++i) {
    const Lane& lane = lanes_[i];
    const Timeline::SignalValue first = lane.queue->timeline().signal_at(lane.base + 1);
    table_[lane.address_slot] = first.signal.address().value;
    for (u32 k = 0; k < signal_count(i); ++k) table_[lane.value_slot + k] = first.value + k;
    for (const View& view : lane.views) {
      Result<GpuAddr> address = lanes_[view.viewer].queue->address_of(*lane.queue, first.signal);
      if (!address) {
        for (const Lane& each : lanes_) each.queue->skip();
        return std::move(address).error();
      }
      table_[view.address_slot] = address->value;
    }
  }
  return {};
}

Result<std::span<const Segment>> Graph::segments_of(usize at, const Fence& after) {
  Lane& lane = lanes_[at];
  lane.instance->last = lane.base + signal_count(at);
  lane.commands->patch(*lane.instance, table_);
  for (const OrderWait& wait : lane.waits) lane.queue->will_wait(point_of(wait, &Lane::base));
  lane.segments[1] = {{}, lane.instance->words.get()};
  if (order_.carried[at].empty() || !has_run_) {
    TRY(lane.segments[0], lane.queue->waits_for(after));
  } else {
    Fence all = after;
    for (const OrderWait& wait : order_.carried[at]) all.add(point_of(wait, &Lane::last_base));
    TRY(lane.segments[0], lane.queue->waits_for(all));
  }
  const bool waits = !lane.segments[0].words.empty();
  return std::span<const Segment>(lane.segments).subspan(waits ? 0 : 1);
}

}  // namespace doorbell::hcq
