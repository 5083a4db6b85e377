// Patch: a bit field in recorded words that is rewritten before a replay: the bits `bits` after
// `word` get the slot's value plus `addend`, shifted right. The recording code defines the slots.
#pragma once

#include <span>

#include "base/bits/bits.h"

namespace doorbell::hcq {

struct Patch {
  u32 word;   // first word of the field; `bits` count from its bit 0
  Bits bits;  // at most 64
  u8 shift;   // the field holds value >> shift, cut to its width: two patches make a split address
  u32 slot;
  u64 addend = 0;
};

// Writes one field. Other bits stay.
void apply(const Patch& patch, u64 value, std::span<u32> words);

}  // namespace doorbell::hcq
