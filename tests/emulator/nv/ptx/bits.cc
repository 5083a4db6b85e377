// Bits, comparisons and moves. [PTX ISA 9.0, "Logic and Shift Instructions", "Integer Arithmetic
// Instructions: bfe" and those after it, "Comparison and Selection Instructions", "mov"]
#include <algorithm>
#include <array>
#include <bit>

#include "tests/emulator/nv/ptx/arithmetic.h"
#include "tests/emulator/nv/ptx/machine.h"

namespace doorbell::ptx {

namespace {

u32 size_of(const Instruction& op) { return op.type().all_bits(); }

void and_bits(Thread& t, const Instruction& op) {
  t.write(op.operands[0], t.source(op, 0) & t.source(op, 1));
}
void or_bits(Thread& t, const Instruction& op) {
  t.write(op.operands[0], t.source(op, 0) | t.source(op, 1));
}
void xor_bits(Thread& t, const Instruction& op) {
  t.write(op.operands[0], t.source(op, 0) ^ t.source(op, 1));
}
void not_bits(Thread& t, const Instruction& op) {
  t.write(op.operands[0], ~t.source(op, 0) & mask_of(size_of(op)));
}
void cnot(Thread& t, const Instruction& op) {
  t.write(op.operands[0], (t.source(op, 0) & mask_of(size_of(op))) == 0 ? 1 : 0);
}

// Shifts by the register's width or more are shifts by the width.
u32 shift_of(Thread& t, const Instruction& op) {
  return static_cast<u32>(std::min<u64>(t.source(op, 1) & mask_of(32), size_of(op)));
}
void shl(Thread& t, const Instruction& op) {
  const u128 whole = static_cast<u128>(t.source(op, 0)) << shift_of(t, op);
  t.write(op.operands[0], static_cast<u64>(whole) & mask_of(size_of(op)));
}
void shr(Thread& t, const Instruction& op) {
  const i128 value = integer_of(t.source(op, 0), op.type()) >> shift_of(t, op);
  t.write(op.operands[0], static_cast<u64>(value) & mask_of(size_of(op)));
}
void shf(Thread& t, const Instruction& op) {
  const u64 low = t.source(op, 0) & mask_of(32), high = t.source(op, 1) & mask_of(32);
  const u64 count = t.source(op, 2) & mask_of(32);
  const u64 n = op.has(Word::Clamp) ? std::min<u64>(count, 32) : count & 31;
  const u128 both = static_cast<u128>(high << 32 | low);
  const u128 moved = op.has(Word::Left) ? (both << n) >> 32 : both >> n;
  t.write(op.operands[0], static_cast<u64>(moved) & mask_of(32));
}

// lop3: bit i of the table is the result where a, b, c are the bits of i.
void lop3(Thread& t, const Instruction& op) {
  const u64 a = t.source(op, 0), b = t.source(op, 1), c = t.source(op, 2), table = t.source(op, 3);
  u64 result = 0;
  for (u32 i = 0; i < 8; ++i) {
    if ((table >> i & 1) == 0) continue;
    result |= ((i & 4) != 0 ? a : ~a) & ((i & 2) != 0 ? b : ~b) & ((i & 1) != 0 ? c : ~c);
  }
  t.write(op.operands[0], result & mask_of(32));
}

// The bytes that prmt's modes choose by two bits, from byte 0 on. [PTX ISA 9.0, "prmt", table]
struct PermuteMode {
  Word word;
  std::array<std::array<u8, 4>, 4> bytes;
};
constexpr PermuteMode kPermuteModes[] = {
    {Word::F4e, {{{0, 1, 2, 3}, {1, 2, 3, 4}, {2, 3, 4, 5}, {3, 4, 5, 6}}}},
    {Word::B4e, {{{0, 7, 6, 5}, {1, 0, 7, 6}, {2, 1, 0, 7}, {3, 2, 1, 0}}}},
    {Word::Rc8, {{{0, 0, 0, 0}, {1, 1, 1, 1}, {2, 2, 2, 2}, {3, 3, 3, 3}}}},
    {Word::Ecl, {{{0, 1, 2, 3}, {1, 1, 2, 3}, {2, 2, 2, 3}, {3, 3, 3, 3}}}},
    {Word::Ecr, {{{0, 0, 0, 0}, {0, 1, 1, 1}, {0, 1, 2, 2}, {0, 1, 2, 3}}}},
    {Word::Rc16, {{{0, 1, 0, 1}, {2, 3, 2, 3}, {0, 1, 0, 1}, {2, 3, 2, 3}}}},
};

void prmt(Thread& t, const Instruction& op) {
  const u64 bytes = (t.source(op, 0) & mask_of(32)) | t.source(op, 1) << 32;
  const u64 control = t.source(op, 2);
  u64 result = 0;
  const auto mode =
      std::ranges::find_if(kPermuteModes, [&](const PermuteMode& m) { return op.has(m.word); });
  for (u32 i = 0; i < 4; ++i) {
    u64 byte = 0;
    if (mode != std::end(kPermuteModes)) {
      byte = bytes >> (8 * mode->bytes[control & 3][i]) & 0xff;
    } else {
      const u64 select = control >> (4 * i) & 15;
      byte = bytes >> (8 * (select & 7)) & 0xff;
      if ((select & 8) != 0) byte = (byte & 0x80) != 0 ? 0xff : 0;
    }
    result |= byte << (8 * i);
  }
  t.write(op.operands[0], result);
}

void bfe(Thread& t, const Instruction& op) {
  const u32 bits = op.type().bits;
  const u64 a = t.source(op, 0), pos = t.source(op, 1) & 255, len = t.source(op, 2) & 255;
  const auto bit = [&](u64 at) { return a >> at & 1; };
  const u64 sign =
      !op.type().is_signed() || len == 0 ? 0 : bit(std::min<u64>(pos + len - 1, bits - 1));
  u64 result = 0;
  for (u64 i = 0; i < bits; ++i) result |= (i < len && pos + i < bits ? bit(pos + i) : sign) << i;
  t.write(op.operands[0], result);
}
void bfi(Thread& t, const Instruction& op) {
  const u64 a = t.source(op, 0), pos = t.source(op, 2) & 255, len = t.source(op, 3) & 255;
  u64 result = t.source(op, 1);
  for (u64 i = 0; i < len && pos + i < op.type().bits; ++i) {
    result &= ~(u64{1} << (pos + i));
    result |= (a >> i & 1) << (pos + i);
  }
  t.write(op.operands[0], result);
}

void bfind(Thread& t, const Instruction& op) {
  const u32 bits = op.type().bits;
  u64 a = t.source(op, 0) & mask_of(bits);
  if (op.type().is_signed() && (a >> (bits - 1) & 1) != 0) a = ~a & mask_of(bits);
  u64 found = mask_of(32);
  if (a != 0) {
    found = 63 - static_cast<u64>(std::countl_zero(a));
    if (op.has(Word::ShiftAmount)) found = bits - 1 - found;
  }
  t.write(op.operands[0], found);
}
void brev(Thread& t, const Instruction& op) {
  const u32 bits = op.type().bits;
  u64 result = 0;
  for (u32 i = 0; i < bits; ++i) result |= (t.source(op, 0) >> i & 1) << (bits - 1 - i);
  t.write(op.operands[0], result);
}
void clz(Thread& t, const Instruction& op) {
  const u64 a = t.source(op, 0) & mask_of(op.type().bits);
  t.write(op.operands[0], static_cast<u64>(std::countl_zero(a)) - (64 - op.type().bits));
}
void popc(Thread& t, const Instruction& op) {
  t.write(op.operands[0], static_cast<u64>(std::popcount(t.source(op, 0))));
}
// fns.b32 d, mask, base, offset: the bit of the mask that is the offset-th set one from the base.
void fns(Thread& t, const Instruction& op) {
  const u64 mask = t.source(op, 0) & mask_of(32), base = t.source(op, 1) & 31;
  const i64 offset = sign_extended(t.source(op, 2), 32);
  i64 left = offset < 0 ? -offset : offset;
  u64 found = mask_of(32);
  if (offset == 0) {
    if ((mask >> base & 1) != 0) found = base;
  } else {
    for (i64 at = static_cast<i64>(base); at >= 0 && at < 32; at += offset < 0 ? -1 : 1) {
      if ((mask >> at & 1) == 0 || --left != 0) continue;
      found = static_cast<u64>(at);
      break;
    }
  }
  t.write(op.operands[0], found);
}
void bmsk(Thread& t, const Instruction& op) {
  u64 start = t.source(op, 0), width = t.source(op, 1);
  if (op.has(Word::Wrap)) {
    start &= 31;
    width &= 31;
  }
  u64 result = 0;
  for (u64 i = start; i < 32 && i - start < width; ++i) result |= u64{1} << i;
  t.write(op.operands[0], result);
}
void szext(Thread& t, const Instruction& op) {
  const u64 a = t.source(op, 0) & mask_of(32), b = t.source(op, 1) & mask_of(32);
  const u64 bits = op.has(Word::Wrap) ? b & 31 : std::min<u64>(b, 32);
  u64 result = bits == 0 ? 0 : a & mask_of(static_cast<u32>(bits));
  if (bits != 0 && op.type().is_signed())
    result = static_cast<u64>(sign_extended(result, static_cast<u32>(bits))) & mask_of(32);
  t.write(op.operands[0], result);
}

// ---- comparisons

bool compare_integers(const Instruction& op, i128 a, i128 b) {
  if (op.has(Word::Eq)) return a == b;
  if (op.has(Word::Ne)) return a != b;
  if (op.has(Word::Lt) || op.has(Word::Lo)) return a < b;
  if (op.has(Word::Le) || op.has(Word::Ls)) return a <= b;
  if (op.has(Word::Gt) || op.has(Word::Hi)) return a > b;
  return a >= b;
}
// Ordered comparisons are false of NaN, those that end in u are true.
bool compare_floats(const Instruction& op, const Number& a, const Number& b) {
  const bool unordered = a.is_nan() || b.is_nan();
  if (op.has(Word::Num)) return !unordered;
  if (op.has(Word::IsNan)) return unordered;
  if (unordered)
    return op.has(Word::Equ) || op.has(Word::Neu) || op.has(Word::Ltu) || op.has(Word::Leu) ||
           op.has(Word::Gtu) || op.has(Word::Geu);
  const int order = compare(a, b);
  if (op.has(Word::Eq) || op.has(Word::Equ)) return order == 0;
  if (op.has(Word::Ne) || op.has(Word::Neu)) return order != 0;
  if (op.has(Word::Lt) || op.has(Word::Ltu)) return order < 0;
  if (op.has(Word::Le) || op.has(Word::Leu)) return order <= 0;
  if (op.has(Word::Gt) || op.has(Word::Gtu)) return order > 0;
  return order >= 0;
}
bool compare_lane(const Instruction& op, const Type& type, u64 a, u64 b) {
  if (type.is_float()) return compare_floats(op, number_of(a, op, type), number_of(b, op, type));
  return compare_integers(op, integer_of(a, type), integer_of(b, type));
}
bool combined(const Instruction& op, bool compared, bool other) {
  if (op.has(Word::And)) return compared && other;
  if (op.has(Word::Or)) return compared || other;
  if (op.has(Word::Xor)) return compared != other;
  return compared;
}

// setp.cmp{.bool}.type p|q, a, b, {!}c: q is what the complement of the comparison gives. Of two
// halves, p and q are their results.
void setp(Thread& t, const Instruction& op) {
  const bool combines = op.has(Word::And) || op.has(Word::Or) || op.has(Word::Xor);
  const usize first = op.operands.size() - (combines ? 3 : 2);
  const u64 a = t.read(op.operands[first]), b = t.read(op.operands[first + 1]);
  const bool other = combines && t.read(op.operands[first + 2]) != 0;
  const Type& type = op.type();
  const bool compared = compare_lane(op, type, a, b);
  const bool second =
      type.lanes == 2 ? compare_lane(op, type, a >> type.bits, b >> type.bits) : !compared;
  t.write(op.operands[0], combined(op, compared, other) ? 1 : 0);
  if (first == 2) t.write(op.operands[1], combined(op, second, other) ? 1 : 0);
}
// set.cmp{.bool}.dtype.stype d, a, b, {!}c: all ones, or one of a float.
void set(Thread& t, const Instruction& op) {
  const bool other = op.operands.size() > 3 && t.source(op, 2) != 0;
  const Type& to = op.types[0];
  const bool is =
      combined(op, compare_lane(op, op.types[1], t.source(op, 0), t.source(op, 1)), other);
  const u64 one =
      to.is_float() ? encode(from_integer(1), *to.format, Rounding::Nearest) : mask_of(to.bits);
  t.write(op.operands[0], is ? one : 0);
}

void selp(Thread& t, const Instruction& op) {
  t.write(op.operands[0], t.source(op, t.source(op, 2) != 0 ? 0 : 1));
}
// slct.dtype.ctype d, a, b, c: a if c >= 0, where minus zero is and NaN is not.
void slct(Thread& t, const Instruction& op) {
  const Type& type = op.types[1];
  bool first = false;
  if (type.is_float()) {
    const Number c = number_of(t.source(op, 2), op, type);
    first = !c.is_nan() && (c.is_zero() || !c.negative);
  } else {
    first = integer_of(t.source(op, 2), type) >= 0;
  }
  t.write(op.operands[0], t.source(op, first ? 0 : 1));
}

// mov, also of vectors: {a, b} to a wider register and back, low parts first.
void mov(Thread& t, const Instruction& op) {
  const Operand &to = op.operands[0], &from = op.operands[1];
  if (from.kind == Operand::Kind::Vector) {
    const u32 bits = op.type().all_bits() / static_cast<u32>(from.parts.size());
    u64 whole = 0;
    for (usize i = 0; i < from.parts.size(); ++i)
      whole |= (t.read(from.parts[i]) & mask_of(bits)) << (bits * i);
    t.write(to, whole);
  } else if (to.kind == Operand::Kind::Vector) {
    const u32 bits = op.type().all_bits() / static_cast<u32>(to.parts.size());
    const u64 whole = t.read(from);
    for (usize i = 0; i < to.parts.size(); ++i)
      t.write(to.parts[i], whole >> (bits * i) & mask_of(bits));
  } else {
    t.write(to, t.read(from));
  }
}

}  // namespace

std::vector<HandlerEntry> bit_handlers() {
  return {{"and", and_bits}, {"or", or_bits}, {"xor", xor_bits}, {"not", not_bits}, {"cnot", cnot},
          {"shl", shl},      {"shr", shr},    {"shf", shf},      {"lop3", lop3},    {"prmt", prmt},
          {"bfe", bfe},      {"bfi", bfi},    {"bfind", bfind},  {"brev", brev},    {"clz", clz},
          {"popc", popc},    {"fns", fns},    {"bmsk", bmsk},    {"szext", szext},  {"setp", setp},
          {"set", set},      {"selp", selp},  {"slct", slct},    {"mov", mov}};
}

}  // namespace doorbell::ptx
