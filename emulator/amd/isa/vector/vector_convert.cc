// Conversions of the vector ALU. Integers are truncated and held to their range, NaN becoming 0.
// [RDNA3, RDNA4 and CDNA3 ISA documents, chapter "Instructions"; 8-bit floats: CDNA3 ISA, "FP8"]
#include <algorithm>
#include <bit>

#include "emulator/amd/isa/number/float_math.h"
#include "emulator/amd/isa/tables.h"
#include "emulator/amd/isa/vector/vector_op.h"
#include "emulator/core/number/small_float.h"

namespace doorbell::emu::amdgpu {

namespace {

u32 pack(u32 low, u32 high) { return (low & 0xffff) | high << 16; }

// Scaled to the whole range of an integer: -1 to 1, or 0 to 1. Products are exact in double, and
// rounded to nearest whatever MODE says.
u32 normal_signed(f32 value) {
  if (is_nan(value)) return 0;
  const f64 held = std::clamp(value, -1.0f, 1.0f);
  return static_cast<u32>(static_cast<i32>(__builtin_roundeven(held * 32767))) & 0xffff;
}
u32 normal_unsigned(f32 value) {
  if (is_nan(value)) return 0;
  const f64 held = std::clamp(value, 0.0f, 1.0f);
  return static_cast<u32>(__builtin_roundeven(held * 65535));
}
// Replaces byte `selector` of c. Rounds as MODE says for floats: the documents' f32_to_u8 does not
// define it, gfx1201 does so. [rocjitsu conversion.h, measured on an RX 9070 XT]
u32 pack_byte(f32 a, u32 selector, u32 c) {
  const u32 shift = 8 * (selector & 3);
  const f32 whole = std::nearbyint(a);
  const u32 byte = is_nan(a) ? 0 : static_cast<u32>(std::clamp(whole, 0.0f, 255.0f));
  return (c & ~(0xffu << shift)) | byte << shift;
}
// A NaN is held to the end of its sign's side, unlike in other conversions. [rocjitsu conversion.h]
i32 floor_integer(f64 value) {
  if (is_nan(value)) return std::signbit(value) ? INT32_MIN : INT32_MAX;
  return to_integer<i32>(std::floor(value));
}
u32 held_signed(u32 value) {
  return static_cast<u32>(std::clamp(static_cast<i32>(value), -0x8000, 0x7fff)) & 0xffff;
}
u32 held_unsigned(u32 value) { return std::min(value, 0xffffu); }

constexpr Entry kSimple[] = {
    vector<[](i32 a) { return static_cast<f32>(a); }>("V_CVT_F32_I32"),
    vector<[](u32 a) { return static_cast<f32>(a); }>("V_CVT_F32_U32"),
    vector<[](f32 a) { return to_integer<i32>(a); }>("V_CVT_I32_F32"),
    vector<[](f32 a) { return to_integer<u32>(a); }>("V_CVT_U32_F32"),
    vector<[](f32 a) { return floor_integer(a); }>("V_CVT_FLOOR_I32_F32"),
    vector<[](f32 a) { return floor_integer(f64{a} + 0.5); }>("V_CVT_NEAREST_I32_F32"),
    vector<[](f32 a) { return Half{a}; }>("V_CVT_F16_F32"),
    vector<[](Half a) { return a.value; }>("V_CVT_F32_F16"),
    vector<[](BHalf a) { return a.value; }>("V_CVT_F32_BF16"),
    vector<[](f32 a) { return f64{a}; }>("V_CVT_F64_F32"),
    vector<[](f64 a) { return static_cast<f32>(a); }>("V_CVT_F32_F64"),
    vector<[](i32 a) { return f64(a); }>("V_CVT_F64_I32"),
    vector<[](u32 a) { return f64(a); }>("V_CVT_F64_U32"),
    vector<[](f64 a) { return to_integer<i32>(a); }>("V_CVT_I32_F64"),
    vector<[](f64 a) { return to_integer<u32>(a); }>("V_CVT_U32_F64"),
    vector<[](i16 a) { return Half{static_cast<f32>(a)}; }>("V_CVT_F16_I16"),
    vector<[](u16 a) { return Half{static_cast<f32>(a)}; }>("V_CVT_F16_U16"),
    vector<[](Half a) { return to_integer<i16>(a.value); }>("V_CVT_I16_F16"),
    vector<[](Half a) { return to_integer<u16>(a.value); }>("V_CVT_U16_F16"),
    vector<[](i16 a) { return static_cast<i32>(a); }>("V_CVT_I32_I16"),
    vector<[](u16 a) { return static_cast<u32>(a); }>("V_CVT_U32_U16"),
    vector<[](u32 a) { return static_cast<f32>(a & 0xff); }>("V_CVT_F32_UBYTE0"),
    vector<[](u32 a) { return static_cast<f32>(((a >> 8)) & 0xff); }>("V_CVT_F32_UBYTE1"),
    vector<[](u32 a) { return static_cast<f32>(((a >> 16)) & 0xff); }>("V_CVT_F32_UBYTE2"),
    vector<[](u32 a) { return static_cast<f32>((a >> 24)); }>("V_CVT_F32_UBYTE3"),
    vector<[](u32 a) { return static_cast<f32>(((static_cast<i32>(a << 28)) >> 28)) * 0.0625f; }>(
        "V_CVT_OFF_F32_I4"),
};

constexpr Entry kPacked[] = {
    vector<[](f32 a, f32 b) {
      return pack(float_to_half_towards_zero(a), float_to_half_towards_zero(b));
    }>("V_CVT_PK_RTZ_F16_F32"),
    vector<[](f32 a, f32 b) { return pack(float_to_half(a, {}), float_to_half(b, {})); }>(
        "V_CVT_PK_F16_F32"),
    vector<[](f32 a, f32 b) { return pack(float_to_bfloat(a), float_to_bfloat(b)); }>(
        "V_CVT_PK_BF16_F32"),
    vector<[](f32 a, f32 b) { return pack(normal_signed(a), normal_signed(b)); }>(
        "V_CVT_PK_NORM_I16_F32"),
    vector<[](f32 a, f32 b) { return pack(normal_unsigned(a), normal_unsigned(b)); }>(
        "V_CVT_PK_NORM_U16_F32"),
    vector<[](Half a, Half b) { return pack(normal_signed(a.value), normal_signed(b.value)); }>(
        "V_CVT_PK_NORM_I16_F16"),
    vector<[](Half a, Half b) { return pack(normal_unsigned(a.value), normal_unsigned(b.value)); }>(
        "V_CVT_PK_NORM_U16_F16"),
    vector<[](Half a) { return static_cast<u16>(normal_signed(a.value)); }>("V_CVT_NORM_I16_F16"),
    vector<[](Half a) { return static_cast<u16>(normal_unsigned(a.value)); }>("V_CVT_NORM_U16_F16"),
    vector<[](u32 a, u32 b) { return pack(held_signed(a), held_signed(b)); }>("V_CVT_PK_I16_I32"),
    vector<[](u32 a, u32 b) { return pack(held_unsigned(a), held_unsigned(b)); }>(
        "V_CVT_PK_U16_U32"),
    vector<[](f32 a, f32 b) {
      return pack(static_cast<u32>(i32{to_integer<i16>(a)}),
                  static_cast<u32>(i32{to_integer<i16>(b)}));
    }>("V_CVT_PK_I16_F32"),
    vector<[](f32 a, f32 b) { return pack(u32{to_integer<u16>(a)}, u32{to_integer<u16>(b)}); }>(
        "V_CVT_PK_U16_F32"),
    vector<[](f32 a, u32 b, u32 c) { return pack_byte(a, b, c); }>("V_CVT_PK_U8_F32"),
    vector<[](f32 a, u32 b, u32 c) { return pack_byte(a, b, c); }>("V_CVT_PKACCUM_U8_F32",
                                                                   kReadsDst),
};

// ---- 8-bit floats: a byte or a half of the register is named by op_sel, or by SDWA ----

SmallFormat fp8_of(const Wave& wave) { return wave.chip->name == "gfx942" ? kFp8Fnuz : kFp8; }
SmallFormat bf8_of(const Wave& wave) { return wave.chip->name == "gfx942" ? kBf8Fnuz : kBf8; }

// Which byte a VOP3 conversion reads: op_sel bits 1 and 0. gfx12's order is the reverse of what
// one reads: bit 0 of op_sel is the byte's bit 1. [RDNA4 ISA, V_CVT_F32_FP8]
u32 byte_selected(const Operation& op) {
  if (!(op.flags & kVop3)) return 0;
  const u32 op_sel = op.words[0] >> 11 & 3;
  return (op_sel & 1) << 1 | op_sel >> 1;
}

template <auto format>
Flow from_byte(Wave& wave, const Operation& op) {
  alignas(64) u32 buffer[2 * kMaxLanes];
  const Row row = fetch<u32>(wave, op, 0, buffer);
  const SmallFormat f = format(wave);
  const u32 shift = 8 * byte_selected(op);
  const u64 active = active_lanes(wave, op);
  for (u32 base = 0; base < wave.lanes; base += kStep) {
    alignas(64) u32 out[kStep];
    for (u32 i = 0; i < kStep; ++i) {
      out[i] = std::bit_cast<u32>(small_to_float(row.low[base + i] >> shift & 0xff, f));
    }
    store_result(wave, op, Type::F32, out, nullptr, base, static_cast<u32>(active >> base));
  }
  return Flow::Next;
}

// Two bytes to two registers, from the half that op_sel names.
template <auto format>
Flow from_two_bytes(Wave& wave, const Operation& op) {
  alignas(64) u32 buffer[2 * kMaxLanes];
  const Row row = fetch<u32>(wave, op, 0, buffer);
  const SmallFormat f = format(wave);
  const u32 shift = (op.flags & kVop3) && (op.words[0] >> 11 & 1) ? 16 : 0;
  const u64 active = active_lanes(wave, op);
  for (u32 base = 0; base < wave.lanes; base += kStep) {
    alignas(64) u32 low[kStep], high[kStep];
    for (u32 i = 0; i < kStep; ++i) {
      const u32 half = row.low[base + i] >> shift;
      low[i] = std::bit_cast<u32>(small_to_float(half & 0xff, f));
      high[i] = std::bit_cast<u32>(small_to_float(half >> 8 & 0xff, f));
    }
    store_result(wave, op, Type::B64, low, high, base, static_cast<u32>(active >> base));
  }
  return Flow::Next;
}

// Two floats to two bytes, in the half that op_sel's last bit names; the other half stays.
template <auto format>
Flow to_two_bytes(Wave& wave, const Operation& op) {
  alignas(64) u32 buffers[2][2 * kMaxLanes];
  const Row a = fetch<f32>(wave, op, 0, buffers[0]), b = fetch<f32>(wave, op, 1, buffers[1]);
  const SmallFormat f = format(wave);
  const bool held = wave.holds_overflow();
  const u32 shift = op.words[0] >> 14 & 1 ? 16 : 0;
  const u64 active = active_lanes(wave, op);
  for (u32 base = 0; base < wave.lanes; base += kStep) {
    const u32* before = wave.v + op.dst_row + base;
    alignas(64) u32 out[kStep];
    for (u32 i = 0; i < kStep; ++i) {
      const u32 bytes = float_to_small(load_lane<f32>(a, base + i), f, held) |
                        float_to_small(load_lane<f32>(b, base + i), f, held) << 8;
      out[i] = (before[i] & ~(0xffffu << shift)) | bytes << shift;
    }
    store_result(wave, op, Type::B32, out, nullptr, base, static_cast<u32>(active >> base));
  }
  return Flow::Next;
}

// Stochastic rounding by the second operand's bits. op_sel selects the byte.
template <auto format>
Flow to_byte_random(Wave& wave, const Operation& op) {
  alignas(64) u32 buffers[2][2 * kMaxLanes];
  const Row a = fetch<f32>(wave, op, 0, buffers[0]), b = fetch<u32>(wave, op, 1, buffers[1]);
  const SmallFormat f = format(wave);
  const bool held = wave.holds_overflow();
  const u32 shift = 8 * (op.words[0] >> 13 & 3);
  const u64 active = active_lanes(wave, op);
  for (u32 base = 0; base < wave.lanes; base += kStep) {
    const u32* before = wave.v + op.dst_row + base;
    alignas(64) u32 out[kStep];
    for (u32 i = 0; i < kStep; ++i) {
      const u32 byte = float_to_small_random(load_lane<f32>(a, base + i), b.low[base + i], f, held);
      out[i] = (before[i] & ~(0xffu << shift)) | byte << shift;
    }
    store_result(wave, op, Type::B32, out, nullptr, base, static_cast<u32>(active >> base));
  }
  return Flow::Next;
}

// The same to 16 bits, in the half that op_sel's last bit names; the other half stays.
template <bool is_bfloat>
Flow to_half_random(Wave& wave, const Operation& op) {
  alignas(64) u32 buffers[2][2 * kMaxLanes];
  const Row a = fetch<f32>(wave, op, 0, buffers[0]), b = fetch<u32>(wave, op, 1, buffers[1]);
  const bool held = wave.holds_overflow();
  const u32 shift = op.words[0] >> 14 & 1 ? 16 : 0;
  const u64 active = active_lanes(wave, op);
  for (u32 base = 0; base < wave.lanes; base += kStep) {
    const u32* before = wave.v + op.dst_row + base;
    alignas(64) u32 out[kStep];
    for (u32 i = 0; i < kStep; ++i) {
      const f32 value = load_lane<f32>(a, base + i);
      const u32 random = b.low[base + i];
      const u32 half = is_bfloat ? float_to_bfloat_random(value, random)
                                 : float_to_half_random(value, random, held);
      out[i] = (before[i] & ~(0xffffu << shift)) | half << shift;
    }
    store_result(wave, op, Type::B32, out, nullptr, base, static_cast<u32>(active >> base));
  }
  return Flow::Next;
}

constexpr Shape kOneByte{Type::F32, {Type::B32}, kNoModifiers};
constexpr Shape kTwoBytes{Type::B64, {Type::B32}, kNoModifiers};
constexpr Shape kFromFloats{Type::B32, {Type::F32, Type::F32}, 0};
constexpr Shape kRandom{Type::B32, {Type::F32, Type::B32}, 0};

constexpr Entry kBytesAndRandom[] = {
    {"V_CVT_F32_FP8", kOneByte, &from_byte<fp8_of>},
    {"V_CVT_F32_BF8", kOneByte, &from_byte<bf8_of>},
    {"V_CVT_PK_F32_FP8", kTwoBytes, &from_two_bytes<fp8_of>},
    {"V_CVT_PK_F32_BF8", kTwoBytes, &from_two_bytes<bf8_of>},
    {"V_CVT_PK_FP8_F32", kFromFloats, &to_two_bytes<fp8_of>},
    {"V_CVT_PK_BF8_F32", kFromFloats, &to_two_bytes<bf8_of>},
    {"V_CVT_SR_FP8_F32", kRandom, &to_byte_random<fp8_of>},
    {"V_CVT_SR_BF8_F32", kRandom, &to_byte_random<bf8_of>},
    {"V_CVT_SR_F16_F32", kRandom, &to_half_random<false>},
    {"V_CVT_SR_BF16_F32", kRandom, &to_half_random<true>},
};

}  // namespace

HandlerTable vector_convert_table() { return kSimple; }
HandlerTable vector_convert_packed_table() { return kPacked; }
HandlerTable vector_convert_bytes_table() { return kBytesAndRandom; }

}  // namespace doorbell::emu::amdgpu
