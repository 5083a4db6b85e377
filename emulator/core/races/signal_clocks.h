// SignalClocks: what a wait for a value in memory learns. Each packet and each atomic operation
// that writes a word leaves its value here with its writer's clock. A wait is behind the write that
// made its condition true, not behind later writes that it happened to read.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <functional>
#include <vector>

#include "base/util/types.h"
#include "emulator/core/races/race.h"

namespace doorbell::emu {

// Thread safety: one thread at a time.
class SignalClocks {
 public:
  // Words lie in these, by the address of the host's.
  static constexpr u64 kCell = 8;

  // A write of the cell at `host`: `before` and `after` are the whole cell's values. `host_clock`:
  // what the host may know, which it hands on where it has written meanwhile.
  void release(const u8* host, u64 before, u64 after, const SparseClock& clock,
               const SparseClock& host_clock);

  // Of a wait that is over.
  struct Wait {
    const u8* host = nullptr;
    u32 bytes = 4;
    u64 cell = 0;                    // as it is now
    std::function<bool(u64)> holds;  // of the word's value; null: any
    bool rises = false;              // a higher value than one that holds does too
  };
  // What it is behind; `is_host`: the host wrote the value.
  SparseClock acquire(const Wait& wait, bool& is_host) const;

  void forget(const u8* host, u64 bytes);

 private:
  static constexpr usize kKept = 32;
  struct Release {
    u64 cell = 0;
    SparseClock clock;
  };
  struct Signal {
    SparseClock older;              // of the releases that are not in the list
    std::vector<Release> releases;  // oldest first
  };
  static void fold(Signal& signal, usize count);

  absl::flat_hash_map<u64, Signal> signals_;
};

}  // namespace doorbell::emu
