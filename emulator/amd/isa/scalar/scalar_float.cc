// Floating point of the scalar ALU: gfx11.5 and gfx12.
// [RDNA4 ISA, chapter "Instructions", SOP1, SOP2 and SOPC]
#include <cmath>

#include "emulator/amd/isa/number/float_math.h"
#include "emulator/amd/isa/scalar/scalar_op.h"
#include "emulator/amd/isa/tables.h"

namespace doorbell::emu::amdgpu {

namespace {

f32 least(f32 a, f32 b) { return minimum_number(a, b); }
f32 most(f32 a, f32 b) { return maximum_number(a, b); }
f32 min_any(f32 a, f32 b) { return minimum_any(a, b); }
f32 max_any(f32 a, f32 b) { return maximum_any(a, b); }
HalfOfDouble fused_half(Half a, Half b, Half c) { return {f64{a.value} * b.value + c.value}; }

constexpr Entry kTable[] = {
    scalar<[](f32 a, f32 b) { return a + b; }>("S_ADD_F32"),
    scalar<[](f32 a, f32 b) { return a - b; }>("S_SUB_F32"),
    scalar<[](f32 a, f32 b) { return a * b; }>("S_MUL_F32"),
    scalar<[](f32 a, f32 b) { return least(a, b); }>("S_MIN_F32"),
    scalar<[](f32 a, f32 b) { return most(a, b); }>("S_MAX_F32"),
    scalar<[](f32 a, f32 b) { return min_any(a, b); }>("S_MINIMUM_F32"),
    scalar<[](f32 a, f32 b) { return max_any(a, b); }>("S_MAXIMUM_F32"),
    scalar<[](f32 a, f32 b, f32 c) { return std::fma(a, b, c); }>("S_FMAC_F32", kReadsDst),
    scalar<[](f32 a, f32 b, f32 c) { return std::fma(a, b, c); }>("S_FMAMK_F32", kLiteralMiddle),
    scalar<[](f32 a, f32 b, f32 c) { return std::fma(a, b, c); }>("S_FMAAK_F32", kLiteralLast),
    scalar<[](f32 a) { return std::floor(a); }>("S_FLOOR_F32"),
    scalar<[](f32 a) { return std::ceil(a); }>("S_CEIL_F32"),
    scalar<[](f32 a) { return std::trunc(a); }>("S_TRUNC_F32"),
    scalar<[](f32 a) { return __builtin_roundevenf(a); }>("S_RNDNE_F32"),
    scalar<[](i32 a) { return static_cast<f32>(a); }>("S_CVT_F32_I32"),
    scalar<[](u32 a) { return static_cast<f32>(a); }>("S_CVT_F32_U32"),
    scalar<[](f32 a) { return to_integer<i32>(a); }>("S_CVT_I32_F32"),
    scalar<[](f32 a) { return to_integer<u32>(a); }>("S_CVT_U32_F32"),
    scalar<[](f32 a) { return Half{a}; }>("S_CVT_F16_F32"),
    scalar<[](Half a) { return a.value; }>("S_CVT_F32_F16"),
    scalar<[](u32 a) { return half_to_float((a >> 16)); }>("S_CVT_HI_F32_F16"),
    scalar<[](f32 a, f32 b) {
      return float_to_half_towards_zero(a) | float_to_half_towards_zero(b) << 16;
    }>("S_CVT_PK_RTZ_F16_F32"),
    scalar<[](Half a, Half b) { return Half{a.value + b.value}; }>("S_ADD_F16"),
    scalar<[](Half a, Half b) { return Half{a.value - b.value}; }>("S_SUB_F16"),
    scalar<[](Half a, Half b) { return Half{a.value * b.value}; }>("S_MUL_F16"),
    scalar<[](Half a, Half b) { return Half{least(a.value, b.value)}; }>("S_MIN_F16"),
    scalar<[](Half a, Half b) { return Half{most(a.value, b.value)}; }>("S_MAX_F16"),
    scalar<[](Half a, Half b) { return Half{min_any(a.value, b.value)}; }>("S_MINIMUM_F16"),
    scalar<[](Half a, Half b) { return Half{max_any(a.value, b.value)}; }>("S_MAXIMUM_F16"),
    scalar<[](Half a, Half b, Half c) { return fused_half(a, b, c); }>("S_FMAC_F16", kReadsDst),
    scalar<[](Half a) { return Half{std::floor(a.value)}; }>("S_FLOOR_F16"),
    scalar<[](Half a) { return Half{std::ceil(a.value)}; }>("S_CEIL_F16"),
    scalar<[](Half a) { return Half{std::trunc(a.value)}; }>("S_TRUNC_F16"),
    scalar<[](Half a) { return Half{__builtin_roundevenf(a.value)}; }>("S_RNDNE_F16"),
};

f32 number(f32 value) { return value; }
f32 number(Half value) { return value.value; }

#define FLOAT_COMPARE(NAME, SUFFIX, T, CONDITION)    \
  scalar_compare<[](T first, T second) {             \
    const f32 a = number(first), b = number(second); \
    return (CONDITION);                              \
  }>("S_CMP_" NAME "_" SUFFIX)

#define FLOAT_COMPARISONS(SUFFIX, T)                                                               \
  FLOAT_COMPARE("LT", SUFFIX, T, a < b), FLOAT_COMPARE("EQ", SUFFIX, T, a == b),                   \
      FLOAT_COMPARE("LE", SUFFIX, T, a <= b), FLOAT_COMPARE("GT", SUFFIX, T, a > b),               \
      FLOAT_COMPARE("LG", SUFFIX, T, a<b || a> b), FLOAT_COMPARE("GE", SUFFIX, T, a >= b),         \
      FLOAT_COMPARE("O", SUFFIX, T, a == a && b == b),                                             \
      FLOAT_COMPARE("U", SUFFIX, T, a != a || b != b), FLOAT_COMPARE("NGE", SUFFIX, T, !(a >= b)), \
      FLOAT_COMPARE("NLG", SUFFIX, T, !(a < b || a > b)),                                          \
      FLOAT_COMPARE("NGT", SUFFIX, T, !(a > b)), FLOAT_COMPARE("NLE", SUFFIX, T, !(a <= b)),       \
      FLOAT_COMPARE("NEQ", SUFFIX, T, !(a == b)), FLOAT_COMPARE("NLT", SUFFIX, T, !(a < b))

constexpr Entry kCompares[] = {FLOAT_COMPARISONS("F32", f32), FLOAT_COMPARISONS("F16", Half)};

}  // namespace

HandlerTable scalar_float_table() { return kTable; }
HandlerTable scalar_float_compare_table() { return kCompares; }

}  // namespace doorbell::emu::amdgpu
