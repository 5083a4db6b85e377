// LaunchLog: the last kernels that a queue was given, by position: for messages that say at which
// one it stands.
//
// Thread safety: note() under the queue's lock, first() from any thread.
#pragma once

#include <array>
#include <atomic>
#include <optional>
#include <string>

#include "hcq/signal/timeline.h"

namespace doorbell::hcq {

class LaunchLog {
 public:
  struct Launch {
    Position position = 0;
    const std::string* name = nullptr;
  };

  // `name` lives as long as the queue.
  void note(Position position, const std::string& name) {
    Slot& slot = slots_[position % kRemembered];
    slot.name.store(&name, std::memory_order_relaxed);
    slot.position.store(position, std::memory_order_release);
  }
  // The first that is not done, as far as it is remembered.
  std::optional<Launch> first(const Timeline& timeline) const {
    std::optional<Launch> first;
    for (const Slot& slot : slots_) {
      const Position at = slot.position.load(std::memory_order_acquire);
      if (at == 0 || timeline.reached(at) == Timeline::Reached::Yes) continue;
      if (!first || at < first->position) first = {at, slot.name.load(std::memory_order_relaxed)};
    }
    return first;
  }

 private:
  static constexpr usize kRemembered = 64;
  struct Slot {
    std::atomic<Position> position{0};
    std::atomic<const std::string*> name{nullptr};
  };
  std::array<Slot, kRemembered> slots_;
};

}  // namespace doorbell::hcq
