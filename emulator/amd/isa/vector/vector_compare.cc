// Comparisons of the vector ALU: VOPC, to a mask (v_cmp) or to EXEC (v_cmpx).
// [RDNA3 and CDNA3 ISA documents, chapter "Instructions", VOPC]
#include "emulator/amd/isa/number/float_math.h"
#include "emulator/amd/isa/tables.h"
#include "emulator/amd/isa/vector/vector_op.h"

namespace doorbell::emu::amdgpu {

namespace {

f32 number(f32 value) { return value; }
f64 number(f64 value) { return value; }
f32 number(Half value) { return value.value; }

// One of the sixteen comparisons of floats, twice.
#define FLOAT_PAIR(NAME, SUFFIX, T, CONDITION)            \
  vector_compare<[](T first, T second) {                  \
    const auto a = number(first), b = number(second);     \
    return (CONDITION);                                   \
  }>("V_CMP_" NAME "_" SUFFIX),                           \
      vector_compare_exec<[](T first, T second) {         \
        const auto a = number(first), b = number(second); \
        return (CONDITION);                               \
      }>("V_CMPX_" NAME "_" SUFFIX)

// The N forms are true for NaNs: "not less than". LG is "less or greater", U "unordered".
#define FLOAT_COMPARISONS(SUFFIX, T)                                                              \
  FLOAT_PAIR("F", SUFFIX, T, ((void)a, (void)b, false)), FLOAT_PAIR("LT", SUFFIX, T, a < b),      \
      FLOAT_PAIR("EQ", SUFFIX, T, a == b), FLOAT_PAIR("LE", SUFFIX, T, a <= b),                   \
      FLOAT_PAIR("GT", SUFFIX, T, a > b), FLOAT_PAIR("LG", SUFFIX, T, (a < b) | (a > b)),         \
      FLOAT_PAIR("GE", SUFFIX, T, a >= b), FLOAT_PAIR("O", SUFFIX, T, (a == a) & (b == b)),       \
      FLOAT_PAIR("U", SUFFIX, T, (a != a) | (b != b)), FLOAT_PAIR("NGE", SUFFIX, T, !(a >= b)),   \
      FLOAT_PAIR("NLG", SUFFIX, T, !((a < b) | (a > b))), FLOAT_PAIR("NGT", SUFFIX, T, !(a > b)), \
      FLOAT_PAIR("NLE", SUFFIX, T, !(a <= b)), FLOAT_PAIR("NEQ", SUFFIX, T, !(a == b)),           \
      FLOAT_PAIR("NLT", SUFFIX, T, !(a < b)), FLOAT_PAIR("T", SUFFIX, T, ((void)a, (void)b, true))

#define INTEGER_PAIR(NAME, SUFFIX, T, CONDITION)                                  \
  vector_compare<[](T a, T b) { return (CONDITION); }>("V_CMP_" NAME "_" SUFFIX), \
      vector_compare_exec<[](T a, T b) { return (CONDITION); }>("V_CMPX_" NAME "_" SUFFIX)

#define INTEGER_COMPARISONS(SUFFIX, T)                                                           \
  INTEGER_PAIR("F", SUFFIX, T, ((void)a, (void)b, false)), INTEGER_PAIR("LT", SUFFIX, T, a < b), \
      INTEGER_PAIR("EQ", SUFFIX, T, a == b), INTEGER_PAIR("LE", SUFFIX, T, a <= b),              \
      INTEGER_PAIR("GT", SUFFIX, T, a > b), INTEGER_PAIR("NE", SUFFIX, T, a != b),               \
      INTEGER_PAIR("GE", SUFFIX, T, a >= b),                                                     \
      INTEGER_PAIR("T", SUFFIX, T, ((void)a, (void)b, true))

// neg and abs apply to the value whose class is asked.
constexpr Entry kFloats[] = {
    FLOAT_COMPARISONS("F32", f32),
    FLOAT_COMPARISONS("F64", f64),
    FLOAT_COMPARISONS("F16", Half),
    vector_compare<[](Bits32 a, u32 b) {
      return (class_bit(std::bit_cast<f32>(a.value)) & b) != 0;
    }>("V_CMP_CLASS_F32"),
    vector_compare_exec<[](Bits32 a, u32 b) {
      return (class_bit(std::bit_cast<f32>(a.value)) & b) != 0;
    }>("V_CMPX_CLASS_F32"),
    vector_compare<[](f64 a, u32 b) { return (class_bit(a) & b) != 0; }>("V_CMP_CLASS_F64"),
    vector_compare_exec<[](f64 a, u32 b) { return (class_bit(a) & b) != 0; }>("V_CMPX_CLASS_F64"),
    vector_compare<[](HalfBits a, u16 b) { return (class_bit_half(a.value) & b) != 0; }>(
        "V_CMP_CLASS_F16"),
    vector_compare_exec<[](HalfBits a, u16 b) { return (class_bit_half(a.value) & b) != 0; }>(
        "V_CMPX_CLASS_F16"),
};

constexpr Entry kIntegers[] = {
    INTEGER_COMPARISONS("I32", i32), INTEGER_COMPARISONS("U32", u32),
    INTEGER_COMPARISONS("I64", i64), INTEGER_COMPARISONS("U64", u64),
    INTEGER_COMPARISONS("I16", i16), INTEGER_COMPARISONS("U16", u16),
};

}  // namespace

HandlerTable vector_compare_floats_table() { return kFloats; }
HandlerTable vector_compare_integers_table() { return kIntegers; }

}  // namespace doorbell::emu::amdgpu
