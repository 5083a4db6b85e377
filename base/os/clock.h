// The doors to time and randomness. Under the emulator time is virtual and advances only here.
#pragma once

#include <span>

#include "base/util/result.h"
#include "base/util/types.h"

namespace doorbell::os {

// Thread safety: from any thread.
class Clock {
 public:
  virtual ~Clock() = default;

  // Since some fixed moment; never goes back.
  virtual u64 now_ns() = 0;
  virtual void sleep_until(u64 time_ns) = 0;
  // To be called in each turn of a loop that polls memory, `turn` counting from 0: spins at first,
  // then yields the processor, then sleeps briefly.
  virtual void relax(u32 turn) = 0;
};

// Thread safety: from any thread.
class Random {
 public:
  virtual ~Random() = default;
  virtual void fill(std::span<u8> bytes) = 0;

  u64 next() {
    u64 value = 0;
    fill({reinterpret_cast<u8*>(&value), sizeof value});
    return value;
  }
};

}  // namespace doorbell::os
