// Vectors from lanes, lanes of vectors, ramps.
#include <llvm/IR/Constants.h>

#include "base/util/check.h"
#include "codegen/render/llvm/function_builder.h"

namespace doorbell::codegen {

using core::UOp;

llvm::Value* FunctionBuilder::vec(UOp u) {
  CHECK(u.nsrc() == u.dtype().lanes, "a vector of {} lanes from {} sources", u.dtype().lanes,
        u.nsrc());
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
