// The table of matrix instructions.
#include "codegen/tensor_core.h"

#include "base/util/check.h"

namespace doorbell::codegen {

namespace {

using enum core::Scalar;

// RDNA3: both halves of a wave hold the same operands [AMD "RDNA3 ISA", 7.9; gpuopen.com, "How to
// accelerate AI applications on RDNA 3 using WMMA"]. RDNA4: [AMD "RDNA4 ISA", 7.12]. CDNA: [AMD
// "Instinct MI300 ISA", 7.1.4.2; "CDNA4 ISA", 7.1; gpuopen.com, "AMD matrix cores"]. The renderer
// says the format to F8F6F4. If a chip has several instructions for a dtype, the last one that fits
// the sizes is used. "2 ": two instructions, of the two halves of an item's operand elements, so
// that an item reads twice as many neighbours.
// clang-format off
constexpr TensorCore kCores[] = {
//  name                                 operand     result M   N   K    A,B D  item element
  {"v_wmma_f32_16x16x16_f16 gfx11",      F16,        F32, 16, 16, 16,  16, 8, 1, 2},
  {"v_wmma_f32_16x16x16_bf16 gfx11",     BF16,       F32, 16, 16, 16,  16, 8, 1, 2},
  {"v_wmma_f32_16x16x16_f16 gfx12",      F16,        F32, 16, 16, 16,  8,  8, 8, 1},
  {"v_wmma_f32_16x16x16_bf16 gfx12",     BF16,       F32, 16, 16, 16,  8,  8, 8, 1},
  {"v_mfma_f32_16x16x16_f16",            F16,        F32, 16, 16, 16,  4,  4, 4, 1},
  {"v_mfma_f32_16x16x16_bf16",           BF16,       F32, 16, 16, 16,  4,  4, 4, 1},
  {"v_mfma_f32_16x16x32_f16",            F16,        F32, 16, 16, 32,  8,  4, 4, 1},
  {"v_mfma_f32_16x16x32_bf16",           BF16,       F32, 16, 16, 32,  8,  4, 4, 1},
  {"v_wmma_i32_16x16x16_iu8 gfx11",      I8,         I32, 16, 16, 16,  16, 8, 1, 2},
  {"v_wmma_i32_16x16x16_iu8 gfx11",      U8,         I32, 16, 16, 16,  16, 8, 1, 2},
  {"v_wmma_i32_16x16x16_iu8 gfx12",      I8,         I32, 16, 16, 16,  8,  8, 8, 1},
  {"v_wmma_i32_16x16x16_iu8 gfx12",      U8,         I32, 16, 16, 16,  8,  8, 8, 1},
  {"v_wmma_f32_16x16x16_fp8_fp8",        F8E4M3,     F32, 16, 16, 16,  8,  8, 8, 1},
  {"v_wmma_f32_16x16x16_bf8_bf8",        F8E5M2,     F32, 16, 16, 16,  8,  8, 8, 1},
  {"v_mfma_i32_16x16x32_i8",             I8,         I32, 16, 16, 32,  8,  4, 4, 1},
  {"v_mfma_f32_16x16x32_fp8_fp8 gfx942", F8E4M3FNUZ, F32, 16, 16, 32,  8,  4, 4, 1},
  {"v_mfma_f32_16x16x32_bf8_bf8 gfx942", F8E5M2FNUZ, F32, 16, 16, 32,  8,  4, 4, 1},
  {"v_mfma_f32_16x16x32_fp8_fp8 gfx950", F8E4M3,     F32, 16, 16, 32,  8,  4, 4, 1},
  {"v_mfma_f32_16x16x32_bf8_bf8 gfx950", F8E5M2,     F32, 16, 16, 32,  8,  4, 4, 1},
  {"v_mfma_i32_16x16x64_i8",             I8,         I32, 16, 16, 64,  16, 4, 4, 1},
  {"v_mfma_f32_16x16x128_f8f6f4",        F8E4M3,     F32, 16, 16, 128, 32, 4, 4, 1},
  {"v_mfma_f32_16x16x128_f8f6f4",        F8E5M2,     F32, 16, 16, 128, 32, 4, 4, 1},
  {"2 v_mfma_f32_16x16x16_f16",          F16,        F32, 16, 16, 32,  8,  4, 4, 1},
  {"2 v_mfma_f32_16x16x16_bf16",         BF16,       F32, 16, 16, 32,  8,  4, 4, 1},
  {"2 v_mfma_i32_16x16x32_i8",           I8,         I32, 16, 16, 64,  16, 4, 4, 1},
  {"2 v_mfma_f32_16x16x32_fp8_fp8 gfx942", F8E4M3FNUZ, F32, 16, 16, 64, 16, 4, 4, 1},
  {"2 v_mfma_f32_16x16x32_bf8_bf8 gfx942", F8E5M2FNUZ, F32, 16, 16, 64, 16, 4, 4, 1},
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
