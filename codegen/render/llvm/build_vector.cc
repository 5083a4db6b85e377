// Vectors from lanes, lanes of vectors, ramps. Vectors of bytes or halves gathered from lanes of
// others are made word by word, where the target permutes bytes.
#include <llvm/IR/Constants.h>

#include "base/util/check.h"
#include "codegen/render/byte_gather.h"
#include "codegen/render/llvm/function_builder.h"

namespace doorbell::codegen {

using core::UOp;

llvm::Value* FunctionBuilder::word(UOp vector, i64 number) {
  const auto words = static_cast<unsigned>(vector.dtype().bytes() / 4);
  if (words == 1) return b_.CreateBitCast(value(vector), b_.getInt32Ty());
  auto* type = llvm::FixedVectorType::get(b_.getInt32Ty(), words);
  return b_.CreateExtractElement(b_.CreateBitCast(value(vector), type), static_cast<u64>(number));
}

// Null if the target does not permute bytes, or the lanes are of something else.
llvm::Value* FunctionBuilder::gather_words(UOp u) {
  const core::DType t = u.dtype();
  if (!frame_.traits().byte_permutes || t.bytes() % 4) return nullptr;
  const i64 words = t.bytes() / 4;
  llvm::Value* made = llvm::PoisonValue::get(
      llvm::FixedVectorType::get(b_.getInt32Ty(), static_cast<unsigned>(words)));
  for (i64 i = 0; i < words; ++i) {
    const auto bytes = bytes_of_word(u, i);
    if (!bytes) return nullptr;
    llvm::Value* gathered = gather_bytes(
        *bytes, [&](const ByteOfWord& byte) { return word(byte.vector, byte.word); },
        [&](llvm::Value* low, llvm::Value* high, std::array<u8, 4> chosen) {
          return frame_.permute(b_, low, high, chosen);
        });
    made = b_.CreateInsertElement(made, gathered, static_cast<u64>(i));
  }
  return b_.CreateBitCast(made, value_type(t));
}

// Null if the lanes are not those of one vector, or two of one type.
llvm::Value* FunctionBuilder::shuffle(UOp u) {
  UOp of[2];
  std::vector<int> mask;
  for (UOp lane : u.srcs()) {
    if (!lane.is(core::Op::Lane)) return nullptr;
    const UOp from = lane.src(0);
    if (!of[0]) of[0] = of[1] = from;
    if (from != of[0] && of[1] == of[0]) of[1] = from;
    if ((from != of[0] && from != of[1]) || from.dtype() != of[0].dtype()) return nullptr;
    const int first = from == of[0] ? 0 : from.dtype().lanes;
    mask.push_back(first + static_cast<int>(lane.arg(0)));
  }
  return b_.CreateShuffleVector(value(of[0]), value(of[1]), mask);
}

llvm::Value* FunctionBuilder::vec(UOp u) {
  CHECK(u.nsrc() == u.dtype().lanes, "a vector of {} lanes from {} sources", u.dtype().lanes,
        u.nsrc());
  if (llvm::Value* gathered = gather_words(u)) return gathered;
  if (llvm::Value* shuffled = shuffle(u)) return shuffled;
  llvm::Value* vector = llvm::PoisonValue::get(value_type(u.dtype()));
  for (usize i = 0; i < u.nsrc(); ++i) {
    vector = b_.CreateInsertElement(vector, value(u.src(i)), static_cast<u64>(i));
  }
  return vector;
}

llvm::Value* FunctionBuilder::lane(UOp u) {
  auto first = static_cast<int>(u.arg(0));
  llvm::Value* vector = value(u.src(0));
  if (u.src(0).dtype().lanes == 1) return vector;
  CHECK(first >= 0 && first + u.dtype().lanes <= u.src(0).dtype().lanes,
        "lanes {} to {} of a vector of {}", first, first + u.dtype().lanes, u.src(0).dtype().lanes);
  if (u.dtype().lanes == 1) return b_.CreateExtractElement(vector, static_cast<u64>(first));
  std::vector<int> mask;
  for (int i = 0; i < u.dtype().lanes; ++i) mask.push_back(first + i);
  return b_.CreateShuffleVector(vector, mask);
}

llvm::Value* FunctionBuilder::ramp(UOp u) {
  core::DType t = u.dtype();
  std::vector<llvm::Constant*> steps;
  for (i64 i = 0; i < t.lanes; ++i) {
    u64 step = static_cast<u64>(i) * static_cast<u64>(u.arg(0));
    if (t.bits() < 64) step &= (u64{1} << t.bits()) - 1;
    steps.push_back(llvm::ConstantInt::get(element_type(t), step));
  }
  llvm::Value* start = b_.CreateVectorSplat(t.lanes, value(u.src(0)));
  return b_.CreateAdd(start, llvm::ConstantVector::get(steps));
}

}  // namespace doorbell::codegen
