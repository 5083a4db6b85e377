// A list that is swept whenever it grows; work ends soon, so that it stays short.
#include "hcq/memory/keeper.h"

#include <algorithm>

namespace doorbell::hcq {

void Keeper::keep(const Fence& until, std::span<const core::Ref<core::Buffer>> buffers,
                  std::shared_ptr<const void> more) {
  if (until.done()) return;
  sweep();
  std::lock_guard lock(mutex_);
  kept_.push_back({until, {buffers.begin(), buffers.end()}, std::move(more)});
  holds_.store(true, std::memory_order_relaxed);
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
