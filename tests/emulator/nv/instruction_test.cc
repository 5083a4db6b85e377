// Single instructions. Words and their text are nvdisasm's, of code that NVRTC 13 compiled; what
// they do is PTX's definition of the instruction, worked out by hand for these values.
#include <gtest/gtest.h>

#include <cstring>
#include <map>

#include "emulator/nv/isa/undefined_bits.h"
#include "emulator/nv/isa/warp.h"

namespace doorbell::emu::nvgpu {
namespace {

// One instruction of a warp whose registers hold the same in all lanes.
class OneInstruction {
 public:
  OneInstruction(u64 low, u64 high, u32 chip = 86) {
    const Words words{low, high};
    std::vector<u8> code(sizeof(Words));
    std::memcpy(code.data(), &words, sizeof(Words));
    program_ = decode(code, 0, chip);
    constants_ = read_constants(program_, {}, nullptr);
    warp_.constants = constants_.data();
    warp_.active = warp_.alive = kAllLanes;
    warp_.predicates[kTrue] = warp_.predicates[kUniformPredicates + kTrue] = kAllLanes;
  }
  OneInstruction& set(u32 row, u32 value) {
    warp_.rows[row].fill(value);
    return *this;
  }
  OneInstruction& set_predicate(u32 index, u32 lanes) {
    warp_.predicates[index] = lanes;
    return *this;
  }
  // Of lane 0.
  u32 run(u32 row) {
    run();
    return warp_.rows[row][0];
  }
  u32 undefined_bits(const UndefinedBits& of) {
    return undefined_result(warp_, program_.operations[0], 0, of);
  }
  Flow run_lanes(u32 lanes) {
    warp_.active = lanes;
    const Operation& op = program_.operations[0];
    return op.handler(warp_, op);
  }
  std::string text() const { return text_of(program_.operations[0]); }
  u32 run_predicate(u32 index) {
    run();
    return warp_.predicates[index];
  }
  Warp& run() {
    const Operation& op = program_.operations[0];
    EXPECT_EQ(op.handler(warp_, op), Flow::Next) << text_of(op) << ": " << warp_.fault.message;
    return warp_;
  }

 private:
  Program program_;
  std::vector<Row> constants_;
  Warp warp_;
};

u32 bits(f32 value) { return std::bit_cast<u32>(value); }

// IADD3 R14, R21, R16, R14
TEST(NvInstructions, Iadd3) {
  OneInstruction add(0x00000010150e7210, 0x000fc80007ffe00e);
  EXPECT_EQ(add.set(21, 0xffff'fff0).set(16, 0x20).set(14, 5).run(14), 0x15u);
}

// IADD3.X R3, RZ, R3, RZ, P0, !PT: the upper half of a sum of 64 bits.
TEST(NvInstructions, Iadd3TakesACarry) {
  OneInstruction add(0x00000003ff037210, 0x000fca00007fe4ff);
  Warp& warp = add.set(3, 7).set_predicate(0, 0x0000'ffff).run();
  EXPECT_EQ(warp.rows[3][0], 8u);
  EXPECT_EQ(warp.rows[3][31], 7u);
}

// UIADD3.X UR4, UP0, UP1, UR4, 0x2, URZ, UPT, UPT [sm_90]: both carries are one, and printed.
TEST(NvInstructions, Iadd3TakesConstantCarries) {
  OneInstruction add(0x0000000204047890, 0x000fe2000b90e43f, 90);
  EXPECT_EQ(add.text(), "UIADD3 UR4, UP0, UP1, UR4, 0x2, URZ, UPT, UPT");
  EXPECT_EQ(add.set(kUniformStart + 4, 5).run(kUniformStart + 4), 9u);
}

// LOP3.LUT R7, R6, R7, RZ, 0x3c, !PT: the table is a xor b.
TEST(NvInstructions, Lop3) {
  OneInstruction lop(0x0000000706077212, 0x000fca00078e3cff);
  EXPECT_EQ(lop.set(6, 0b1100).set(7, 0b1010).run(7), 0b0110u);
}

// SHF.R.S32.HI R15, RZ, 0x1f, R12, and SHF.L.W.U32.HI R21, R2, R5, R6
TEST(NvInstructions, Shifts) {
  OneInstruction sign(0x0000001fff0f7819, 0x000fe2000001140c);
  EXPECT_EQ(sign.set(12, 0x8000'0000).run(15), ~0u);
  OneInstruction funnel(0x0000000502157219, 0x000fc40000010e06);
  EXPECT_EQ(funnel.set(2, 0x8765'4321).set(5, 8 + 32).set(6, 0x0fed'cba9).run(21), 0xedcb'a987u);
}

// PRMT R15, R4, 0x8880, RZ [sm_90]: the sign of byte 0 three times, and the byte.
TEST(NvInstructions, PrmtRepeatsSigns) {
  OneInstruction permute(0x00008880040f7816, 0x001fca00000000ff);
  EXPECT_EQ(permute.set(4, 0x0000'0081).run(15), 0xffff'ff81u);
  EXPECT_EQ(permute.set(4, 0x0000'0071).run(15), 0x0000'0071u);
}

// PLOP3.LUT P0, PT, PT, PT, UP0, 0x40, 0x0: a and b and not c.
TEST(NvInstructions, Plop3TakesAUniformPredicate) {
  OneInstruction logic(0x000000000000781c, 0x003fda0003f0e808);
  EXPECT_EQ(logic.set_predicate(kUniformPredicates, 0).run_predicate(0), kAllLanes);
  EXPECT_EQ(logic.set_predicate(kUniformPredicates, kAllLanes).run_predicate(0), 0u);
}

// Where WARPSYNC has its mask depends on the chip: "WARPSYNC R5" of sm_86 and sm_90, and
// "WARPSYNC 0xff" of sm_86. The lanes that the mask names go on if all of them are there.
TEST(NvInstructions, WarpSyncReadsItsMaskWhereTheChipHasIt) {
  OneInstruction sm_86(0x0000000500007348, 0x000fe20003800000, 86);
  EXPECT_EQ(sm_86.text(), "WARPSYNC R5");
  EXPECT_EQ(sm_86.set(5, 0xff).run_lanes(0xff), Flow::Next);
  OneInstruction sm_90(0x0000000005007348, 0x000fe20003800000, 90);
  EXPECT_EQ(sm_90.text(), "WARPSYNC R5");
  EXPECT_EQ(sm_90.set(5, 0xff).run_lanes(0xff), Flow::Next);
  OneInstruction immediate(0x000000ff00007948, 0x000fe20003800000, 86);
  EXPECT_EQ(immediate.text(), "WARPSYNC 0xff");
  EXPECT_EQ(immediate.run_lanes(0xff), Flow::Next);
}

// Operands of SYNCS and ARRIVES are nvdisasm's.
TEST(NvInstructions, BarriersInMemoryAreNamed) {
  const auto text = [](u64 low, u64 high) { return OneInstruction(low, high, 90).text(); };
  EXPECT_EQ(text(0x00000004063f75b2, 0x0000640008000100), "SYNCS.EXCH URZ, [UR6], UR4");
  EXPECT_EQ(text(0x000000ffff0479a7, 0x000e240008100006), "SYNCS R4, [UR6], RZ");
  EXPECT_EQ(text(0x00000011060679a7, 0x000e24000850023f), "SYNCS R6, [R6+URZ], R17");
  EXPECT_EQ(text(0x000010ffff0479a7, 0x000e240008100006), "SYNCS R4, [UR6+0x10], RZ");
  EXPECT_EQ(text(0x00000000ff0075a7, 0x000e240008000146), "SYNCS P0, [UR6], R0");
  EXPECT_EQ(text(0x00000000ff0079b0, 0x000fe20008000a86), "ARRIVES [UR6]");
  EXPECT_EQ(text(0x00000000ff0079b1, 0x000e240008000006), "SYNCS.CCTL [UR6]");
}

// UIADD3.64 UR4, UR4, UR6, -UR8 [sm_90]
TEST(NvInstructions, SumsOfUniformPairs) {
  OneInstruction add(0x0000000604047297, 0x000fce000fffe808, 90);
  EXPECT_EQ(add.text(), "UIADD3.64 UR4, UR4, UR6, -UR8");
  const u32 u = kUniformStart;
  add.set(u + 4, 0xffff'ffff).set(u + 5, 1).set(u + 6, 4).set(u + 7, 2).set(u + 8, 1).set(u + 9, 0);
  EXPECT_EQ(add.run(u + 4), 2u);
  EXPECT_EQ(add.set(u + 4, 0xffff'ffff).set(u + 5, 1).run(u + 5), 4u);
}

// So are those of products of warp groups.
TEST(NvInstructions, ProductsOfWarpGroupsAreNamed) {
  const auto text = [](u64 low, u64 high) { return OneInstruction(low, high, 90).text(); };
  EXPECT_EQ(text(0x00e00000081879f0, 0x000fe6000b800818), "HGMMA R24, gdesc[UR8], R24, UP0, gsb0");
  EXPECT_EQ(text(0xe0e00000081879f0, 0x000fe6000b800918),
            "HGMMA R24, gdesc[UR8].negA.negB.tnspA.tnspB, R24, UP0, gsb0");
  EXPECT_EQ(text(0xc00000041c187df0, 0x000fe2000b800918),
            "HGMMA R24, -R28, gdesc[UR4].negB.tnspB, R24, UP0, gsb0");
  EXPECT_EQ(text(0x00e00000081879f0, 0x000fe6000ff008ff), "HGMMA R24, gdesc[UR8], RZ, !UP0");
  EXPECT_EQ(text(0x00000000081879f3, 0x000fe2000b802818), "QGMMA R24, gdesc[UR8], R24, UP0, gsb0");
  EXPECT_EQ(text(0x00000000081879f1, 0x000fe2000b801018), "IGMMA R24, gdesc[UR8], R24, UP0, gsb0");
  EXPECT_EQ(text(0x00000000000079c5, 0x004fd40000000000), "WARPGROUP");
  EXPECT_EQ(text(0x00008000000079c5, 0x000fe40000010000), "WARPGROUP gsb0, 0x0");
}

// LDSM.16.MT88.4 R12, [R0+UR6+0x500]: the bits of a scale transpose.
TEST(NvInstructions, AddressesOfMatricesHaveNoScale) {
  OneInstruction load(0x00050006000c783b, 0x000fe20008004200, 90);
  EXPECT_EQ(load.text(), "LDSM R12, [R0+UR6+0x500]");
}

// Bit 88 of F2FP.F16.E4M3.UNPACK_B R7, R6.H1 [sm_90].
TEST(NvInstructions, UnpackedHalvesAreNamed) {
  OneInstruction low(0x00000006ff07723e, 0x000fc600020006ff, 90);
  EXPECT_EQ(low.text(), "F2FP R7, R6");
  OneInstruction high(0x00000006ff07723e, 0x000fc600030006ff, 90);
  EXPECT_EQ(high.text(), "F2FP R7, R6.H1");
}

// I2F.U16 R4, R2.H1; I2F.S8 R4, R2.B3; F2F.F32.F16 and F2I.U32.BF16 R4, R2.H1, and what nvdisasm
// calls R2.INVALID2 [sm_90].
TEST(NvInstructions, ConversionsReadParts) {
  OneInstruction half(0x1000000200047306, 0x000fe20000101000, 90);
  EXPECT_EQ(half.text(), "I2F R4, R2.H1");
  EXPECT_EQ(half.set(2, 0x0003'ffff).run(4), std::bit_cast<u32>(3.0f));
  OneInstruction byte(0x3000000200047306, 0x000fe20000001400, 90);
  EXPECT_EQ(byte.text(), "I2F R4, R2.B3");
  EXPECT_EQ(byte.set(2, 0xff00'0000).run(4), std::bit_cast<u32>(-1.0f));
  OneInstruction wide(0x1000000200047304, 0x000fe20000101000, 90);
  EXPECT_EQ(wide.text(), "F2F R4, R2.H1");
  EXPECT_EQ(wide.set(2, 0x4000'3c00).run(4), std::bit_cast<u32>(2.0f));
  OneInstruction bfloat(0x1000000200047305, 0x000fe20000401000, 90);
  EXPECT_EQ(bfloat.text(), "F2I R4, R2.H1");
  EXPECT_EQ(bfloat.set(2, 0x4040'3f80).run(4), 3u);
  OneInstruction neither(0x2000000200047306, 0x000fe20000101000, 90);
  EXPECT_EQ(neither.run_lanes(1), Flow::Stop);
}

// VIMNMX3.S16x2 R7, R0, R5, R4, PT and .RELU; VIADDMNMX.S16x2 R17, R0, R5, R4, !PT [sm_90]
TEST(NvInstructions, MinimaOfPairs) {
  const auto set = [](OneInstruction& minimum) -> OneInstruction& {
    return minimum.set(0, 0x0003'fff0).set(5, 0x7fff'0007).set(4, 0x0004'8000);
  };
  OneInstruction of_three(0x000000050007720f, 0x1c1fe20003800304);
  EXPECT_EQ(set(of_three).run(7), 0x0003'8000u);
  OneInstruction at_least_zero(0x00000005000b720f, 0x000fc40003801304);
  EXPECT_EQ(set(at_least_zero).run(11), 0x0003'0000u);
  // 3 + 0x7fff wraps to -0x7ffe.
  OneInstruction of_sum(0x0000000500117246, 0x1c0fe40007800304);
  EXPECT_EQ(set(of_sum).run(17), 0x0004'fff7u);
}

// VIADDMNMX R4, R4, -R5, 0xffffffdb, !PT: the difference, at least -37.
TEST(NvInstructions, SumsInMaximaMayBeDifferences) {
  OneInstruction maximum(0xffffffdb04047446, 0x000fca0007800905);
  EXPECT_EQ(maximum.set(4, 10).set(5, 12).run(4), static_cast<u32>(-2));
  EXPECT_EQ(maximum.set(4, 10).set(5, 1000).run(4), static_cast<u32>(-37));
}

// VIMNMX.S16x2 R7, P1, P0, R0, R5, !PT: the predicates say where the first source is the maximum.
TEST(NvInstructions, MaximaSayWhichIsChosen) {
  OneInstruction maximum(0x0000000500077248, 0x0c4fe40007820300);
  Warp& warp = maximum.set(0, 0x0003'fff0).set(5, 0x0002'0007).run();
  EXPECT_EQ(warp.rows[7][0], 0x0003'0007u);
  EXPECT_EQ(warp.predicates[1], 0u);  // of the low halves
  EXPECT_EQ(warp.predicates[0], kAllLanes);
}

// IMAD.WIDE.U32 R4, R8, R9, RZ, and IMAD.HI R2, R0, 0x2aaaaaab, RZ: a sixth.
TEST(NvInstructions, WideProducts) {
  OneInstruction wide(0x0000000908047225, 0x000fe200078e00ff);
  Warp& warp = wide.set(8, 0xffff'ffff).set(9, 0xffff'ffff).run();
  EXPECT_EQ(warp.rows[4][0], 1u);
  EXPECT_EQ(warp.rows[5][0], 0xffff'fffeu);
  OneInstruction sixth(0x2aaaaaab00027827, 0x000fca00078e02ff);
  EXPECT_EQ(sixth.set(0, 600).run(2), 100u);
  EXPECT_EQ(sixth.set(0, static_cast<u32>(-600)).run(2), static_cast<u32>(-101));
}

// FFMA.RM R10, R8, R9, R8; .RP; .RZ of others: 1 + 2^-24 lies between two floats.
TEST(NvInstructions, FusedSumsAreRoundedOnceAsNamed) {
  const u32 small = bits(0x1p-24f), one = bits(1.0f), next = one + 1;
  OneInstruction down(0x00000009080a7223, 0x000fe20000004008);
  OneInstruction up(0x0000000908097223, 0x000fc80000008008);
  OneInstruction nearest(0x0000000505007223, 0x000fc80000000000);
  // 8 * 9 + 8: one times 2^-24, and one.
  EXPECT_EQ(down.set(8, one).set(9, small).run(10), one);
  EXPECT_EQ(up.set(8, one).set(9, small).run(9), next);
  // 5 * 5 + 0
  EXPECT_EQ(nearest.set(5, bits(0x1p-12f)).set(0, one).run(0), one);
}

// FMUL.D2 R3, R3, 1.4426950216293334961: half of 2.89 times the smallest float, rounded once.
TEST(NvInstructions, ScaledProductsAreRoundedOnce) {
  OneInstruction half(0x3fb8aa3b03037820, 0x000fca0000300000);
  EXPECT_EQ(half.set(3, bits(2.0f)).run(3), 0x3fb8'aa3bu);
  EXPECT_EQ(half.set(3, bits(0x1p-148f)).run(3), 1u);
}

// FADD.FTZ R5, -R6, -RZ, and FADD R0, R0, R5
TEST(NvInstructions, FaddFlushesOnlyWhereItSaysSo) {
  OneInstruction flushed(0x800000ff06057221, 0x000fc80000010100);
  EXPECT_EQ(flushed.set(6, 0x0000'0001).run(5), 0x8000'0000u);
  OneInstruction kept(0x0000000500007221, 0x000fc60000000000);
  EXPECT_EQ(kept.set(0, 1).set(5, 2).run(0), 3u);
  EXPECT_EQ(kept.set(0, 0x7f80'0000).set(5, 0xff80'0000).run(0), 0x7fff'ffffu);  // NaN
}

// FMNMX.NAN R0, R0, -152, !PT, and FMNMX R2, R0, -INF, !PT: maxima.
TEST(NvInstructions, MaximaOfNan) {
  OneInstruction keeps(0xc318000000007809, 0x000fc80007820000);
  EXPECT_EQ(keeps.set(0, 0x7fc0'0001).run(0), 0x7fff'ffffu);
  OneInstruction drops(0xff80000000027809, 0x000fe20007800000);
  EXPECT_EQ(drops.set(0, 0x7fc0'0001).run(2), 0xff80'0000u);
}

// FSETP.NEU.AND P0, PT, R2, RZ, PT: unordered or not equal.
TEST(NvInstructions, ComparisonsOfNan) {
  OneInstruction compare(0x000000ff0200720b, 0x040fe20003f0d000);
  EXPECT_EQ(compare.set(2, 0x7fc0'0000).run_predicate(0), kAllLanes);
  EXPECT_EQ(compare.set(2, 0x8000'0000).run_predicate(0), 0u);
}

// F2I.TRUNC.NTZ R11, R6, and F2I.U32.TRUNC.NTZ R6, R14
TEST(NvInstructions, FloatsToIntegersAreClamped) {
  OneInstruction to_signed(0x00000006000b7305, 0x000e64000020f100);
  EXPECT_EQ(to_signed.set(6, bits(-1.75f)).run(11), ~0u);
  EXPECT_EQ(to_signed.set(6, bits(3e9f)).run(11), 0x7fff'ffffu);
  EXPECT_EQ(to_signed.set(6, 0x7fc0'0000).run(11), 0u);
  OneInstruction to_unsigned(0x0000000e00067305, 0x0002a2000020f000);
  EXPECT_EQ(to_unsigned.set(14, bits(-1.75f)).run(6), 0u);
  EXPECT_EQ(to_unsigned.set(14, bits(5e9f)).run(6), ~0u);
}

// F2FP.PACK_AB R0, RZ, R0, and HADD2.F32 R0, -RZ, R0.H0_H0
TEST(NvInstructions, HalvesRoundToNearestEven) {
  OneInstruction pack(0x00000000ff00723e, 0x000fe200000000ff);
  EXPECT_EQ(pack.set(0, bits(1 + 0x1p-11f)).run(0), 0x3c00u);
  EXPECT_EQ(pack.set(0, bits(1 + 0x3p-11f)).run(0), 0x3c02u);
  EXPECT_EQ(pack.set(0, bits(65520.0f)).run(0), 0x7c00u);
  OneInstruction widen(0x20000000ff007230, 0x004fc40000004100);
  EXPECT_EQ(widen.set(0, 0x3c00'0001).run(0), bits(0x1p-24f));
}

// A byte in a register whose other bytes nobody wrote: PRMT R4, RZ, 0x7610, R4 puts zeros into the
// low half, LOP3.LUT R4, R4, 0xff, RZ, 0xc0, !PT keeps one byte of it.
TEST(NvInstructions, UndefinedBitsThatARegisterLoses) {
  const auto undefined = [](u32 bits) {
    return [bits](const Source& source) { return source.index == 4 ? bits : 0; };
  };
  OneInstruction insert(0x00007610ff047816, 0x000fe20000000004);
  EXPECT_EQ(insert.undefined_bits(undefined(~0u)), 0xffff'0000u);
  OneInstruction mask(0x000000ff04047812, 0x000fc800078ec0ff);
  EXPECT_EQ(mask.undefined_bits(undefined(0xffff'0000)), 0u);
  EXPECT_EQ(mask.undefined_bits(undefined(0x0001'0010)), 0x10u);
  // IMAD.U32 R20, R4, 0x10000, RZ
  OneInstruction shift(0x0001000004147824, 0x000fe200078e00ff);
  EXPECT_EQ(shift.undefined_bits(undefined(0xffff'0000)), 0u);
  EXPECT_EQ(shift.undefined_bits(undefined(0x100)), 0xff00'0000u);
}

// HFMA2.BF16_V2 R9, R0, R9, -RZ.H0_H0: -0 * 1 - 0 is -0.
TEST(NvInstructions, AddendsOfHalvesHaveASign) {
  OneInstruction fused(0x0000000900097231, 0x004fca00003400ff);
  EXPECT_EQ(fused.set(0, 0x8000'8000).set(9, 0x3f80'3f80).run(9), 0x8000'8000u);
}

// IDP.4A.S8.S8 R22, R29, R26, R22
TEST(NvInstructions, DotProductsOfBytes) {
  OneInstruction dot(0x0000001a1d167226, 0x000fc40000000616);
  EXPECT_EQ(dot.set(29, 0xff02'0304).set(26, 0x0a0b'0c80).set(22, 100).run(22),
            static_cast<u32>(100 - 10 + 22 + 36 - 512));
}

// POPC R13, R13; FLO.U32 R6, R6; BREV R8, R7
TEST(NvInstructions, CountsOfBits) {
  OneInstruction count(0x0000000d000d7309, 0x000e220000000000);
  EXPECT_EQ(count.set(13, 0xf0f0'0001).run(13), 9u);
  OneInstruction first(0x0000000600067300, 0x000e6400000e0000);
  EXPECT_EQ(first.set(6, 0x0001'0000).run(6), 16u);
  EXPECT_EQ(first.set(6, 0).run(6), ~0u);
  OneInstruction reverse(0x0000000700087301, 0x000e220000000000);
  EXPECT_EQ(reverse.set(7, 0x8000'0001 ^ 0x8000'0000 ^ 0x2).run(8), 0xc000'0000u);
}

// DFMA R... RM: R10 = R18 * R10 + R16, and DADD R6, -RZ, -R4
TEST(NvInstructions, Doubles) {
  const auto low = [](f64 v) { return static_cast<u32>(std::bit_cast<u64>(v)); };
  const auto high = [](f64 v) { return static_cast<u32>(std::bit_cast<u64>(v) >> 32); };
  OneInstruction fused(0x0000000a120a722b, 0x000e140000004010);
  fused.set(18, low(1)).set(19, high(1)).set(10, low(-0x1p-60)).set(11, high(-0x1p-60));
  Warp& warp = fused.set(16, low(1)).set(17, high(1)).run();
  const f64 below = 1 - 0x1p-53;
  EXPECT_EQ(warp.rows[10][0], low(below));
  EXPECT_EQ(warp.rows[11][0], high(below));
  OneInstruction negate(0x00000000ff067229 | u64{0}, 0x001e080000000904);
  Warp& negated = negate.set(4, low(2.5)).set(5, high(2.5)).run();
  EXPECT_EQ(negated.rows[7][0], high(-2.5));
}

}  // namespace
}  // namespace doorbell::emu::nvgpu
