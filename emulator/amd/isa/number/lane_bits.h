// Elements of any width packed into a lane's registers, from the lowest bit on; one may span two
// registers.
#pragma once

#include "base/util/types.h"

namespace doorbell::emu::amdgpu {

// Element e of a lane. `row` is the first register's, `pitch` words from there to the next's.
inline u64 read_element_bits(const u32* row, u32 pitch, u32 lane, u32 e, u32 width) {
  if (width == 64) return row[lane + 2 * e * pitch] | u64{row[lane + (2 * e + 1) * pitch]} << 32;
  const u32 at = e * width, word = at / 32;
  u64 bits = row[lane + word * pitch];
  if (at % 32 + width > 32) bits |= u64{row[lane + (word + 1) * pitch]} << 32;
  return bits >> at % 32 & ((u64{1} << width) - 1);
}

// Puts element e of at most 32 bits into words that are zero there.
inline void put_element_bits(u32* words, u32 e, u32 width, u32 bits) {
  const u32 at = e * width, word = at / 32;
  words[word] |= bits << at % 32;
  if (at % 32 + width > 32) words[word + 1] |= bits >> (32 - at % 32);
}

}  // namespace doorbell::emu::amdgpu
