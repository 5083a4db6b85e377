// cvt, cvt.pack's sibling excepted, and cvta. [PTX ISA 9.0, "Data Movement and Conversion
// Instructions: cvt"]
#include <algorithm>

#include "tests/emulator/nv/ptx/arithmetic.h"
#include "tests/emulator/nv/ptx/machine.h"

namespace doorbell::ptx {

namespace {

// .ftz is about f32 only.
Number source_number(u64 bits, const Instruction& op, const Type& from) {
  if (from.format == &kF32) return number_of(bits, op, from);
  return decode(bits & mask_of(from.bits), *from.format);
}

u64 to_float(u64 bits, const Instruction& op, const Type& from, const Type& to) {
  Number number =
      from.is_float() ? source_number(bits, op, from) : from_integer(integer_of(bits, from));
  if (op.rounds_to_integer) number = round_to_integer(number, op.rounding);
  const bool saturates = op.has(Word::SatFinite);
  u64 result = encode(number, *to.format, op.rounding, saturates);
  if (to.format == &kF32 && op.has(Word::Ftz)) result = bits_of(number, op, to);
  if (op.has(Word::Sat)) result = saturated(result, to);
  const bool negative = (result & to.format->sign()) != 0;
  if (op.has(Word::Relu) && !number.is_nan() && negative) result = 0;
  // tf32 is an f32 whose last bits are zeros.
  return to.format == &kTf32 ? result << 13 : result;
}

u64 to_integer(u64 bits, const Instruction& op, const Type& from, const Type& to) {
  const i128 most = to.is_signed() ? (i128{1} << (to.bits - 1)) - 1 : (i128{1} << to.bits) - 1;
  const i128 least = to.is_signed() ? -most - 1 : 0;
  i128 value = 0;
  if (from.is_float()) {
    const Number number = source_number(bits, op, from);
    // NaN is zero, except that from f64 or to 64 bits it is the highest bit. (PTX ISA 7 has zero
    // everywhere.)
    if (number.is_nan() && (from.bits == 64 || to.bits == 64)) {
      const u64 highest = u64{1} << (to.bits - 1);
      return to.is_signed() ? static_cast<u64>(sign_extended(highest, to.bits)) : highest;
    }
    value = to_integer(number, op.rounding, least, most);
  } else {
    value = integer_of(bits, from);
    if (op.has(Word::Sat)) value = std::clamp(value, least, most);
  }
  const u64 low = static_cast<u64>(value) & mask_of(to.bits);
  return to.is_signed() ? static_cast<u64>(sign_extended(low, to.bits)) : low;
}

void cvt(Thread& t, const Instruction& op) {
  const Type &to = op.types[0], &from = op.types[1];
  if (!to.is_float()) {
    t.write(op.operands[0], to_integer(t.source(op, 0), op, from, to));
    return;
  }
  u64 result = 0;
  for (u32 lane = 0; lane < to.lanes; ++lane) {
    // Of two sources, the first one's place is the high half.
    const u64 bits = from.lanes == to.lanes ? t.source(op, 0) >> (lane * from.bits)
                                            : t.source(op, to.lanes - 1 - lane);
    result |= to_float(bits, op, from, to) << (lane * to.bits);
  }
  t.write(op.operands[0], result);
}

// cvta.space: an address of the space to a generic one; cvta.to.space: back.
void cvta(Thread& t, const Instruction& op) {
  const u64 window = op.space == Space::Shared  ? kSharedWindow
                     : op.space == Space::Local ? kLocalWindow
                                                : 0;
  const u64 address = t.source(op, 0);
  t.write(op.operands[0], op.has(Word::To) ? address - window : address + window);
}

}  // namespace

std::vector<HandlerEntry> convert_handlers() { return {{"cvt", cvt}, {"cvta", cvta}}; }

}  // namespace doorbell::ptx
