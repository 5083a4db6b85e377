// Scalar arithmetic: SOP1, SOP2, SOPC and SOPK without control flow.
// [RDNA3, RDNA4 and CDNA3 ISA documents, chapter "Instructions", SOP formats]
#include <bit>
#include <cmath>

#include "emulator/amd/isa/scalar/scalar_op.h"
#include "emulator/amd/isa/tables.h"

namespace doorbell::emu::amdgpu {

namespace {

u32 low_bits_32(u32 count) { return count >= 32 ? ~0u : (1u << count) - 1; }
u64 low_bits_64(u32 count) { return count >= 64 ? ~u64{0} : (u64{1} << count) - 1; }

// Field extraction: offset in the low bits of the second operand, width in bits 22 to 16.
u32 extract_u32(u32 a, u32 b) { return a >> (b & 31) & low_bits_32(b >> 16 & 127); }
u64 extract_u64(u64 a, u32 b) { return a >> (b & 63) & low_bits_64(b >> 16 & 127); }
i32 extract_i32(i32 a, u32 b) {
  const u32 width = b >> 16 & 127;
  if (width == 0) return 0;
  const i32 shifted = a >> (b & 31);
  return width >= 32 ? shifted
                     : static_cast<i32>(static_cast<u32>(shifted) << (32 - width)) >> (32 - width);
}
i64 extract_i64(i64 a, u32 b) {
  const u32 width = b >> 16 & 127;
  if (width == 0) return 0;
  const i64 shifted = a >> (b & 63);
  return width >= 64 ? shifted
                     : static_cast<i64>(static_cast<u64>(shifted) << (64 - width)) >> (64 - width);
}

template <u32 shift>
u32 shift_add(bool& scc, u32 a, u32 b) {
  const u64 sum = (u64{a} << shift) + b;
  scc = sum >> 32 != 0;
  return static_cast<u32>(sum);
}

// Two bits for one, four equal ones, or one for four.
u64 replicate(u32 value) {
  u64 result = 0;
  for (u32 i = 0; i < 32; ++i) result |= u64{value >> i & 1 ? 3u : 0u} << (2 * i);
  return result;
}
u64 quad_any(u64 value) {
  u64 result = 0;
  for (u32 i = 0; i < 16; ++i) result |= u64{(value >> (4 * i) & 15) != 0} << i;
  return result;
}
u64 whole_quads(u64 value) {
  u64 result = 0;
  for (u32 i = 0; i < 64; i += 4) result |= (value >> i & 15) != 0 ? u64{15} << i : 0;
  return result;
}
u64 reverse(u64 value) {
  u64 result = 0;
  for (u32 i = 0; i < 64; ++i) result |= (value >> i & 1) << (63 - i);
  return result;
}
// Of the first bit that differs from the sign, counted from the top; -1 when there is none.
template <class T>
i32 sign_run(T value) {
  const T flipped = value < 0 ? ~value : value;
  if (flipped == 0) return -1;
  return std::countl_zero(static_cast<std::make_unsigned_t<T>>(flipped));
}

// Both steps wrap, so that -2^31 and a difference beyond 31 bits give the 32-bit result.
u32 absolute_difference(u32 a, u32 b) {
  const u32 difference = a - b;
  return difference >> 31 ? 0u - difference : difference;
}

// clang-format off: one line each
constexpr Entry kArithmetic[] = {
    scalar<[](bool& scc, u32 a, u32 b) { u32 r = a + b; scc = r < a; return r; }>("S_ADD_U32"),
    scalar<[](bool& scc, u32 a, u32 b) { scc = a < b; return a - b; }>("S_SUB_U32"),
    scalar<[](bool& scc, i32 a, i32 b) {
      i32 r; scc = __builtin_add_overflow(a, b, &r); return r; }>("S_ADD_I32"),
    scalar<[](bool& scc, i32 a, i32 b) {
      i32 r; scc = __builtin_sub_overflow(a, b, &r); return r; }>("S_SUB_I32"),
    scalar<[](bool& scc, u32 a, u32 b) {
      u64 r = u64{a} + b + (scc ? 1 : 0); scc = (r >> 32) != 0; return static_cast<u32>(r);
    }>("S_ADDC_U32"),
    scalar<[](bool& scc, u32 a, u32 b) {
      u64 r = u64{a} - b - (scc ? 1 : 0); scc = (r >> 32) != 0; return static_cast<u32>(r);
    }>("S_SUBB_U32"),
    scalar<[](u64 a, u64 b) { return a + b; }>("S_ADD_U64"),
    scalar<[](u64 a, u64 b) { return a - b; }>("S_SUB_U64"),
    scalar<[](u64 a, u64 b) { return a * b; }>("S_MUL_U64"),
    scalar_bits<[](u32 a, u32 b) { return absolute_difference(a, b); }>("S_ABSDIFF_I32"),
    scalar_bits<[](i32 a) { return a < 0 ? 0u - static_cast<u32>(a) : static_cast<u32>(a); }>(
        "S_ABS_I32"),
    scalar<[](bool& scc, i32 a, i32 b) { scc = a < b; return a < b ? a : b; }>("S_MIN_I32"),
    scalar<[](bool& scc, u32 a, u32 b) { scc = a < b; return a < b ? a : b; }>("S_MIN_U32"),
    scalar<[](bool& scc, i32 a, i32 b) { scc = a >= b; return a >= b ? a : b; }>("S_MAX_I32"),
    scalar<[](bool& scc, u32 a, u32 b) { scc = a >= b; return a >= b ? a : b; }>("S_MAX_U32"),
    scalar<[](u32 a, u32 b) { return a * b; }>("S_MUL_I32"),
    scalar<[](u32 a, u32 b) { return static_cast<u32>((u64{a} * b >> 32)); }>("S_MUL_HI_U32"),
    scalar<[](i32 a, i32 b) { return static_cast<u32>((i64{a} * b >> 32)); }>("S_MUL_HI_I32"),
    scalar<[](bool& scc, u32 a, u32 b) { return shift_add<1>(scc, a, b); }>("S_LSHL1_ADD_U32"),
    scalar<[](bool& scc, u32 a, u32 b) { return shift_add<2>(scc, a, b); }>("S_LSHL2_ADD_U32"),
    scalar<[](bool& scc, u32 a, u32 b) { return shift_add<3>(scc, a, b); }>("S_LSHL3_ADD_U32"),
    scalar<[](bool& scc, u32 a, u32 b) { return shift_add<4>(scc, a, b); }>("S_LSHL4_ADD_U32"),
};

constexpr Entry kBits[] = {
    scalar_bits<[](u32 a, u32 b) { return a & b; }>("S_AND_B32"),
    scalar_bits<[](u64 a, u64 b) { return a & b; }>("S_AND_B64"),
    scalar_bits<[](u32 a, u32 b) { return a | b; }>("S_OR_B32"),
    scalar_bits<[](u64 a, u64 b) { return a | b; }>("S_OR_B64"),
    scalar_bits<[](u32 a, u32 b) { return a ^ b; }>("S_XOR_B32"),
    scalar_bits<[](u64 a, u64 b) { return a ^ b; }>("S_XOR_B64"),
    scalar_bits<[](u32 a, u32 b) { return a & ~b; }>("S_ANDN2_B32"),
    scalar_bits<[](u64 a, u64 b) { return a & ~b; }>("S_ANDN2_B64"),
    scalar_bits<[](u32 a, u32 b) { return a | ~b; }>("S_ORN2_B32"),
    scalar_bits<[](u64 a, u64 b) { return a | ~b; }>("S_ORN2_B64"),
    scalar_bits<[](u32 a, u32 b) { return ~(a & b); }>("S_NAND_B32"),
    scalar_bits<[](u64 a, u64 b) { return ~(a & b); }>("S_NAND_B64"),
    scalar_bits<[](u32 a, u32 b) { return ~(a | b); }>("S_NOR_B32"),
    scalar_bits<[](u64 a, u64 b) { return ~(a | b); }>("S_NOR_B64"),
    scalar_bits<[](u32 a, u32 b) { return ~(a ^ b); }>("S_XNOR_B32"),
    scalar_bits<[](u64 a, u64 b) { return ~(a ^ b); }>("S_XNOR_B64"),
    scalar_bits<[](u32 a) { return ~a; }>("S_NOT_B32"),
    scalar_bits<[](u64 a) { return ~a; }>("S_NOT_B64"),
    scalar_bits<[](u32 a, u32 b) { return a << (b & 31); }>("S_LSHL_B32"),
    scalar_bits<[](u64 a, u32 b) { return a << (b & 63); }>("S_LSHL_B64"),
    scalar_bits<[](u32 a, u32 b) { return (a >> (b & 31)); }>("S_LSHR_B32"),
    scalar_bits<[](u64 a, u32 b) { return (a >> (b & 63)); }>("S_LSHR_B64"),
    scalar_bits<[](i32 a, u32 b) { return (a >> (b & 31)); }>("S_ASHR_I32"),
    scalar_bits<[](i64 a, u32 b) { return (a >> (b & 63)); }>("S_ASHR_I64"),
    scalar_bits<[](u32 a, u32 b) { return extract_u32(a, b); }>("S_BFE_U32"),
    scalar_bits<[](i32 a, u32 b) { return extract_i32(a, b); }>("S_BFE_I32"),
    scalar_bits<[](u64 a, u32 b) { return extract_u64(a, b); }>("S_BFE_U64"),
    scalar_bits<[](i64 a, u32 b) { return extract_i64(a, b); }>("S_BFE_I64"),
    scalar<[](u32 a, u32 b) { return ((1u << (a & 31)) - 1) << (b & 31); }>("S_BFM_B32"),
    scalar<[](u32 a, u32 b) { return ((u64{1} << (a & 63)) - 1) << (b & 63); }>("S_BFM_B64"),
    scalar<[](u32 a) { return static_cast<u32>((reverse(a) >> 32)); }>("S_BREV_B32"),
    scalar<[](u64 a) { return reverse(a); }>("S_BREV_B64"),
    scalar_bits<[](u32 a) { return 32 - std::popcount(a); }>("S_BCNT0_I32_B32"),
    scalar_bits<[](u64 a) { return 64 - std::popcount(a); }>("S_BCNT0_I32_B64"),
    scalar_bits<[](u32 a) { return std::popcount(a); }>("S_BCNT1_I32_B32"),
    scalar_bits<[](u64 a) { return std::popcount(a); }>("S_BCNT1_I32_B64"),
    scalar<[](u32 a) { return ~a == 0 ? -1 : std::countr_one(a); }>("S_FF0_I32_B32"),
    scalar<[](u64 a) { return ~a == 0 ? -1 : std::countr_one(a); }>("S_FF0_I32_B64"),
    scalar<[](u32 a) { return a == 0 ? -1 : std::countr_zero(a); }>("S_FF1_I32_B32"),
    scalar<[](u64 a) { return a == 0 ? -1 : std::countr_zero(a); }>("S_FF1_I32_B64"),
    scalar<[](u32 a) { return a == 0 ? -1 : std::countl_zero(a); }>("S_FLBIT_I32_B32"),
    scalar<[](u64 a) { return a == 0 ? -1 : std::countl_zero(a); }>("S_FLBIT_I32_B64"),
    scalar<[](i32 a) { return sign_run(a); }>("S_FLBIT_I32"),
    scalar<[](i64 a) { return sign_run(a); }>("S_FLBIT_I32_I64"),
    scalar<[](u32 a, u32 old) { return old & ~(1u << (a & 31)); }>("S_BITSET0_B32", kReadsDst),
    scalar<[](u32 a, u64 old) { return old & ~(u64{1} << (a & 63)); }>("S_BITSET0_B64", kReadsDst),
    scalar<[](u32 a, u32 old) { return old | 1u << (a & 31); }>("S_BITSET1_B32", kReadsDst),
    scalar<[](u32 a, u64 old) { return old | u64{1} << (a & 63); }>("S_BITSET1_B64", kReadsDst),
    scalar<[](u32 a) { return replicate(a); }>("S_BITREPLICATE_B64_B32"),
    scalar_bits<[](u32 a) { return static_cast<u32>(quad_any(a)); }>("S_QUADMASK_B32"),
    scalar_bits<[](u64 a) { return quad_any(a); }>("S_QUADMASK_B64"),
    scalar_bits<[](u32 a) { return static_cast<u32>(whole_quads(a)); }>("S_WQM_B32"),
    scalar_bits<[](u64 a) { return whole_quads(a); }>("S_WQM_B64"),
};

constexpr Entry kMoves[] = {
    scalar<[](u32 a) { return a; }>("S_MOV_B32"),
    scalar<[](u64 a) { return a; }>("S_MOV_B64"),
    scalar<[](bool& scc, u32 a, u32 old) { return scc ? a : old; }>("S_CMOV_B32", kReadsDst),
    scalar<[](bool& scc, u64 a, u64 old) { return scc ? a : old; }>("S_CMOV_B64", kReadsDst),
    scalar<[](bool& scc, u32 a, u32 b) { return scc ? a : b; }>("S_CSELECT_B32"),
    scalar<[](bool& scc, u64 a, u64 b) { return scc ? a : b; }>("S_CSELECT_B64"),
    scalar<[](u32 a) { return static_cast<i32>(static_cast<i8>(a)); }>("S_SEXT_I32_I8"),
    scalar<[](u32 a) { return static_cast<i32>(static_cast<i16>(a)); }>("S_SEXT_I32_I16"),
    scalar<[](u32 a, u32 b) { return (a & 0xffff) | b << 16; }>("S_PACK_LL_B32_B16"),
    scalar<[](u32 a, u32 b) { return (a & 0xffff) | (b & 0xffff0000); }>("S_PACK_LH_B32_B16"),
    scalar<[](u32 a, u32 b) { return ((a >> 16) | (b & 0xffff0000)); }>("S_PACK_HH_B32_B16"),
    scalar<[](u32 a, u32 b) { return ((a >> 16) | b << 16); }>("S_PACK_HL_B32_B16"),
};

constexpr Entry kCompares[] = {
    scalar_compare<[](u32 a, u32 b) { return a == b; }>("S_CMP_EQ_U32"),
    scalar_compare<[](u32 a, u32 b) { return a != b; }>("S_CMP_LG_U32"),
    scalar_compare<[](u32 a, u32 b) { return (a > b); }>("S_CMP_GT_U32"),
    scalar_compare<[](u32 a, u32 b) { return a >= b; }>("S_CMP_GE_U32"),
    scalar_compare<[](u32 a, u32 b) { return a < b; }>("S_CMP_LT_U32"),
    scalar_compare<[](u32 a, u32 b) { return a <= b; }>("S_CMP_LE_U32"),
    scalar_compare<[](i32 a, i32 b) { return a == b; }>("S_CMP_EQ_I32"),
    scalar_compare<[](i32 a, i32 b) { return a != b; }>("S_CMP_LG_I32"),
    scalar_compare<[](i32 a, i32 b) { return (a > b); }>("S_CMP_GT_I32"),
    scalar_compare<[](i32 a, i32 b) { return a >= b; }>("S_CMP_GE_I32"),
    scalar_compare<[](i32 a, i32 b) { return a < b; }>("S_CMP_LT_I32"),
    scalar_compare<[](i32 a, i32 b) { return a <= b; }>("S_CMP_LE_I32"),
    scalar_compare<[](u64 a, u64 b) { return a == b; }>("S_CMP_EQ_U64"),
    scalar_compare<[](u64 a, u64 b) { return a != b; }>("S_CMP_LG_U64"),
    scalar_compare<[](u32 a, u32 b) { return (a >> (b & 31) & 1) == 0; }>("S_BITCMP0_B32"),
    scalar_compare<[](u32 a, u32 b) { return (a >> (b & 31) & 1) == 1; }>("S_BITCMP1_B32"),
    scalar_compare<[](u64 a, u32 b) { return (a >> (b & 63) & 1) == 0; }>("S_BITCMP0_B64"),
    scalar_compare<[](u64 a, u32 b) { return (a >> (b & 63) & 1) == 1; }>("S_BITCMP1_B64"),
};

// clang-format on

// SOPK: the constant is in the word. The unsigned comparisons take it without a sign.
template <auto F, bool is_signed = true>
Flow compare_constant(Wave& wave, const Operation& op) {
  const u32 a = read_32(wave, op.src[0]);
  const u32 k = is_signed ? static_cast<u32>(op.immediate) : static_cast<u16>(op.immediate);
  wave.scc = F(a, k) ? 1 : 0;
  return Flow::Next;
}
template <auto F, bool is_signed = true>
constexpr Entry constant_compare(std::string_view name) {
  return {name, {Type::None, {Type::B32}, 0}, &compare_constant<F, is_signed>};
}
Flow move_constant(Wave& wave, const Operation& op) {
  wave.s[op.dst] = static_cast<u32>(op.immediate);
  return Flow::Next;
}
Flow move_constant_if(Wave& wave, const Operation& op) {
  if (wave.scc) wave.s[op.dst] = static_cast<u32>(op.immediate);
  return Flow::Next;
}
Flow add_constant(Wave& wave, const Operation& op) {
  i32 sum;
  wave.scc = __builtin_add_overflow(static_cast<i32>(read_32(wave, op.src[0])),
                                    static_cast<i32>(op.immediate), &sum);
  wave.s[op.dst] = static_cast<u32>(sum);
  return Flow::Next;
}
Flow multiply_constant(Wave& wave, const Operation& op) {
  wave.s[op.dst] = read_32(wave, op.src[0]) * static_cast<u32>(op.immediate);
  return Flow::Next;
}
constexpr i32 as_signed(u32 value) { return static_cast<i32>(value); }

constexpr Entry kConstants[] = {
    {"S_MOVK_I32", {Type::B32, {}, 0}, &move_constant},
    {"S_CMOVK_I32", {Type::B32, {}, 0}, &move_constant_if},
    {"S_ADDK_I32", {Type::B32, {Type::B32}, 0}, &add_constant},
    {"S_MULK_I32", {Type::B32, {Type::B32}, 0}, &multiply_constant},
    constant_compare<[](u32 a, u32 k) { return a == k; }>("S_CMPK_EQ_I32"),
    constant_compare<[](u32 a, u32 k) { return a != k; }>("S_CMPK_LG_I32"),
    constant_compare<[](u32 a, u32 k) { return (as_signed(a) > as_signed(k)); }>("S_CMPK_GT_I32"),
    constant_compare<[](u32 a, u32 k) { return as_signed(a) >= as_signed(k); }>("S_CMPK_GE_I32"),
    constant_compare<[](u32 a, u32 k) { return as_signed(a) < as_signed(k); }>("S_CMPK_LT_I32"),
    constant_compare<[](u32 a, u32 k) { return as_signed(a) <= as_signed(k); }>("S_CMPK_LE_I32"),
    constant_compare<[](u32 a, u32 k) { return a == k; }, false>("S_CMPK_EQ_U32"),
    constant_compare<[](u32 a, u32 k) { return a != k; }, false>("S_CMPK_LG_U32"),
    constant_compare<[](u32 a, u32 k) { return (a > k); }, false>("S_CMPK_GT_U32"),
    constant_compare<[](u32 a, u32 k) { return a >= k; }, false>("S_CMPK_GE_U32"),
    constant_compare<[](u32 a, u32 k) { return a < k; }, false>("S_CMPK_LT_U32"),
    constant_compare<[](u32 a, u32 k) { return a <= k; }, false>("S_CMPK_LE_U32"),
};

}  // namespace

HandlerTable scalar_arithmetic_table() { return kArithmetic; }
HandlerTable scalar_bits_table() { return kBits; }
HandlerTable scalar_moves_table() { return kMoves; }
HandlerTable scalar_compare_table() { return kCompares; }
HandlerTable scalar_constant_table() { return kConstants; }

}  // namespace doorbell::emu::amdgpu
