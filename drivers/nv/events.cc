// Waiting for interrupts, or sleeping in short steps.
#include "drivers/nv/events.h"

#include <algorithm>

#include "drivers/nv/queue.h"

namespace doorbell::nv {
namespace {

constexpr u64 kFirstPause_ns = 20'000, kLongestPause_ns = 500'000;

}  // namespace

void NvEvents::add(NvQueue& queue) {
  std::lock_guard lock(mutex_);
  queues_.push_back(&queue);
}

void NvEvents::remove(NvQueue& queue) {
  std::lock_guard lock(mutex_);
  std::erase(queues_, &queue);
}

void NvEvents::look() {
  std::lock_guard lock(mutex_);
  for (NvQueue* queue : queues_) queue->look();
}

Result<void> NvEvents::block(const hcq::Signal& signal, u64 seen, u64 timeout_ns) {
  Result<void> waited;
  if (interrupts_ != nullptr)
    waited = waiter_.block(signal, seen, timeout_ns, [&] { return interrupts_->wait(timeout_ns); });
  else
    sleep(signal, seen, timeout_ns);
  look();
  return waited;
}

void NvEvents::sleep(const hcq::Signal& signal, u64 seen, u64 timeout_ns) {
  const u64 end = clock_.now_ns() + timeout_ns;
  u64 pause = kFirstPause_ns;
  for (u64 now = clock_.now_ns(); signal.value() == seen && now < end; now = clock_.now_ns()) {
    look();
    if (signal.value() != seen) return;
    clock_.sleep_until(std::min(now + pause, end));
    pause = std::min(pause * 2, kLongestPause_ns);
  }
}

// A thread that waits for an interrupt sees the signal when its time is up.
void NvEvents::notify(const hcq::Signal&) { waiter_.notify(); }

}  // namespace doorbell::nv
