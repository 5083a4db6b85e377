// Words: one instruction of 128 bits, its fields by the number of their lowest bit.
//
// Positions of fields: Mesa's NAK, src/nouveau/compiler/nak/sm70_encode.rs, and nvdisasm, whose
// text of the conformance suite's kernels the tests compare with.
#pragma once

#include "base/util/types.h"

namespace doorbell::emu::nvgpu {

struct Words {
  u64 low = 0, high = 0;

  constexpr u64 at(unsigned from, unsigned count) const {
    const u64 mask = count == 64 ? ~u64{0} : (u64{1} << count) - 1;
    if (from >= 64) return high >> (from - 64) & mask;
    u64 value = low >> from;
    if (from != 0 && from + count > 64) value |= high << (64 - from);
    return value & mask;
  }
  constexpr u32 field(unsigned from, unsigned count) const {
    return static_cast<u32>(at(from, count));
  }
  constexpr bool bit(unsigned n) const { return at(n, 1) != 0; }
  constexpr i64 signed_at(unsigned from, unsigned count) const {
    return static_cast<i64>(at(from, count) << (64 - count)) >> (64 - count);
  }
};

// What the scheduler of a warp does before and behind an instruction.
struct Control {
  u32 stall = 0;  // cycles until the next instruction issues
  bool yield = false;
  u32 write_barrier = 7;  // scoreboard that is released when the results are written; 7: none
  u32 read_barrier = 7;   // that is released when the sources have been read; 7: none
  u32 wait = 0;           // mask of the scoreboards that are waited for
  u32 reuse = 0;          // mask of the sources that are kept in the operand cache
};
constexpr Control control_of(const Words& words) {
  return {words.field(105, 4), words.bit(109),      words.field(110, 3),
          words.field(113, 3), words.field(116, 6), words.field(122, 4)};
}

}  // namespace doorbell::emu::nvgpu
