// Integer arithmetic. [PTX ISA 9.0, "Integer Arithmetic Instructions", "Extended-Precision Integer
// Arithmetic Instructions", "Comparison and Selection Instructions"]
#include <algorithm>
#include <bit>

#include "tests/emulator/nv/ptx/arithmetic.h"
#include "tests/emulator/nv/ptx/machine.h"

namespace doorbell::ptx {

namespace {

// A source of the instruction's (or another) type, exactly.
i128 source_of(Thread& t, const Instruction& op, usize number) {
  return integer_of(t.source(op, number), op.type());
}
void finish(Thread& t, const Instruction& op, i128 value, u32 bits) {
  t.write(op.operands[0], static_cast<u64>(value) & mask_of(bits));
}
i128 clamped(const Instruction& op, i128 value) {
  if (!op.has(Word::Sat)) return value;
  return std::clamp<i128>(value, -(i128{1} << 31), (i128{1} << 31) - 1);
}

// add, sub, and with .cc or as addc, subc a carry or borrow.
void add_or_subtract(Thread& t, const Instruction& op, bool subtract, bool with_carry) {
  const i128 a = source_of(t, op, 0), b = source_of(t, op, 1);
  const u32 bits = op.type().bits;
  if (op.has(Word::Cc)) {
    // CC.CF is the carry of the unsigned sum; of a difference, whether it borrows.
    const u128 mask = mask_of(bits), x = static_cast<u128>(a) & mask,
               y = static_cast<u128>(b) & mask, carry = with_carry ? t.carry : 0;
    const u128 whole = subtract ? x - y - carry : x + y + carry;
    t.carry = static_cast<u32>(whole >> bits) & 1;
    return finish(t, op, static_cast<i128>(whole), bits);
  }
  const i128 carry = with_carry ? t.carry : 0;
  finish(t, op, clamped(op, subtract ? a - b - carry : a + b + carry), bits);
}
void add(Thread& t, const Instruction& op) {
  if (op.type().is_float()) return add_floats(t, op);
  add_or_subtract(t, op, false, false);
}
void addc(Thread& t, const Instruction& op) { add_or_subtract(t, op, false, true); }
void sub(Thread& t, const Instruction& op) {
  if (op.type().is_float()) return subtract_floats(t, op);
  add_or_subtract(t, op, true, false);
}
void subc(Thread& t, const Instruction& op) { add_or_subtract(t, op, true, true); }

u32 result_bits(const Instruction& op) { return op.type().bits * (op.has(Word::Wide) ? 2 : 1); }
// The half of a product that the instruction is about. Of 64 bits and unsigned, it needs 128 bits.
u128 product(Thread& t, const Instruction& op) {
  const i128 a = source_of(t, op, 0), b = source_of(t, op, 1);
  const u128 whole = static_cast<u128>(a) * static_cast<u128>(b);
  if (!op.has(Word::Hi)) return whole;
  if (!op.type().is_signed()) return whole >> op.type().bits;
  return static_cast<u128>(static_cast<i128>(whole) >> op.type().bits);
}
void mul(Thread& t, const Instruction& op) {
  if (op.type().is_float()) return multiply_floats(t, op);
  finish(t, op, static_cast<i128>(product(t, op)), result_bits(op));
}
void mad_with(Thread& t, const Instruction& op, u32 carry) {
  const u32 bits = result_bits(op);
  const u128 mask = mask_of(bits);
  const u128 part = product(t, op), addend = t.source(op, 2);
  if (op.has(Word::Sat)) {
    const i128 sum = static_cast<i128>(sign_extended(static_cast<u64>(part), 32)) +
                     sign_extended(static_cast<u64>(addend), 32);
    return finish(t, op, clamped(op, sum), bits);
  }
  const u128 sum = (part & mask) + (addend & mask) + carry;
  if (op.has(Word::Cc)) t.carry = static_cast<u32>(sum >> bits) & 1;
  finish(t, op, static_cast<i128>(sum), bits);
}
void mad(Thread& t, const Instruction& op) {
  if (op.type().is_float()) return fma_floats(t, op);
  mad_with(t, op, 0);
}
void madc(Thread& t, const Instruction& op) { mad_with(t, op, t.carry); }

// mul24, mad24: products of the low 24 bits; bits 47 to 16, or 31 to 0.
i128 product24(Thread& t, const Instruction& op) {
  const auto part = [&](usize number) {
    const u64 low = t.source(op, number) & 0xff'ffff;
    return op.type().is_signed() ? i128{sign_extended(low, 24)} : static_cast<i128>(low);
  };
  const i128 whole = part(0) * part(1);
  return op.has(Word::Hi) ? whole >> 16 : whole;
}
void mul24(Thread& t, const Instruction& op) { finish(t, op, product24(t, op), 32); }
void mad24(Thread& t, const Instruction& op) {
  const i128 part = integer_of(static_cast<u64>(product24(t, op)) & mask_of(32), op.type());
  finish(t, op, clamped(op, part + source_of(t, op, 2)), 32);
}

void sad(Thread& t, const Instruction& op) {
  const i128 a = source_of(t, op, 0), b = source_of(t, op, 1);
  finish(t, op, source_of(t, op, 2) + (a < b ? b - a : a - b), op.type().bits);
}

// Division by zero has an unspecified result: tests avoid it. All ones is what mends that here.
void div(Thread& t, const Instruction& op) {
  if (op.type().is_float()) return divide_floats(t, op);
  const i128 b = source_of(t, op, 1);
  finish(t, op, b == 0 ? -1 : source_of(t, op, 0) / b, op.type().bits);
}
void rem(Thread& t, const Instruction& op) {
  const i128 a = source_of(t, op, 0), b = source_of(t, op, 1);
  finish(t, op, b == 0 ? a : a % b, op.type().bits);
}

void abs(Thread& t, const Instruction& op) {
  if (op.type().is_float()) return abs_floats(t, op);
  const i128 a = source_of(t, op, 0);
  finish(t, op, a < 0 ? -a : a, op.type().bits);
}
void neg(Thread& t, const Instruction& op) {
  if (op.type().is_float()) return neg_floats(t, op);
  finish(t, op, -source_of(t, op, 0), op.type().bits);
}

// min, max, also of two 16-bit integers: those types are not parsed.
void min(Thread& t, const Instruction& op) {
  if (op.type().is_float()) return min_floats(t, op);
  finish(t, op, std::min(source_of(t, op, 0), source_of(t, op, 1)), op.type().bits);
}
void max(Thread& t, const Instruction& op) {
  if (op.type().is_float()) return max_floats(t, op);
  finish(t, op, std::max(source_of(t, op, 0), source_of(t, op, 1)), op.type().bits);
}

// dp4a, dp2a: a sum of products of bytes; of dp2a, the halves of a and two bytes of b.
void dot(Thread& t, const Instruction& op, u32 parts) {
  const Type& of_a = op.types[0];
  const Type& of_b = op.types[1];
  const u64 a = t.source(op, 0), b = t.source(op, 1);
  const auto part = [](u64 value, u32 at, u32 bits, bool is_signed) {
    const u64 field = value >> at & mask_of(bits);
    return is_signed ? i128{sign_extended(field, bits)} : static_cast<i128>(field);
  };
  i128 sum = static_cast<i128>(t.source(op, 2));
  const u32 width = 32 / parts, first = op.has(Word::Hi) ? 16 : 0;
  for (u32 i = 0; i < parts; ++i)
    sum +=
        part(a, width * i, width, of_a.is_signed()) * part(b, first + 8 * i, 8, of_b.is_signed());
  finish(t, op, sum, 32);
}
void dp4a(Thread& t, const Instruction& op) { dot(t, op, 4); }
void dp2a(Thread& t, const Instruction& op) { dot(t, op, 2); }

}  // namespace

std::vector<HandlerEntry> integer_handlers() {
  return {{"add", add}, {"addc", addc}, {"sub", sub},     {"subc", subc},   {"mul", mul},
          {"mad", mad}, {"madc", madc}, {"mul24", mul24}, {"mad24", mad24}, {"sad", sad},
          {"div", div}, {"rem", rem},   {"abs", abs},     {"neg", neg},     {"min", min},
          {"max", max}, {"dp4a", dp4a}, {"dp2a", dp2a}};
}

}  // namespace doorbell::ptx
