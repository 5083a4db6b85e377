// Signals of software queues: raising one, and sleeping until it changes.
//
// Thread safety: from any thread.
// Memory ordering: raise() releases. It stores, then looks for sleepers; a sleeper announces
// itself, then looks at the value: with both sequentially consistent, one of them sees the other.
#pragma once

#include "hcq/signal/event.h"
#include "hcq/software/futex.h"

namespace doorbell::hcq {

inline void wake_sleepers(SignalCell& cell) {
  if (cell.sleepers.load(std::memory_order_seq_cst) == 0) [[likely]]
    return;
  cell.wakes.fetch_add(1, std::memory_order_seq_cst);
  futex_wake_all(cell.wakes);
}

inline void raise(SignalCell& cell, u64 value) {
  cell.store(value);
  wake_sleepers(cell);
}

// Sleeps while the value is `seen`, at most `timeout_ns`; may return early.
inline void sleep_on(SignalCell& cell, u64 seen, u64 timeout_ns) {
  const u32 wakes = cell.wakes.load(std::memory_order_seq_cst);
  cell.sleepers.fetch_add(1, std::memory_order_seq_cst);
  if (cell.value.load(std::memory_order_seq_cst) == seen) futex_wait(cell.wakes, wakes, timeout_ns);
  cell.sleepers.fetch_sub(1, std::memory_order_relaxed);
}

class SignalEvent final : public Event {
 public:
  Result<void> block(const Signal& signal, u64 seen, u64 timeout_ns) override {
    sleep_on(signal.cell(), seen, timeout_ns);
    return {};
  }
  void notify(const Signal& signal) override { raise(signal.cell(), signal.value()); }
};

}  // namespace doorbell::hcq
