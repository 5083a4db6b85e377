// Dot products of the vector ALU: of two 16-bit floats, and of integers of 16, 8 and 4 bits.
// [RDNA3, RDNA4 and CDNA3 ISA documents, chapter "Instructions": V_DOT2_*, V_DOT4_*, V_DOT8_*]
#include "emulator/amd/isa/number/dot_float.h"
#include "emulator/amd/isa/number/integer_math.h"
#include "emulator/amd/isa/tables.h"
#include "emulator/amd/isa/vector/vector_op.h"

namespace doorbell::emu::amdgpu {

namespace {

using Halves = Pair<Half>;
using BHalves = Pair<BHalf>;

f32 dot_halves(Halves a, Halves b, f32 c) {
  const f32 first = a.low.value * b.low.value + c;
  return a.high.value * b.high.value + first;
}
f32 dot_bhalves(BHalves a, BHalves b, f32 c) {
  const f32 first = a.low.value * b.low.value + c;
  return a.high.value * b.high.value + first;
}

// As measured on gfx11 and gfx12, with an addend and a result of 32 bits, or of the factors' kind.
template <DotFactors factors, bool narrow>
Flow dot_as_measured(Wave& wave, const Operation& op) {
  constexpr bool kHalves = factors == DotFactors::F16;
  constexpr Type kFactor = kHalves ? Type::PackedF16 : Type::PackedBF16;
  constexpr Type kResult = !narrow ? Type::F32 : kHalves ? Type::F16 : Type::BF16;
  alignas(64) u32 left[2][kMaxLanes], right[2][kMaxLanes], addend[2 * kMaxLanes];
  prepare_packed(wave, op, 0, kFactor, left[0], left[1]);
  prepare_packed(wave, op, 1, kFactor, right[0], right[1]);
  prepare_operand(wave, op, 2, kResult, addend);
  const auto sum = wave.chip->generation == Generation::Gfx11 ? &dot2_gfx11 : &dot2_gfx12;
  const u64 active = active_lanes(wave, op);
  for (u32 base = 0; base < wave.lanes; base += kStep) {
    alignas(64) u32 out[kStep];
    for (u32 i = 0; i < kStep; ++i) {
      const u32 lane = base + i;
      out[i] = sum({.factors = factors,
                    .a = (left[0][lane] & 0xffff) | left[1][lane] << 16,
                    .b = (right[0][lane] & 0xffff) | right[1][lane] << 16,
                    .addend = narrow ? widened(factors, addend[lane]) : addend[lane],
                    .narrow = narrow,
                    .held = wave.holds_overflow()});
    }
    store_result(wave, op, kResult, out, nullptr, base, static_cast<u32>(active >> base));
  }
  return Flow::Next;
}

// The instructions that gfx9 and gfx10 have too: there as the pseudo-code says.
template <auto F, DotFactors factors>
Flow dot_any(Wave& wave, const Operation& op) {
  if (wave.chip->generation >= Generation::Gfx11) return dot_as_measured<factors, false>(wave, op);
  return vector_any<F>(wave, op);
}
template <auto F, DotFactors factors>
Flow dot_fast(Wave& wave, const Operation& op) {
  if (wave.chip->generation >= Generation::Gfx11) return dot_as_measured<factors, false>(wave, op);
  return vector_fast<F>(wave, op);
}
template <auto F, DotFactors factors>
constexpr Entry dot(std::string_view name, u32 flags = 0) {
  return {name, VectorOf<F>::shape(flags, Type::F32), &dot_any<F, factors>, &dot_fast<F, factors>};
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
    dot<[](Halves a, Halves b, f32 c) { return dot_halves(a, b, c); }, DotFactors::F16>(
        "V_DOT2_F32_F16"),
    dot<[](Halves a, Halves b, f32 c) { return dot_halves(a, b, c); }, DotFactors::F16>(
        "V_DOT2C_F32_F16", kReadsDst),
    dot<[](BHalves a, BHalves b, f32 c) { return dot_bhalves(a, b, c); }, DotFactors::BF16>(
        "V_DOT2_F32_BF16"),
    dot<[](BHalves a, BHalves b, f32 c) { return dot_bhalves(a, b, c); }, DotFactors::BF16>(
        "V_DOT2C_F32_BF16", kReadsDst),
    {"V_DOT2_F16_F16",
     {Type::F16, {Type::PackedF16, Type::PackedF16, Type::F16}, 0},
     &dot_as_measured<DotFactors::F16, true>},
    {"V_DOT2_BF16_BF16",
     {Type::BF16, {Type::PackedBF16, Type::PackedBF16, Type::BF16}, 0},
     &dot_as_measured<DotFactors::BF16, true>},
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

HandlerTable vector_dots_table() { return kDots; }

}  // namespace doorbell::emu::amdgpu
