// Positions on signals.
#include "hcq/signal/timeline.h"

#include "base/util/check.h"
#include "base/util/try.h"

namespace doorbell::hcq {

Result<Timeline> Timeline::make(SignalPool& pool, u64 limit) {
  CHECK(limit >= 2 && limit <= kLimit, "timeline limit {}", limit);
  Timeline timeline(pool, limit);
  timeline.current_ = std::make_unique<std::atomic<const Epoch*>>(nullptr);
  timeline.last_ = std::make_unique<std::atomic<u64>>(0);
  TRY(timeline.restart());
  return timeline;
}

Result<void> Timeline::restart() {
  TRY(Signal signal, pool_->make());
  epochs_.push_back(std::make_unique<const Epoch>(Epoch{signal, last()}));
  current_->store(epochs_.back().get(), std::memory_order_release);
  return {};
}

void Timeline::release() {
  for (const std::unique_ptr<const Epoch>& epoch : epochs_) pool_->release(epoch->signal);
  epochs_.clear();
}

}  // namespace doorbell::hcq
