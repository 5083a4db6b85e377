// Which lane's memory an element of a transposing load comes from: for the loads themselves, and
// for who tells where an undefined value was (twin.cc).
#pragma once

#include <string_view>

#include "base/util/types.h"

namespace doorbell::emu::amdgpu {

// Element `element` of what the lane's own address names.
struct LoadedElement {
  u32 lane, element;
};

// The width of what a load from LDS transposes; 0: it does not.
constexpr u32 transposed_bits(std::string_view name) {
  if (name == "DS_LOAD_B96_TR_B6") return 6;
  if (name == "DS_LOAD_B64_TR_B4") return 4;
  if (name == "DS_LOAD_B64_TR_B8") return 8;
  return name == "DS_LOAD_B64_TR_B16" ? 16 : 0;
}

// DS_READ_B64_TR_B16, _B8, _B4 and DS_READ_B96_TR_B6. Sixteen lanes load a matrix whose rows are of
// 16 elements, one row behind the other; each gets a column. So 16 / `count` lanes load one row.
constexpr LoadedElement transposed_in_lds(u32 count, u32 lane, u32 e) {
  const u32 column = lane & 15, lanes_per_row = 16 / count;
  return {(lane & ~15u) + e * lanes_per_row + column / count, column % count};
}

// GLOBAL_LOAD_TR_B128 (16 bits, eight in a lane) and _B64 (8 bits, eight in a lane) in waves of 32.
// Blocks of 8 by 8 elements are transposed; a block's rows are what eight lanes load: for elements
// of 16 bits eight lanes beside each other, for those of 8 bits four, and four more eight lanes
// on.
constexpr LoadedElement transposed_in_memory(u32 bits, u32 lane, u32 e) {
  if (bits == 16) return {(lane & ~7u) + e, lane & 7};
  return {(lane & 16) + (e & 4) * 2 + (lane & 8) / 2 + (e & 3), lane & 7};
}

}  // namespace doorbell::emu::amdgpu
