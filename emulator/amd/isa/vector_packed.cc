// VOP3P: two 16-bit operations in one instruction, two of 32-bit floats, mixed precision, and dot
// products. Matrix instructions are apart.
// [RDNA3, RDNA4 and CDNA3 ISA documents, chapter "Instructions", VOP3P]
#include <algorithm>

#include "emulator/amd/isa/float_math.h"
#include "emulator/amd/isa/integer_math.h"
#include "emulator/amd/isa/tables.h"
#include "emulator/amd/isa/vector_op.h"

namespace doorbell::emulator::amd {

namespace {

using Halves = Pair<Half>;
using BHalves = Pair<BHalf>;
using Floats = Pair<f32>;
using Shorts = Pair<i16>;
using Words = Pair<u16>;

HalfOfDouble fused(Half a, Half b, Half c) { return {f64{a.value} * b.value + c.value}; }
Half add(Half a, Half b) { return {a.value + b.value}; }
Half multiply(Half a, Half b) { return {a.value * b.value}; }
Half least(Half a, Half b) { return {minimum_number(a.value, b.value)}; }
Half most(Half a, Half b) { return {maximum_number(a.value, b.value)}; }
Half least_any(Half a, Half b) { return {minimum_any(a.value, b.value)}; }
Half most_any(Half a, Half b) { return {maximum_any(a.value, b.value)}; }
u16 word(u32 value) { return static_cast<u16>(value); }
i16 short_of(i32 value) { return static_cast<i16>(value); }

constexpr Entry kFloats[] = {
    vector<[](Halves a, Halves b) { return Halves{add(a.low, b.low), add(a.high, b.high)}; }>(
        "V_PK_ADD_F16"),
    vector<[](Halves a, Halves b) {
      return Halves{multiply(a.low, b.low), multiply(a.high, b.high)};
    }>("V_PK_MUL_F16"),
    vector<[](Halves a, Halves b, Halves c) {
      return Pair<HalfOfDouble>{fused(a.low, b.low, c.low), fused(a.high, b.high, c.high)};
    }>("V_PK_FMA_F16"),
    vector<[](Halves a, Halves b, Halves c) {
      return Pair<HalfOfDouble>{fused(a.low, b.low, c.low), fused(a.high, b.high, c.high)};
    }>("V_PK_FMAC_F16", kReadsDst),
    vector<[](Halves a, Halves b) { return Halves{least(a.low, b.low), least(a.high, b.high)}; }>(
        "V_PK_MIN_F16"),
    vector<[](Halves a, Halves b) { return Halves{most(a.low, b.low), most(a.high, b.high)}; }>(
        "V_PK_MAX_F16"),
    vector<[](Halves a, Halves b) {
      return Halves{least_any(a.low, b.low), least_any(a.high, b.high)};
    }>("V_PK_MINIMUM_F16"),
    vector<[](Halves a, Halves b) {
      return Halves{most_any(a.low, b.low), most_any(a.high, b.high)};
    }>("V_PK_MAXIMUM_F16"),
    vector<[](Halves a, Halves b, Halves c) {
      return Halves{least_any(least_any(a.low, b.low), c.low),
                    least_any(least_any(a.high, b.high), c.high)};
    }>("V_PK_MINIMUM3_F16"),
    vector<[](Halves a, Halves b, Halves c) {
      return Halves{most_any(most_any(a.low, b.low), c.low),
                    most_any(most_any(a.high, b.high), c.high)};
    }>("V_PK_MAXIMUM3_F16"),
    vector<[](Floats a, Floats b) { return Floats{a.low + b.low, a.high + b.high}; }>(
        "V_PK_ADD_F32"),
    vector<[](Floats a, Floats b) { return Floats{a.low * b.low, a.high * b.high}; }>(
        "V_PK_MUL_F32"),
    vector<[](Floats a, Floats b, Floats c) {
      return Floats{std::fma(a.low, b.low, c.low), std::fma(a.high, b.high, c.high)};
    }>("V_PK_FMA_F32"),
    vector<[](Floats a, Floats b) { return Floats{a.low, b.high}; }>("V_PK_MOV_B32"),
    vector<[](Mixed a, Mixed b, Mixed c) { return std::fma(a.value, b.value, c.value); }>(
        "V_FMA_MIX_F32"),
    vector<[](Mixed a, Mixed b, Mixed c) { return Half{std::fma(a.value, b.value, c.value)}; }>(
        "V_FMA_MIXLO_F16"),
    vector<[](Mixed a, Mixed b, Mixed c) { return Half{std::fma(a.value, b.value, c.value)}; }>(
        "V_FMA_MIXHI_F16", kHighResult),
    vector<[](Mixed a, Mixed b, Mixed c) { return a.value * b.value + c.value; }>("V_MAD_MIX_F32"),
    vector<[](Mixed a, Mixed b, Mixed c) { return Half{a.value * b.value + c.value}; }>(
        "V_MAD_MIXLO_F16"),
    vector<[](Mixed a, Mixed b, Mixed c) { return Half{a.value * b.value + c.value}; }>(
        "V_MAD_MIXHI_F16", kHighResult),
};

constexpr Entry kIntegers[] = {
    vector_clamped<[](Words a, Words b) {
      return Words{word(u32{a.low} + b.low), word(u32{a.high} + b.high)};
    },
                   [](Words a, Words b) {
                     return Words{hold_u16(i64{a.low} + b.low), hold_u16(i64{a.high} + b.high)};
                   }>("V_PK_ADD_U16"),
    vector_clamped<[](Words a, Words b) {
      return Words{word(u32{a.low} - b.low), word(u32{a.high} - b.high)};
    },
                   [](Words a, Words b) {
                     return Words{hold_u16(i64{a.low} - b.low), hold_u16(i64{a.high} - b.high)};
                   }>("V_PK_SUB_U16"),
    vector_clamped<[](Shorts a, Shorts b) {
      return Shorts{short_of(a.low + b.low), short_of(a.high + b.high)};
    },
                   [](Shorts a, Shorts b) {
                     return Shorts{hold_i16(i64{a.low} + b.low), hold_i16(i64{a.high} + b.high)};
                   }>("V_PK_ADD_I16"),
    vector_clamped<[](Shorts a, Shorts b) {
      return Shorts{short_of(a.low - b.low), short_of(a.high - b.high)};
    },
                   [](Shorts a, Shorts b) {
                     return Shorts{hold_i16(i64{a.low} - b.low), hold_i16(i64{a.high} - b.high)};
                   }>("V_PK_SUB_I16"),
    vector<[](Words a, Words b) {
      return Words{word(u32{a.low} * b.low), word(u32{a.high} * b.high)};
    }>("V_PK_MUL_LO_U16"),
    vector_clamped<[](Words a, Words b, Words c) {
      return Words{word(u32{a.low} * b.low + c.low), word(u32{a.high} * b.high + c.high)};
    },
                   [](Words a, Words b, Words c) {
                     return Words{hold_u16(i64{a.low} * b.low + c.low),
                                  hold_u16(i64{a.high} * b.high + c.high)};
                   }>("V_PK_MAD_U16"),
    vector_clamped<[](Shorts a, Shorts b, Shorts c) {
      return Shorts{short_of(a.low * b.low + c.low), short_of(a.high * b.high + c.high)};
    },
                   [](Shorts a, Shorts b, Shorts c) {
                     return Shorts{hold_i16(i64{a.low} * b.low + c.low),
                                   hold_i16(i64{a.high} * b.high + c.high)};
                   }>("V_PK_MAD_I16"),
    vector<[](Words a, Words b) {
      return Words{std::min(a.low, b.low), std::min(a.high, b.high)};
    }>("V_PK_MIN_U16"),
    vector<[](Words a, Words b) {
      return Words{std::max(a.low, b.low), std::max(a.high, b.high)};
    }>("V_PK_MAX_U16"),
    vector<[](Shorts a, Shorts b) {
      return Shorts{std::min(a.low, b.low), std::min(a.high, b.high)};
    }>("V_PK_MIN_I16"),
    vector<[](Shorts a, Shorts b) {
      return Shorts{std::max(a.low, b.low), std::max(a.high, b.high)};
    }>("V_PK_MAX_I16"),
    vector<[](Words a, Words b) {
      return Words{word(u32{b.low} << (a.low & 15)), word(u32{b.high} << (a.high & 15))};
    }>("V_PK_LSHLREV_B16"),
    vector<[](Words a, Words b) {
      return Words{word((u32{b.low} >> (a.low & 15))), word((u32{b.high} >> (a.high & 15)))};
    }>("V_PK_LSHRREV_B16"),
    vector<[](Words a, Shorts b) {
      return Shorts{short_of((b.low >> (a.low & 15))), short_of((b.high >> (a.high & 15)))};
    }>("V_PK_ASHRREV_I16"),
};

// ---- dot products ----

f32 dot_halves(Halves a, Halves b, f32 c) {
  const f32 first = a.low.value * b.low.value + c;
  return a.high.value * b.high.value + first;
}
f32 dot_bhalves(BHalves a, BHalves b, f32 c) {
  const f32 first = a.low.value * b.low.value + c;
  return a.high.value * b.high.value + first;
}

// The sum of products of the operands' parts of `bits` bits.
template <u32 bits>
i64 dot_parts(u32 a, u32 b, bool signed_a, bool signed_b) {
  i64 sum = 0;
  for (u32 i = 0; i < 32; i += bits) {
    const auto part = [&](u32 value, bool is_signed) {
      const u32 top = value << (32 - bits - i);
      return is_signed ? i64{static_cast<i32>(top) >> (32 - bits)} : i64{top >> (32 - bits)};
    };
    sum += part(a, signed_a) * part(b, signed_b);
  }
  return sum;
}

// neg's bits say which operands are signed.
template <u32 bits>
Flow dot_mixed_signs(Wave& wave, const Operation& op) {
  alignas(64) u32 buffers[3][2 * kMaxLanes];
  const Row a = fetch<u32>(wave, op, 0, buffers[0]), b = fetch<u32>(wave, op, 1, buffers[1]),
            c = fetch<u32>(wave, op, 2, buffers[2]);
  const bool signed_a = op.words[1] >> 29 & 1, signed_b = op.words[1] >> 30 & 1;
  const u64 active = active_lanes(wave, op);
  for (u32 base = 0; base < wave.lanes; base += kStep) {
    alignas(64) u32 out[kStep];
    for (u32 i = 0; i < kStep; ++i) {
      const u32 lane = base + i;
      const i64 sum = dot_parts<bits>(a.low[lane], b.low[lane], signed_a, signed_b) +
                      static_cast<i32>(c.low[lane]);
      out[i] = op.flags & kClamp ? hold_i32(sum) : static_cast<u32>(sum);
    }
    store_result(wave, op, Type::B32, out, nullptr, base, static_cast<u32>(active >> base));
  }
  return Flow::Next;
}

template <u32 bits>
u32 dot_unsigned(u32 a, u32 b, u32 c) {
  return static_cast<u32>(dot_parts<bits>(a, b, false, false)) + c;
}
template <u32 bits>
u32 dot_unsigned_held(u32 a, u32 b, u32 c) {
  return hold_u32(dot_parts<bits>(a, b, false, false) + c);
}
template <u32 bits>
u32 dot_signed(u32 a, u32 b, u32 c) {
  return static_cast<u32>(dot_parts<bits>(a, b, true, true)) + c;
}
template <u32 bits>
u32 dot_signed_held(u32 a, u32 b, u32 c) {
  return hold_i32(dot_parts<bits>(a, b, true, true) + static_cast<i32>(c));
}

constexpr Shape kThreeWords{Type::B32, {Type::B32, Type::B32, Type::B32}, 0};

constexpr Entry kDots[] = {
    vector<[](Halves a, Halves b, f32 c) { return dot_halves(a, b, c); }>("V_DOT2_F32_F16"),
    vector<[](Halves a, Halves b, f32 c) { return dot_halves(a, b, c); }>("V_DOT2C_F32_F16",
                                                                          kReadsDst),
    vector<[](BHalves a, BHalves b, f32 c) { return dot_bhalves(a, b, c); }>("V_DOT2_F32_BF16"),
    vector<[](BHalves a, BHalves b, f32 c) { return dot_bhalves(a, b, c); }>("V_DOT2C_F32_BF16",
                                                                             kReadsDst),
    vector_clamped<[](u32 a, u32 b, u32 c) { return dot_signed<16>(a, b, c); },
                   [](u32 a, u32 b, u32 c) { return dot_signed_held<16>(a, b, c); }>(
        "V_DOT2_I32_I16"),
    vector_clamped<[](u32 a, u32 b, u32 c) { return dot_unsigned<16>(a, b, c); },
                   [](u32 a, u32 b, u32 c) { return dot_unsigned_held<16>(a, b, c); }>(
        "V_DOT2_U32_U16"),
    vector_clamped<[](u32 a, u32 b, u32 c) { return dot_signed<8>(a, b, c); },
                   [](u32 a, u32 b, u32 c) { return dot_signed_held<8>(a, b, c); }>(
        "V_DOT4_I32_I8"),
    vector_clamped<[](u32 a, u32 b, u32 c) { return dot_unsigned<8>(a, b, c); },
                   [](u32 a, u32 b, u32 c) { return dot_unsigned_held<8>(a, b, c); }>(
        "V_DOT4_U32_U8"),
    vector_clamped<[](u32 a, u32 b, u32 c) { return dot_signed<4>(a, b, c); },
                   [](u32 a, u32 b, u32 c) { return dot_signed_held<4>(a, b, c); }>(
        "V_DOT8_I32_I4"),
    vector_clamped<[](u32 a, u32 b, u32 c) { return dot_unsigned<4>(a, b, c); },
                   [](u32 a, u32 b, u32 c) { return dot_unsigned_held<4>(a, b, c); }>(
        "V_DOT8_U32_U4"),
    vector<[](u32 a, u32 b, u32 c) { return dot_signed<16>(a, b, c); }>("V_DOT2C_I32_I16",
                                                                        kReadsDst),
    vector<[](u32 a, u32 b, u32 c) { return dot_signed<8>(a, b, c); }>("V_DOT4C_I32_I8", kReadsDst),
    vector<[](u32 a, u32 b, u32 c) { return dot_signed<4>(a, b, c); }>("V_DOT8C_I32_I4", kReadsDst),
    {"V_DOT4_I32_IU8", kThreeWords, &dot_mixed_signs<8>},
    {"V_DOT8_I32_IU4", kThreeWords, &dot_mixed_signs<4>},
};

}  // namespace

HandlerTable vector_packed_floats_table() { return kFloats; }
HandlerTable vector_packed_integers_table() { return kIntegers; }
HandlerTable vector_dots_table() { return kDots; }

}  // namespace doorbell::emulator::amd
