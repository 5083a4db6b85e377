// LLVM types of the IR's dtypes.
#include <llvm/IR/DerivedTypes.h>

#include "base/util/check.h"
#include "codegen/render/llvm/function_builder.h"

namespace doorbell::codegen {

using core::DType;
using core::Scalar;

llvm::Type* FunctionBuilder::with_lanes(llvm::Type* element, DType like) {
  return like.lanes == 1 ? element : llvm::FixedVectorType::get(element, like.lanes);
}

llvm::Type* FunctionBuilder::element_type(DType t) {
  switch (t.scalar) {
    case Scalar::Bool: return b_.getInt1Ty();
    case Scalar::F32: return b_.getFloatTy();
    case Scalar::F64: return b_.getDoubleTy();
    case Scalar::F16: return frame_.traits().native_f16 ? b_.getHalfTy() : b_.getInt16Ty();
    case Scalar::Void:
    case Scalar::Index: UNREACHABLE("a value of dtype {} in a linear program", t.str());
    default: return b_.getIntNTy(static_cast<unsigned>(t.bits()));
  }
}

llvm::Type* FunctionBuilder::value_type(DType t) { return with_lanes(element_type(t), t); }

llvm::Type* FunctionBuilder::memory_type(DType t) {
  return t.is_bool() ? with_lanes(b_.getInt8Ty(), t) : value_type(t);
}

}  // namespace doorbell::codegen
