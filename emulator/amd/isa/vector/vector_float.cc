// 32-bit floating point of the vector ALU.
// [RDNA3, RDNA4 and CDNA3 ISA documents, chapter "Instructions"]
#include "emulator/amd/isa/number/float_math.h"
#include "emulator/amd/isa/tables.h"
#include "emulator/amd/isa/vector/vector_op.h"

namespace doorbell::emu::amdgpu {

namespace {

constexpr f64 kTurn = 6.283185307179586;

// The transcendental unit knows no denormals. [LLVM, AMDGPULegalizerInfo.cpp: legalizeFExp2,
// legalizeFlog2 and legalizeFSQRTF32 scale around it]
f32 flushed(f32 value) {
  const u32 bits = std::bit_cast<u32>(value);
  return bits & 0x7f800000 ? value : std::bit_cast<f32>(bits & 0x80000000);
}

// DirectX 9: nothing times 0 is 0.
f32 multiply_dx9(f32 a, f32 b) { return a == 0 || b == 0 ? 0.0f : a * b; }
f32 fma_dx9(f32 a, f32 b, f32 c) { return a == 0 || b == 0 ? c : std::fma(a, b, c); }

f32 minimum(f32 a, f32 b) { return minimum_number(a, b); }
f32 maximum(f32 a, f32 b) { return maximum_number(a, b); }

// Cube maps: which of three coordinates is largest, and the face's coordinates.
f32 cube_id(f32 x, f32 y, f32 z) {
  const f32 ax = std::fabs(x), ay = std::fabs(y), az = std::fabs(z);
  if (az >= ax && az >= ay) return z < 0 ? 5.0f : 4.0f;
  if (ay >= ax) return y < 0 ? 3.0f : 2.0f;
  return x < 0 ? 1.0f : 0.0f;
}
f32 cube_major(f32 x, f32 y, f32 z) {
  const f32 ax = std::fabs(x), ay = std::fabs(y), az = std::fabs(z);
  if (az >= ax && az >= ay) return 2 * z;
  return ay >= ax ? 2 * y : 2 * x;
}
f32 cube_s(f32 x, f32 y, f32 z) {
  const f32 ax = std::fabs(x), ay = std::fabs(y), az = std::fabs(z);
  if (az >= ax && az >= ay) return z < 0 ? -x : x;
  if (ay >= ax) return x;
  return x < 0 ? z : -z;
}
f32 cube_t(f32 x, f32 y, f32 z) {
  const f32 ax = std::fabs(x), ay = std::fabs(y), az = std::fabs(z);
  if (az >= ax && az >= ay) return -y;
  if (ay >= ax) return y < 0 ? -z : z;
  return -y;
}

constexpr Entry kArithmetic[] = {
    vector<[](f32 a, f32 b) { return a + b; }>("V_ADD_F32"),
    vector<[](f32 a, f32 b) { return a - b; }>("V_SUB_F32"),
    vector<[](f32 a, f32 b) { return b - a; }>("V_SUBREV_F32"),
    vector<[](f32 a, f32 b) { return a * b; }>("V_MUL_F32"),
    vector<[](f32 a, f32 b) { return multiply_dx9(a, b); }>("V_MUL_DX9_ZERO_F32"),
    vector<[](f32 a, f32 b, f32 c) { return std::fma(a, b, c); }>("V_FMA_F32"),
    vector<[](f32 a, f32 b, f32 c) { return std::fma(a, b, c); }>("V_FMAC_F32", kReadsDst),
    vector<[](f32 a, f32 b, f32 c) { return std::fma(a, b, c); }>("V_FMAMK_F32", kLiteralMiddle),
    vector<[](f32 a, f32 b, f32 c) { return std::fma(a, b, c); }>("V_FMAAK_F32", kLiteralLast),
    vector<[](f32 a, f32 b, f32 c) { return fma_dx9(a, b, c); }>("V_FMA_DX9_ZERO_F32"),
    vector<[](f32 a, f32 b, f32 c) { return fma_dx9(a, b, c); }>("V_FMAC_DX9_ZERO_F32", kReadsDst),
    vector<[](f32 a, f32 b, f32 c) { return a * b + c; }>("V_MAD_F32"),
    vector<[](f32 a, f32 b, f32 c) { return multiply_dx9(a, b) + c; }>("V_MAD_LEGACY_F32"),
    vector<[](f32 a, f32 b, f32 c) { return a * b + c; }>("V_MAC_F32", kReadsDst),
    vector<[](f32 a, f32 b, f32 c) { return multiply_dx9(a, b) + c; }>("V_MAC_LEGACY_F32",
                                                                       kReadsDst),
    vector<[](f32 a, f32 b, f32 c) { return a * b + c; }>("V_MADMK_F32", kLiteralMiddle),
    vector<[](f32 a, f32 b, f32 c) { return a * b + c; }>("V_MADAK_F32", kLiteralLast),
    vector<[](f32 a, i32 b) { return std::ldexp(a, b); }>("V_LDEXP_F32"),
};

constexpr Entry kSelection[] = {
    vector<[](f32 a, f32 b) { return minimum(a, b); }>("V_MIN_F32"),
    vector<[](f32 a, f32 b) { return maximum(a, b); }>("V_MAX_F32"),
    vector<[](f32 a, f32 b, f32 c) { return minimum(minimum(a, b), c); }>("V_MIN3_F32"),
    vector<[](f32 a, f32 b, f32 c) { return maximum(maximum(a, b), c); }>("V_MAX3_F32"),
    vector<[](f32 a, f32 b, f32 c) { return median(a, b, c); }>("V_MED3_F32"),
    vector<[](f32 a, f32 b, f32 c) { return maximum(minimum(a, b), c); }>("V_MINMAX_F32"),
    vector<[](f32 a, f32 b, f32 c) { return minimum(maximum(a, b), c); }>("V_MAXMIN_F32"),
    vector<[](f32 a, f32 b) { return minimum_any(a, b); }>("V_MINIMUM_F32"),
    vector<[](f32 a, f32 b) { return maximum_any(a, b); }>("V_MAXIMUM_F32"),
    vector<[](f32 a, f32 b, f32 c) { return minimum_any(minimum_any(a, b), c); }>("V_MINIMUM3_F32"),
    vector<[](f32 a, f32 b, f32 c) { return maximum_any(maximum_any(a, b), c); }>("V_MAXIMUM3_F32"),
    vector<[](f32 a, f32 b, f32 c) { return maximum_any(minimum_any(a, b), c); }>(
        "V_MINIMUMMAXIMUM_F32"),
    vector<[](f32 a, f32 b, f32 c) { return minimum_any(maximum_any(a, b), c); }>(
        "V_MAXIMUMMINIMUM_F32"),
    vector<[](f32 a, f32 b, f32 c) { return cube_id(a, b, c); }>("V_CUBEID_F32"),
    vector<[](f32 a, f32 b, f32 c) { return cube_s(a, b, c); }>("V_CUBESC_F32"),
    vector<[](f32 a, f32 b, f32 c) { return cube_t(a, b, c); }>("V_CUBETC_F32"),
    vector<[](f32 a, f32 b, f32 c) { return cube_major(a, b, c); }>("V_CUBEMA_F32"),
};

constexpr Entry kUnary[] = {
    vector<[](f32 a) { return std::floor(a); }>("V_FLOOR_F32"),
    vector<[](f32 a) { return std::ceil(a); }>("V_CEIL_F32"),
    vector<[](f32 a) { return std::trunc(a); }>("V_TRUNC_F32"),
    vector<[](f32 a) { return __builtin_roundevenf(a); }>("V_RNDNE_F32"),
    vector<[](f32 a) { return fraction(a); }>("V_FRACT_F32"),
    transcendental<[](f32 a) { return flushed(1.0f / flushed(a)); }>("V_RCP_F32"),
    transcendental<[](f32 a) { return flushed(1.0f / flushed(a)); }>("V_RCP_IFLAG_F32"),
    transcendental<[](f32 a) { return static_cast<f32>(1.0 / std::sqrt(f64{flushed(a)})); }>(
        "V_RSQ_F32"),
    transcendental<[](f32 a) { return std::sqrt(flushed(a)); }>("V_SQRT_F32"),
    transcendental<[](f32 a) { return flushed(std::exp2(flushed(a))); }>("V_EXP_F32"),
    transcendental<[](f32 a) { return std::log2(flushed(a)); }>("V_LOG_F32"),
    transcendental<[](f32 a) { return flushed(std::exp2(flushed(a))); }>("V_EXP_LEGACY_F32"),
    transcendental<[](f32 a) { return std::log2(flushed(a)); }>("V_LOG_LEGACY_F32"),
    transcendental<[](f32 a) {
      return static_cast<f32>(std::sin((f64{a} - std::floor(f64{a})) * kTurn));
    }>("V_SIN_F32"),
    transcendental<[](f32 a) {
      return static_cast<f32>(std::cos((f64{a} - std::floor(f64{a})) * kTurn));
    }>("V_COS_F32"),
    vector<[](f32 a) {
      int exponent = 0;
      if (std::isfinite(a)) static_cast<void>(std::frexp(a, &exponent));
      return static_cast<i32>(exponent);
    }>("V_FREXP_EXP_I32_F32"),
    vector<[](f32 a) {
      int exponent = 0;
      return std::isfinite(a) ? std::frexp(a, &exponent) : a;
    }>("V_FREXP_MANT_F32"),
};

constexpr Entry kDivision[] = {
    vector_with_bit<[](f32 a, f32 b, f32 c) {
      const Scaled<f32> scaled = div_scale(a, b, c);
      return WithBit<f32>{scaled.value, scaled.bit};
    }>("V_DIV_SCALE_F32"),
    vector<[](f32 a, f32 b, f32 c) { return div_fixup(a, b, c); }>("V_DIV_FIXUP_F32"),
};

// The sum rounded to odd, so that rounding it again gives the same as rounding once. In modes other
// than to nearest, two roundings in the same direction are one.
f64 sum_to_odd(const Wave& wave, f64 a, f64 b) {
  const f64 sum = a + b;
  if (wave.mode.round_32 != 0 || !std::isfinite(sum)) return sum;
  const f64 of_b = sum - a, error = (a - (sum - of_b)) + (b - of_b);
  const u64 bits = std::bit_cast<u64>(sum);
  if (error == 0 || (bits & 1) != 0) return sum;
  return std::bit_cast<f64>((sum > 0) == (error > 0) ? bits + 1 : bits - 1);
}

// The fourth operand, VCC, is in no word.
Flow div_fmas(Wave& wave, const Operation& op) {
  alignas(64) u32 buffers[3][2 * kMaxLanes];
  const Row a = fetch<f32>(wave, op, 0, buffers[0]), b = fetch<f32>(wave, op, 1, buffers[1]),
            c = fetch<f32>(wave, op, 2, buffers[2]);
  const u64 vcc = wave.vcc(), exec = wave.exec();
  for (u32 base = 0; base < wave.lanes; base += kStep) {
    alignas(64) u32 out[kStep];
    for (u32 i = 0; i < kStep; ++i) {
      const u32 lane = base + i;
      const f32 addend = load_lane<f32>(c, lane);
      f32 sum = std::fma(load_lane<f32>(a, lane), load_lane<f32>(b, lane), addend);
      if (vcc >> lane & 1) {
        // Scaled in double, so that a denormal quotient is rounded once.
        const f64 product = f64{load_lane<f32>(a, lane)} * load_lane<f32>(b, lane);
        sum = static_cast<f32>(sum_to_odd(wave, product, addend) * div_unscale(addend));
      }
      out[i] = std::bit_cast<u32>(sum);
    }
    store_result(wave, op, Type::F32, out, nullptr, base, static_cast<u32>(exec >> base));
  }
  return Flow::Next;
}

constexpr Entry kDivisionEnd[] = {
    {"V_DIV_FMAS_F32", {Type::F32, {Type::F32, Type::F32, Type::F32}, 0}, &div_fmas},
};

}  // namespace

HandlerTable vector_f32_arithmetic_table() { return kArithmetic; }
HandlerTable vector_f32_selection_table() { return kSelection; }
HandlerTable vector_f32_unary_table() { return kUnary; }
HandlerTable vector_f32_division_table() { return kDivision; }
HandlerTable vector_f32_division_end_table() { return kDivisionEnd; }

}  // namespace doorbell::emu::amdgpu
