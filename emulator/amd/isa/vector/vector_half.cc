// 16-bit floating point of the vector ALU. Halves are computed as floats: with 24 bits the second
// rounding is harmless for one operation, and so are two roundings in the same direction. Fused
// operations are computed as doubles.
// [RDNA3, RDNA4 and CDNA3 ISA documents, chapter "Instructions"]
#include <algorithm>

#include "emulator/amd/isa/number/float_math.h"
#include "emulator/amd/isa/tables.h"
#include "emulator/amd/isa/vector/vector_op.h"

namespace doorbell::emu::amdgpu {

namespace {

constexpr f64 kTurn = 6.283185307179586;

// The product of two halves is exact in double.
HalfOfDouble fused(Half a, Half b, Half c) { return {f64{a.value} * b.value + c.value}; }
UnfusedHalf unfused(Half a, Half b, Half c) { return {a.value * b.value, c.value}; }
// Far enough for any half to leave the range.
HalfOfDouble scaled(Half a, i16 exponent) {
  return {std::ldexp(f64{a.value}, std::clamp<int>(exponent, -100, 100))};
}
Half least(Half a, Half b) { return {minimum_number(a.value, b.value)}; }
Half most(Half a, Half b) { return {maximum_number(a.value, b.value)}; }
Half min_any(Half a, Half b) { return {minimum_any(a.value, b.value)}; }
Half max_any(Half a, Half b) { return {maximum_any(a.value, b.value)}; }

// Below one by a half's step.
f32 half_fraction(f32 value) {
  const f32 result = value - std::floor(value);
  return result > 0x1.ffcp-1f ? 0x1.ffcp-1f : result;
}

constexpr Entry kArithmetic[] = {
    vector<[](Half a, Half b) { return Half{a.value + b.value}; }>("V_ADD_F16"),
    vector<[](Half a, Half b) { return Half{a.value - b.value}; }>("V_SUB_F16"),
    vector<[](Half a, Half b) { return Half{b.value - a.value}; }>("V_SUBREV_F16"),
    vector<[](Half a, Half b) { return Half{a.value * b.value}; }>("V_MUL_F16"),
    vector<[](Half a, Half b, Half c) { return fused(a, b, c); }>("V_FMA_F16"),
    vector<[](Half a, Half b, Half c) { return fused(a, b, c); }>("V_FMA_LEGACY_F16"),
    vector<[](Half a, Half b, Half c) { return fused(a, b, c); }>("V_FMAC_F16", kReadsDst),
    vector<[](Half a, Half b, Half c) { return fused(a, b, c); }>("V_FMAMK_F16", kLiteralMiddle),
    vector<[](Half a, Half b, Half c) { return fused(a, b, c); }>("V_FMAAK_F16", kLiteralLast),
    vector<[](Half a, Half b, Half c) { return unfused(a, b, c); }>("V_MAD_F16"),
    vector<[](Half a, Half b, Half c) { return unfused(a, b, c); }>("V_MAD_LEGACY_F16"),
    vector<[](Half a, Half b, Half c) { return unfused(a, b, c); }>("V_MAC_F16", kReadsDst),
    vector<[](Half a, Half b, Half c) { return unfused(a, b, c); }>("V_MADMK_F16", kLiteralMiddle),
    vector<[](Half a, Half b, Half c) { return unfused(a, b, c); }>("V_MADAK_F16", kLiteralLast),
    vector<[](Half a, i16 b) { return scaled(a, b); }>("V_LDEXP_F16"),
    vector<[](Half a, Half b, Half c) { return Half{div_fixup(a.value, b.value, c.value)}; }>(
        "V_DIV_FIXUP_F16"),
    vector<[](Half a, Half b, Half c) { return Half{div_fixup(a.value, b.value, c.value)}; }>(
        "V_DIV_FIXUP_LEGACY_F16"),
};

constexpr Entry kSelection[] = {
    vector<[](Half a, Half b) { return least(a, b); }>("V_MIN_F16"),
    vector<[](Half a, Half b) { return most(a, b); }>("V_MAX_F16"),
    vector<[](Half a, Half b, Half c) { return least(least(a, b), c); }>("V_MIN3_F16"),
    vector<[](Half a, Half b, Half c) { return most(most(a, b), c); }>("V_MAX3_F16"),
    vector<[](Half a, Half b, Half c) { return Half{median(a.value, b.value, c.value)}; }>(
        "V_MED3_F16"),
    vector<[](Half a, Half b, Half c) { return most(least(a, b), c); }>("V_MINMAX_F16"),
    vector<[](Half a, Half b, Half c) { return least(most(a, b), c); }>("V_MAXMIN_F16"),
    vector<[](Half a, Half b) { return min_any(a, b); }>("V_MINIMUM_F16"),
    vector<[](Half a, Half b) { return max_any(a, b); }>("V_MAXIMUM_F16"),
    vector<[](Half a, Half b, Half c) { return min_any(min_any(a, b), c); }>("V_MINIMUM3_F16"),
    vector<[](Half a, Half b, Half c) { return max_any(max_any(a, b), c); }>("V_MAXIMUM3_F16"),
    vector<[](Half a, Half b, Half c) { return max_any(min_any(a, b), c); }>(
        "V_MINIMUMMAXIMUM_F16"),
    vector<[](Half a, Half b, Half c) { return min_any(max_any(a, b), c); }>(
        "V_MAXIMUMMINIMUM_F16"),
};

constexpr Entry kUnary[] = {
    vector<[](Half a) { return Half{std::floor(a.value)}; }>("V_FLOOR_F16"),
    vector<[](Half a) { return Half{std::ceil(a.value)}; }>("V_CEIL_F16"),
    vector<[](Half a) { return Half{std::trunc(a.value)}; }>("V_TRUNC_F16"),
    vector<[](Half a) { return Half{__builtin_roundevenf(a.value)}; }>("V_RNDNE_F16"),
    vector<[](Half a) { return Half{half_fraction(a.value)}; }>("V_FRACT_F16"),
    transcendental<[](Half a) { return Half{1.0f / a.value}; }>("V_RCP_F16"),
    transcendental<[](Half a) { return HalfOfDouble{1.0 / std::sqrt(f64{a.value})}; }>("V_RSQ_F16"),
    transcendental<[](Half a) { return Half{std::sqrt(a.value)}; }>("V_SQRT_F16"),
    transcendental<[](Half a) { return HalfOfDouble{std::exp2(f64{a.value})}; }>("V_EXP_F16"),
    transcendental<[](Half a) { return HalfOfDouble{std::log2(f64{a.value})}; }>("V_LOG_F16"),
    transcendental<[](Half a) { return HalfOfDouble{std::sin(a.value * kTurn)}; }>("V_SIN_F16"),
    transcendental<[](Half a) { return HalfOfDouble{std::cos(a.value * kTurn)}; }>("V_COS_F16"),
    vector<[](Half a) {
      int exponent = 0;
      if (std::isfinite(a.value)) static_cast<void>(std::frexp(a.value, &exponent));
      return static_cast<i16>(exponent);
    }>("V_FREXP_EXP_I16_F16"),
    vector<[](Half a) {
      int exponent = 0;
      return std::isfinite(a.value) ? Half{std::frexp(a.value, &exponent)} : a;
    }>("V_FREXP_MANT_F16"),
};

}  // namespace

HandlerTable vector_f16_arithmetic_table() { return kArithmetic; }
HandlerTable vector_f16_selection_table() { return kSelection; }
HandlerTable vector_f16_unary_table() { return kUnary; }

}  // namespace doorbell::emu::amdgpu
