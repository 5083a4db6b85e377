// Elements for tests of matrix instructions: small integers in each format, from the formats'
// definitions, and their places in a wave's registers.
#pragma once

#include <array>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <string>

#include "tests/emulator/support/test_wave.h"

namespace doorbell::testing {

enum class Kind { F64, F32, F16, Bf16, Fp8Fnuz, Bf8Fnuz, Fp8, Bf8, Fp6, Bf6, Fp4, I32, I8, I4 };

inline u32 bits_of(Kind kind) {
  switch (kind) {
    case Kind::F64: return 64;
    case Kind::F32:
    case Kind::I32: return 32;
    case Kind::F16:
    case Kind::Bf16: return 16;
    case Kind::Fp6:
    case Kind::Bf6: return 6;
    case Kind::Fp4:
    case Kind::I4: return 4;
    default: return 8;
  }
}

// -3 to 3.
inline u64 encode(int value, Kind kind) {
  const u32 index = static_cast<u32>(std::abs(value));
  const auto of = [&](u32 sign, std::array<u32, 4> codes) {
    return u64{codes[index] | (value < 0 ? sign : 0)};
  };
  switch (kind) {
    case Kind::F64: return std::bit_cast<u64>(static_cast<double>(value));
    case Kind::F32: return std::bit_cast<u32>(static_cast<float>(value));
    case Kind::F16: return of(0x8000, {0, 0x3c00, 0x4000, 0x4200});
    case Kind::Bf16: return of(0x8000, {0, 0x3f80, 0x4000, 0x4040});
    case Kind::Fp8Fnuz: return of(0x80, {0, 0x40, 0x48, 0x4c});
    case Kind::Bf8Fnuz: return of(0x80, {0, 0x40, 0x44, 0x46});
    case Kind::Fp8: return of(0x80, {0, 0x38, 0x40, 0x44});
    case Kind::Bf8: return of(0x80, {0, 0x3c, 0x40, 0x42});
    case Kind::Fp6: return of(0x20, {0, 0x08, 0x10, 0x14});
    case Kind::Bf6: return of(0x20, {0, 0x0c, 0x10, 0x12});
    case Kind::Fp4: return of(0x8, {0, 2, 4, 5});
    case Kind::I32: return static_cast<u32>(value);
    case Kind::I8: return static_cast<u8>(value);
    case Kind::I4: return static_cast<u32>(value) & 15;
  }
  return 0;
}

// Where an element is: the lane, and which of the lane's elements it is.
struct At {
  u32 lane, element;
};

// Puts bits where there are none yet. `width` is the distance from one element to the next.
inline void put_element(TestWave& test, u32 base, At at, u64 bits, u32 width) {
  const u32 position = at.element * width, row = base + position / 32;
  test.wave.row(row)[at.lane] |= static_cast<u32>(bits << position % 32);
  if (position % 32 + width > 32) {
    test.wave.row(row + 1)[at.lane] |= static_cast<u32>(bits >> (32 - position % 32));
  }
}

inline double get_element(TestWave& test, u32 base, At at, Kind kind, u32 width) {
  const u32 position = at.element * width, row = base + position / 32;
  const u32 word = test.wave.row(row)[at.lane] >> position % 32;
  switch (kind) {
    case Kind::F64: return std::bit_cast<double>(word | u64{test.wave.row(row + 1)[at.lane]} << 32);
    case Kind::I32: return static_cast<i32>(word);
    case Kind::F32: return std::bit_cast<float>(word);
    case Kind::Bf16: return std::bit_cast<float>(word << 16);
    default: {
      _Float16 half;
      const u16 bits = static_cast<u16>(word);
      std::memcpy(&half, &bits, 2);
      return static_cast<double>(half);
    }
  }
}

// As assembly names them: v3, v[4:7].
inline std::string vector_registers(u32 first, u32 count) {
  if (count == 1) return "v" + std::to_string(first);
  return "v[" + std::to_string(first) + ":" + std::to_string(first + count - 1) + "]";
}

}  // namespace doorbell::testing
