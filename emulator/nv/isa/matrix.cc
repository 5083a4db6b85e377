// Matrix products of a warp. Products are exact; each is added to an f32 in the order of the depth,
// with one rounding (halves: one more, of the result). Hardware adds several products at once and
// rounds otherwise, which NVIDIA does not document [Fasi, Higham, Mikaitis, Pranesh, "Numerical
// behavior of NVIDIA tensor cores", 2021]: results are the same where no sum is rounded.
#include "emulator/nv/isa/matrix.h"

#include <immintrin.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "emulator/core/number/number.h"
#include "emulator/core/number/small_float.h"
#include "emulator/nv/compute/block.h"
#include "emulator/nv/compute/rules.h"
#include "emulator/nv/isa/handlers.h"
#include "emulator/nv/isa/lanes.h"

namespace doorbell::emu::nvgpu {

namespace {

constexpr u32 kHmma = 0x03c, kImma = 0x037, kQmma = 0x07a;
constexpr u32 kMostRows = 16, kColumns = 8, kMostDepth = 32;

std::optional<MatrixForm> hmma_form(const Operation& op) {
  MatrixForm form;
  const u32 size = op.field(75, 1) | op.field(78, 1) << 1, type = op.field(82, 2);
  if (op.field(72, 2) != 0 || size == 3 || type == 3) return std::nullopt;
  form.depth = size == 0 ? 8 : size == 1 ? 16 : 4;
  form.left = form.right = static_cast<Element>(type);
  form.narrow_sums = !op.bit(76);
  if ((size == 2) && type != 2) return std::nullopt;
  if (size == 1 && type == 2) return std::nullopt;
  return form;
}

std::optional<MatrixForm> imma_form(const Operation& op) {
  MatrixForm form;
  form.left = op.bit(76) ? Element::I8 : Element::U8;
  form.right = op.bit(78) ? Element::I8 : Element::U8;
  form.saturates = op.bit(82);
  const u32 size = op.field(75, 1) | op.field(85, 2) << 1;
  if (op.field(72, 3) != 4 || op.bit(77) || op.bit(79) || op.field(83, 2) != 0) return std::nullopt;
  if (size != 0 && size != 4 && size != 5) return std::nullopt;
  form.rows = size == 0 ? 8 : 16;
  form.depth = size == 5 ? 32 : 16;
  return form;
}

std::optional<MatrixForm> qmma_form(const Operation& op) {
  MatrixForm form;
  if (op.field(72, 3) != 4 || op.bit(76) || op.bit(80)) return std::nullopt;
  form.left = op.bit(78) ? Element::E5m2 : Element::E4m3;
  form.right = op.bit(79) ? Element::E5m2 : Element::E4m3;
  form.narrow_sums = !op.bit(77);
  form.depth = op.bit(75) ? 32 : 16;
  return form;
}

// The floats of all codes.
using SmallFloats = std::array<f32, 256>;
const SmallFloats& small_floats(Element type) {
  static const auto* const kTables = [] {
    auto* tables = new std::array<SmallFloats, 2>;
    for (u32 code = 0; code < 256; ++code) {
      (*tables)[0][code] = small_to_float(code, kFp8);
      (*tables)[1][code] = small_to_float(code, kBf8);
    }
    return tables;
  }();
  return (*kTables)[type == Element::E5m2 ? 1 : 0];
}

// The elements of a register, in the order of lanes: 8 rows (columns of B), of which 4 lanes have
// one each.
template <class T>
[[gnu::always_inline]] inline void unpack(const Row& row, Element type, T* out) {
  u8 bytes[sizeof(Row)];
  std::memcpy(bytes, row.data(), sizeof(Row));
  u16 halves[2 * kLanes];
  std::memcpy(halves, row.data(), sizeof(Row));
  switch (type) {
    case Element::Half:
      DOORBELL_NV_LANES
      for (u32 i = 0; i < 2 * kLanes; ++i) out[i] = static_cast<T>(half_to_float(halves[i]));
      return;
    case Element::Bfloat:
      DOORBELL_NV_LANES
      for (u32 i = 0; i < 2 * kLanes; ++i) out[i] = static_cast<T>(bfloat_to_float(halves[i]));
      return;
    case Element::Tf32:  // the lower 13 bits are ignored [PTX ISA, "mma"]
      for (u32 i = 0; i < kLanes; ++i)
        out[i] = static_cast<T>(std::bit_cast<f32>(row[i] & 0xffff'e000));
      return;
    case Element::U8:
      DOORBELL_NV_LANES
      for (u32 i = 0; i < 4 * kLanes; ++i) out[i] = static_cast<T>(bytes[i]);
      return;
    case Element::I8:
      DOORBELL_NV_LANES
      for (u32 i = 0; i < 4 * kLanes; ++i) out[i] = static_cast<T>(static_cast<i8>(bytes[i]));
      return;
    default: {
      const SmallFloats& floats = small_floats(type);
      for (u32 i = 0; i < 4 * kLanes; ++i) out[i] = static_cast<T>(floats[bytes[i]]);
    }
  }
}

const Row& register_of(const Warp& warp, const Source& source, u32 number) {
  return warp.rows[source.index == kZero ? kZero : source.index + number];
}

template <class T>
struct Matrices {
  alignas(32) T left[kMostRows][kMostDepth];
  alignas(32) T right[kMostDepth][kColumns];
  alignas(32) T sum[kMostRows][kColumns];
};

// Registers 0 and 2 of A have rows 0 to 7, registers 1 and 3 the others; 2 and 3 have the second
// half of the depth. So have the registers of B.
template <class T>
[[gnu::always_inline]] inline void load_factors(const Warp& warp, const Operation& op,
                                                const MatrixForm& form, Matrices<T>& m) {
  const u32 width = 4 * form.packed();  // elements of 4 lanes
  alignas(32) T elements[4 * kLanes];
  for (u32 r = 0; r < form.left_registers(); ++r) {
    unpack(register_of(warp, op.a, r), form.left, elements);
    for (u32 group = 0; group < 8; ++group)
      std::memcpy(&m.left[8 * (r & 1) + group][width * (r >> 1)], &elements[group * width],
                  width * sizeof(T));
  }
  for (u32 r = 0; r < form.right_registers(); ++r) {
    unpack(register_of(warp, op.x, r), form.right, elements);
    for (u32 k = 0; k < width; ++k)
      for (u32 column = 0; column < kColumns; ++column)
        m.right[width * r + k][column] = elements[column * width + k];
  }
}

// Sums of 32 bits: register 2 i + j of lane 4 g + t has row 8 i + g, column 2 t + j. Halves:
// register i has both columns.
template <class Store>
[[gnu::always_inline]] inline void for_each_sum(const MatrixForm& form, Store store) {
  for (u32 upper = 0; upper < form.rows / 8; ++upper)
    for (u32 lane = 0; lane < kLanes; ++lane)
      for (u32 odd = 0; odd < 2; ++odd)
        store(8 * upper + lane / 4, 2 * (lane % 4) + odd,
              form.narrow_sums ? upper : 2 * upper + odd, lane, odd);
}

void load_sums(const Warp& warp, const Operation& op, const MatrixForm& form, Matrices<f32>& m) {
  for_each_sum(form, [&](u32 row, u32 column, u32 number, u32 lane, u32 odd) {
    const u32 word = register_of(warp, op.e, number)[lane];
    m.sum[row][column] =
        form.narrow_sums ? half_to_float(word >> (16 * odd) & 0xffff) : std::bit_cast<f32>(word);
  });
}

void store_sums(Warp& warp, const Operation& op, const MatrixForm& form, const Matrices<f32>& m) {
  alignas(64) u32 out[4][kLanes] = {};
  for_each_sum(form, [&](u32 row, u32 column, u32 number, u32 lane, u32 odd) {
    const f32 value = m.sum[row][column];
    if (form.narrow_sums)
      out[number][lane] |= (value != value ? 0x7fffu : float_to_half(value)) << (16 * odd);
    else
      out[number][lane] = value != value ? 0x7fff'ffff : std::bit_cast<u32>(value);
  });
  for (u32 r = 0; r < form.sum_registers(); ++r)
    store_row(warp, op.dst == kZero ? kZero : op.dst + r, out[r], kAllLanes);
}

// The halves of a register: 8 rows of 8.
using Tile = __m256[8];
[[gnu::target("avx2,f16c"), gnu::always_inline]] inline void unpack_halves(const Row& row,
                                                                           bool bfloat, Tile& out) {
  DOORBELL_NV_UNROLL
  for (u32 i = 0; i < 8; ++i) {
    const __m128i halves = _mm_loadu_si128(reinterpret_cast<const __m128i*>(&row[4 * i]));
    const __m256i wide = _mm256_slli_epi32(_mm256_cvtepu16_epi32(halves), 16);
    out[i] = bfloat ? _mm256_castsi256_ps(wide) : _mm256_cvtph_ps(halves);
  }
}

// 8 times 8 floats, rows for columns.
[[gnu::target("avx2"), gnu::always_inline]] inline void transpose(Tile& tile) {
  Tile low, row;
  DOORBELL_NV_UNROLL
  for (u32 i = 0; i < 8; i += 2) {
    low[i] = _mm256_unpacklo_ps(tile[i], tile[i + 1]);
    low[i + 1] = _mm256_unpackhi_ps(tile[i], tile[i + 1]);
  }
  DOORBELL_NV_UNROLL
  for (u32 i = 0; i < 8; i += 4) {
    row[i] = _mm256_shuffle_ps(low[i], low[i + 2], 0x44);
    row[i + 1] = _mm256_shuffle_ps(low[i], low[i + 2], 0xee);
    row[i + 2] = _mm256_shuffle_ps(low[i + 1], low[i + 3], 0x44);
    row[i + 3] = _mm256_shuffle_ps(low[i + 1], low[i + 3], 0xee);
  }
  DOORBELL_NV_UNROLL
  for (u32 i = 0; i < 4; ++i) {
    tile[i] = _mm256_permute2f128_ps(row[i], row[i + 4], 0x20);
    tile[i + 4] = _mm256_permute2f128_ps(row[i], row[i + 4], 0x31);
  }
}

// f16 and bfloat16, with sums of 32 bits: what load_factors() and load_sums() do, by the host's
// vectors.
DOORBELL_NV_FAST_CPU void load_fast(const Warp& warp, const Operation& op, const MatrixForm& form,
                                    Matrices<f32>& m) {
  const bool bfloat = form.left == Element::Bfloat;
  for (u32 r = 0; r < form.left_registers(); ++r) {
    Tile tile;
    unpack_halves(register_of(warp, op.a, r), bfloat, tile);
    DOORBELL_NV_UNROLL
    for (u32 i = 0; i < 8; ++i) _mm256_store_ps(&m.left[8 * (r & 1) + i][8 * (r >> 1)], tile[i]);
  }
  for (u32 r = 0; r < form.right_registers(); ++r) {
    Tile tile;
    unpack_halves(register_of(warp, op.x, r), bfloat, tile);
    transpose(tile);
    DOORBELL_NV_UNROLL
    for (u32 i = 0; i < 8; ++i) _mm256_store_ps(m.right[8 * r + i], tile[i]);
  }
  for (u32 upper = 0; upper < 2; ++upper) {
    const u32* even = register_of(warp, op.e, 2 * upper).data();
    const u32* odd = register_of(warp, op.e, 2 * upper + 1).data();
    for (u32 i = 0; i < 8; ++i) {
      const __m128 a = _mm_loadu_ps(reinterpret_cast<const f32*>(even + 4 * i));
      const __m128 b = _mm_loadu_ps(reinterpret_cast<const f32*>(odd + 4 * i));
      _mm_store_ps(&m.sum[8 * upper + i][0], _mm_unpacklo_ps(a, b));
      _mm_store_ps(&m.sum[8 * upper + i][4], _mm_unpackhi_ps(a, b));
    }
  }
}

// Sums of 32 bits; NaN is 0x7fffffff.
DOORBELL_NV_FAST_CPU void store_fast(Warp& warp, const Operation& op, const Matrices<f32>& m) {
  const __m128 nan = _mm_castsi128_ps(_mm_set1_epi32(0x7fff'ffff));
  for (u32 upper = 0; upper < 2; ++upper) {
    u32* even = warp.rows[op.dst + 2 * upper].data();
    u32* odd = warp.rows[op.dst + 2 * upper + 1].data();
    for (u32 i = 0; i < 8; ++i) {
      __m128 low = _mm_load_ps(&m.sum[8 * upper + i][0]);
      __m128 high = _mm_load_ps(&m.sum[8 * upper + i][4]);
      low = _mm_blendv_ps(low, nan, _mm_cmpunord_ps(low, low));
      high = _mm_blendv_ps(high, nan, _mm_cmpunord_ps(high, high));
      _mm_storeu_ps(reinterpret_cast<f32*>(even + 4 * i), _mm_shuffle_ps(low, high, 0x88));
      _mm_storeu_ps(reinterpret_cast<f32*>(odd + 4 * i), _mm_shuffle_ps(low, high, 0xdd));
    }
  }
}

DOORBELL_NV_FAST_CPU void multiply_fast(Matrices<f32>& m, u32 depth) {
  for (u32 first = 0; first < kMostRows; first += 8) {
    __m256 sum[8];
    DOORBELL_NV_UNROLL
    for (u32 row = 0; row < 8; ++row) sum[row] = _mm256_load_ps(m.sum[first + row]);
    for (u32 k = 0; k < depth; ++k) {
      const __m256 right = _mm256_load_ps(m.right[k]);
      DOORBELL_NV_UNROLL
      for (u32 row = 0; row < 8; ++row)
        sum[row] = _mm256_fmadd_ps(_mm256_broadcast_ss(&m.left[first + row][k]), right, sum[row]);
    }
    DOORBELL_NV_UNROLL
    for (u32 row = 0; row < 8; ++row) _mm256_store_ps(m.sum[first + row], sum[row]);
  }
}
void multiply_any(Matrices<f32>& m, u32 depth) {
  for (u32 row = 0; row < kMostRows; ++row)
    for (u32 k = 0; k < depth; ++k)
      for (u32 column = 0; column < kColumns; ++column)
        m.sum[row][column] = std::fma(m.left[row][k], m.right[k][column], m.sum[row][column]);
}

[[gnu::always_inline]] inline void run_floats(Warp& warp, const Operation& op,
                                              const MatrixForm& form, bool fast) {
  Matrices<f32> m;
  load_factors(warp, op, form, m);
  load_sums(warp, op, form, m);
  if (fast)
    multiply_fast(m, form.depth);
  else
    multiply_any(m, form.depth);
  store_sums(warp, op, form, m);
}
DOORBELL_NV_FAST_CPU void floats_fast(Warp& warp, const Operation& op, const MatrixForm& form) {
  if (form.left > Element::Bfloat || form.narrow_sums || op.dst == kZero)
    return run_floats(warp, op, form, true);
  Matrices<f32> m;
  load_fast(warp, op, form, m);
  multiply_fast(m, form.depth);
  store_fast(warp, op, m);
}
DOORBELL_NV_ANY_CPU void floats_any(Warp& warp, const Operation& op, const MatrixForm& form) {
  run_floats(warp, op, form, false);
}

// A sum of products fits into 32 bits; with C it wraps, or saturates.
void run_integers(Warp& warp, const Operation& op, const MatrixForm& form) {
  Matrices<i32> m = {};
  load_factors(warp, op, form, m);
  for (u32 row = 0; row < form.rows; ++row)
    for (u32 k = 0; k < form.depth; ++k)
      for (u32 column = 0; column < kColumns; ++column)
        m.sum[row][column] += m.left[row][k] * m.right[k][column];
  alignas(64) u32 out[4][kLanes];
  for_each_sum(form, [&](u32 row, u32 column, u32 number, u32 lane, u32) {
    i64 value = i64{static_cast<i32>(register_of(warp, op.e, number)[lane])} + m.sum[row][column];
    if (form.saturates)
      value =
          std::clamp<i64>(value, std::numeric_limits<i32>::min(), std::numeric_limits<i32>::max());
    out[number][lane] = static_cast<u32>(value);
  });
  for (u32 r = 0; r < form.sum_registers(); ++r)
    store_row(warp, op.dst == kZero ? kZero : op.dst + r, out[r], kAllLanes);
}

}  // namespace

bool is_matrix_product(u32 opcode) { return opcode == kHmma || opcode == kImma || opcode == kQmma; }

// A uniform predicate at 87 would choose whether C counts.
std::optional<MatrixForm> matrix_form(const Operation& op) {
  if (op.form != 1 || !(op.field(87, 4) == 0 || op.field(87, 4) == 7)) return std::nullopt;
  switch (op.opcode->number) {
    case kHmma: return hmma_form(op);
    case kImma: return imma_form(op);
    case kQmma: return qmma_form(op);
    default: return std::nullopt;
  }
}

Flow multiply_matrices(Warp& warp, const Operation& op) {
  const std::optional<MatrixForm> form = matrix_form(op);
  if (!form) return unknown_instruction(warp, op);
  if (warp.mask_of(op) == 0) return Flow::Next;
  if (!check_whole_warp(warp, op)) return Flow::Stop;
  if (form->left >= Element::U8)
    run_integers(warp, op, *form);
  else if (has_fast_cpu())
    floats_fast(warp, op, *form);
  else
    floats_any(warp, op, *form);
  return Flow::Next;
}

}  // namespace doorbell::emu::nvgpu
