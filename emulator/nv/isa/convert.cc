// Conversions between integers and floats of 8 to 64 bits. Sizes: bits 75 and 76 of the result, 84
// and 85 of the source, as powers of two of bytes. [PTX ISA, "cvt"; fields: Mesa's NAK, OpF2F,
// OpF2I, OpI2F, OpFRnd]
#include <cmath>
#include <limits>
#include <optional>

#include "emulator/core/number/number.h"
#include "emulator/core/number/small_float.h"
#include "emulator/nv/isa/handlers.h"
#include "emulator/nv/isa/lanes.h"
#include "emulator/nv/isa/rounding.h"

namespace doorbell::emu::nvgpu {

namespace {

constexpr u32 kHalf = 1, kSingle = 2, kDoubleSize = 3, kBfloat = 4;

// Of a register's two halves, neither is the third. [nvdisasm: INVALID2, INVALID3]
bool has_part(const Operation& op) {
  const u32 size = op.field(84, 3);
  return op.form == 4 || (size != kHalf && size != kBfloat) || op.field(60, 2) < 2;
}

// Modes of number.h: 1 is up, 2 down.
HalfRounding half_rounding(u32 mode) { return {mode == 1 ? 2u : mode == 2 ? 1u : mode, false}; }

f64 source_at(const Warp& warp, const Operation& op, u32 lane, u32 size) {
  const u32 low = row_of(warp, op.x, 0)[lane];
  if (size == kDoubleSize) return as_double(low, row_of(warp, op.x, 1)[lane], op.x);
  if (size == kSingle) {
    u32 bits = (low & op.x.keep) ^ op.x.flip;
    if (op.bit(80) && (bits & 0x7f80'0000) == 0) bits &= 0x8000'0000;
    return std::bit_cast<f32>(bits);
  }
  const bool is_high = op.form != 4 && op.field(60, 2) == 1;
  const u32 half = is_high ? low >> 16 : low & 0xffff;
  f64 value = size == kBfloat ? bfloat_to_float(half) : half_to_float(half);
  if (op.x.keep != ~0u) value = std::fabs(value);
  return op.x.flip != 0 ? -value : value;
}

u64 result_bits(f64 value, u32 size, u32 mode, bool flush) {
  if (size == kDoubleSize) return std::bit_cast<u64>(value);
  if (size == kBfloat) return value != value ? 0x7fff : float_to_bfloat(static_cast<f32>(value));
  if (size == kHalf)
    return value != value ? 0x7fff : float_to_half(double_to_odd(value), half_rounding(mode));
  if (value != value) return 0x7fff'ffff;
  const Rounding rounding(mode);
  volatile f64 exact = value;  // converted in this mode, not before
  u32 bits = std::bit_cast<u32>(static_cast<f32>(exact));
  if (flush && (bits & 0x7f80'0000) == 0) bits &= 0x8000'0000;
  return bits;
}

f64 to_integral(f64 value, u32 mode) {
  switch (mode) {
    case 1: return std::floor(value);
    case 2: return std::ceil(value);
    case 3: return std::trunc(value);
    default: return std::nearbyint(value);
  }
}

void store_bits(Warp& warp, const Operation& op, const u64* values, bool pair) {
  alignas(64) u32 low[kLanes], high[kLanes];
  for (u32 i = 0; i < kLanes; ++i) {
    low[i] = static_cast<u32>(values[i]);
    high[i] = static_cast<u32>(values[i] >> 32);
  }
  const u32 mask = warp.mask_of(op);
  store_row(warp, op.dst, low, mask);
  if (pair) store_row(warp, next_row(op.dst), high, mask);
}

// Out of range: the nearest that is in range. NaN: 0, or of 64 bits the least signed number.
u64 integer_of(f64 value, u32 bits, bool is_signed, bool wide) {
  if (value != value) return wide ? u64{1} << (bits - 1) : 0;
  if (is_signed) {
    const f64 limit = std::ldexp(1.0, static_cast<i32>(bits) - 1);
    if (value >= limit) return (u64{1} << (bits - 1)) - 1;
    if (value < -limit) return ~u64{0} << (bits - 1);
    return static_cast<u64>(static_cast<i64>(value));
  }
  if (value <= 0) return 0;
  if (value >= std::ldexp(1.0, static_cast<i32>(bits)))
    return bits == 64 ? ~u64{0} : (u64{1} << bits) - 1;
  return static_cast<u64>(value);
}

}  // namespace

Flow float_to_float(Warp& warp, const Operation& op) {
  const u32 from = op.field(84, 2), to = op.field(75, 2), mode = op.field(78, 2);
  if (from == 0 || to == 0 || !has_part(op)) return unknown_instruction(warp, op);
  u64 out[kLanes];
  for (u32 i = 0; i < kLanes; ++i)
    out[i] = result_bits(source_at(warp, op, i, from), to, mode, op.bit(80));
  store_bits(warp, op, out, to == kDoubleSize);
  return Flow::Next;
}

Flow round_float(Warp& warp, const Operation& op) {
  const u32 from = op.field(84, 3), to = op.field(75, 3);  // bits 86 and 77: bfloat16
  if (from == 0 || to == 0 || from > kBfloat || to > kBfloat || !has_part(op))
    return unknown_instruction(warp, op);
  u64 out[kLanes];
  for (u32 i = 0; i < kLanes; ++i)
    out[i] =
        result_bits(to_integral(source_at(warp, op, i, from), op.field(78, 2)), to, 0, op.bit(80));
  store_bits(warp, op, out, to == kDoubleSize);
  return Flow::Next;
}

Flow float_to_integer(Warp& warp, const Operation& op) {
  const u32 from = op.field(84, 3), bits = 8u << op.field(75, 2);  // bit 86: bfloat16
  if (from == 0 || from > kBfloat || !has_part(op)) return unknown_instruction(warp, op);
  const bool wide = from == kDoubleSize || bits == 64;
  u64 out[kLanes];
  for (u32 i = 0; i < kLanes; ++i) {
    const f64 value = to_integral(source_at(warp, op, i, from), op.field(78, 2));
    out[i] = integer_of(value, bits, op.bit(72), wide);
  }
  store_bits(warp, op, out, bits == 64);
  return Flow::Next;
}

Flow integer_to_float(Warp& warp, const Operation& op) {
  const u32 from = op.field(84, 2), mode = op.field(78, 2);
  const u32 to = op.field(75, op.form == 1 ? 3 : 2);  // bit 77: bfloat16
  const bool is_signed = op.bit(74), is_half = to == kHalf || to == kBfloat;
  if (to == 0 || to > kBfloat || !has_part(op)) return unknown_instruction(warp, op);
  const u32 bits = 8u << from, shift = bits < 32 && op.form != 4 ? op.field(60, 2) * bits : 0;
  u64 out[kLanes];
  for (u32 i = 0; i < kLanes; ++i) {
    u64 value = row_of(warp, op.x, 0)[i];
    if (from == 3) value |= u64{row_of(warp, op.x, 1)[i]} << 32;
    value = value >> shift << (64 - bits);
    value =
        is_signed ? static_cast<u64>(static_cast<i64>(value) >> (64 - bits)) : value >> (64 - bits);
    const bool negative = is_signed && static_cast<i64>(value) < 0;
    const u64 size = negative ? 0 - value : value;
    // To 16 bits through an f32 whose last bit says whether something was lost.
    const u32 way = is_half ? 3 : negative && mode != 0 && mode != 3 ? mode ^ 3 : mode;
    const Rounding rounding(way);
    volatile u64 exact = size;
    if (to == kDoubleSize) {
      const f64 result = static_cast<f64>(u64{exact});
      out[i] = std::bit_cast<u64>(negative ? -result : result);
      continue;
    }
    u32 single = std::bit_cast<u32>(static_cast<f32>(u64{exact}));
    if (is_half && static_cast<u64>(std::bit_cast<f32>(single)) != size) single |= 1;
    const f32 result = std::bit_cast<f32>(negative ? single | 0x8000'0000 : single);
    out[i] = to == kHalf     ? float_to_half(result, half_rounding(mode))
             : to == kBfloat ? float_to_bfloat(result)
                             : std::bit_cast<u32>(result);
  }
  store_bits(warp, op, out, to == kDoubleSize);
  return Flow::Next;
}

namespace {

// How F2FP names formats: of the result by bits 76, 86 and 87, of the source by 73 and 74. What it
// does with them, by bits 78, 89 and 90 [nvdisasm].
enum class Packing : u8 { Pack, PackOneAndMerge, PackAndMerge, Unpack, UnpackAndMerge, Round };
struct FloatPacking {
  Packing packing = Packing::Pack;
  const SmallFormat* small = nullptr;  // of 8 bits, where there is one
};
std::optional<FloatPacking> packing_of(const Operation& op) {
  const u32 result = op.field(76, 1) | op.field(86, 2) << 1, source = op.field(73, 2);
  const u32 kind = op.field(78, 1) | op.field(89, 2) << 1;
  const bool to_small = result >= 4 && result <= 5;
  const SmallFormat* small = (to_small ? result == 5 : source == 3) ? &kFp8 : &kBf8;
  if (kind == 0 && result <= 1) return FloatPacking{Packing::Pack, nullptr};
  if (kind == 1 && result <= 1 && source == 0)
    return FloatPacking{Packing::PackOneAndMerge, nullptr};
  if (kind == 5 && to_small && source == 0) return FloatPacking{Packing::PackAndMerge, small};
  if (kind == 4 && to_small && source == 1) return FloatPacking{Packing::UnpackAndMerge, small};
  if (kind == 2 && result <= 1 && source >= 2) return FloatPacking{Packing::Unpack, small};
  if (kind == 3 && result == 3 && source == 0) return FloatPacking{Packing::Round, nullptr};
  return std::nullopt;
}

// .RELU, bit 75: negative numbers become 0, NaN the canonical one.
f32 after_relu(f32 value, const Operation& op) { return op.bit(75) && value < 0 ? 0.0f : value; }

// To f16, or with bit 76 to bfloat16; bits 79 and 80: rounding; 77: at most the largest number.
u32 half_of(f32 value, const Operation& op) {
  value = after_relu(value, op);
  const bool bfloat = op.bit(76);
  const u32 mode = op.field(79, 2);
  if (value != value) return 0x7fff;
  if (op.bit(77) && !bfloat) value = std::fmin(std::fmax(value, -65504.0f), 65504.0f);
  if (op.bit(77) && bfloat) {
    const f32 most = bfloat_to_float(0x7f7f);
    value = std::fmin(std::fmax(value, -most), most);
  }
  if (!bfloat) return float_to_half(value, half_rounding(mode));
  return mode == 3 ? std::bit_cast<u32>(value) >> 16 : float_to_bfloat(value);
}

// PTX's cvt to 8 bits has .satfinite (bit 77) always; NaN is 0x7f.
u32 small_of(f32 value, const SmallFormat& format, const Operation& op) {
  if (value != value) return 0x7f;
  return float_to_small(after_relu(value, op), format, op.bit(77));
}

// To TF32, of which the 13 low bits are 0.
u32 tf32_of(f32 value, const Operation& op) {
  value = after_relu(value, op);
  if (value != value) return 0x7fff'ffff;
  const u32 bits = std::bit_cast<u32>(value);
  const u32 rounded = op.field(79, 2) == 3 ? bits : bits + 0xfff + (bits >> 13 & 1);
  return rounded & 0xffff'e000;
}

}  // namespace

// Two values to one register, the first to the high part; or two halves of a register.
Flow pack_floats(Warp& warp, const Operation& op) {
  const std::optional<FloatPacking> form = packing_of(op);
  const u32 mode = op.field(79, 2);
  const bool directed = mode == 1 || mode == 2;
  if (!form || op.field(81, 5) != 0 || (directed && (form->packing != Packing::Pack || op.bit(76))))
    return unknown_instruction(warp, op);
  const Row &a = row_of(warp, op.a), &b = row_of(warp, op.x), &c = row_of(warp, op.c);
  const auto merged = [&](u32 low, u32 with) {
    return (op.bit(72) ? with >> 16 : with) << 16 | low;
  };
  const auto half = [&](u32 word, u32 which) {
    return half_to_float(word >> (16 * which) & 0xffff);
  };
  alignas(64) u32 out[kLanes];
  for (u32 i = 0; i < kLanes; ++i) {
    const auto small = [&](u32 byte) {
      const f32 value = after_relu(small_to_float(byte & 0xff, *form->small), op);
      return value != value ? 0x7fffu : op.bit(76) ? float_to_bfloat(value) : float_to_half(value);
    };
    const u32 pair = op.bit(88) ? b[i] >> 16 : b[i];
    switch (form->packing) {
      case Packing::Pack:
        out[i] = half_of(as_float(a[i], op.a), op) << 16 | half_of(as_float(b[i], op.x), op);
        break;
      case Packing::PackOneAndMerge:
        out[i] = merged(half_of(as_float(b[i], op.x), op), c[i]);
        break;
      case Packing::PackAndMerge:
        out[i] = merged(small_of(std::bit_cast<f32>(a[i]), *form->small, op) << 8 |
                            small_of(std::bit_cast<f32>(b[i]), *form->small, op),
                        c[i]);
        break;
      case Packing::UnpackAndMerge:
        out[i] = merged(small_of(half(b[i], 1), *form->small, op) << 8 |
                            small_of(half(b[i], 0), *form->small, op),
                        c[i]);
        break;
      case Packing::Unpack: out[i] = small(pair >> 8) << 16 | small(pair); break;
      case Packing::Round: out[i] = tf32_of(std::bit_cast<f32>(b[i]), op); break;
    }
  }
  store_row(warp, op.dst, out, warp.mask_of(op));
  return Flow::Next;
}

}  // namespace doorbell::emu::nvgpu
