// The table of matrix instructions.
#include "codegen/tensor_core.h"

#include "base/util/check.h"

namespace doorbell::codegen {

using core::Scalar;

namespace {

// RDNA3: both halves of a wave hold the same operands [AMD "RDNA3 ISA", 7.9; gpuopen.com, "How to
// accelerate AI applications on RDNA 3 using WMMA"]. RDNA4: [AMD "RDNA4 ISA", 7.12]. CDNA: [AMD
// "Instinct MI300 ISA", 7.1.4.2; gpuopen.com, "AMD matrix cores"].
// clang-format off
constexpr TensorCore kCores[] = {
//  name                              operand       M   N   K   A,B D  item element
  {"v_wmma_f32_16x16x16_f16 gfx11",   Scalar::F16,  16, 16, 16, 16, 8, 1, 2},
  {"v_wmma_f32_16x16x16_bf16 gfx11",  Scalar::BF16, 16, 16, 16, 16, 8, 1, 2},
  {"v_wmma_f32_16x16x16_f16 gfx12",   Scalar::F16,  16, 16, 16, 8,  8, 8, 1},
  {"v_wmma_f32_16x16x16_bf16 gfx12",  Scalar::BF16, 16, 16, 16, 8,  8, 8, 1},
  {"v_mfma_f32_16x16x16_f16",         Scalar::F16,  16, 16, 16, 4,  4, 4, 1},
  {"v_mfma_f32_16x16x16_bf16",        Scalar::BF16, 16, 16, 16, 4,  4, 4, 1},
  {"v_mfma_f32_16x16x32_f16",         Scalar::F16,  16, 16, 32, 8,  4, 4, 1},
  {"v_mfma_f32_16x16x32_bf16",        Scalar::BF16, 16, 16, 32, 8,  4, 4, 1},
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
