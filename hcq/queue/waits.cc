// Follows waits back to queues that died.
#include "hcq/queue/waits.h"

#include <fmt/format.h>

#include <algorithm>

namespace doorbell::hcq {
namespace {

// Deaths of queues in this process. While there are none, no wait has to be followed.
constinit std::atomic<u32> deaths{0};
// Held while following waits over any number of queues: only after a death.
constinit std::mutex following;

Error lost(std::string why) { return fail(ErrorKind::DeviceLost, "{}", why); }

}  // namespace

void Waits::add(Position first, Position end, std::shared_ptr<Waits> other, Position position,
                Position now) {
  std::unique_lock lock(mutex_);
  if (waits_.size() >= settle_at_) {
    lock.unlock();
    settle(now);
    lock.lock();
    // Keeps waits in flight, so that a queue that is far behind is not searched each time.
    settle_at_ = std::max(kLeastToSettle, 2 * waits_.size());
  }
  waits_.push_back({first, end, std::move(other), position});
  holds_.store(true, std::memory_order_relaxed);
}

void Waits::died(Position now, const Error& why) {
  std::lock_guard lock(mutex_);
  if (is_dead()) return;
  why_dead_ = why.message;
  ended_at_.store(now, std::memory_order_release);
  deaths.fetch_add(1, std::memory_order_seq_cst);
}

void Waits::abandon(Position first, Position last) {
  std::lock_guard lock(mutex_);
  abandoned_.push_back(
      {first, last,
       fmt::format("the {} was stopped between positions {} and {}", queue_, first, last),
       ErrorKind::Timeout});
  has_abandoned_.store(true, std::memory_order_release);
  deaths.fetch_add(1, std::memory_order_seq_cst);  // other queues may depend on it
  update_holds();
}

void Waits::fail(Position position, const Error& why) {
  std::lock_guard lock(mutex_);
  abandoned_.push_back({position, position, why.message, why.kind});
  poisoned_.push_back({position, kOpen, why.message, why.kind});
  has_abandoned_.store(true, std::memory_order_release);
  deaths.fetch_add(1, std::memory_order_seq_cst);  // other queues may depend on it
  update_holds();
}

bool Waits::was_abandoned(Position position) const {
  if (!has_abandoned_.load(std::memory_order_acquire)) [[likely]]
    return false;
  std::lock_guard lock(mutex_);
  return find_abandoned(position) != nullptr;
}

Result<void> Waits::check(Position position, Position now) {
  if (!holds_.load(std::memory_order_relaxed)) [[likely]]
    return {};
  settle(now);
  std::lock_guard lock(mutex_);
  if (const Poisoned* abandoned = find_abandoned(position))
    return doorbell::fail(abandoned->kind, "{}", abandoned->why);
  if (const Poisoned* poisoned = find_open(position))
    return doorbell::fail(poisoned->kind, "{}", poisoned->why);
  return {};
}

Result<void> Waits::report(Position last, Position now) {
  if (!holds_.load(std::memory_order_relaxed)) [[likely]]
    return {};
  settle(now);
  std::lock_guard lock(mutex_);
  const Poisoned* const first = find_open(last);
  if (first == nullptr) return {};
  Poisoned told{first->first, last, first->why, first->kind};
  std::erase_if(poisoned_, [&](const Poisoned& poisoned) {
    if (poisoned.last != kOpen || poisoned.first > last) return false;
    told.first = std::min(told.first, poisoned.first);
    return true;
  });
  poisoned_.push_back(told);
  update_holds();
  return doorbell::fail(told.kind, "{}", told.why);
}

Result<void> Waits::check_for_others(Position position, Position now) {
  if (deaths.load(std::memory_order_acquire) == 0) [[likely]]
    return {};
  if (position > ended_at_.load(std::memory_order_acquire)) {
    std::lock_guard lock(mutex_);
    return lost(fmt::format("{} died before position {}: {}", queue_, position, why_dead_));
  }
  return check(position, now);
}

void Waits::close(Position now) {
  settle(now);
  std::lock_guard lock(mutex_);
  waits_.clear();
}

void Waits::settle(Position now) {
  // A thread that sees `now` also sees the deaths that led to it.
  if (deaths.load(std::memory_order_acquire) != 0) return settle_after_deaths(now);
  std::lock_guard lock(mutex_);
  std::erase_if(waits_, [&](const Wait& wait) { return wait.end <= now; });
  update_holds();
}

void Waits::settle_after_deaths(Position now) {
  std::lock_guard one(following);
  std::vector<Wait> waits;
  {
    std::lock_guard lock(mutex_);
    waits = waits_;
  }
  std::erase_if(waits, [&](const Wait& wait) { return wait.first > now; });
  std::vector<Poisoned> poisoned;
  std::erase_if(waits, [&](const Wait& wait) {
    std::vector<Visit> visited;
    std::optional<std::string> why = failure_cause(wait, &visited);
    if (why) poisoned.push_back({wait.first, kOpen, *std::move(why)});
    return !why && wait.end > now;  // not passed yet: check again later
  });
  std::lock_guard lock(mutex_);
  std::erase_if(waits_,
                [&](const Wait& wait) { return std::ranges::find(waits, wait) != waits.end(); });
  std::move(poisoned.begin(), poisoned.end(), std::back_inserter(poisoned_));
  update_holds();
}

std::optional<std::string> Waits::failure_cause(const Wait& wait,
                                                std::vector<Visit>* visited) const {
  std::optional<std::string> why = wait.other->failure_cause(wait.position, visited);
  if (!why) return {};
  return fmt::format("{} waited before position {} for position {} of the {}, but: {}", queue_,
                     wait.first, wait.position, wait.other->queue_, *why);
}

std::optional<std::string> Waits::failure_cause(Position position, std::vector<Visit>* visited) {
  // Queues may wait for each other in turn, also within one run of a graph.
  const Visit here{this, position};
  if (std::ranges::find(*visited, here) != visited->end()) return {};
  visited->push_back(here);
  std::vector<Wait> waits;
  {
    std::lock_guard lock(mutex_);
    if (position > ended_at_.load(std::memory_order_acquire)) return why_dead_;
    for (const Poisoned& poisoned : poisoned_)
      if (poisoned.first <= position && position <= poisoned.last) return poisoned.why;
    if (const Poisoned* abandoned = find_abandoned(position)) return abandoned->why;
    for (const Wait& wait : waits_)
      if (wait.first <= position) waits.push_back(wait);
  }
  for (const Wait& wait : waits)
    if (std::optional<std::string> why = failure_cause(wait, visited)) return why;
  return {};
}

const Waits::Poisoned* Waits::find_open(Position position) const {
  for (const Poisoned& poisoned : poisoned_)
    if (poisoned.last == kOpen && poisoned.first <= position) return &poisoned;
  return nullptr;
}

const Waits::Poisoned* Waits::find_abandoned(Position position) const {
  for (const Poisoned& one : abandoned_)
    if (one.first <= position && position <= one.last) return &one;
  return nullptr;
}

void Waits::update_holds() {
  const bool has_open = std::ranges::any_of(
      poisoned_, [](const Poisoned& poisoned) { return poisoned.last == kOpen; });
  holds_.store(has_open || !waits_.empty() || !abandoned_.empty(), std::memory_order_relaxed);
}

}  // namespace doorbell::hcq
