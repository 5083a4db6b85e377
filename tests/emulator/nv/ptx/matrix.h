// Elements of matrices, for the products of a warp (matrix.cc) and of a warp group (warpgroup.cc).
#pragma once

#include <bit>

#include "tests/emulator/nv/ptx/machine.h"

namespace doorbell::ptx {

// What an element is as a number.
inline f64 float_value(u64 bits, const Type& type) {
  if (type.format == &kTf32) bits = bits >> 13;
  const Number number = decode(bits & mask_of(type.bits), *type.format);
  return std::bit_cast<f64>(encode(number, kF64, Rounding::Nearest));
}
inline f64 value_of(u64 bits, const Type& type) {
  if (type.is_float()) return float_value(bits, type);
  return static_cast<f64>(integer_of(bits, type));
}

// Elements of sums in registers: f16 are two a register.
struct Sums {
  const Type& type;
  u32 per_word() const { return type.bits == 16 ? 2 : 1; }
  f64 read(Thread& t, const Operand& operand, u32 element) const {
    const u64 word = t.read(operand.parts[element / per_word()]);
    return value_of(word >> (16 * (element % per_word())), type);
  }
  u64 encoded(f64 value) const {
    if (!type.is_float()) return static_cast<u64>(static_cast<i64>(value)) & mask_of(32);
    return encode(decode(std::bit_cast<u64>(value), kF64), *type.format, Rounding::Nearest);
  }
};

}  // namespace doorbell::ptx
