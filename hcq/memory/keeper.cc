// A list that is swept whenever it grows; work ends soon, so that it stays short.
#include "hcq/memory/keeper.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "hcq/queue/hardware_queue.h"

namespace doorbell::hcq {

void Keeper::keep(const Fence& until, Work work) {
  const bool is_done = until.done();
  // Between its start and this another thread may have given it up.
  const auto is_given_up = [](const Point& point) {
    return point.queue->was_given_up(point.position);
  };
  const auto poison = [&] {
    if (std::any_of(until.begin(), until.end(), is_given_up))
      for (core::Buffer* buffer : work.written) buffer->poison();
  };
  if (is_done) return poison();
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
  poison();
}

void Keeper::mark_given_up(const HardwareQueue& queue, Position first, Position last) {
  std::lock_guard lock(mutex_);
  for (auto kept = kept_.rbegin(); kept != kept_.rend(); ++kept) {
    const auto is_hit = [&](const Point& point) {
      return point.queue == &queue && first <= point.position && point.position <= last;
    };
    if (!std::any_of(kept->until.begin(), kept->until.end(), is_hit)) continue;
    for (core::Buffer* buffer : kept->written) buffer->poison();
    if (kept->undo.run != nullptr && kept->undo.thread == std::this_thread::get_id())
      given_up_.push_back(std::exchange(kept->undo, {}));
  }
}

void Keeper::undo_given_up() {
  std::vector<Undo> mine;
  {
    std::lock_guard lock(mutex_);
    const auto first = std::stable_partition(
        given_up_.begin(), given_up_.end(),
        [](const Undo& undo) { return undo.thread != std::this_thread::get_id(); });
    mine.assign(std::make_move_iterator(first), std::make_move_iterator(given_up_.end()));
    given_up_.erase(first, given_up_.end());
  }
  for (const Undo& undo : mine) undo.run();
}

void Keeper::wait() {
  std::vector<Fence> fences;
  {
    std::lock_guard lock(mutex_);
    for (const Kept& kept : kept_) fences.push_back(kept.until);
  }
  for (const Fence& fence : fences) (void)fence.wait();
  sweep();
}

void Keeper::sweep() {
  if (!holds_.load(std::memory_order_relaxed)) return;
  // Freeing memory may take other locks.
  const std::vector<Kept> done = take_done();
}

std::vector<Keeper::Kept> Keeper::take_done() {
  std::lock_guard lock(mutex_);
  const auto first = std::stable_partition(kept_.begin(), kept_.end(),
                                           [](const Kept& kept) { return !kept.until.done(); });
  std::vector<Kept> done(std::make_move_iterator(first), std::make_move_iterator(kept_.end()));
  kept_.erase(first, kept_.end());
  holds_.store(!kept_.empty(), std::memory_order_relaxed);
  return done;
}

usize Keeper::count() const {
  std::lock_guard lock(mutex_);
  return kept_.size();
}

}  // namespace doorbell::hcq
