// When the observer is called.
#include "base/util/progress.h"

#include <chrono>

namespace doorbell {
namespace {

constexpr i64 kBetween_ns = 100'000'000;

constinit std::atomic<ProgressObserver*> g_observer{nullptr};
constinit std::atomic<i64> g_quiet_ns{0};

i64 now_ns() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

}  // namespace

void set_progress_observer(ProgressObserver* observer, i64 quiet_ns) {
  g_quiet_ns.store(quiet_ns, std::memory_order_relaxed);
  g_observer.store(observer, std::memory_order_release);
}

LongWork::LongWork(std::string_view what, i64 total, Progress::Unit unit)
    : observer_(g_observer.load(std::memory_order_acquire)), work_{what, 0, total, unit} {
  if (observer_ != nullptr) tell_at_ns_ = now_ns() + g_quiet_ns.load(std::memory_order_relaxed);
}

LongWork::~LongWork() {
  if (told_) observer_->end();
}

void LongWork::advance(i64 steps) {
  if (observer_ == nullptr) return;
  Progress progress = work_;
  progress.done = done_.fetch_add(steps, std::memory_order_relaxed) + steps;
  const i64 now = now_ns();
  i64 due = tell_at_ns_.load(std::memory_order_relaxed);
  // Only one of several threads reports.
  if (now < due || !tell_at_ns_.compare_exchange_strong(due, now + kBetween_ns)) return;
  told_ = true;
  observer_->tell(progress);
}

}  // namespace doorbell
