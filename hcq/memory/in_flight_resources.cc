// A list that is swept whenever it grows; work ends soon, so that it stays short.
#include "hcq/memory/in_flight_resources.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "hcq/queue/queue.h"

namespace doorbell::hcq {

namespace {

// Another thread may have abandoned the work since it started.
void poison_abandoned(const Fence& until, std::span<core::Buffer* const> written) {
  const auto is_abandoned = [](const Point& point) {
    return point.queue->was_abandoned(point.position);
  };
  if (std::any_of(until.begin(), until.end(), is_abandoned)) [[unlikely]]
    for (core::Buffer* buffer : written) buffer->poison();
}

}  // namespace

bool InFlightResources::settle(const Fence& until, std::span<core::Buffer* const> written) {
  const auto has_read = [](const Point& point) { return point.queue->has_read(point.position); };
  if (!std::all_of(until.begin(), until.end(), has_read)) return false;
  poison_abandoned(until, written);
  return true;
}

void InFlightResources::keep(const Fence& until, Work work) {
  if (settle(until, work.written)) return;
  sweep();
  {
    std::lock_guard lock(mutex_);
    kept_.push_back({until,
                     {work.buffers.begin(), work.buffers.end()},
                     std::move(work.more),
                     {work.written.begin(), work.written.end()},
                     {std::move(work.undo), std::this_thread::get_id()}});
    holds_.store(true, std::memory_order_relaxed);
  }
  poison_abandoned(until, work.written);
}

void InFlightResources::mark_abandoned(const Queue& queue, Position first, Position last) {
  std::lock_guard lock(mutex_);
  for (auto kept = kept_.rbegin(); kept != kept_.rend(); ++kept) {
    const auto is_hit = [&](const Point& point) {
      return point.queue == &queue && first <= point.position && point.position <= last;
    };
    if (!std::any_of(kept->until.begin(), kept->until.end(), is_hit)) continue;
    for (core::Buffer* buffer : kept->written) buffer->poison();
    if (kept->undo.run != nullptr && kept->undo.thread == std::this_thread::get_id())
      abandoned_.push_back(std::exchange(kept->undo, {}));
  }
}

void InFlightResources::undo_abandoned() {
  std::vector<Undo> mine;
  {
    std::lock_guard lock(mutex_);
    const auto first = std::stable_partition(
        abandoned_.begin(), abandoned_.end(),
        [](const Undo& undo) { return undo.thread != std::this_thread::get_id(); });
    mine.assign(std::make_move_iterator(first), std::make_move_iterator(abandoned_.end()));
    abandoned_.erase(first, abandoned_.end());
  }
  for (const Undo& undo : mine) undo.run();
}

void InFlightResources::wait() {
  std::vector<Fence> fences;
  {
    std::lock_guard lock(mutex_);
    for (const Kept& kept : kept_) fences.push_back(kept.until);
  }
  for (const Fence& fence : fences) (void)fence.wait();
  sweep();
}

void InFlightResources::sweep() {
  if (!holds_.load(std::memory_order_relaxed)) return;
  // Freeing memory may take other locks.
  const std::vector<Kept> done = take_done();
}

std::vector<InFlightResources::Kept> InFlightResources::take_done() {
  std::lock_guard lock(mutex_);
  const auto first = std::stable_partition(kept_.begin(), kept_.end(),
                                           [](const Kept& kept) { return !kept.until.done(); });
  std::vector<Kept> done(std::make_move_iterator(first), std::make_move_iterator(kept_.end()));
  kept_.erase(first, kept_.end());
  holds_.store(!kept_.empty(), std::memory_order_relaxed);
  return done;
}

usize InFlightResources::count() const {
  std::lock_guard lock(mutex_);
  return kept_.size();
}

}  // namespace doorbell::hcq
