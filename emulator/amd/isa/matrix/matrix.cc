// Matrix instructions: MFMA and WMMA, and their sparse forms SMFMAC and SWMMAC. Elements are
// gathered from the lanes, multiplied by the host, and put back. The order and rounding of the
// additions in hardware are not documented; here each product is added to the sum in k's order,
// without rounding the product, and those of *_F8F6F4, whose scales reach beyond an f32, are summed
// in doubles and rounded once. Results round to nearest even and keep denormals, whatever MODE
// says. [CDNA3 and CDNA4 ISA, "Dependency resolution" and "Floating point" of matrix instructions]
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/util/target_clones.h"
#include "emulator/amd/isa/matrix/matrix_operation.h"
#include "emulator/amd/isa/number/host_float.h"
#include "emulator/amd/isa/scalar/scalar_op.h"
#include "emulator/amd/isa/tables.h"

namespace doorbell::emu::amdgpu {

namespace {

constexpr u32 kMaxInputs = 2048, kMaxResults = 2048;

DOORBELL_CLONES("arch=x86-64-v4", "arch=x86-64-v3", "default")
void multiply(const f32* a, const f32* b, f32* c, u32 m, u32 n, u32 k) {
  for (u32 p = 0; p < k; ++p) {
    for (u32 i = 0; i < m; ++i) {
      const f32 left = a[p * m + i];
      for (u32 j = 0; j < n; ++j) c[i * n + j] = __builtin_fmaf(left, b[p * n + j], c[i * n + j]);
    }
  }
}
DOORBELL_CLONES("arch=x86-64-v4", "arch=x86-64-v3", "default")
void multiply(const f64* a, const f64* b, f64* c, u32 m, u32 n, u32 k) {
  for (u32 p = 0; p < k; ++p) {
    for (u32 i = 0; i < m; ++i) {
      const f64 left = a[p * m + i];
      for (u32 j = 0; j < n; ++j) c[i * n + j] = __builtin_fma(left, b[p * n + j], c[i * n + j]);
    }
  }
}
// The sum has 64 bits, for those that clamp it.
DOORBELL_CLONES("arch=x86-64-v4", "arch=x86-64-v3", "default")
void multiply(const i32* a, const i32* b, i64* c, u32 m, u32 n, u32 k) {
  for (u32 p = 0; p < k; ++p) {
    for (u32 i = 0; i < m; ++i) {
      const i64 left = a[p * m + i];
      for (u32 j = 0; j < n; ++j) c[i * n + j] += left * b[p * n + j];
    }
  }
}

// Multiplies only the held elements of A, so that an infinity in B elsewhere makes no NaN.
template <class T, class Sum>
void multiply_sparse(const MatrixOperation& what, const u32* index, const T* a, const T* b,
                     Sum* c) {
  const MatrixShape& shape = what.shape();
  const u32 n = shape.n;
  std::array<u8, kMaxInputs> columns;
  const u32 count = what.layout.inputs_per_lane(0), from = what.layout.input_lanes(0);
  for (u32 lane = 0; lane < from; ++lane) {
    for (u32 e = 0; e < count; ++e) {
      const MatrixPlace place = what.layout.input(lane, e, 0);
      columns[place.column * shape.m + place.row] =
          static_cast<u8>(sparse_column(what, index, lane, e, place.column));
    }
  }
  for (u32 p = 0; p < shape.columns(0); ++p) {
    for (u32 i = 0; i < shape.m; ++i) {
      multiply(a + p * shape.m + i, b + columns[p * shape.m + i] * n, c + i * n, 1, n, 1);
    }
  }
}

template <class T, class Sum>
Flow multiply_matrices(Wave& wave, const Operation& op, const MatrixShape& matrix) {
  const MatrixOperation what = read_matrix_operation(wave, op, matrix);
  const MatrixRows rows = matrix_rows(wave, op, matrix);
  const MatrixShape& shape = what.shape();
  const u32 lanes = wave.lanes, m = shape.m, n = shape.n, k = shape.k;
  const bool rounds = wave.mode.round_32 != 0;
  if (rounds) set_host_rounding(0);

  std::array<T, kMaxInputs> a, b;
  std::array<Sum, kMaxResults> c;
  read_inputs(what, rows.a, lanes, 0, a.data());
  read_inputs(what, rows.b, lanes, 1, b.data());
  const u32 results = what.layout.results_per_lane();
  for (u32 r = 0; r < results; ++r) {
    for (u32 lane = 0; lane < lanes; ++lane) {
      const MatrixPlace place = what.layout.result(lane, r);
      c[(place.block * m + place.row) * n + place.column] =
          read_sum<Sum>(what, rows.c, op.src[2].value, lanes, lane, r);
    }
  }
  if (shape.sparse) multiply_sparse(what, rows.index, a.data(), b.data(), c.data());
  for (u32 block = 0; block < shape.blocks && !shape.sparse; ++block) {
    multiply(a.data() + input_block(what, block) * m * k, b.data() + block * n * k,
             c.data() + block * m * n, m, n, k);
  }
  for (u32 r = 0; r < results; ++r) {
    for (u32 lane = 0; lane < lanes; ++lane) {
      const MatrixPlace place = what.layout.result(lane, r);
      write_sum(what, rows.d, lanes, lane, r, c[(place.block * m + place.row) * n + place.column]);
    }
  }
  if (rounds) set_host_rounding(wave.mode.round_32);
  return Flow::Next;
}

template <MatrixShape kMatrix>
Flow run(Wave& wave, const Operation& op) {
  if constexpr (kMatrix.result == Number::F64 || kMatrix.a == Number::Said) {
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

// For waves of 64 lanes, which need the fewest registers.
constexpr u8 input_registers(const MatrixShape& shape, u32 operand) {
  const u32 elements = shape.rows(operand) * shape.columns(operand) * shape.blocks;
  return static_cast<u8>(std::max(1u, elements * bits_of(shape.input(operand)) / 64 / 32));
}
constexpr u8 result_registers(const MatrixShape& shape) {
  const u32 bits = u32{shape.m} * shape.n * shape.blocks * bits_of(shape.result);
  return static_cast<u8>(std::max(1u, bits / 64 / 32));
}

template <MatrixShape kMatrix>
constexpr Entry entry(std::string_view name) {
  Entry result{.name = name, .handler = &run<kMatrix>};
  Shape& shape = result.shape;
  const u8 results = result_registers(kMatrix);
  shape.dst = Type::Wide;
  shape.wide = {results, input_registers(kMatrix, 0), input_registers(kMatrix, 1)};
  shape.flags =
      u32{kMatrixOperands} | (kMatrix.family == MatrixFamily::Mfma ? u32{kAccumulators} : 0);
  if (kMatrix.sparse) {
    shape.src = {Type::Wide, Type::Wide, Type::B32, Type::Wide};
    shape.flags |= kReadsDst;
    shape.wide[4] = results;
  } else {
    shape.src = {Type::Wide, Type::Wide, constant_type(kMatrix.result)};
  }
  return result;
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
constexpr MatrixShape smfmac(u8 m, u8 k, Number a, Number b, Number result = Number::F32) {
  return {MatrixFamily::Mfma, m, m, k, 1, a, b, result, true};
}
constexpr MatrixShape swmmac(u8 k, Number a, Number b, Number result) {
  return {MatrixFamily::Wmma, 16, 16, k, 1, a, b, result, true};
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
    entry<mixed(16, 128, Said, Said)>("V_MFMA_F32_16X16X128_F8F6F4"),
    entry<mixed(16, 128, Said, Said)>("V_MFMA_SCALE_F32_16X16X128_F8F6F4"),
    entry<mixed(32, 64, Said, Said)>("V_MFMA_F32_32X32X64_F8F6F4"),
    entry<mixed(32, 64, Said, Said)>("V_MFMA_SCALE_F32_32X32X64_F8F6F4"),
    entry<smfmac(16, 32, F16, F16)>("V_SMFMAC_F32_16X16X32_F16"),
    entry<smfmac(16, 32, Bf16, Bf16)>("V_SMFMAC_F32_16X16X32_BF16"),
    entry<smfmac(32, 16, F16, F16)>("V_SMFMAC_F32_32X32X16_F16"),
    entry<smfmac(32, 16, Bf16, Bf16)>("V_SMFMAC_F32_32X32X16_BF16"),
    entry<smfmac(16, 64, F16, F16)>("V_SMFMAC_F32_16X16X64_F16"),
    entry<smfmac(16, 64, Bf16, Bf16)>("V_SMFMAC_F32_16X16X64_BF16"),
    entry<smfmac(32, 32, F16, F16)>("V_SMFMAC_F32_32X32X32_F16"),
    entry<smfmac(32, 32, Bf16, Bf16)>("V_SMFMAC_F32_32X32X32_BF16"),
    entry<smfmac(16, 64, I8, I8, I32)>("V_SMFMAC_I32_16X16X64_I8"),
    entry<smfmac(16, 64, Fp8, Fp8)>("V_SMFMAC_F32_16X16X64_FP8_FP8"),
    entry<smfmac(16, 64, Fp8, Bf8)>("V_SMFMAC_F32_16X16X64_FP8_BF8"),
    entry<smfmac(16, 64, Bf8, Fp8)>("V_SMFMAC_F32_16X16X64_BF8_FP8"),
    entry<smfmac(16, 64, Bf8, Bf8)>("V_SMFMAC_F32_16X16X64_BF8_BF8"),
    entry<smfmac(32, 32, I8, I8, I32)>("V_SMFMAC_I32_32X32X32_I8"),
    entry<smfmac(32, 32, Fp8, Fp8)>("V_SMFMAC_F32_32X32X32_FP8_FP8"),
    entry<smfmac(32, 32, Fp8, Bf8)>("V_SMFMAC_F32_32X32X32_FP8_BF8"),
    entry<smfmac(32, 32, Bf8, Fp8)>("V_SMFMAC_F32_32X32X32_BF8_FP8"),
    entry<smfmac(32, 32, Bf8, Bf8)>("V_SMFMAC_F32_32X32X32_BF8_BF8"),
    entry<smfmac(16, 128, I8, I8, I32)>("V_SMFMAC_I32_16X16X128_I8"),
    entry<smfmac(16, 128, Fp8, Fp8)>("V_SMFMAC_F32_16X16X128_FP8_FP8"),
    entry<smfmac(16, 128, Fp8, Bf8)>("V_SMFMAC_F32_16X16X128_FP8_BF8"),
    entry<smfmac(16, 128, Bf8, Fp8)>("V_SMFMAC_F32_16X16X128_BF8_FP8"),
    entry<smfmac(16, 128, Bf8, Bf8)>("V_SMFMAC_F32_16X16X128_BF8_BF8"),
    entry<smfmac(32, 64, I8, I8, I32)>("V_SMFMAC_I32_32X32X64_I8"),
    entry<smfmac(32, 64, Fp8, Fp8)>("V_SMFMAC_F32_32X32X64_FP8_FP8"),
    entry<smfmac(32, 64, Fp8, Bf8)>("V_SMFMAC_F32_32X32X64_FP8_BF8"),
    entry<smfmac(32, 64, Bf8, Fp8)>("V_SMFMAC_F32_32X32X64_BF8_FP8"),
    entry<smfmac(32, 64, Bf8, Bf8)>("V_SMFMAC_F32_32X32X64_BF8_BF8"),
    entry<swmmac(32, F16, F16, F32)>("V_SWMMAC_F32_16X16X32_F16"),
    entry<swmmac(32, Bf16, Bf16, F32)>("V_SWMMAC_F32_16X16X32_BF16"),
    entry<swmmac(32, F16, F16, F16)>("V_SWMMAC_F16_16X16X32_F16"),
    entry<swmmac(32, Bf16, Bf16, Bf16)>("V_SWMMAC_BF16_16X16X32_BF16"),
    entry<swmmac(32, I8, I8, I32)>("V_SWMMAC_I32_16X16X32_IU8"),
    entry<swmmac(32, I4, I4, I32)>("V_SWMMAC_I32_16X16X32_IU4"),
    entry<swmmac(64, I4, I4, I32)>("V_SWMMAC_I32_16X16X64_IU4"),
    entry<swmmac(32, Fp8, Fp8, F32)>("V_SWMMAC_F32_16X16X32_FP8_FP8"),
    entry<swmmac(32, Fp8, Bf8, F32)>("V_SWMMAC_F32_16X16X32_FP8_BF8"),
    entry<swmmac(32, Bf8, Fp8, F32)>("V_SWMMAC_F32_16X16X32_BF8_FP8"),
    entry<swmmac(32, Bf8, Bf8, F32)>("V_SWMMAC_F32_16X16X32_BF8_BF8"),
};
// clang-format on

}  // namespace

HandlerTable matrix_table() { return kTable; }

}  // namespace doorbell::emu::amdgpu
