// The element that one lane loads or stores: its bytes, and their position in its registers.
#pragma once

#include <cstring>

#include "base/util/types.h"
#include "emulator/amd/isa/operation.h"

namespace doorbell::emu::amdgpu {

// Named as the instructions are. D16 writes half a register and leaves the other half alone.
enum class Element : u8 {
  U8,
  I8,
  U16,
  I16,
  D16U8,
  D16I8,
  D16B16,
  D16HiU8,
  D16HiI8,
  D16HiB16,
  B32,
  B64,
  B96,
  B128,
};

constexpr u32 bytes_of(Element element) {
  switch (element) {
    case Element::U8:
    case Element::I8:
    case Element::D16U8:
    case Element::D16I8:
    case Element::D16HiU8:
    case Element::D16HiI8: return 1;
    case Element::U16:
    case Element::I16:
    case Element::D16B16:
    case Element::D16HiB16: return 2;
    case Element::B32: return 4;
    case Element::B64: return 8;
    case Element::B96: return 12;
    case Element::B128: return 16;
  }
  return 0;
}
constexpr u32 rows_of(Element element) {
  return bytes_of(element) <= 4 ? 1 : bytes_of(element) / 4;
}

// Shapes of memory instructions: the registers that they load to or store from.
constexpr Shape load_shape(Element element, u32 count = 1) {
  return {.flags = kMemory, .wide = {static_cast<u8>(rows_of(element) * count), 1, 0, 0, 0}};
}
constexpr Shape store_shape(Element element) {
  return {.flags = kMemory, .wide = {0, 1, static_cast<u8>(rows_of(element)), 0, 0}};
}
constexpr Shape store_two_shape(Element element) {
  const u8 rows = static_cast<u8>(rows_of(element));
  return {.flags = kMemory, .wide = {0, 1, rows, 0, rows}};
}
// Those that do not return name register 0 as the destination.
constexpr Shape atomic_shape(u32 bytes, u32 operands) {
  const u8 rows = static_cast<u8>(bytes / 4);
  return {.flags = kMemory, .wide = {rows, 1, static_cast<u8>(rows * operands), 0, 0}};
}

template <class T>
T read_as(const u8* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

// Memory to a lane. `lane` is the first register's word, `pitch` words from there to the next's.
template <Element e>
void put_lane(u32* lane, usize pitch, const u8* from) {
  const auto low = [&](u32 half) { *lane = (*lane & 0xffff0000u) | (half & 0xffffu); };
  const auto high = [&](u32 half) { *lane = (*lane & 0xffffu) | half << 16; };
  if constexpr (e == Element::U8) *lane = *from;
  if constexpr (e == Element::I8) *lane = static_cast<u32>(i32{read_as<i8>(from)});
  if constexpr (e == Element::U16) *lane = read_as<u16>(from);
  if constexpr (e == Element::I16) *lane = static_cast<u32>(i32{read_as<i16>(from)});
  if constexpr (e == Element::D16U8) low(*from);
  if constexpr (e == Element::D16I8) low(static_cast<u32>(i32{read_as<i8>(from)}));
  if constexpr (e == Element::D16B16) low(read_as<u16>(from));
  if constexpr (e == Element::D16HiU8) high(*from);
  if constexpr (e == Element::D16HiI8) high(static_cast<u32>(i32{read_as<i8>(from)}));
  if constexpr (e == Element::D16HiB16) high(read_as<u16>(from));
  if constexpr (bytes_of(e) >= 4) {
    for (u32 i = 0; i < rows_of(e); ++i) lane[i * pitch] = read_as<u32>(from + 4 * i);
  }
}

// A lane to memory. Stores have no signed kinds; those of D16Hi take the high half.
template <Element e>
void take_lane(const u32* lane, usize pitch, u8* to) {
  constexpr bool kHigh = e == Element::D16HiU8 || e == Element::D16HiI8 || e == Element::D16HiB16;
  if constexpr (bytes_of(e) >= 4) {
    for (u32 i = 0; i < rows_of(e); ++i) std::memcpy(to + 4 * i, lane + i * pitch, 4);
  } else {
    const u32 value = kHigh ? *lane >> 16 : *lane;
    std::memcpy(to, &value, bytes_of(e));
  }
}

// A lane's operand of an atomic operation.
inline u64 lane_value(const u32* lane, usize pitch, u32 bytes) {
  return bytes == 8 ? lane[0] | u64{lane[pitch]} << 32 : lane[0];
}

}  // namespace doorbell::emu::amdgpu
