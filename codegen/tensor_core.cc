// The table of matrix instructions.
#include "codegen/tensor_core.h"

#include "base/util/check.h"

namespace doorbell::codegen {

namespace {

using enum core::Scalar;

// Of item l and its element e:
//   A  row l % rows,        depth (l / rows * operand_elements) % depth + e
//   B  column l % columns,  depth likewise
//   C, D        column l % columns,  row (l / columns) * next_item + e * next_element
constexpr TensorCore amd(const char* name, core::Scalar operand, core::Scalar result, i64 rows,
                         i64 columns, i64 depth, i64 operand_elements, i64 result_elements,
                         i64 next_item, i64 next_element) {
  const Digit item_of_row{1, rows, 1}, item_of_column{1, columns, 1};
  const Digit elements{1, operand_elements, 1};
  const Digit part{rows, depth / operand_elements, operand_elements};
  const i64 items = rows * columns / result_elements;
  return {
      .name = name,
      .operand = operand,
      .result = result,
      .rows = rows,
      .columns = columns,
      .depth = depth,
      .operand_elements = operand_elements,
      .result_elements = result_elements,
      .a_row = {{item_of_row}, {}},
      .a_depth = {{part}, {elements}},
      .b_column = {{item_of_column}, {}},
      .b_depth = {{part}, {elements}},
      .result_row = {{{columns, items / columns, next_item}}, {{1, result_elements, next_element}}},
      .result_column = {{item_of_column}, {}}};
}

// NVIDIA's instructions are of 16 rows and 8 columns. Of item l, with g = l / 4 and t = l % 4:
//   A        rows g and g + 8,  words t and t + 4 of 32 bits along the depth
//   B        column g,          words likewise
//   C, D     rows g and g + 8,  columns 2 t and 2 t + 1
// [PTX ISA 9.0, "Matrix Fragments for mma.m16n8k8", ".m16n8k16", ".m16n8k32"; NVIDIA/cutlass
// include/cute/atom/mma_traits_sm80.hpp, SM80_16x8_Row, and the traits of SM80_16x8x16_F32F16F16F32
// and SM80_16x8x32_S32S8S8S32_TN]
// Here several are one, of 16 columns and 64 bytes of depth. Word w = e / elements of a word:
//   A        row g + 8 (w / 2 % 2),     depth: word t + 4 (w % 2) + 8 (w / 4)
//   B        column g + 8 (w / 2 % 2),  depth likewise
//   C, D     row g + 8 (e / 4),         column 8 (e / 2 % 2) + 2 t + e % 2
constexpr TensorCore nvidia(const char* name, core::Scalar operand, core::Scalar result,
                            i64 bytes) {
  const i64 word = 4 / bytes;  // elements
  const Coordinate outer{{{4, 8, 1}}, {{2 * word, 2, 8}}};
  const Coordinate depth{{{1, 4, word}},
                         {{1, word, 1}, {word, 2, 4 * word}, {4 * word, 2, 8 * word}}};
  return {.name = name,
          .operand = operand,
          .result = result,
          .rows = 16,
          .columns = 16,
          .depth = 16 * word,
          .operand_elements = 8 * word,
          .result_elements = 8,
          .a_row = outer,
          .a_depth = depth,
          .b_column = outer,
          .b_depth = depth,
          .result_row = {{{4, 8, 1}}, {{4, 2, 8}}},
          .result_column = {{{1, 4, 2}}, {{1, 2, 1}, {2, 2, 8}}},
          .loads_matrices = true};
}

// Of a warp group, four warps: 64 rows, 16 of each warp, where C and D lie as those of several
// m16n8 side by side. Of item l, with g = l / 4 % 8 and t = l % 4:
//   C, D     row 16 (l / 32) + g + 8 (e / 2 % 2),  column 8 (e / 4) + 2 t + e % 2
// A and B lie in shared memory. [PTX ISA 9.0, "Register Fragments for wgmma.mma_async.m64nNk16";
// NVIDIA/cutlass include/cute/atom/mma_traits_sm90_gmma.hpp, CLayout_64xN]
constexpr TensorCore warpgroup(const char* name, core::Scalar operand, core::Scalar result,
                               i64 columns, i64 bytes, bool short_sums) {
  return {.name = name,
          .operand = operand,
          .result = result,
          .rows = 64,
          .columns = columns,
          .depth = kLocalRowBytes / bytes,
          .operand_elements = 1,
          .result_elements = columns / 2,
          .a_row = {},
          .a_depth = {},
          .b_column = {},
          .b_depth = {},
          .result_row = {{{4, 8, 1}, {32, 4, 16}}, {{2, 2, 8}}},
          .result_column = {{{1, 4, 2}}, {{1, 2, 1}, {4, columns / 8, 8}}},
          .reads_local = true,
          .short_sums = short_sums};
}

// Apple's: of 8 by 8 by 8, of a simdgroup of 32. A, B, C and D lie alike, so that the depth is
// along A's columns and along B's rows:
//   row l / 2 % 4 + 4 (l / 16),  column 2 (l % 2) + 4 (l / 8 % 2) + e
// Apple documents no layout: its own MLX and tinygrad rely on this one. [tinygrad/tinygrad
// tinygrad/codegen/opt/tc.py, "metal", at 198a304; ml-explore/mlx
// mlx/backend/metal/kernels/steel/gemm/mma.h, BlockMMA::sm and sn, at 13619f4]
constexpr TensorCore apple(const char* name, core::Scalar operand) {
  const Coordinate row{{{2, 4, 1}, {16, 2, 4}}, {}};
  const Coordinate column{{{1, 2, 2}, {8, 2, 4}}, {{1, 2, 1}}};
  return {.name = name,
          .operand = operand,
          .result = F32,
          .rows = 8,
          .columns = 8,
          .depth = 8,
          .operand_elements = 2,
          .result_elements = 2,
          .a_row = row,
          .a_depth = column,
          .b_column = column,
          .b_depth = row,
          .result_row = row,
          .result_column = column};
}

// RDNA3: both halves of a wave hold the same operands [AMD "RDNA3 ISA", 7.9; gpuopen.com, "How to
// accelerate AI applications on RDNA 3 using WMMA"]. RDNA4: [AMD "RDNA4 ISA", 7.12]. CDNA: [AMD
// "Instinct MI300 ISA", 7.1.4.2; "CDNA4 ISA", 7.1; gpuopen.com, "AMD matrix cores"]. The renderer
// says the format to F8F6F4. If a chip has several instructions for a dtype, the last one that fits
// the sizes is used, or one of a warp group if its plan is faster. "2 ": two instructions, of the
// two halves of an item's operand elements, so that an item reads twice as many neighbours.
// clang-format off
constexpr TensorCore kCores[] = {
//  name                                 operand     result M   N   K    A,B D  item element
  amd("v_wmma_f32_16x16x16_f16 gfx11",      F16,        F32, 16, 16, 16,  16, 8, 1, 2),
  amd("v_wmma_f32_16x16x16_bf16 gfx11",     BF16,       F32, 16, 16, 16,  16, 8, 1, 2),
  amd("v_wmma_f32_16x16x16_f16 gfx12",      F16,        F32, 16, 16, 16,  8,  8, 8, 1),
  amd("v_wmma_f32_16x16x16_bf16 gfx12",     BF16,       F32, 16, 16, 16,  8,  8, 8, 1),
  amd("v_mfma_f32_16x16x16_f16",            F16,        F32, 16, 16, 16,  4,  4, 4, 1),
  amd("v_mfma_f32_16x16x16_bf16",           BF16,       F32, 16, 16, 16,  4,  4, 4, 1),
  amd("v_mfma_f32_16x16x32_f16",            F16,        F32, 16, 16, 32,  8,  4, 4, 1),
  amd("v_mfma_f32_16x16x32_bf16",           BF16,       F32, 16, 16, 32,  8,  4, 4, 1),
  amd("v_wmma_i32_16x16x16_iu8 gfx11",      I8,         I32, 16, 16, 16,  16, 8, 1, 2),
  amd("v_wmma_i32_16x16x16_iu8 gfx11",      U8,         I32, 16, 16, 16,  16, 8, 1, 2),
  amd("v_wmma_i32_16x16x16_iu8 gfx12",      I8,         I32, 16, 16, 16,  8,  8, 8, 1),
  amd("v_wmma_i32_16x16x16_iu8 gfx12",      U8,         I32, 16, 16, 16,  8,  8, 8, 1),
  amd("v_wmma_f32_16x16x16_fp8_fp8",        F8E4M3,     F32, 16, 16, 16,  8,  8, 8, 1),
  amd("v_wmma_f32_16x16x16_bf8_bf8",        F8E5M2,     F32, 16, 16, 16,  8,  8, 8, 1),
  amd("v_mfma_i32_16x16x32_i8",             I8,         I32, 16, 16, 32,  8,  4, 4, 1),
  amd("v_mfma_f32_16x16x32_fp8_fp8 gfx942", F8E4M3FNUZ, F32, 16, 16, 32,  8,  4, 4, 1),
  amd("v_mfma_f32_16x16x32_bf8_bf8 gfx942", F8E5M2FNUZ, F32, 16, 16, 32,  8,  4, 4, 1),
  amd("v_mfma_f32_16x16x32_fp8_fp8 gfx950", F8E4M3,     F32, 16, 16, 32,  8,  4, 4, 1),
  amd("v_mfma_f32_16x16x32_bf8_bf8 gfx950", F8E5M2,     F32, 16, 16, 32,  8,  4, 4, 1),
  amd("v_mfma_i32_16x16x64_i8",             I8,         I32, 16, 16, 64,  16, 4, 4, 1),
  amd("v_mfma_f32_16x16x128_f8f6f4",        F8E4M3,     F32, 16, 16, 128, 32, 4, 4, 1),
  amd("v_mfma_f32_16x16x128_f8f6f4",        F8E5M2,     F32, 16, 16, 128, 32, 4, 4, 1),
  amd("2 v_mfma_f32_16x16x16_f16",          F16,        F32, 16, 16, 32,  8,  4, 4, 1),
  amd("2 v_mfma_f32_16x16x16_bf16",         BF16,       F32, 16, 16, 32,  8,  4, 4, 1),
  amd("2 v_mfma_i32_16x16x32_i8",           I8,         I32, 16, 16, 64,  16, 4, 4, 1),
  amd("2 v_mfma_f32_16x16x32_fp8_fp8 gfx942", F8E4M3FNUZ, F32, 16, 16, 64, 16, 4, 4, 1),
  amd("2 v_mfma_f32_16x16x32_bf8_bf8 gfx942", F8E5M2FNUZ, F32, 16, 16, 64, 16, 4, 4, 1),
//     name                                                 operand result bytes
  nvidia("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32",    F16,    F32, 2),
  nvidia("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",   F16,    F32, 2),
  nvidia("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", BF16,   F32, 2),
  nvidia("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32",     I8,     I32, 1),
  nvidia("mma.sync.aligned.m16n8k32.row.col.s32.u8.u8.s32",     U8,     I32, 1),
  nvidia("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32", F8E4M3, F32, 1),
  nvidia("mma.sync.aligned.m16n8k32.row.col.f32.e5m2.e5m2.f32", F8E5M2, F32, 1),
  nvidia("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32",  F32,    F32, 4),
//          name                    operand result N  bytes, short sums
  warpgroup("wgmma .f32.f16.f16",    F16,    F32, 64,  2, false),
  warpgroup("wgmma .f32.f16.f16",    F16,    F32, 128, 2, false),
  warpgroup("wgmma .f32.f16.f16",    F16,    F32, 256, 2, false),
  warpgroup("wgmma .f32.bf16.bf16",  BF16,   F32, 64,  2, false),
  warpgroup("wgmma .f32.bf16.bf16",  BF16,   F32, 128, 2, false),
  warpgroup("wgmma .f32.bf16.bf16",  BF16,   F32, 256, 2, false),
  warpgroup("wgmma .s32.s8.s8",      I8,     I32, 64,  1, false),
  warpgroup("wgmma .s32.s8.s8",      I8,     I32, 128, 1, false),
  warpgroup("wgmma .s32.s8.s8",      I8,     I32, 256, 1, false),
  warpgroup("wgmma .s32.u8.u8",      U8,     I32, 64,  1, false),
  warpgroup("wgmma .s32.u8.u8",      U8,     I32, 128, 1, false),
  warpgroup("wgmma .s32.u8.u8",      U8,     I32, 256, 1, false),
  warpgroup("wgmma .f32.e4m3.e4m3",  F8E4M3, F32, 64,  1, true),
  warpgroup("wgmma .f32.e4m3.e4m3",  F8E4M3, F32, 128, 1, true),
  warpgroup("wgmma .f32.e4m3.e4m3",  F8E4M3, F32, 256, 1, true),
  warpgroup("wgmma .f32.e5m2.e5m2",  F8E5M2, F32, 64,  1, true),
  warpgroup("wgmma .f32.e5m2.e5m2",  F8E5M2, F32, 128, 1, true),
  warpgroup("wgmma .f32.e5m2.e5m2",  F8E5M2, F32, 256, 1, true),
  apple("simdgroup_float8x8",  F32),
  apple("simdgroup_half8x8",   F16),
  apple("simdgroup_bfloat8x8", BF16),
};
// clang-format on
static_assert(std::size(kCores) == kTensorCoreCount);

}  // namespace

std::span<const TensorCore> tensor_cores() { return kCores; }

const TensorCore& tensor_core(i64 number) {
  CHECK(number >= 0 && number < static_cast<i64>(kTensorCoreCount), "tensor core {} of {}", number,
        kTensorCoreCount);
  return kCores[number];
}

}  // namespace doorbell::codegen
