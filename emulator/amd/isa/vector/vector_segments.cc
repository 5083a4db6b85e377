// Vector instructions whose operands are parts of a larger value: the segments of 2/pi for range
// reduction, sums of absolute differences over windows of bytes, dot products of 8-bit floats, and
// bytes packed into a register.
// [RDNA3, RDNA4 and CDNA4 ISA documents, chapter "Instructions"]
#include <algorithm>
#include <cstring>

#include "emulator/amd/isa/number/float_math.h"
#include "emulator/amd/isa/number/integer_math.h"
#include "emulator/amd/isa/tables.h"
#include "emulator/amd/isa/vector/vector_op.h"
#include "emulator/core/number/small_float.h"

namespace doorbell::emu::amdgpu {

namespace {

// The first 1201 bits of 2/pi behind the point, from the top on, and zeros.
constexpr u64 kTwoOverPi[] = {
    0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041, 0xfe5163abdebbc561,
    0xb7246e3a424dd2e0, 0x06492eea09d1921c, 0xfe1deb1cb129a73e, 0xe88235f52ebb4484,
    0xe99c7026b45f7e41, 0x3991d639835339f4, 0x9c845f8bbdf9283b, 0x1ff897ffde05980f,
    0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d, 0x7527bac7ebe5f17b,
    0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b0000,
};

// The 53 bits behind the first `skipped`, at their value. A large operand skips bits that
// contribute only multiples of 2 pi; its result is scaled up to avoid denormals. [V_TRIG_PREOP_F64]
f64 two_over_pi(f64 operand, u32 segment) {
  const i32 exponent = biased_exponent(operand);
  const i32 skipped = static_cast<i32>(segment & 31) * 53 + std::max(exponent - 1077, 0);
  const auto word = [](i32 i) {
    return i < static_cast<i32>(std::size(kTwoOverPi)) ? kTwoOverPi[i] : 0;
  };
  const i32 first = skipped / 64, bit = skipped % 64;
  const u64 window = word(first) << bit | (bit == 0 ? 0 : word(first + 1) >> (64 - bit));
  const i32 scale = -53 - skipped + (exponent >= 1968 ? 128 : 0);
  return std::ldexp(static_cast<f64>(window >> 11), scale);
}

constexpr f32 kLowest = -0x1.fffffep127f;

// A light's specular factor: none if the surface faces away.
f32 multiply_lit(f32 a, f32 b, f32 c) {
  const bool dark = b == kLowest || b == -HUGE_VALF || is_nan(b) || c <= 0 || is_nan(c);
  return dark ? kLowest : a * b;
}

// ---- V_MQSAD_U32_U8: four windows of four bytes ----

constexpr Shape kFourSums{
    Type::Wide, {Type::B64, Type::B32, Type::Wide}, kNoModifiers, {4, 0, 0, 4, 0}};

Flow four_sums(Wave& wave, const Operation& op) {
  alignas(64) u32 buffers[2][2 * kMaxLanes];
  const Row bytes = fetch<u64>(wave, op, 0, buffers[0]),
            reference = fetch<u32>(wave, op, 1, buffers[1]);
  const u32* sums = wave.v + op.src[2].row;
  alignas(64) u32 out[4][kMaxLanes];
  for (u32 lane = 0; lane < wave.lanes; ++lane) {
    const u64 window = bytes.low[lane] | u64{bytes.high[lane]} << 32;
    for (u32 i = 0; i < 4; ++i) {
      const u32 sum = masked_sad(static_cast<u32>(window >> 8 * i), reference.low[lane]);
      out[i][lane] = sum + sums[i * wave.lanes + lane];
    }
  }
  const u64 exec = wave.exec();
  u32* dst = wave.v + op.dst_row;
  for (u32 i = 0; i < 4; ++i) {
    for (u32 lane = 0; lane < wave.lanes; ++lane) {
      if (exec >> lane & 1) dst[i * wave.lanes + lane] = out[i][lane];
    }
  }
  return Flow::Next;
}

// ---- V_DOT4_F32_*: four products of 8-bit floats, each exact, added one by one ----

f32 dot_bytes(u32 a, u32 b, f32 sum, const SmallFormat& format_a, const SmallFormat& format_b) {
  for (u32 shift = 0; shift < 32; shift += 8) {
    sum +=
        small_to_float(a >> shift & 0xff, format_a) * small_to_float(b >> shift & 0xff, format_b);
  }
  return sum;
}

// ---- gfx950 ----

u32 held_byte(i32 value, i32 least, i32 most) {
  return static_cast<u32>(std::clamp(value, least, most)) & 0xff;
}
u16 shifted_bytes(i32 a, i32 b, u32 shift, i32 least, i32 most) {
  return static_cast<u16>(held_byte(a >> (shift & 31), least, most) |
                          held_byte(b >> (shift & 31), least, most) << 8);
}

constexpr Entry kTable[] = {
    vector<[](f64 a, u32 b) { return two_over_pi(a, b); }>("V_TRIG_PREOP_F64"),
    vector<[](f32 a, f32 b, f32 c) { return multiply_lit(a, b, c); }>("V_MULLIT_F32"),
    {"V_MQSAD_U32_U8", kFourSums, &four_sums},
    vector<[](u32 a, u32 b, f32 c) { return dot_bytes(a, b, c, kFp8, kFp8); }>(
        "V_DOT4_F32_FP8_FP8"),
    vector<[](u32 a, u32 b, f32 c) { return dot_bytes(a, b, c, kFp8, kBf8); }>(
        "V_DOT4_F32_FP8_BF8"),
    vector<[](u32 a, u32 b, f32 c) { return dot_bytes(a, b, c, kBf8, kFp8); }>(
        "V_DOT4_F32_BF8_FP8"),
    vector<[](u32 a, u32 b, f32 c) { return dot_bytes(a, b, c, kBf8, kBf8); }>(
        "V_DOT4_F32_BF8_BF8"),
    vector<[](i32 a, i32 b, u32 c) { return shifted_bytes(a, b, c, -128, 127); }>(
        "V_ASHR_PK_I8_I32"),
    vector<[](i32 a, i32 b, u32 c) { return shifted_bytes(a, b, c, 0, 255); }>("V_ASHR_PK_U8_I32"),
    vector<[](u32 a) { return next_random(a); }>("V_PRNG_B32"),
};

}  // namespace

HandlerTable vector_segments_table() { return kTable; }

}  // namespace doorbell::emu::amdgpu
