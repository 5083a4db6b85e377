// Timeline: the past and future of one queue as a number that grows by one with each signal that
// the queue will raise. Positions are the host's and never wrap; devices compare 32 bits on some
// hardware, so the number in memory starts again on a fresh signal before 2^31. Draining the queue
// before that: see queue.h.
//
// Thread safety: reached(), signal_at() and last() from any thread; reserve() and restart() under
// the lock of the queue.
// Memory ordering: a position that reached() says is done has released all that was written before.
#pragma once

#include <memory>
#include <vector>

#include "base/util/check.h"
#include "hcq/signal/signal.h"

namespace doorbell::hcq {

// 0: before all work.
using Position = u64;

class Timeline {
 public:
  // Below 2^31, in a comparison of signed numbers, too.
  static constexpr u64 kLimit = (u64{1} << 31) - 1;

  enum class Reached { No, Yes, Dead };
  // How devices see a position: it is reached when the signal holds this value.
  struct SignalValue {
    Signal signal;
    u64 value;  // 0: reached before the current signal began
  };

  // `limit` is the largest value in memory; tests make it small.
  static Result<Timeline> make(SignalPool& pool, u64 limit = kLimit);

  Position last() const { return last_->load(std::memory_order_acquire); }
  Reached reached(Position position) const {
    const Epoch& now = epoch();
    const u64 value = now.signal.value();
    if (value == Signal::kDead) [[unlikely]]
      return Reached::Dead;
    return position <= now.base + value ? Reached::Yes : Reached::No;
  }
  // How far it is; where it died, the least that is sure.
  Position now() const {
    const Epoch& now = epoch();
    const u64 value = now.signal.value();
    return value == Signal::kDead ? now.base : now.base + value;
  }
  SignalValue signal_at(Position position) const {
    const Epoch& now = epoch();
    return {now.signal, position <= now.base ? 0 : position - now.base};
  }

  // Whether `count` more positions fit on the current signal.
  bool fits(u64 count) const {
    CHECK(count <= limit_, "{} signals in one submission, at most {}", count, limit_);
    return last() - epoch().base + count <= limit_;
  }
  // The position before the first of `count` new ones.
  Position reserve(u64 count) {
    const Position before = last_->load(std::memory_order_relaxed);
    last_->store(before + count, std::memory_order_release);
    return before;
  }
  // Moves to a fresh signal; everything up to last() is done. The old signal keeps its last value,
  // because a queue elsewhere may not have looked at it yet.
  Result<void> restart();
  // Gives its signals back to the pool: nobody waits for them, on a device or on the host.
  void release();

 private:
  struct Epoch {
    Signal signal;
    Position base;  // what the signal's 0 stands for
  };
  explicit Timeline(SignalPool& pool, u64 limit) : pool_(&pool), limit_(limit) {}
  const Epoch& epoch() const { return *current_->load(std::memory_order_acquire); }

  SignalPool* pool_;
  u64 limit_;
  std::vector<std::unique_ptr<const Epoch>> epochs_;
  // On the heap, because a Timeline moves out of make().
  std::unique_ptr<std::atomic<const Epoch*>> current_;
  std::unique_ptr<std::atomic<u64>> last_;
};

}  // namespace doorbell::hcq
