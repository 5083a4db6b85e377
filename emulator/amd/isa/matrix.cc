// Matrix instructions: MFMA and WMMA. Elements are gathered from the lanes, multiplied as a host
// would, and put back. How hardware orders the additions of one result is not documented; here each
// product is added to the sum in k's order, without rounding in between.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "emulator/amd/isa/decode.h"
#include "emulator/amd/isa/matrix_layout.h"
#include "emulator/amd/isa/matrix_number.h"
#include "emulator/amd/isa/scalar_op.h"
#include "emulator/amd/isa/tables.h"

namespace doorbell::emulator::amd {

namespace {

constexpr u32 kFirstAccumulator = 256;
constexpr u32 kMostInputs = 2048, kMostResults = 2048;

// What one instruction does, from its words. [LLVM VOP3PInstructions.td: VOP3P_Real_MAI, VOP3Pe]
struct MatrixOperation {
  const MatrixShape& shape;
  MatrixLayout layout;
  bool fnuz = false;
  u32 broadcast_size = 0, broadcast_block = 0, broadcast_lanes = 0;  // MFMA: cbsz, abid, blgp
  u32 negate = 0, negate_high = 0;  // WMMA: neg_lo, neg_hi; MFMA of doubles: negate
  u32 op_sel = 0;
  bool clamp = false;
};

MatrixOperation read_operation(const Wave& wave, const Operation& op, const MatrixShape& shape) {
  const u32 low = op.words[0], high = op.words[1];
  MatrixOperation what{
      .shape = shape,
      .layout = MatrixLayout(shape, wave.lanes, wave.chip->generation == Generation::Gfx12)};
  if (shape.family == MatrixFamily::Mfma) {
    what.fnuz = wave.chip->name == "gfx942";
    what.broadcast_size = field(low, 10, 8);
    what.broadcast_block = field(low, 14, 11);
    if (shape.a == Number::F64) {
      what.negate = field(high, 31, 29);
    } else {
      what.broadcast_lanes = field(high, 31, 29);
    }
    return what;
  }
  what.negate = field(high, 31, 29);
  what.negate_high = field(low, 10, 8);
  what.op_sel = field(low, 13, 11);
  what.clamp = field(low, 15, 15) != 0;
  return what;
}

u64 read_bits(const u32* row, u32 lanes, u32 lane, u32 e, u32 width) {
  if (width == 64) return row[lane + 2 * e * lanes] | u64{row[lane + (2 * e + 1) * lanes]} << 32;
  const u32 at = e * width;
  return row[lane + at / 32 * lanes] >> at % 32 & static_cast<u32>((u64{1} << width) - 1);
}

// BLGP: the lane that B's lane takes its elements from. [CDNA3 ISA, "Broadcasting values"]
u32 broadcast_lane(u32 blgp, u32 lane) {
  switch (blgp) {
    case 1: return lane % 32;
    case 2: return 32 + lane % 32;
    case 3: return (lane + 16) % 64;
    case 4:
    case 5:
    case 6:
    case 7: return (blgp - 4) * 16 + lane % 16;
    default: return lane;
  }
}

template <class T>
T read_element(const MatrixOperation& what, const u32* row, u32 lanes, u32 lane, u32 e,
               Number number, u32 operand) {
  const u32 width = bits_of(number);
  const u64 bits = read_bits(row, lanes, lane, e, width);
  if constexpr (std::is_same_v<T, i32>) {
    const bool is_signed =
        what.shape.family == MatrixFamily::Mfma || (what.negate >> operand & 1) != 0;
    return element_to_integer(static_cast<u32>(bits), width, is_signed);
  } else if constexpr (std::is_same_v<T, f64>) {
    const f64 value = std::bit_cast<f64>(bits);
    return (what.negate >> operand & 1) != 0 ? -value : value;
  } else {
    const f32 value = element_to_float(static_cast<u32>(bits), number, what.fnuz);
    const u32 negate = width == 16 && e % 2 != 0 ? what.negate_high : what.negate;
    return (negate >> operand & 1) != 0 ? -value : value;
  }
}

// a[block][k][i] and b[block][k][j]: what the inner loop runs along is last.
template <class T>
void read_inputs(const MatrixOperation& what, const u32* row, u32 lanes, u32 operand, T* out) {
  const MatrixShape& shape = what.shape;
  const u32 rows = operand == 0 ? shape.m : shape.n;
  const Number number = operand == 0 ? shape.a : shape.b;
  const u32 count = what.layout.inputs_per_lane(), from = what.layout.input_lanes();
  for (u32 lane = 0; lane < from; ++lane) {
    const u32 source = operand == 1 ? broadcast_lane(what.broadcast_lanes, lane) : lane;
    for (u32 e = 0; e < count; ++e) {
      const MatrixPlace place = what.layout.input(lane, e, rows);
      out[(place.block * shape.k + place.column) * rows + place.row] =
          read_element<T>(what, row, lanes, source, e, number, operand);
    }
  }
}

// What of A a block multiplies: CBSZ makes 2^cbsz blocks share the one that ABID says.
u32 input_block(const MatrixOperation& what, u32 block) {
  const u32 size = 1u << what.broadcast_size;
  if (what.broadcast_size == 0 || size > what.shape.blocks) return block;
  return block / size * size + what.broadcast_block % size;
}

[[gnu::target_clones("arch=x86-64-v4,arch=x86-64-v3,default")]] void multiply(const f32* a,
                                                                              const f32* b, f32* c,
                                                                              u32 m, u32 n, u32 k) {
  for (u32 p = 0; p < k; ++p) {
    for (u32 i = 0; i < m; ++i) {
      const f32 left = a[p * m + i];
      for (u32 j = 0; j < n; ++j) c[i * n + j] = __builtin_fmaf(left, b[p * n + j], c[i * n + j]);
    }
  }
}
[[gnu::target_clones("arch=x86-64-v4,arch=x86-64-v3,default")]] void multiply(const f64* a,
                                                                              const f64* b, f64* c,
                                                                              u32 m, u32 n, u32 k) {
  for (u32 p = 0; p < k; ++p) {
    for (u32 i = 0; i < m; ++i) {
      const f64 left = a[p * m + i];
      for (u32 j = 0; j < n; ++j) c[i * n + j] = __builtin_fma(left, b[p * n + j], c[i * n + j]);
    }
  }
}
// The sum has 64 bits, for those that clamp it.
[[gnu::target_clones("arch=x86-64-v4,arch=x86-64-v3,default")]] void multiply(const i32* a,
                                                                              const i32* b, i64* c,
                                                                              u32 m, u32 n, u32 k) {
  for (u32 p = 0; p < k; ++p) {
    for (u32 i = 0; i < m; ++i) {
      const i64 left = a[p * m + i];
      for (u32 j = 0; j < n; ++j) c[i * n + j] += left * b[p * n + j];
    }
  }
}

// C's element r of a lane: a register's, half a register's, or a constant.
template <class Sum>
Sum read_sum(const MatrixOperation& what, const Source& source, const u32* row, u32 lanes, u32 lane,
             u32 r) {
  const Number number = what.shape.result;
  u64 bits = source.value;
  if (source.kind == Source::Kind::Vector) {
    if (bits_of(number) == 16 && !what.layout.packed_results()) {
      bits = row[lane + r * lanes] >> ((what.op_sel & 4) != 0 ? 16 : 0) & 0xffff;
    } else {
      bits = read_bits(row, lanes, lane, r, bits_of(number));
    }
  }
  if constexpr (std::is_same_v<Sum, i64>) {
    return static_cast<i32>(bits);
  } else {
    Sum value;
    if constexpr (std::is_same_v<Sum, f64>) {
      value = std::bit_cast<f64>(bits);
    } else {
      value = element_to_float(static_cast<u32>(bits), number, false);
    }
    if ((what.negate_high & 4) != 0) value = std::fabs(value);
    return (what.negate & 4) != 0 ? -value : value;
  }
}

template <class Sum>
void write_sum(const MatrixOperation& what, u32* row, u32 lanes, u32 lane, u32 r, Sum sum) {
  if constexpr (std::is_same_v<Sum, i64>) {
    constexpr i64 kLow = std::numeric_limits<i32>::min(), kHigh = std::numeric_limits<i32>::max();
    row[lane + r * lanes] = static_cast<u32>(what.clamp ? std::clamp(sum, kLow, kHigh) : sum);
  } else if constexpr (std::is_same_v<Sum, f64>) {
    const u64 bits = std::bit_cast<u64>(sum);
    row[lane + 2 * r * lanes] = static_cast<u32>(bits);
    row[lane + (2 * r + 1) * lanes] = static_cast<u32>(bits >> 32);
  } else if (bits_of(what.shape.result) == 32) {
    row[lane + r * lanes] = std::bit_cast<u32>(sum);
  } else {
    const bool packed = what.layout.packed_results();
    const bool high = packed ? r % 2 != 0 : (what.op_sel & 4) != 0;
    u32& word = row[lane + (packed ? r / 2 : r) * lanes];
    const u32 bits = float_to_element(sum, what.shape.result);
    word = high ? (word & 0xffff) | bits << 16 : (word & 0xffff0000) | bits;
  }
}

template <class T, class Sum>
Flow multiply_matrices(Wave& wave, const Operation& op, const MatrixShape& shape) {
  const MatrixOperation what = read_operation(wave, op, shape);
  const u32 lanes = wave.lanes, m = shape.m, n = shape.n, k = shape.k;
  const bool mfma = shape.family == MatrixFamily::Mfma;
  // Which operands are accumulation registers: C and D together.
  const u32 accumulators = kFirstAccumulator * lanes;
  const u32 acc_ab = mfma ? field(op.words[1], 28, 27) : 0;
  const bool acc_cd = mfma && field(op.words[0], 15, 15) != 0;
  const u32* a_row = wave.v + op.src[0].row + ((acc_ab & 1) != 0 ? accumulators : 0);
  const u32* b_row = wave.v + op.src[1].row + ((acc_ab & 2) != 0 ? accumulators : 0);
  const u32* c_row = wave.v + op.src[2].row + (acc_cd ? accumulators : 0);
  u32* d_row = wave.v + op.dst_row + (acc_cd ? accumulators : 0);

  std::array<T, kMostInputs> a, b;
  std::array<Sum, kMostResults> c;
  read_inputs(what, a_row, lanes, 0, a.data());
  read_inputs(what, b_row, lanes, 1, b.data());
  const u32 results = what.layout.results_per_lane();
  for (u32 r = 0; r < results; ++r) {
    for (u32 lane = 0; lane < lanes; ++lane) {
      const MatrixPlace place = what.layout.result(lane, r);
      c[(place.block * m + place.row) * n + place.column] =
          read_sum<Sum>(what, op.src[2], c_row, lanes, lane, r);
    }
  }
  for (u32 block = 0; block < shape.blocks; ++block) {
    multiply(a.data() + input_block(what, block) * m * k, b.data() + block * n * k,
             c.data() + block * m * n, m, n, k);
  }
  for (u32 r = 0; r < results; ++r) {
    for (u32 lane = 0; lane < lanes; ++lane) {
      const MatrixPlace place = what.layout.result(lane, r);
      write_sum<Sum>(what, d_row, lanes, lane, r,
                     c[(place.block * m + place.row) * n + place.column]);
    }
  }
  return Flow::Next;
}

template <MatrixShape kMatrix>
Flow run(Wave& wave, const Operation& op) {
  if constexpr (kMatrix.result == Number::F64) {
    return multiply_matrices<f64, f64>(wave, op, kMatrix);
  } else if constexpr (kMatrix.result == Number::I32) {
    return multiply_matrices<i32, i64>(wave, op, kMatrix);
  } else {
    return multiply_matrices<f32, f32>(wave, op, kMatrix);
  }
}

// Between ordinary and accumulation registers.
template <bool kFromAccumulator, bool kToAccumulator>
Flow move_accumulator(Wave& wave, const Operation& op) {
  const u32 accumulators = kFirstAccumulator * wave.lanes;
  const u32* src = wave.v + op.src[0].row + (kFromAccumulator ? accumulators : 0);
  u32* dst = wave.v + op.dst_row + (kToAccumulator ? accumulators : 0);
  const bool vector = op.src[0].kind == Source::Kind::Vector;
  const u32 uniform = vector ? 0 : read_32(wave, op.src[0]);
  const u64 active = wave.exec();
  for (u32 lane = 0; lane < wave.lanes; ++lane) {
    if ((active >> lane & 1) != 0) dst[lane] = vector ? src[lane] : uniform;
  }
  return Flow::Next;
}

constexpr Type constant_type(Number number) {
  switch (number) {
    case Number::F64: return Type::F64;
    case Number::F16: return Type::F16;
    case Number::Bf16: return Type::BF16;
    case Number::I32: return Type::B32;
    default: return Type::F32;
  }
}

// In waves of 64 lanes: the least that any wave needs.
constexpr u8 input_registers(const MatrixShape& shape, Number number) {
  const u32 bits = u32{shape.m} * shape.k * shape.blocks * bits_of(number);
  return static_cast<u8>(std::max(1u, bits / 64 / 32));
}
constexpr u8 result_registers(const MatrixShape& shape) {
  const u32 bits = u32{shape.m} * shape.n * shape.blocks * bits_of(shape.result);
  return static_cast<u8>(std::max(1u, bits / 64 / 32));
}

template <MatrixShape kMatrix>
constexpr Entry entry(std::string_view name) {
  return {.name = name,
          .shape = {.dst = Type::Wide,
                    .src = {Type::Wide, Type::Wide, constant_type(kMatrix.result)},
                    .flags = kMatrix.family == MatrixFamily::Mfma ? u32{kAccumulators} : 0,
                    .wide = {result_registers(kMatrix), input_registers(kMatrix, kMatrix.a),
                             input_registers(kMatrix, kMatrix.b)}},
          .handler = &run<kMatrix>};
}

constexpr MatrixShape mfma(u8 m, u8 k, u8 blocks, Number ab, Number result = Number::F32) {
  return {MatrixFamily::Mfma, m, m, k, blocks, ab, ab, result};
}
constexpr MatrixShape mixed(u8 m, u8 k, Number a, Number b) {
  return {MatrixFamily::Mfma, m, m, k, 1, a, b, Number::F32};
}
constexpr MatrixShape wmma(u8 k, Number a, Number b, Number result) {
  return {MatrixFamily::Wmma, 16, 16, k, 1, a, b, result};
}

using enum Number;
// clang-format off
constexpr Shape kRead{Type::B32, {Type::B32}, kAccumulatorSrc};
constexpr Shape kWrite{Type::B32, {Type::B32}, kAccumulatorDst};
constexpr Shape kMove{Type::B32, {Type::B32}, kAccumulatorSrc | kAccumulatorDst};
constexpr Entry kTable[] = {
    {"V_ACCVGPR_READ_B32", kRead, &move_accumulator<true, false>},
    {"V_ACCVGPR_WRITE_B32", kWrite, &move_accumulator<false, true>},
    {"V_ACCVGPR_MOV_B32", kMove, &move_accumulator<true, true>},
    entry<wmma(16, F16, F16, F32)>("V_WMMA_F32_16X16X16_F16"),
    entry<wmma(16, Bf16, Bf16, F32)>("V_WMMA_F32_16X16X16_BF16"),
    entry<wmma(16, F16, F16, F16)>("V_WMMA_F16_16X16X16_F16"),
    entry<wmma(16, Bf16, Bf16, Bf16)>("V_WMMA_BF16_16X16X16_BF16"),
    entry<wmma(16, I8, I8, I32)>("V_WMMA_I32_16X16X16_IU8"),
    entry<wmma(16, I4, I4, I32)>("V_WMMA_I32_16X16X16_IU4"),
    entry<wmma(32, I4, I4, I32)>("V_WMMA_I32_16X16X32_IU4"),
    entry<wmma(16, Fp8, Fp8, F32)>("V_WMMA_F32_16X16X16_FP8_FP8"),
    entry<wmma(16, Fp8, Bf8, F32)>("V_WMMA_F32_16X16X16_FP8_BF8"),
    entry<wmma(16, Bf8, Fp8, F32)>("V_WMMA_F32_16X16X16_BF8_FP8"),
    entry<wmma(16, Bf8, Bf8, F32)>("V_WMMA_F32_16X16X16_BF8_BF8"),
    entry<mfma(32, 1, 2, F32)>("V_MFMA_F32_32X32X1F32"),
    entry<mfma(16, 1, 4, F32)>("V_MFMA_F32_16X16X1F32"),
    entry<mfma(4, 1, 16, F32)>("V_MFMA_F32_4X4X1F32"),
    entry<mfma(32, 2, 1, F32)>("V_MFMA_F32_32X32X2F32"),
    entry<mfma(16, 4, 1, F32)>("V_MFMA_F32_16X16X4F32"),
    entry<mfma(32, 4, 1, Xf32)>("V_MFMA_F32_32X32X4XF32"),
    entry<mfma(16, 8, 1, Xf32)>("V_MFMA_F32_16X16X8XF32"),
    entry<mfma(32, 4, 2, F16)>("V_MFMA_F32_32X32X4F16"),
    entry<mfma(16, 4, 4, F16)>("V_MFMA_F32_16X16X4F16"),
    entry<mfma(4, 4, 16, F16)>("V_MFMA_F32_4X4X4F16"),
    entry<mfma(32, 8, 1, F16)>("V_MFMA_F32_32X32X8F16"),
    entry<mfma(16, 16, 1, F16)>("V_MFMA_F32_16X16X16F16"),
    entry<mfma(32, 16, 1, F16)>("V_MFMA_F32_32X32X16_F16"),
    entry<mfma(16, 32, 1, F16)>("V_MFMA_F32_16X16X32_F16"),
    entry<mfma(32, 4, 2, Bf16)>("V_MFMA_F32_32X32X4BF16_1K"),
    entry<mfma(16, 4, 4, Bf16)>("V_MFMA_F32_16X16X4BF16_1K"),
    entry<mfma(4, 4, 16, Bf16)>("V_MFMA_F32_4X4X4BF16_1K"),
    entry<mfma(32, 8, 1, Bf16)>("V_MFMA_F32_32X32X8BF16_1K"),
    entry<mfma(16, 16, 1, Bf16)>("V_MFMA_F32_16X16X16BF16_1K"),
    entry<mfma(32, 16, 1, Bf16)>("V_MFMA_F32_32X32X16_BF16"),
    entry<mfma(16, 32, 1, Bf16)>("V_MFMA_F32_16X16X32_BF16"),
    entry<mfma(32, 4, 2, I8, I32)>("V_MFMA_I32_32X32X4I8"),
    entry<mfma(16, 4, 4, I8, I32)>("V_MFMA_I32_16X16X4I8"),
    entry<mfma(4, 4, 16, I8, I32)>("V_MFMA_I32_4X4X4I8"),
    entry<mfma(32, 16, 1, I8, I32)>("V_MFMA_I32_32X32X16I8"),
    entry<mfma(16, 32, 1, I8, I32)>("V_MFMA_I32_16X16X32I8"),
    entry<mfma(32, 32, 1, I8, I32)>("V_MFMA_I32_32X32X32_I8"),
    entry<mfma(16, 64, 1, I8, I32)>("V_MFMA_I32_16X16X64_I8"),
    entry<mfma(16, 4, 1, F64, F64)>("V_MFMA_F64_16X16X4F64"),
    entry<mfma(4, 4, 4, F64, F64)>("V_MFMA_F64_4X4X4F64"),
    entry<mixed(32, 16, Fp8, Fp8)>("V_MFMA_F32_32X32X16_FP8_FP8"),
    entry<mixed(32, 16, Fp8, Bf8)>("V_MFMA_F32_32X32X16_FP8_BF8"),
    entry<mixed(32, 16, Bf8, Fp8)>("V_MFMA_F32_32X32X16_BF8_FP8"),
    entry<mixed(32, 16, Bf8, Bf8)>("V_MFMA_F32_32X32X16_BF8_BF8"),
    entry<mixed(16, 32, Fp8, Fp8)>("V_MFMA_F32_16X16X32_FP8_FP8"),
    entry<mixed(16, 32, Fp8, Bf8)>("V_MFMA_F32_16X16X32_FP8_BF8"),
    entry<mixed(16, 32, Bf8, Fp8)>("V_MFMA_F32_16X16X32_BF8_FP8"),
    entry<mixed(16, 32, Bf8, Bf8)>("V_MFMA_F32_16X16X32_BF8_BF8"),
};
// clang-format on

}  // namespace

HandlerTable matrix_table() { return kTable; }

}  // namespace doorbell::emulator::amd
