// gfx950's V_CVT_SCALEF32_*: floats to and from FP8, BF8, FP6, BF6 and FP4 with a scale, a power of
// two, between: values are divided by it on their way to a small format, multiplied coming from
// one. The scale is the exponent of the last operand, an E8M0; 255 makes all NaN. The result is
// rounded once. Elements lie beside each other from the lowest bit on; of less than a register
// op_sel says where it is, and the rest of the destination stays.
//
// Unknown behaviour, at which the wave stops: rounding if MODE does not select nearest even; signs
// of operands of several elements; the result of NaN in a format without one (HIP: the largest
// number, rocjitsu: 0); and the effect of random bits on a value between two codes below the
// smallest normal number: whether they are added to all that is cut off (rocjitsu), to what is left
// of it in 24 bits (HIP), or to the f32's own mantissa (the CDNA4 ISA's pseudo-code of
// V_CVT_SR_FP8_F32).
// [CDNA4 ISA, 7.3 "Data conversion", and the instructions' pseudo-code; what is NaN, infinite, too
//  large or random: ROCm/rocm-systems projects/clr/hipamd/include/hip/amd_detail/
//  amd_hip_ocp_host.hpp, to_float(), from_float(), from_float_sr(); emulation/rocjitsu/lib/util/
//  include/util/data_types.h, f32_to_*_sr(); 2XPK16's order was seen on an MI350 by FPSan,
//  tests/cvt_scalef32_mx_gfx950_test.cpp]
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "emulator/amd/isa/matrix/matrix_layout.h"
#include "emulator/amd/isa/memory/lane_access.h"
#include "emulator/amd/isa/number/integer_math.h"
#include "emulator/amd/isa/number/lane_bits.h"
#include "emulator/amd/isa/tables.h"
#include "emulator/amd/isa/vector/vector_op.h"
#include "emulator/core/number/small_float.h"

namespace doorbell::emu::amdgpu {

namespace {

constexpr u32 kMaxRegisters = 32, kMaxOperands = 4;

constexpr bool is_small(Number number) { return bits_of(number) <= 8; }

SmallFormat format_of(Number number) {
  switch (number) {
    case Number::Fp8: return kFp8;
    case Number::Bf8: return kBf8;
    case Number::Fp6: return kFp6;
    case Number::Bf6: return kBf6;
    default: return kFp4;
  }
}

// One of the instructions: `count` elements of `from` become as many of `to`.
struct Conversion {
  Number from, to;
  u32 count = 1;
  bool random = false;       // rounded by the operand before the scale
  bool interleaved = false;  // every other element is the second operand's: 2XPK16

  // Two floats are two operands, two halves are one.
  constexpr u32 values() const {
    return interleaved || (from == Number::F32 && count == 2 && !random) ? 2 : 1;
  }
  constexpr u32 value_bits() const { return count / values() * bits_of(from); }
  constexpr u32 result_bits() const { return count * bits_of(to); }
  constexpr u32 scale() const { return values() + (random ? 1 : 0); }
};

constexpr u32 registers(u32 bits) { return std::max(1u, bits / 32); }

// ---- op_sel, neg and abs ----

// The bits of op_sel, from `first` on, that select a part of a register.
constexpr u32 place_bits(u32 bits, u32 first_of_byte, u32 first_of_half) {
  return bits == 8 ? 3u << first_of_byte : bits == 16 ? 1u << first_of_half : 0;
}
constexpr u32 source_places(const Conversion& what) {
  return is_small(what.from) ? place_bits(what.value_bits(), 0, 0) : 0;
}
constexpr u32 result_places(const Conversion& what) { return place_bits(what.result_bits(), 2, 3); }
u32 op_sel(const Operation& op) { return op.words[0] >> 11 & 15; }

// The first bit of what the places name.
u32 place(const Operation& op, u32 places) {
  if (places == 0) return 0;
  const u32 bits = (op_sel(op) & places) >> std::countr_zero(places);
  return bits * (std::popcount(places) == 2 ? 8 : 16);
}

const char* not_documented(const Wave& wave, const Operation& op, const Conversion& what) {
  if (!rounds_to_nearest(wave)) return "rounding not to nearest";
  if ((op_sel(op) & ~(source_places(what) | result_places(what))) != 0) {
    return "with an op_sel that names nothing";
  }
  const bool one_float = !is_small(what.from) && what.value_bits() == bits_of(what.from);
  for (u32 k = 0; k < what.values(); ++k) {
    const Source& source = op.src[k];
    // Also checks operands wider than scalars: LLVM decodes such words too.
    const bool vector = bits_of(what.from) < 32 || what.value_bits() > 64;
    if (vector && source.kind != Source::Kind::Vector) {
      return "of an operand that is no vector register";
    }
    if ((source.modifiers & (Source::kNeg | Source::kAbs)) != 0 && !one_float) {
      return "of operands with signs";
    }
  }
  return nullptr;
}

// ---- operands ----

// An operand's registers, one row of lanes behind the other.
class Operands {
 public:
  Operands(const Wave& wave, const Operation& op, const Conversion& what) {
    for (u32 k = 0; k < what.values(); ++k) prepare(wave, op, k, what.value_bits());
    for (u32 k = what.values(); k <= what.scale(); ++k) prepare(wave, op, k, 32);
  }
  const u32* row(u32 k) const { return row_[k]; }

 private:
  // Signs of single floats are applied.
  void prepare(const Wave& wave, const Operation& op, u32 k, u32 bits) {
    row_[k] = buffer_[k];
    if (registers(bits) > 2) {
      row_[k] = wave.v + op.src[k].row;
    } else if (registers(bits) == 2) {
      prepare_operand(wave, op, k, Type::B64, buffer_[k]);
    } else {
      prepare_operand(wave, op, k, bits == 32 ? Type::M32 : Type::B32, buffer_[k]);
    }
  }

  alignas(64) u32 buffer_[kMaxOperands][2 * kMaxLanes];
  const u32* row_[kMaxOperands];
};

// ---- elements ----

// MODE lets denormals of f32 be zero; those of other formats never are.
f64 read_value(u32 bits, Number number, bool flush) {
  if (number == Number::F16) return half_to_float(bits);
  if (number == Number::Bf16) return bfloat_to_float(bits);
  if (is_small(number)) return small_to_float(bits, format_of(number));
  return std::bit_cast<f32>(flush && (bits & 0x7f800000) == 0 ? bits & 0x80000000 : bits);
}

f64 scaled(f64 value, u32 scale, bool multiplied) {
  if (scale == 255) return std::copysign(std::numeric_limits<f64>::quiet_NaN(), value);
  const i32 exponent = static_cast<i32>(scale) - 127;
  return std::ldexp(value, multiplied ? exponent : -exponent);
}

u32 wide_bits(f64 value, Number number, bool held) {
  if (number == Number::F16) return double_to_half(value, {.held = held});
  if (number == Number::Bf16) return float_to_bfloat(double_to_odd(value));
  return std::bit_cast<u32>(static_cast<f32>(value));
}

// Computes one lane's result. Returns what is unknown about it, or null.
const char* convert_lane(const Wave& wave, const Operation& op, const Conversion& what,
                         const Operands& operands, u32 lane, u32* words) {
  const SmallFormat format = format_of(is_small(what.to) ? what.to : what.from);
  const u32 scale = operands.row(what.scale())[lane] >> 23 & 255;
  const u32 shift = place(op, source_places(what)), width = bits_of(what.from);
  const bool flush = (wave.mode.denorm_32 & 1) == 0, held = wave.holds_overflow();
  // One of SR's 16-bit values: its sign is bit 15.
  const Source& first = op.src[0];
  const u32 clear = width == 16 && (first.modifiers & Source::kAbs) != 0 ? 0x8000 : 0;
  const u32 flip = width == 16 && (first.modifiers & Source::kNeg) != 0 ? 0x8000 : 0;
  u32 random = what.random ? operands.row(what.scale() - 1)[lane] : 0;
  const char* unsettled = nullptr;
  for (u32 e = 0; e < what.count; ++e) {
    const u32* row = operands.row(e % what.values());
    const u32 index = shift / width + e / what.values();
    const u32 bits = static_cast<u32>(read_element_bits(row, kMaxLanes, lane, index, width));
    const f64 value =
        scaled(read_value((bits & ~clear) ^ flip, what.from, flush), scale, is_small(what.from));
    u32 result = 0;
    if (!is_small(what.to)) {
      result = wide_bits(value, what.to, held);
    } else if (what.random) {
      if (is_between_denormals(value, format)) unsettled = "rounding a denormal by random bits";
      result = float_to_small_random(value, random, format, held);
      random = next_random(random);
    } else {
      result = float_to_small(value, format, held);
    }
    if (is_small(what.to) && std::isnan(value) && format.top == SmallFormat::Top::Numbers) {
      unsettled = "of NaN, which the format has none of";
    }
    put_element_bits(words, e, bits_of(what.to), result);
  }
  return unsettled;
}

Flow convert(Wave& wave, const Operation& op, const Conversion& what) {
  if (const char* why = not_documented(wave, op, what)) return stop_undocumented(wave, op, why);
  const Operands operands(wave, op, what);
  const u32 bits = what.result_bits(), shift = place(op, result_places(what));
  const u32 field = bits < 32 ? ((1u << bits) - 1) << shift : ~0u;
  const char* unsettled = nullptr;
  // Writes lanes before the wave stops, because the known lanes of a twin are compared.
  for_each_lane(wave.exec(), [&](u32 lane) {
    u32 words[kMaxRegisters] = {};
    if (const char* why = convert_lane(wave, op, what, operands, lane, words)) unsettled = why;
    for (u32 r = 0; r < registers(bits); ++r) {
      u32& word = wave.v[op.dst_row + r * wave.lanes + lane];
      word = (word & ~field) | words[r] << shift;
    }
  });
  return unsettled == nullptr ? Flow::Next : stop_undocumented(wave, op, unsettled);
}

// ---- the table ----

template <Conversion kWhat>
Flow handler(Wave& wave, const Operation& op) {
  return convert(wave, op, kWhat);
}

constexpr Type type_of_registers(u32 count, Type one) {
  return count > 2 ? Type::Wide : count == 2 ? Type::B64 : one;
}

template <Conversion kWhat>
constexpr Entry entry(std::string_view name) {
  Shape shape;
  const u32 results = registers(kWhat.result_bits()), values = registers(kWhat.value_bits());
  shape.dst = type_of_registers(results, Type::B32);
  shape.wide[0] = static_cast<u8>(results);
  for (u32 k = 0; k < kWhat.values(); ++k) {
    shape.src[k] = type_of_registers(values, kWhat.from == Number::F32 ? Type::M32 : Type::B32);
    shape.wide[1 + k] = static_cast<u8>(values);
  }
  if (kWhat.random) shape.src[kWhat.values()] = Type::B32;
  shape.src[kWhat.scale()] = Type::F32;
  return {name, shape, &handler<kWhat>};
}

using enum Number;
constexpr Conversion one(Number from, Number to) { return {from, to, 1}; }
constexpr Conversion two(Number from, Number to) { return {from, to, 2}; }
constexpr Conversion many(Number from, Number to) { return {from, to, 32}; }
constexpr Conversion woven(Number to) { return {F32, to, 32, false, true}; }
constexpr Conversion random(Conversion what) {
  what.random = true;
  return what;
}

// clang-format off
constexpr Entry kTable[] = {
    entry<two(F32, Fp8)>("V_CVT_SCALEF32_PK_FP8_F32"),
    entry<two(F32, Bf8)>("V_CVT_SCALEF32_PK_BF8_F32"),
    entry<two(F16, Fp8)>("V_CVT_SCALEF32_PK_FP8_F16"),
    entry<two(F16, Bf8)>("V_CVT_SCALEF32_PK_BF8_F16"),
    entry<two(Bf16, Fp8)>("V_CVT_SCALEF32_PK_FP8_BF16"),
    entry<two(Bf16, Bf8)>("V_CVT_SCALEF32_PK_BF8_BF16"),
    entry<two(F32, Fp4)>("V_CVT_SCALEF32_PK_FP4_F32"),
    entry<two(F16, Fp4)>("V_CVT_SCALEF32_PK_FP4_F16"),
    entry<two(Bf16, Fp4)>("V_CVT_SCALEF32_PK_FP4_BF16"),
    entry<random(one(F32, Fp8))>("V_CVT_SCALEF32_SR_FP8_F32"),
    entry<random(one(F32, Bf8))>("V_CVT_SCALEF32_SR_BF8_F32"),
    entry<random(one(F16, Fp8))>("V_CVT_SCALEF32_SR_FP8_F16"),
    entry<random(one(F16, Bf8))>("V_CVT_SCALEF32_SR_BF8_F16"),
    entry<random(one(Bf16, Fp8))>("V_CVT_SCALEF32_SR_FP8_BF16"),
    entry<random(one(Bf16, Bf8))>("V_CVT_SCALEF32_SR_BF8_BF16"),
    entry<random(two(F32, Fp4))>("V_CVT_SCALEF32_SR_PK_FP4_F32"),
    entry<random(two(F16, Fp4))>("V_CVT_SCALEF32_SR_PK_FP4_F16"),
    entry<random(two(Bf16, Fp4))>("V_CVT_SCALEF32_SR_PK_FP4_BF16"),
    entry<two(Fp8, F32)>("V_CVT_SCALEF32_PK_F32_FP8"),
    entry<two(Bf8, F32)>("V_CVT_SCALEF32_PK_F32_BF8"),
    entry<two(Fp4, F32)>("V_CVT_SCALEF32_PK_F32_FP4"),
    entry<two(Fp8, F16)>("V_CVT_SCALEF32_PK_F16_FP8"),
    entry<two(Bf8, F16)>("V_CVT_SCALEF32_PK_F16_BF8"),
    entry<two(Fp4, F16)>("V_CVT_SCALEF32_PK_F16_FP4"),
    entry<two(Fp8, Bf16)>("V_CVT_SCALEF32_PK_BF16_FP8"),
    entry<two(Bf8, Bf16)>("V_CVT_SCALEF32_PK_BF16_BF8"),
    entry<two(Fp4, Bf16)>("V_CVT_SCALEF32_PK_BF16_FP4"),
    entry<one(Fp8, F32)>("V_CVT_SCALEF32_F32_FP8"),
    entry<one(Bf8, F32)>("V_CVT_SCALEF32_F32_BF8"),
    entry<one(Fp8, F16)>("V_CVT_SCALEF32_F16_FP8"),
    entry<one(Bf8, F16)>("V_CVT_SCALEF32_F16_BF8"),
    entry<woven(Fp6)>("V_CVT_SCALEF32_2XPK16_FP6_F32"),
    entry<woven(Bf6)>("V_CVT_SCALEF32_2XPK16_BF6_F32"),
    entry<many(F16, Fp6)>("V_CVT_SCALEF32_PK32_FP6_F16"),
    entry<many(F16, Bf6)>("V_CVT_SCALEF32_PK32_BF6_F16"),
    entry<many(Bf16, Fp6)>("V_CVT_SCALEF32_PK32_FP6_BF16"),
    entry<many(Bf16, Bf6)>("V_CVT_SCALEF32_PK32_BF6_BF16"),
    entry<random(many(F32, Fp6))>("V_CVT_SCALEF32_SR_PK32_FP6_F32"),
    entry<random(many(F32, Bf6))>("V_CVT_SCALEF32_SR_PK32_BF6_F32"),
    entry<random(many(F16, Fp6))>("V_CVT_SCALEF32_SR_PK32_FP6_F16"),
    entry<random(many(F16, Bf6))>("V_CVT_SCALEF32_SR_PK32_BF6_F16"),
    entry<random(many(Bf16, Fp6))>("V_CVT_SCALEF32_SR_PK32_FP6_BF16"),
    entry<random(many(Bf16, Bf6))>("V_CVT_SCALEF32_SR_PK32_BF6_BF16"),
    entry<many(Fp6, F32)>("V_CVT_SCALEF32_PK32_F32_FP6"),
    entry<many(Bf6, F32)>("V_CVT_SCALEF32_PK32_F32_BF6"),
    entry<many(Fp6, F16)>("V_CVT_SCALEF32_PK32_F16_FP6"),
    entry<many(Bf6, F16)>("V_CVT_SCALEF32_PK32_F16_BF6"),
    entry<many(Fp6, Bf16)>("V_CVT_SCALEF32_PK32_BF16_FP6"),
    entry<many(Bf6, Bf16)>("V_CVT_SCALEF32_PK32_BF16_BF6"),
};
// clang-format on

}  // namespace

HandlerTable vector_convert_scaled_table() { return kTable; }

}  // namespace doorbell::emu::amdgpu
