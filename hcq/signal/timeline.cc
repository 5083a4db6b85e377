// Positions on signals.
#include "hcq/signal/timeline.h"

namespace doorbell::hcq {

Result<Timeline> Timeline::make(SignalPool& pool, u64 limit) {
  CHECK(limit >= 2 && limit <= kLimit, "timeline limit {}", limit);
  Timeline timeline(pool, limit);
  timeline.current_ = std::make_unique<std::atomic<const Epoch*>>(nullptr);
  timeline.last_ = std::make_unique<std::atomic<u64>>(0);
  TRY(timeline.restart());
  return timeline;
}

Timeline::Reached Timeline::reached(Position position) const {
  const Epoch& now = epoch();
  const u64 value = now.signal.value();
  if (value == Signal::kDead) [[unlikely]]
    return Reached::Dead;
  return position <= now.base + value ? Reached::Yes : Reached::No;
}

Timeline::Place Timeline::where(Position position) const {
  const Epoch& now = epoch();
  return {now.signal, position <= now.base ? 0 : position - now.base};
}

bool Timeline::fits(u64 count) const {
  CHECK(count <= limit_, "{} signals in one submission, at most {}", count, limit_);
  return last() - epoch().base + count <= limit_;
}

Position Timeline::reserve(u64 count) {
  const Position before = last_->load(std::memory_order_relaxed);
  last_->store(before + count, std::memory_order_release);
  return before;
}

Result<void> Timeline::restart() {
  TRY(Signal signal, pool_->make());
  epochs_.push_back(std::make_unique<const Epoch>(Epoch{signal, last()}));
  current_->store(epochs_.back().get(), std::memory_order_release);
  return {};
}

}  // namespace doorbell::hcq
