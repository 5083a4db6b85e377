// Waits: the positions of other queues on which a queue's work depends. A queue that dies stores
// Signal::kDead, so that no device waits for it for ever; but then the waits of other queues pass,
// and their work reads data that was never written. Devices cannot detect that, and the waits may
// be in their rings already. So the host records waits, and reports such work as failed, even over
// several queues.
//
// Thread safety: all functions may be called from any thread.
// Memory ordering: died() comes before the dead signal is stored. A thread that sees that a wait
// for it has passed, on any path, also sees the death.
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

  // Positions from `first` on depend on `position` of another queue; the wait for it has passed
  // when `end` is done. `now` is the last position of this queue that is done, here and below.
  // shared_ptr: the other queue may be destroyed while this one waits for its positions.
  void add(Position first, Position end, std::shared_ptr<Waits> other, Position position,
           Position now);
  // The queue does nothing after `now`. The first call counts.
  void died(Position now, const Error& why);
  bool is_dead() const { return ended_at_.load(std::memory_order_acquire) != kAlive; }

  // The work at positions `first` to `last` is never done, though they will be passed.
  void abandon(Position first, Position last);
  // The work at this position failed, though the queue goes on.
  void fail(Position position, const Error& why);
  // Its work was not done: it was abandoned, or it failed.
  bool was_abandoned(Position position) const;

  // Fails if the work up to `position` depends on work that a dead queue did not do.
  Result<void> check(Position position, Position now);
  // The same for all positions up to `last`; reports each failure only once.
  Result<void> report(Position last, Position now);
  // For another queue that is about to wait: also fails where this one died before `position`.
  Result<void> check_for_others(Position position, Position now);
  // The queue is destroyed: drops its waits, but keeps whether its work is valid.
  void close(Position now);

 private:
  static constexpr Position kAlive = ~Position{0};
  struct Wait {
    Position first, end;
    std::shared_ptr<Waits> other;
    Position position;
    bool operator==(const Wait&) const = default;
  };
  // Positions whose work is invalid.
  struct Poisoned {
    Position first, last;  // kOpen: and all later positions, until it is reported
    std::string why;
    ErrorKind kind = ErrorKind::DeviceLost;
  };
  static constexpr usize kLeastToSettle = 16;
  static constexpr Position kOpen = ~Position{0};
  struct Visit {
    const Waits* waits;
    Position position;
    bool operator==(const Visit&) const = default;
  };

  // Drops waits that have passed, or records the positions that they poisoned.
  void settle(Position now);
  void settle_after_deaths(Position now);
  // Why the work at `position` is invalid; empty if it is valid.
  std::optional<std::string> failure_cause(Position position, std::vector<Visit>* visited);
  std::optional<std::string> failure_cause(const Wait& wait, std::vector<Visit>* visited) const;
  const Poisoned* find_open(Position position) const;
  const Poisoned* find_abandoned(Position position) const;
  void update_holds();

  const std::string queue_;
  std::atomic<Position> ended_at_{kAlive};
  std::atomic<bool> holds_{false};  // has waits, or failures to report
  std::atomic<bool> has_abandoned_{false};

  mutable std::mutex mutex_;  // guards the members below
  std::string why_dead_;
  std::vector<Wait> waits_;
  usize settle_at_ = kLeastToSettle;
  std::vector<Poisoned> poisoned_;
  std::vector<Poisoned> abandoned_;
};

}  // namespace doorbell::hcq
