// Patch: a place in recorded words that is written anew before a replay: the bits `bits` after
// `word` get the slot's value, with `addend`, shifted right. Which slot holds what is decided by
// whoever records.
#pragma once

#include <span>

#include "base/bits/bits.h"

namespace doorbell::hcq {

struct Patch {
  u32 word;   // first word of the place; `bits` count from its bit 0
  Bits bits;  // at most 64
  u8 shift;   // the place holds value >> shift, cut to its width: two patches make a split address
  u32 slot;
  u64 addend = 0;
};

// Writes one place. Other bits stay.
void apply(const Patch& patch, u64 value, std::span<u32> words);

}  // namespace doorbell::hcq
