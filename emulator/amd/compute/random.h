// Random: the choices of a seeded run. The same seed gives the same numbers on every host.
#pragma once

#include "base/util/types.h"

namespace doorbell::emu::amdgpu {

// [Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014: SplitMix64]
class Random {
 public:
  explicit Random(u64 seed) : state_(seed) {}

  u64 next() {
    u64 z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
  }
  // Less than `limit`, which is not 0. Uniform enough for a choice among few.
  u64 below(u64 limit) { return next() % limit; }

 private:
  u64 state_;
};

}  // namespace doorbell::emu::amdgpu
