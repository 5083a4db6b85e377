// Signals are cut from pages: a queue needs one each 2^31 submissions.
#include "hcq/signal/signal.h"

#include <new>

#include "base/util/check.h"
#include "base/util/try.h"

namespace doorbell::hcq {

SignalPool::~SignalPool() {
  for (const core::Allocation& block : blocks_) memory_.release(block);
}

Result<Signal> SignalPool::make() {
  std::lock_guard lock(mutex_);
  if (free_.empty()) {
    TRY(core::Allocation block, memory_.allocate(kBlock));
    CHECK(block.host != nullptr, "memory for signals that the host cannot see");
    blocks_.push_back(block);
    constexpr i64 kSize = sizeof(SignalCell);
    for (i64 offset = kBlock - kSize; offset >= 0; offset -= kSize) {
      auto* cell = new (static_cast<u8*>(block.host) + offset) SignalCell;
      free_.emplace_back(cell, GpuAddr{block.address + static_cast<u64>(offset)});
    }
  }
  const Signal signal = free_.back();
  free_.pop_back();
  signal.store(0);
  return signal;
}

void SignalPool::release(Signal signal) {
  std::lock_guard lock(mutex_);
  free_.push_back(signal);
}

}  // namespace doorbell::hcq
