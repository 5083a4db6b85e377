// 16-bit integers of the vector ALU, and packing of halves into registers.
// [RDNA3, RDNA4 and CDNA3 ISA documents, chapter "Instructions"]
#include <algorithm>

#include "emulator/amd/isa/number/integer_math.h"
#include "emulator/amd/isa/tables.h"
#include "emulator/amd/isa/vector/vector_op.h"

namespace doorbell::emu::amdgpu {

namespace {

u16 low_half(u32 value) { return static_cast<u16>(value); }
i16 low_signed(i32 value) { return static_cast<i16>(value); }
u32 saturated_byte(u32 value) {
  return static_cast<u32>(std::clamp<i32>(static_cast<i16>(value), 0, 255));
}

constexpr Entry kTable[] = {
    vector_clamped<[](u16 a, u16 b) { return low_half(u32{a} + b); },
                   [](u16 a, u16 b) { return hold_u16(i64{a} + b); }>("V_ADD_NC_U16"),
    vector_clamped<[](u16 a, u16 b) { return low_half(u32{a} - b); },
                   [](u16 a, u16 b) { return hold_u16(i64{a} - b); }>("V_SUB_NC_U16"),
    vector_clamped<[](u16 a, u16 b) { return low_half(u32{b} - a); },
                   [](u16 a, u16 b) { return hold_u16(i64{b} - a); }>("V_SUBREV_NC_U16"),
    vector_clamped<[](i16 a, i16 b) { return low_signed(a + b); },
                   [](i16 a, i16 b) { return hold_i16(i64{a} + b); }>("V_ADD_NC_I16"),
    vector_clamped<[](i16 a, i16 b) { return low_signed(a - b); },
                   [](i16 a, i16 b) { return hold_i16(i64{a} - b); }>("V_SUB_NC_I16"),
    vector<[](u16 a, u16 b) { return low_half(u32{a} * b); }>("V_MUL_LO_U16"),
    vector_clamped<[](u16 a, u16 b, u16 c) { return low_half(u32{a} * b + c); },
                   [](u16 a, u16 b, u16 c) { return hold_u16(i64{a} * b + c); }>("V_MAD_U16"),
    vector_clamped<[](i16 a, i16 b, i16 c) { return low_signed(a * b + c); },
                   [](i16 a, i16 b, i16 c) { return hold_i16(i64{a} * b + c); }>("V_MAD_I16"),
    vector_clamped<[](u16 a, u16 b, u16 c) { return low_half(u32{a} * b + c); },
                   [](u16 a, u16 b, u16 c) { return hold_u16(i64{a} * b + c); }>(
        "V_MAD_LEGACY_U16"),
    vector_clamped<[](i16 a, i16 b, i16 c) { return low_signed(a * b + c); },
                   [](i16 a, i16 b, i16 c) { return hold_i16(i64{a} * b + c); }>(
        "V_MAD_LEGACY_I16"),
    vector_clamped<[](u16 a, u16 b, u32 c) { return u32{a} * b + c; },
                   [](u16 a, u16 b, u32 c) { return hold_u32(i64{a} * b + c); }>("V_MAD_U32_U16"),
    vector_clamped<[](i16 a, i16 b, u32 c) { return static_cast<u32>(a * b) + c; },
                   [](i16 a, i16 b, u32 c) { return hold_i32(i64{a} * b + as_signed(c)); }>(
        "V_MAD_I32_I16"),
    vector<[](u16 a, u16 b) { return std::min(a, b); }>("V_MIN_U16"),
    vector<[](u16 a, u16 b) { return std::max(a, b); }>("V_MAX_U16"),
    vector<[](i16 a, i16 b) { return std::min(a, b); }>("V_MIN_I16"),
    vector<[](i16 a, i16 b) { return std::max(a, b); }>("V_MAX_I16"),
    vector<[](u16 a, u16 b, u16 c) { return std::min(std::min(a, b), c); }>("V_MIN3_U16"),
    vector<[](u16 a, u16 b, u16 c) { return std::max(std::max(a, b), c); }>("V_MAX3_U16"),
    vector<[](i16 a, i16 b, i16 c) { return std::min(std::min(a, b), c); }>("V_MIN3_I16"),
    vector<[](i16 a, i16 b, i16 c) { return std::max(std::max(a, b), c); }>("V_MAX3_I16"),
    vector<[](u16 a, u16 b, u16 c) { return middle(a, b, c); }>("V_MED3_U16"),
    vector<[](i16 a, i16 b, i16 c) { return middle(a, b, c); }>("V_MED3_I16"),
    vector<[](u16 a, u16 b) { return low_half(u32{b} << (a & 15)); }>("V_LSHLREV_B16"),
    vector<[](u16 a, u16 b) { return low_half((u32{b} >> (a & 15))); }>("V_LSHRREV_B16"),
    vector<[](u16 a, i16 b) { return low_signed((b >> (a & 15))); }>("V_ASHRREV_I16"),
    vector<[](u16 a, u16 b) { return low_half(u32{a} & b); }>("V_AND_B16"),
    vector<[](u16 a, u16 b) { return low_half(u32{a} | b); }>("V_OR_B16"),
    vector<[](u16 a, u16 b) { return low_half(u32{a} ^ b); }>("V_XOR_B16"),
    vector<[](u16 a) { return low_half(~u32{a}); }>("V_NOT_B16"),
    vector<[](u16 a) { return a; }>("V_MOV_B16"),
    vector<[](HalfBits a, HalfBits b, bool c) { return c ? b : a; }>("V_CNDMASK_B16", kVccIn),
    vector<[](HalfBits a, HalfBits b) { return a.value | b.value << 16; }>("V_PACK_B32_F16"),
    vector<[](u32 a) { return low_half(saturated_byte(a) | saturated_byte((a >> 16)) << 8); }>(
        "V_SAT_PK_U8_I16"),
};

}  // namespace

HandlerTable vector_u16_table() { return kTable; }

}  // namespace doorbell::emu::amdgpu
