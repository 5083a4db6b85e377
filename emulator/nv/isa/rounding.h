// The host's rounding mode while an instruction that names another one is executed.
#pragma once

#include <immintrin.h>

#include "base/util/types.h"

namespace doorbell::emu::nvgpu {

// Of an instruction's bits: 0 nearest even, 1 down, 2 up, 3 towards zero. The host's register has
// the same order.
class Rounding {
 public:
  explicit Rounding(u32 mode) : before_(_mm_getcsr()), changed_(mode != 0) {
    if (changed_) set((before_ & ~(3u << kShift)) | mode << kShift);
  }
  ~Rounding() {
    if (changed_) set(before_);
  }
  Rounding(const Rounding&) = delete;
  Rounding& operator=(const Rounding&) = delete;

 private:
  static constexpr u32 kShift = 13;  // MXCSR.RC
  // Nothing is computed before or after it instead: loads and stores stay on their side.
  static void set(u32 value) {
    asm volatile("" ::: "memory");
    _mm_setcsr(value);
    asm volatile("" ::: "memory");
  }

  u32 before_;
  bool changed_;
};

}  // namespace doorbell::emu::nvgpu
