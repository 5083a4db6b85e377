// Floating-point arithmetic, each lane of a pair alike. [PTX ISA 9.0, "Floating-Point
// Instructions", "Half Precision Floating-Point Instructions"] Those with .approx are computed in
// f64; who compares them allows what PTX does.
#include <bit>
#include <cmath>

#include "tests/emulator/nv/ptx/arithmetic.h"
#include "tests/emulator/nv/ptx/machine.h"

namespace doorbell::ptx {

namespace {

u64 flushed(u64 bits, const Format& format) {
  const u64 magnitude = bits & (format.sign() - 1);
  return magnitude >> format.mantissa_bits == 0 ? bits & format.sign() : bits;
}
u64 lane_of(u64 value, const Type& type, u32 lane) {
  return value >> (lane * type.bits) & mask_of(type.bits);
}

// Applies a function of exact numbers to each lane.
template <class Function>
void apply(Thread& t, const Instruction& op, usize sources, Function function) {
  const Type& type = op.type();
  u64 values[3] = {}, result = 0;
  for (usize i = 0; i < sources; ++i) values[i] = t.source(op, i);
  for (u32 lane = 0; lane < type.lanes; ++lane) {
    Number numbers[3];
    for (usize i = 0; i < sources; ++i)
      numbers[i] = number_of(lane_of(values[i], type, lane), op, type);
    result |= bits_of(function(numbers), op, type) << (lane * type.bits);
  }
  t.write(op.operands[0], result);
}

// The host's f32 and f64 round to nearest too, and are faster than exact numbers.
bool is_plain(const Instruction& op, u32 bits) {
  return op.rounding == Rounding::Nearest && op.type().bits == bits && op.type().lanes == 1 &&
         op.types.size() == 1 && !op.has(Word::Ftz) && !op.has(Word::Sat) && !op.has(Word::Relu);
}
template <class Function>
bool apply_on_host(Thread& t, const Instruction& op, usize sources, Function function) {
  u64 bits[3] = {};
  for (usize i = 0; i < sources; ++i) bits[i] = t.source(op, i);
  if (is_plain(op, 32)) {
    const f32 result = function(std::bit_cast<f32>(static_cast<u32>(bits[0])),
                                std::bit_cast<f32>(static_cast<u32>(bits[1])),
                                std::bit_cast<f32>(static_cast<u32>(bits[2])));
    t.write(op.operands[0], std::isnan(result) ? kF32.nan() : std::bit_cast<u32>(result));
    return true;
  }
  if (!is_plain(op, 64)) return false;
  const f64 result = function(std::bit_cast<f64>(bits[0]), std::bit_cast<f64>(bits[1]),
                              std::bit_cast<f64>(bits[2]));
  t.write(op.operands[0], std::bit_cast<u64>(result));
  return true;
}

// Signs change without arithmetic. NaN is an unspecified one.
template <class Function>
void change_sign(Thread& t, const Instruction& op, Function function) {
  const Type& type = op.type();
  const u64 value = t.source(op, 0);
  u64 result = 0;
  for (u32 lane = 0; lane < type.lanes; ++lane) {
    u64 bits = lane_of(value, type, lane);
    if (op.has(Word::Ftz)) bits = flushed(bits, *type.format);
    result |= function(bits, type.format->sign()) << (lane * type.bits);
  }
  t.write(op.operands[0], result);
}

// min, max: a number rather than NaN, unless .NaN; minus zero is below zero. xorsign.abs: of the
// magnitudes, with the signs' product.
void least_or_largest(Thread& t, const Instruction& op, bool largest) {
  const usize sources = op.operands.size() - 1;
  apply(t, op, sources, [&](Number* n) {
    bool negative = false;
    if (op.has(Word::XorSign)) {
      for (usize i = 0; i < sources; ++i) {
        negative ^= n[i].negative;
        n[i].negative = false;
      }
    }
    Number best = n[0];
    for (usize i = 1; i < sources; ++i) {
      if (n[i].is_nan() || best.is_nan()) {
        if (op.has(Word::Nan) ? n[i].is_nan() : best.is_nan()) best = n[i];
        continue;
      }
      const int order = compare(n[i], best);
      const bool less = order < 0 || (order == 0 && n[i].negative && !best.negative);
      const bool more = order > 0 || (order == 0 && !n[i].negative && best.negative);
      if (largest ? more : less) best = n[i];
    }
    if (op.has(Word::XorSign) && !best.is_nan()) best.negative = negative;
    return best;
  });
}

void square_roots(Thread& t, const Instruction& op) {
  if (apply_on_host(t, op, 1, [](auto a, auto, auto) { return std::sqrt(a); })) return;
  apply(t, op, 1, [](Number* n) { return square_root(n[0]); });
}
void reciprocals(Thread& t, const Instruction& op) {
  apply(t, op, 1, [](Number* n) { return divide(from_integer(1), n[0]); });
}

// A function of f64 for the .approx ones, of f32 and halves.
template <f64 (*function)(f64)>
void approximate(Thread& t, const Instruction& op) {
  apply(t, op, 1, [&](Number* n) {
    const f64 x = std::bit_cast<f64>(encode(n[0], kF64, Rounding::Nearest));
    return decode(std::bit_cast<u64>(function(x)), kF64);
  });
}
f64 reciprocal_root(f64 x) { return 1 / std::sqrt(x); }
f64 two_to(f64 x) { return std::exp2(x); }
f64 logarithm(f64 x) { return std::log2(x); }
f64 sine(f64 x) { return std::sin(x); }
f64 cosine(f64 x) { return std::cos(x); }
f64 tangent(f64 x) { return std::tanh(x); }

void copysign_floats(Thread& t, const Instruction& op) {
  const u64 sign = op.type().format->sign();
  t.write(op.operands[0], (t.source(op, 0) & sign) | (t.source(op, 1) & (sign - 1)));
}
void testp(Thread& t, const Instruction& op) {
  const Format& format = *op.type().format;
  const u64 bits = t.source(op, 0) & (format.sign() - 1);
  const bool finite = bits<format.infinity(), nan = bits> format.infinity();
  const bool below_normal = bits >> format.mantissa_bits == 0;
  bool is = false;
  if (op.has(Word::Finite)) is = finite;
  if (op.has(Word::Infinite)) is = bits == format.infinity();
  if (op.has(Word::Number)) is = !nan;
  if (op.has(Word::NotANumber)) is = nan;
  if (op.has(Word::Normal)) is = finite && (!below_normal || bits == 0);  // zeros are normal
  if (op.has(Word::Subnormal)) is = below_normal && bits != 0;
  t.write(op.operands[0], is ? 1 : 0);
}

}  // namespace

Number number_of(u64 bits, const Instruction& op, const Type& type) {
  bits &= mask_of(type.bits);
  if (op.has(Word::Ftz)) bits = flushed(bits, *type.format);
  return decode(bits, *type.format);
}
u64 saturated(u64 bits, const Type& type) {
  const Format& format = *type.format;
  if ((bits & (format.sign() - 1)) > format.infinity() || (bits & format.sign()) != 0) return 0;
  return std::min(bits, encode(from_integer(1), format, Rounding::Nearest));
}
u64 bits_of(Number number, const Instruction& op, const Type& type) {
  u64 bits = encode(number, *type.format, op.rounding, op.has(Word::SatFinite));
  if (op.has(Word::Ftz) && !number.is_nan()) bits = flushed(bits, *type.format);
  if (op.has(Word::Sat)) return saturated(bits, type);
  if (op.has(Word::Relu) && !number.is_nan() && (bits & type.format->sign()) != 0) return 0;
  return bits;
}

void add_floats(Thread& t, const Instruction& op) {
  if (apply_on_host(t, op, 2, [](auto a, auto b, auto) { return a + b; })) return;
  apply(t, op, 2, [&](Number* n) { return add(n[0], n[1], op.rounding); });
}
void subtract_floats(Thread& t, const Instruction& op) {
  if (apply_on_host(t, op, 2, [](auto a, auto b, auto) { return a - b; })) return;
  apply(t, op, 2, [&](Number* n) {
    n[1].negative = !n[1].negative;
    return add(n[0], n[1], op.rounding);
  });
}
void multiply_floats(Thread& t, const Instruction& op) {
  if (apply_on_host(t, op, 2, [](auto a, auto b, auto) { return a * b; })) return;
  apply(t, op, 2, [](Number* n) { return multiply(n[0], n[1]); });
}
void fma_floats(Thread& t, const Instruction& op) {
  if (apply_on_host(t, op, 3, [](auto a, auto b, auto c) { return std::fma(a, b, c); })) return;
  apply(t, op, 3, [&](Number* n) { return add(multiply(n[0], n[1]), n[2], op.rounding); });
}
void divide_floats(Thread& t, const Instruction& op) {
  if (apply_on_host(t, op, 2, [](auto a, auto b, auto) { return a / b; })) return;
  apply(t, op, 2, [](Number* n) { return divide(n[0], n[1]); });
}
void abs_floats(Thread& t, const Instruction& op) {
  change_sign(t, op, [](u64 bits, u64 sign) { return bits & ~sign; });
}
void neg_floats(Thread& t, const Instruction& op) {
  change_sign(t, op, [](u64 bits, u64 sign) { return bits ^ sign; });
}
void min_floats(Thread& t, const Instruction& op) { least_or_largest(t, op, false); }
void max_floats(Thread& t, const Instruction& op) { least_or_largest(t, op, true); }

std::vector<HandlerEntry> float_handlers() {
  return {{"fma", fma_floats},
          {"sqrt", square_roots},
          {"rcp", reciprocals},
          {"rsqrt", approximate<reciprocal_root>},
          {"ex2", approximate<two_to>},
          {"lg2", approximate<logarithm>},
          {"sin", approximate<sine>},
          {"cos", approximate<cosine>},
          {"tanh", approximate<tangent>},
          {"copysign", copysign_floats},
          {"testp", testp}};
}

}  // namespace doorbell::ptx
