// Waits: what a queue's work rests on. A queue that dies stores Signal::kDead, so that no device
// waits for it for ever; but then the waits of others pass, and their work runs on what was never
// made. Devices cannot tell, and may have had the wait in their rings for long: the host remembers
// who waited for what, and reports such work as failed, also where it is several queues away.
//
// Thread safety: all functions may be called from any thread.
// Memory ordering: died() comes before the dead signal is stored. Whoever sees that a wait for it
// has passed, on whatever way, sees the death too.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "hcq/signal/timeline.h"

namespace doorbell::hcq {

class Waits {
 public:
  // `queue` is its name in messages.
  explicit Waits(std::string queue) : queue_(std::move(queue)) {}
  Waits(const Waits&) = delete;
  Waits& operator=(const Waits&) = delete;

  // Positions from `first` on rest on `position` of another queue; the wait for it has passed when
  // `end` is done. `now` is what is done of this queue, here and below.
  // shared_ptr: the other queue may go while its positions are still waited for.
  void add(Position first, Position end, std::shared_ptr<Waits> other, Position position,
           Position now);
  // The queue does nothing after `now`. The first call counts.
  void died(Position now, const Error& why);
  bool is_dead() const { return ended_at_.load(std::memory_order_acquire) != kAlive; }

  // What was to be done at positions `first` to `last` never is, though they will be passed.
  void abandon(Position first, Position last);
  bool was_abandoned(Position position) const;

  // Fails where what was done by `position` rests on what a dead queue did not do.
  Result<void> check(Position position, Position now);
  // The same for all up to `last`; what is told here is not told again.
  Result<void> report(Position last, Position now);
  // For another queue that is about to wait: also fails where this one died before `position`.
  Result<void> check_for_others(Position position, Position now);
  // The queue is gone: forgets what it waited for, but not whether it can be trusted.
  void close(Position now);

 private:
  static constexpr Position kAlive = ~Position{0};
  struct Wait {
    Position first, end;
    std::shared_ptr<Waits> other;
    Position position;
    bool operator==(const Wait&) const = default;
  };
  // Positions whose work cannot be trusted.
  struct Poisoned {
    Position first, last;  // kOpen: and what follows, until it is told
    std::string why;
  };
  static constexpr usize kLeastToSettle = 16;
  static constexpr Position kOpen = ~Position{0};
  struct Visit {
    const Waits* waits;
    Position position;
    bool operator==(const Visit&) const = default;
  };

  // Drops waits that have passed, or notes what they spoilt.
  void settle(Position now);
  void settle_after_deaths(Position now);
  // Why what is done at `position` cannot be trusted, if it cannot.
  std::optional<std::string> failure_cause(Position position, std::vector<Visit>* visited);
  std::optional<std::string> failure_cause(const Wait& wait, std::vector<Visit>* visited) const;
  const Poisoned* find_open(Position position) const;
  const Poisoned* find_abandoned(Position position) const;
  void update_holds();

  const std::string queue_;
  std::atomic<Position> ended_at_{kAlive};
  std::atomic<bool> holds_{false};  // waits, or what is to be told
  std::atomic<bool> has_abandoned_{false};

  mutable std::mutex mutex_;  // guards what follows
  std::string why_dead_;
  std::vector<Wait> waits_;
  usize settle_at_ = kLeastToSettle;
  std::vector<Poisoned> poisoned_;
  std::vector<Poisoned> abandoned_;
};

}  // namespace doorbell::hcq
