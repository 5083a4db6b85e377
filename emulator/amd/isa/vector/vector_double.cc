// 64-bit floating point of the vector ALU. Reciprocals and roots are exact here where the hardware
// gives some 29 bits, which the code that uses them refines.
// [RDNA3, RDNA4 and CDNA3 ISA documents, chapter "Instructions"]
#include "emulator/amd/isa/number/float_math.h"
#include "emulator/amd/isa/tables.h"
#include "emulator/amd/isa/vector/vector_op.h"

namespace doorbell::emu::amdgpu {

namespace {

constexpr Entry kTable[] = {
    vector<[](f64 a, f64 b) { return a + b; }>("V_ADD_F64"),
    vector<[](f64 a, f64 b) { return a * b; }>("V_MUL_F64"),
    vector<[](f64 a, f64 b, f64 c) { return std::fma(a, b, c); }>("V_FMA_F64"),
    vector<[](f64 a, f64 b, f64 c) { return std::fma(a, b, c); }>("V_FMAC_F64", kReadsDst),
    vector<[](f64 a, f64 b) { return minimum_number(a, b); }>("V_MIN_F64"),
    vector<[](f64 a, f64 b) { return maximum_number(a, b); }>("V_MAX_F64"),
    vector<[](f64 a, f64 b) { return minimum_any(a, b); }>("V_MINIMUM_F64"),
    vector<[](f64 a, f64 b) { return maximum_any(a, b); }>("V_MAXIMUM_F64"),
    vector<[](f64 a, i32 b) { return std::ldexp(a, b); }>("V_LDEXP_F64"),
    vector<[](f64 a) { return std::floor(a); }>("V_FLOOR_F64"),
    vector<[](f64 a) { return std::ceil(a); }>("V_CEIL_F64"),
    vector<[](f64 a) { return std::trunc(a); }>("V_TRUNC_F64"),
    vector<[](f64 a) { return __builtin_roundeven(a); }>("V_RNDNE_F64"),
    vector<[](f64 a) { return fraction(a); }>("V_FRACT_F64"),
    transcendental<[](f64 a) { return 1.0 / a; }>("V_RCP_F64"),
    transcendental<[](f64 a) { return 1.0 / std::sqrt(a); }>("V_RSQ_F64"),
    transcendental<[](f64 a) { return std::sqrt(a); }>("V_SQRT_F64"),
    vector<[](f64 a) {
      int exponent = 0;
      if (std::isfinite(a)) static_cast<void>(std::frexp(a, &exponent));
      return static_cast<i32>(exponent);
    }>("V_FREXP_EXP_I32_F64"),
    vector<[](f64 a) {
      int exponent = 0;
      return std::isfinite(a) ? std::frexp(a, &exponent) : a;
    }>("V_FREXP_MANT_F64"),
    vector_with_bit<[](f64 a, f64 b, f64 c) {
      const Scaled<f64> scaled = div_scale(a, b, c);
      return WithBit<f64>{scaled.value, scaled.bit};
    }>("V_DIV_SCALE_F64"),
    vector<[](f64 a, f64 b, f64 c) { return div_fixup(a, b, c); }>("V_DIV_FIXUP_F64"),
};

Flow div_fmas(Wave& wave, const Operation& op) {
  const InstructionRounding<Rounds::Double> rounding(wave);
  alignas(64) u32 buffers[3][2 * kMaxLanes];
  const Row a = fetch<f64>(wave, op, 0, buffers[0]), b = fetch<f64>(wave, op, 1, buffers[1]),
            c = fetch<f64>(wave, op, 2, buffers[2]);
  const u64 vcc = wave.vcc(), exec = wave.exec();
  for (u32 base = 0; base < wave.lanes; base += kStep) {
    alignas(64) u32 low[kStep], high[kStep];
    for (u32 i = 0; i < kStep; ++i) {
      const u32 lane = base + i;
      const f64 addend = load_lane<f64>(c, lane);
      const f64 sum = std::fma(load_lane<f64>(a, lane), load_lane<f64>(b, lane), addend);
      const u64 bits = std::bit_cast<u64>(vcc >> lane & 1 ? sum * div_unscale(addend) : sum);
      low[i] = static_cast<u32>(bits);
      high[i] = static_cast<u32>(bits >> 32);
    }
    store_result(wave, op, Type::F64, low, high, base, static_cast<u32>(exec >> base));
  }
  return Flow::Next;
}

constexpr Entry kDivisionEnd[] = {
    {"V_DIV_FMAS_F64", {Type::F64, {Type::F64, Type::F64, Type::F64}, 0}, &div_fmas},
};

}  // namespace

HandlerTable vector_f64_table() { return kTable; }
HandlerTable vector_f64_division_end_table() { return kDivisionEnd; }

}  // namespace doorbell::emu::amdgpu
