// Conversions. Float to int truncates and saturates, NaN gives 0; narrow floats go through f32.
#include <llvm/IR/Constants.h>
#include <llvm/IR/Intrinsics.h>

#include "base/util/check.h"
#include "codegen/render/llvm/function_builder.h"
#include "codegen/render/narrow_float.h"

namespace doorbell::codegen {

using core::DType;
using core::Scalar;
using core::UOp;

namespace {

// The emitter of narrow_float.h that makes instructions. Lanes are i32.
struct InstructionLane {
  using Value = llvm::Value*;
  using Mask = llvm::Value*;
  llvm::IRBuilder<>& b;
  llvm::Type *bits, *floats;

  Value constant(u32 v) { return llvm::ConstantInt::get(bits, v); }
  Value band(Value x, Value y) { return b.CreateAnd(x, y); }
  Value bor(Value x, Value y) { return b.CreateOr(x, y); }
  Value add(Value x, Value y) { return b.CreateAdd(x, y); }
  Value shl(Value x, u32 n) { return b.CreateShl(x, n); }
  Value shr(Value x, u32 n) { return b.CreateLShr(x, n); }
  Value fadd(Value x, Value y) { return as_bits(b.CreateFAdd(as_float(x), as_float(y))); }
  Value fmul(Value x, Value y) { return as_bits(b.CreateFMul(as_float(x), as_float(y))); }
  Mask less(Value x, Value y) { return b.CreateICmpULT(x, y); }
  Value select(Mask m, Value x, Value y) { return b.CreateSelect(m, x, y); }
  Value as_float(Value x) { return b.CreateBitCast(x, floats); }
  Value as_bits(Value x) { return b.CreateBitCast(x, bits); }
};

}  // namespace

llvm::Value* FunctionBuilder::to_wide_float(llvm::Value* x, DType from) {
  llvm::Type* f32 = with_lanes(b_.getFloatTy(), from);
  if (from.scalar == Scalar::F16) {
    return b_.CreateFPExt(b_.CreateBitCast(x, with_lanes(b_.getHalfTy(), from)), f32);
  }
  llvm::Type* i32 = with_lanes(b_.getInt32Ty(), from);
  InstructionLane lane{b_, i32, f32};
  llvm::Value* bits = f32_from_narrow(lane, b_.CreateZExt(x, i32), narrow_float(from.scalar));
  return b_.CreateBitCast(bits, f32);
}

// Rounds to odd, so that rounding the result again gives the same as rounding once.
llvm::Value* FunctionBuilder::f64_to_f32_odd(llvm::Value* x) {
  auto* type = x->getType();
  llvm::Type* f32 = type->getWithNewType(b_.getFloatTy());
  llvm::Type* i32 = type->getWithNewType(b_.getInt32Ty());
  llvm::Value* near = b_.CreateFPTrunc(x, f32);
  llvm::Value* back = b_.CreateFPExt(near, type);
  llvm::Value* bits = b_.CreateBitCast(near, i32);
  auto fabs = [&](llvm::Value* v) { return b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, v); };
  llvm::Value* too_far = b_.CreateFCmpOGT(fabs(back), fabs(x));
  llvm::Value* inexact = b_.CreateFCmpONE(back, x);  // false for NaN
  llvm::Value* toward_zero = b_.CreateSub(bits, b_.CreateZExt(too_far, i32));
  llvm::Value* odd = b_.CreateOr(toward_zero, llvm::ConstantInt::get(i32, 1));
  return b_.CreateBitCast(b_.CreateSelect(inexact, odd, bits), f32);
}

// Keeps the upper 53 bits and sets the last of them if others were lost.
llvm::Value* FunctionBuilder::int_to_odd(llvm::Value* x, DType from) {
  llvm::Type* type = x->getType();
  auto number = [&](u64 v) { return llvm::ConstantInt::get(type, v); };
  bool is_unsigned = from.is_unsigned();
  llvm::Value* lost = b_.CreateICmpNE(b_.CreateAnd(x, number(0x7ff)), number(0));
  llvm::Value* kept = b_.CreateAnd(x, number(~u64{0x7ff}));
  llvm::Value* odd = b_.CreateOr(kept, b_.CreateShl(b_.CreateZExt(lost, type), number(11)));
  u64 limit = u64{1} << 53;
  llvm::Value* small = is_unsigned
                           ? b_.CreateICmpULT(x, number(limit))
                           : b_.CreateICmpULT(b_.CreateAdd(x, number(limit)), number(2 * limit));
  return b_.CreateSelect(small, x, odd);
}

llvm::Value* FunctionBuilder::to_narrow(llvm::Value* x, DType from, DType to) {
  llvm::Type* f32 = with_lanes(b_.getFloatTy(), to);
  llvm::Type* i32 = with_lanes(b_.getInt32Ty(), to);
  // Ints of up to 24 bits are exact in f32; wider ones go through f64, unless all that f32 would
  // round is too large for the type anyway.
  if (from.is_int() && from.bits() > 16 && to.scalar != Scalar::F16) {
    if (from.bits() == 64) x = int_to_odd(x, from);
    llvm::Type* f64 = with_lanes(b_.getDoubleTy(), to);
    x = from.is_unsigned() ? b_.CreateUIToFP(x, f64) : b_.CreateSIToFP(x, f64);
    from = DType{Scalar::F64, to.lanes};
  } else if (!from.is_float()) {
    x = from.is_signed_int() ? b_.CreateSIToFP(x, f32) : b_.CreateUIToFP(x, f32);
  }
  if (from.scalar == Scalar::F64) x = f64_to_f32_odd(x);
  if (to.scalar == Scalar::F16) {
    return b_.CreateBitCast(b_.CreateFPTrunc(x, with_lanes(b_.getHalfTy(), to)), value_type(to));
  }
  InstructionLane lane{b_, i32, f32};
  llvm::Value* bits = narrow_from_f32(lane, b_.CreateBitCast(x, i32), narrow_float(to.scalar));
  return b_.CreateTrunc(bits, value_type(to));
}

llvm::Value* FunctionBuilder::cast(UOp u, llvm::Value* x) {
  DType from = u.src(0).dtype(), to = u.dtype();
  if (from == to) return x;
  if (is_narrow_float(from)) {
    x = to_wide_float(x, from);
    from = DType{Scalar::F32, from.lanes};
    if (from == to) return x;
  }
  if (is_narrow_float(to)) return to_narrow(x, from, to);
  llvm::Type* type = value_type(to);
  if (to.is_bool()) {
    llvm::Value* zero = llvm::Constant::getNullValue(x->getType());
    return from.is_float() ? b_.CreateFCmpUNE(x, zero) : b_.CreateICmpNE(x, zero);
  }
  if (from.is_float() && to.is_float()) return b_.CreateFPCast(x, type);
  if (from.is_float()) {
    auto id = to.is_unsigned() ? llvm::Intrinsic::fptoui_sat : llvm::Intrinsic::fptosi_sat;
    return b_.CreateIntrinsic(id, {type, x->getType()}, {x});
  }
  if (to.is_float()) {
    return from.is_signed_int() ? b_.CreateSIToFP(x, type) : b_.CreateUIToFP(x, type);
  }
  return b_.CreateIntCast(x, type, from.is_signed_int());
}

llvm::Value* FunctionBuilder::bitcast(UOp u, llvm::Value* x) {
  DType from = u.src(0).dtype(), to = u.dtype();
  CHECK(from.bytes() == to.bytes(), "bitcast from {} to {}", from.str(), to.str());
  if (from.is_bool()) x = b_.CreateZExt(x, memory_type(from));
  x = b_.CreateBitCast(x, memory_type(to));
  return to.is_bool() ? b_.CreateTrunc(x, value_type(to)) : x;
}

}  // namespace doorbell::codegen
