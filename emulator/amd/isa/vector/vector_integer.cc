// 32-bit and 64-bit integers of the vector ALU.
// [RDNA3, RDNA4 and CDNA3 ISA documents, chapter "Instructions"]
#include <algorithm>
#include <bit>

#include "emulator/amd/isa/number/integer_math.h"
#include "emulator/amd/isa/tables.h"
#include "emulator/amd/isa/vector/vector_op.h"

namespace doorbell::emu::amdgpu {

namespace {

constexpr Entry kArithmetic[] = {
    vector_clamped<[](u32 a, u32 b) { return a + b; },
                   [](u32 a, u32 b) { return hold_u32(i64{a} + b); }>("V_ADD_NC_U32"),
    vector_clamped<[](u32 a, u32 b) { return a - b; },
                   [](u32 a, u32 b) { return hold_u32(i64{a} - b); }>("V_SUB_NC_U32"),
    vector_clamped<[](u32 a, u32 b) { return b - a; },
                   [](u32 a, u32 b) { return hold_u32(i64{b} - a); }>("V_SUBREV_NC_U32"),
    vector_clamped<[](u32 a, u32 b) { return a + b; },
                   [](u32 a, u32 b) { return hold_i32(i64{as_signed(a)} + as_signed(b)); }>(
        "V_ADD_NC_I32"),
    vector_clamped<[](u32 a, u32 b) { return a - b; },
                   [](u32 a, u32 b) { return hold_i32(i64{as_signed(a)} - as_signed(b)); }>(
        "V_SUB_NC_I32"),
    vector<[](u32 a, u32 b) { return a * b; }>("V_MUL_LO_U32"),
    vector<[](u32 a, u32 b) { return a * b; }>("V_MUL_LO_I32"),
    vector<[](u32 a, u32 b) { return static_cast<u32>((u64{a} * b) >> 32); }>("V_MUL_HI_U32"),
    vector<[](i32 a, i32 b) { return static_cast<u32>((i64{a} * b) >> 32); }>("V_MUL_HI_I32"),
    vector<[](u32 a, u32 b) { return (a & 0xffffff) * (b & 0xffffff); }>("V_MUL_U32_U24"),
    vector<[](u32 a, u32 b) {
      return static_cast<u32>((u64{a & 0xffffff} * (b & 0xffffff)) >> 32);
    }>("V_MUL_HI_U32_U24"),
    vector<[](u32 a, u32 b) {
      return static_cast<u32>(signed_24(a)) * static_cast<u32>(signed_24(b));
    }>("V_MUL_I32_I24"),
    vector<[](u32 a, u32 b) { return static_cast<u32>((i64{signed_24(a)} * signed_24(b)) >> 32); }>(
        "V_MUL_HI_I32_I24"),
    vector_clamped<[](u32 a, u32 b, u32 c) { return (a & 0xffffff) * (b & 0xffffff) + c; },
                   [](u32 a, u32 b, u32 c) {
                     return hold_u32(static_cast<i64>(u64{a & 0xffffff} * (b & 0xffffff) + c));
                   }>("V_MAD_U32_U24"),
    vector_clamped<[](u32 a, u32 b, u32 c) {
      return static_cast<u32>(signed_24(a)) * static_cast<u32>(signed_24(b)) + c;
    },
                   [](u32 a, u32 b, u32 c) {
                     return hold_i32(i64{signed_24(a)} * signed_24(b) + as_signed(c));
                   }>("V_MAD_I32_I24"),
    vector<[](u32 a, u32 b, u32 c) { return a + b + c; }>("V_ADD3_U32"),
    vector<[](u32 a, u32 b, u32 c) { return (a << (b & 31)) + c; }>("V_LSHL_ADD_U32"),
    vector<[](u32 a, u32 b, u32 c) { return (a + b) << (c & 31); }>("V_ADD_LSHL_U32"),
    vector<[](u32 a, u32 b, u32 c) { return (a ^ b) + c; }>("V_XAD_U32"),
    vector<[](u64 a, u32 b, u64 c) { return (a << (b & 7)) + c; }>("V_LSHL_ADD_U64"),
};

constexpr Entry kSelection[] = {
    vector<[](i32 a, i32 b) { return std::min(a, b); }>("V_MIN_I32"),
    vector<[](u32 a, u32 b) { return std::min(a, b); }>("V_MIN_U32"),
    vector<[](i32 a, i32 b) { return std::max(a, b); }>("V_MAX_I32"),
    vector<[](u32 a, u32 b) { return std::max(a, b); }>("V_MAX_U32"),
    vector<[](i32 a, i32 b, i32 c) { return std::min(std::min(a, b), c); }>("V_MIN3_I32"),
    vector<[](u32 a, u32 b, u32 c) { return std::min(std::min(a, b), c); }>("V_MIN3_U32"),
    vector<[](i32 a, i32 b, i32 c) { return std::max(std::max(a, b), c); }>("V_MAX3_I32"),
    vector<[](u32 a, u32 b, u32 c) { return std::max(std::max(a, b), c); }>("V_MAX3_U32"),
    vector<[](i32 a, i32 b, i32 c) { return middle(a, b, c); }>("V_MED3_I32"),
    vector<[](u32 a, u32 b, u32 c) { return middle(a, b, c); }>("V_MED3_U32"),
    vector<[](i32 a, i32 b, i32 c) { return std::max(std::min(a, b), c); }>("V_MINMAX_I32"),
    vector<[](u32 a, u32 b, u32 c) { return std::max(std::min(a, b), c); }>("V_MINMAX_U32"),
    vector<[](i32 a, i32 b, i32 c) { return std::min(std::max(a, b), c); }>("V_MAXMIN_I32"),
    vector<[](u32 a, u32 b, u32 c) { return std::min(std::max(a, b), c); }>("V_MAXMIN_U32"),
    vector<[](Bits32 a, Bits32 b, bool c) { return c ? b : a; }>("V_CNDMASK_B32", kVccIn),
    vector<[](u32 a) { return a; }>("V_MOV_B32"),
    vector<[](u64 a) { return a; }>("V_MOV_B64"),
};

constexpr Entry kBits[] = {
    vector<[](u32 a, u32 b) { return a & b; }>("V_AND_B32"),
    vector<[](u32 a, u32 b) { return a | b; }>("V_OR_B32"),
    vector<[](u32 a, u32 b) { return a ^ b; }>("V_XOR_B32"),
    vector<[](u32 a, u32 b) { return ~(a ^ b); }>("V_XNOR_B32"),
    vector<[](u32 a) { return ~a; }>("V_NOT_B32"),
    vector<[](u32 a, u32 b, u32 c) { return (a & b) | c; }>("V_AND_OR_B32"),
    vector<[](u32 a, u32 b, u32 c) { return a | b | c; }>("V_OR3_B32"),
    vector<[](u32 a, u32 b, u32 c) { return a ^ b ^ c; }>("V_XOR3_B32"),
    vector<[](u32 a, u32 b, u32 c) { return a << (b & 31) | c; }>("V_LSHL_OR_B32"),
    vector<[](u32 a, u32 b) { return b << (a & 31); }>("V_LSHLREV_B32"),
    vector<[](u32 a, u32 b) { return (b >> (a & 31)); }>("V_LSHRREV_B32"),
    vector<[](u32 a, i32 b) { return (b >> (a & 31)); }>("V_ASHRREV_I32"),
    vector<[](u32 a, u64 b) { return b << (a & 63); }>("V_LSHLREV_B64"),
    vector<[](u32 a, u64 b) { return (b >> (a & 63)); }>("V_LSHRREV_B64"),
    vector<[](u32 a, i64 b) { return (b >> (a & 63)); }>("V_ASHRREV_I64"),
    vector<[](u32 a, u32 b, u32 c) { return (a >> (b & 31)) & ((1u << (c & 31)) - 1); }>(
        "V_BFE_U32"),
    vector<[](i32 a, u32 b, u32 c) { return extract_signed(a, b & 31, c & 31); }>("V_BFE_I32"),
    vector<[](u32 a, u32 b, u32 c) { return (a & b) | (~a & c); }>("V_BFI_B32"),
    vector<[](u32 a, u32 b) { return ((1u << (a & 31)) - 1) << (b & 31); }>("V_BFM_B32"),
    vector<[](u32 a, u32 b, u32 c) { return static_cast<u32>((u64{a} << 32 | b) >> (c & 31)); }>(
        "V_ALIGNBIT_B32"),
    vector<[](u32 a, u32 b, u32 c) {
      return static_cast<u32>((u64{a} << 32 | b) >> (8 * (c & 3)));
    }>("V_ALIGNBYTE_B32"),
    vector<[](u32 a) { return reverse_bits(a); }>("V_BFREV_B32"),
    vector<[](u32 a, u32 b) { return static_cast<u32>(std::popcount(a)) + b; }>("V_BCNT_U32_B32"),
    vector<[](u32 a) { return a == 0 ? -1 : std::countl_zero(a); }>("V_CLZ_I32_U32"),
    vector<[](u32 a) { return a == 0 ? -1 : std::countr_zero(a); }>("V_CTZ_I32_B32"),
    vector<[](i32 a) {
      return a == 0 || a == -1 ? -1 : std::countl_zero(static_cast<u32>(a < 0 ? ~a : a));
    }>("V_CLS_I32"),
    vector<[](u32 a, u32 b, u32 c) { return permute_bytes(a, b, c); }>("V_PERM_B32"),
};

// Sums of absolute differences.
constexpr Entry kDifferences[] = {
    vector_clamped<[](u32 a, u32 b, u32 c) { return sad_bytes(a, b) + c; },
                   [](u32 a, u32 b, u32 c) { return hold_u32(i64{sad_bytes(a, b)} + c); }>(
        "V_SAD_U8"),
    vector_clamped<[](u32 a, u32 b, u32 c) { return (sad_bytes(a, b) << 16) + c; },
                   [](u32 a, u32 b, u32 c) { return hold_u32((i64{sad_bytes(a, b)} << 16) + c); }>(
        "V_SAD_HI_U8"),
    vector_clamped<[](u32 a, u32 b, u32 c) { return sad_halves(a, b) + c; },
                   [](u32 a, u32 b, u32 c) { return hold_u32(i64{sad_halves(a, b)} + c); }>(
        "V_SAD_U16"),
    vector_clamped<[](u32 a, u32 b, u32 c) { return distance(a, b) + c; },
                   [](u32 a, u32 b, u32 c) { return hold_u32(i64{distance(a, b)} + c); }>(
        "V_SAD_U32"),
    vector_clamped<[](u32 a, u32 b, u32 c) { return masked_sad(a, b) + c; },
                   [](u32 a, u32 b, u32 c) { return hold_u32(i64{masked_sad(a, b)} + c); }>(
        "V_MSAD_U8"),
    vector<[](u64 a, u32 b, u64 c) { return four_sads<false>(a, b, c); }>("V_QSAD_PK_U16_U8"),
    vector<[](u64 a, u32 b, u64 c) { return four_sads<true>(a, b, c); }>("V_MQSAD_PK_U16_U8"),
    vector<[](u32 a, u32 b, u32 c) { return average_bytes(a, b, c); }>("V_LERP_U8"),
};

constexpr Entry kCarries[] = {
    vector_with_bit<[](u32 a, u32 b) {
      const u32 r = a + b;
      return WithBit<u32>{r, r < a};
    }>("V_ADD_CO_U32"),
    vector_with_bit<[](u32 a, u32 b) { return WithBit<u32>{a - b, a < b}; }>("V_SUB_CO_U32"),
    vector_with_bit<[](u32 a, u32 b) { return WithBit<u32>{b - a, b < a}; }>("V_SUBREV_CO_U32"),
    vector_with_bit<[](u32 a, u32 b, bool c) {
      const u64 r = u64{a} + b + c;
      return WithBit<u32>{static_cast<u32>(r), (r >> 32) != 0};
    }>("V_ADD_CO_CI_U32", kVccIn),
    vector_with_bit<[](u32 a, u32 b, bool c) {
      const u64 r = u64{a} - b - c;
      return WithBit<u32>{static_cast<u32>(r), (r >> 32) != 0};
    }>("V_SUB_CO_CI_U32", kVccIn),
    vector_with_bit<[](u32 a, u32 b, bool c) {
      const u64 r = u64{b} - a - c;
      return WithBit<u32>{static_cast<u32>(r), (r >> 32) != 0};
    }>("V_SUBREV_CO_CI_U32", kVccIn),
    vector_with_bit<[](u32 a, u32 b, u64 c) {
      const u64 r = u64{a} * b + c;
      return WithBit<u64>{r, r < c};
    }>("V_MAD_U64_U32"),
    vector_with_bit<[](i32 a, i32 b, i64 c) {
      i64 r;
      const bool over = __builtin_add_overflow(i64{a} * b, c, &r);
      return WithBit<i64>{r, over};
    }>("V_MAD_I64_I32"),
};

}  // namespace

HandlerTable vector_u32_arithmetic_table() { return kArithmetic; }
HandlerTable vector_u32_selection_table() { return kSelection; }
HandlerTable vector_u32_bits_table() { return kBits; }
HandlerTable vector_u32_differences_table() { return kDifferences; }
HandlerTable vector_carries_table() { return kCarries; }

}  // namespace doorbell::emu::amdgpu
