// VOP3P: two 16-bit operations in one instruction, two of 32-bit floats, and mixed precision. Dot
// products are in vector_dots.cc, matrix instructions in matrix.cc.
// [RDNA3, RDNA4 and CDNA3 ISA documents, chapter "Instructions", VOP3P]
#include <algorithm>

#include "emulator/amd/isa/number/float_math.h"
#include "emulator/amd/isa/number/integer_math.h"
#include "emulator/amd/isa/tables.h"
#include "emulator/amd/isa/vector/vector_op.h"

namespace doorbell::emu::amdgpu {

namespace {

using Halves = Pair<Half>;
using Floats = Pair<f32>;
using Shorts = Pair<i16>;
using Words = Pair<u16>;

HalfOfDouble fused(Half a, Half b, Half c) { return {f64{a.value} * b.value + c.value}; }
Half add(Half a, Half b) { return {a.value + b.value}; }
Half multiply(Half a, Half b) { return {a.value * b.value}; }
Half least(Half a, Half b) { return {minimum_number(a.value, b.value)}; }
Half most(Half a, Half b) { return {maximum_number(a.value, b.value)}; }
Half min_any(Half a, Half b) { return {minimum_any(a.value, b.value)}; }
Half max_any(Half a, Half b) { return {maximum_any(a.value, b.value)}; }
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
      return Halves{min_any(a.low, b.low), min_any(a.high, b.high)};
    }>("V_PK_MINIMUM_F16"),
    vector<[](Halves a, Halves b) {
      return Halves{max_any(a.low, b.low), max_any(a.high, b.high)};
    }>("V_PK_MAXIMUM_F16"),
    vector<[](Halves a, Halves b, Halves c) {
      return Halves{min_any(min_any(a.low, b.low), c.low),
                    min_any(min_any(a.high, b.high), c.high)};
    }>("V_PK_MINIMUM3_F16"),
    vector<[](Halves a, Halves b, Halves c) {
      return Halves{max_any(max_any(a.low, b.low), c.low),
                    max_any(max_any(a.high, b.high), c.high)};
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

}  // namespace

HandlerTable vector_packed_floats_table() { return kFloats; }
HandlerTable vector_packed_integers_table() { return kIntegers; }

}  // namespace doorbell::emu::amdgpu
