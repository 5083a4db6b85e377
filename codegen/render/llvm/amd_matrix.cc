// The table of intrinsics by the tensor cores' names, and the five ways to call one.
#include "codegen/render/llvm/amd_matrix.h"

#include <llvm/Config/llvm-config.h>
#include <llvm/IR/IntrinsicsAMDGPU.h>

#include "base/util/check.h"

namespace doorbell::codegen {
namespace {

using core::Scalar;

// How an intrinsic takes its operands. [LLVM, IntrinsicsAMDGPU.td: AMDGPUWmmaIntrinsic,
// AMDGPUWmmaIntrinsicIU, AMDGPUMfmaIntrinsic, AMDGPUMfmaIntrinsicScaled]
enum class Call : u8 {
  Wmma,
  SignedWmma,  // with a flag for each operand's sign, and one to clamp results
  Mfma,        // with three numbers that permute blocks and lanes
  Said,        // F8F6F4: with the operands' formats, and their scales
};
// The type of an operand's elements together.
enum class Operand : u8 { AsTheyAre, Bfloats, Words, Long };

struct Instruction {
  std::string_view name;  // TensorCore::name
  llvm::Intrinsic::ID id;
  Call call;
  Operand operand;
};

using namespace llvm::Intrinsic;
using enum Call;
using enum Operand;
// clang-format off
constexpr Instruction kInstructions[] = {
  {"v_wmma_f32_16x16x16_f16 gfx11",       amdgcn_wmma_f32_16x16x16_f16,      Wmma,       AsTheyAre},
  {"v_wmma_f32_16x16x16_bf16 gfx11",      amdgcn_wmma_f32_16x16x16_bf16,     Wmma,       AsTheyAre},
  {"v_wmma_f32_16x16x16_f16 gfx12",       amdgcn_wmma_f32_16x16x16_f16,      Wmma,       AsTheyAre},
  {"v_wmma_f32_16x16x16_bf16 gfx12",      amdgcn_wmma_f32_16x16x16_bf16,     Wmma,       AsTheyAre},
  {"v_wmma_i32_16x16x16_iu8 gfx11",       amdgcn_wmma_i32_16x16x16_iu8,      SignedWmma, Words},
  {"v_wmma_i32_16x16x16_iu8 gfx12",       amdgcn_wmma_i32_16x16x16_iu8,      SignedWmma, Words},
  {"v_wmma_f32_16x16x16_fp8_fp8",         amdgcn_wmma_f32_16x16x16_fp8_fp8,  Wmma,       Words},
  {"v_wmma_f32_16x16x16_bf8_bf8",         amdgcn_wmma_f32_16x16x16_bf8_bf8,  Wmma,       Words},
  {"v_mfma_f32_16x16x16_f16",             amdgcn_mfma_f32_16x16x16f16,       Mfma,       AsTheyAre},
  {"v_mfma_f32_16x16x16_bf16",            amdgcn_mfma_f32_16x16x16bf16_1k,   Mfma,       AsTheyAre},
  {"v_mfma_i32_16x16x32_i8",              amdgcn_mfma_i32_16x16x32_i8,       Mfma,       Long},
  {"v_mfma_f32_16x16x32_fp8_fp8 gfx942",  amdgcn_mfma_f32_16x16x32_fp8_fp8,  Mfma,       Long},
  {"v_mfma_f32_16x16x32_bf8_bf8 gfx942",  amdgcn_mfma_f32_16x16x32_bf8_bf8,  Mfma,       Long},
  {"v_mfma_f32_16x16x32_fp8_fp8 gfx950",  amdgcn_mfma_f32_16x16x32_fp8_fp8,  Mfma,       Long},
  {"v_mfma_f32_16x16x32_bf8_bf8 gfx950",  amdgcn_mfma_f32_16x16x32_bf8_bf8,  Mfma,       Long},
#if LLVM_VERSION_MAJOR >= 20
  {"v_mfma_f32_16x16x32_f16",             amdgcn_mfma_f32_16x16x32_f16,      Mfma,       AsTheyAre},
  {"v_mfma_f32_16x16x32_bf16",            amdgcn_mfma_f32_16x16x32_bf16,     Mfma,       Bfloats},
  {"v_mfma_i32_16x16x64_i8",              amdgcn_mfma_i32_16x16x64_i8,       Mfma,       Words},
  {"v_mfma_f32_16x16x128_f8f6f4",         amdgcn_mfma_scale_f32_16x16x128_f8f6f4, Said,      Words},
#endif
};
// clang-format on

constexpr std::string_view kTwice = "2 ";

const Instruction& instruction_of(const TensorCore& core) {
  std::string_view name = core.name;
  if (name.starts_with(kTwice)) name.remove_prefix(kTwice.size());
  for (const Instruction& instruction : kInstructions) {
    if (instruction.name == name) return instruction;
  }
  UNREACHABLE("{} by LLVM {}", core.name, LLVM_VERSION_STRING);
}

llvm::Value* as(llvm::IRBuilder<>& b, Operand form, llvm::Value* x) {
  const auto bits = static_cast<unsigned>(x->getType()->getPrimitiveSizeInBits().getFixedValue());
  switch (form) {
    case Operand::AsTheyAre: return x;
    case Operand::Bfloats:
      return b.CreateBitCast(x, llvm::FixedVectorType::get(b.getBFloatTy(), bits / 16));
    case Operand::Words:
      return b.CreateBitCast(x, llvm::FixedVectorType::get(b.getInt32Ty(), bits / 32));
    case Operand::Long: return b.CreateBitCast(x, b.getIntNTy(bits));
  }
  return x;
}

llvm::Value* multiply_once(llvm::IRBuilder<>& b, const TensorCore& core, llvm::Value* x,
                           llvm::Value* y, llvm::Value* sum) {
  const Instruction& instruction = instruction_of(core);
  x = as(b, instruction.operand, x), y = as(b, instruction.operand, y);
  llvm::Value* const zero = b.getInt32(0);
  llvm::Value* const is_signed = b.getInt1(core.operand == Scalar::I8);
  llvm::Value* const format = b.getInt32(core.operand == Scalar::F8E5M2 ? 1 : 0);
  const auto call = [&](std::initializer_list<llvm::Type*> types,
                        std::initializer_list<llvm::Value*> values) {
    return b.CreateIntrinsic(instruction.id, llvm::ArrayRef<llvm::Type*>(types),
                             llvm::ArrayRef<llvm::Value*>(values));
  };
  switch (instruction.call) {
    case Call::Wmma: return call({sum->getType(), x->getType()}, {x, y, sum});
    case Call::SignedWmma:
      return call({sum->getType(), x->getType()},
                  {is_signed, x, is_signed, y, sum, b.getInt1(false)});
    // No broadcast of blocks, no permutation of lanes.
    case Call::Mfma: return call({}, {x, y, sum, zero, zero, zero});
    // Constant 0 as scale means no scale.
    case Call::Said:
      return call({x->getType(), y->getType()},
                  {x, y, sum, format, format, zero, zero, zero, zero});
  }
  return sum;
}

}  // namespace

llvm::Value* multiply_matrices(llvm::IRBuilder<>& b, const TensorCore& core, llvm::Value* x,
                               llvm::Value* y, llvm::Value* sum) {
  if (!std::string_view(core.name).starts_with(kTwice)) return multiply_once(b, core, x, y, sum);
  const int half = static_cast<int>(core.operand_elements / 2);
  for (const int first : {0, half}) {
    llvm::SmallVector<int, 16> lanes;
    for (int i = 0; i < half; ++i) lanes.push_back(first + i);
    sum = multiply_once(b, core, b.CreateShuffleVector(x, lanes), b.CreateShuffleVector(y, lanes),
                        sum);
  }
  return sum;
}

}  // namespace doorbell::codegen
