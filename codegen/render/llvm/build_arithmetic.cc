// The elementwise ops, scalar or vector alike.
#include <llvm/IR/Constants.h>
#include <llvm/IR/Intrinsics.h>

#include "base/util/check.h"
#include "codegen/linear/dot.h"
#include "codegen/render/llvm/function_builder.h"
#include "codegen/render/memory.h"

namespace doorbell::codegen {

using core::DType;
using core::Op;
using core::UOp;

llvm::Value* FunctionBuilder::elementwise(UOp u) {
  if (u.op() == Op::Where) {
    return b_.CreateSelect(value(u.src(0)), value(u.src(1)), value(u.src(2)));
  }
  if (u.op() == Op::MulAcc) {
    llvm::Value *x = value(u.src(0)), *y = value(u.src(1)), *z = value(u.src(2));
    if (u.dtype().is_bool()) return b_.CreateOr(b_.CreateAnd(x, y), z);
    if (!u.dtype().is_float()) return b_.CreateAdd(b_.CreateMul(x, y), z);
    return b_.CreateIntrinsic(llvm::Intrinsic::fmuladd, {x->getType()}, {x, y, z});
  }
  if (llvm::Value* sum = add_dot(u)) return sum;
  llvm::Value* x = value(u.src(0));
  return u.nsrc() == 1 ? unary(u, x) : binary(u, x, value(u.src(1)));
}

// A sum with a Dot, by the target's instruction; null where there is none. What the Dot is made of
// stays without a use.
llvm::Value* FunctionBuilder::add_dot(UOp u) {
  if (!frame_.traits().has_dots || !u.is(Op::Add)) return nullptr;
  const std::optional<Dot> dot = find_dot(u.src(1));
  if (!dot) return nullptr;
  const auto lanes = [&](UOp word) {
    llvm::Value* v = value(word);
    return word.dtype().lanes == 1 ? b_.CreateVectorSplat(u.dtype().lanes, v) : v;
  };
  llvm::Value *x = lanes(dot->x), *y = lanes(dot->y);
  return frame_.dot(b_, x, y, value(u.src(0)));
}

llvm::Value* FunctionBuilder::unary(UOp u, llvm::Value* x) {
  bool is_float = u.dtype().is_float();
  switch (u.op()) {
    case Op::Cast: return cast(u, x);
    case Op::Bitcast: return bitcast(u, x);
    case Op::Neg:
      if (u.dtype().is_bool()) return x;
      return is_float ? b_.CreateFNeg(x) : b_.CreateNeg(x);
    case Op::Sqrt: return b_.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, x);
    case Op::Exp2: return b_.CreateUnaryIntrinsic(llvm::Intrinsic::exp2, x);
    case Op::Log2: return b_.CreateUnaryIntrinsic(llvm::Intrinsic::log2, x);
    case Op::Trunc: return is_float ? b_.CreateUnaryIntrinsic(llvm::Intrinsic::trunc, x) : x;
    case Op::Recip: return b_.CreateFDiv(llvm::ConstantFP::get(x->getType(), 1.0), x);
    default: UNREACHABLE("op {} in a linear program", core::name_of(u.op()));
  }
}

llvm::Value* FunctionBuilder::binary(UOp u, llvm::Value* x, llvm::Value* y) {
  if (core::is_comparison(u.op())) return compare(u, x, y);
  if (!u.dtype().is_float()) return integer_binary(u, x, y);
  switch (u.op()) {
    case Op::Add: return b_.CreateFAdd(x, y);
    case Op::Sub: return b_.CreateFSub(x, y);
    case Op::Mul: return b_.CreateFMul(x, y);
    case Op::FDiv: return float_divide(x, y);
    case Op::Max: return float_max(x, y);
    default: UNREACHABLE("op {} on floats in a linear program", core::name_of(u.op()));
  }
}

// x / y. Where both are known to be 0 in some lanes, LLVM (seen in 19 and 22) assumes the quotient
// to be 0 there too, though it is NaN: SelectionDAG's SimplifyDemandedVectorElts counts FDIV among
// the ops that keep zeros, and then drops the mask that selects other lanes. It does not do so for
// scalars, nor through this fence, which costs at most a register copy. AMDGPU cannot compile the
// fence of a value that is uniform over items.
llvm::Value* FunctionBuilder::float_divide(llvm::Value* x, llvm::Value* y) {
  auto may_have_zero_lanes = [](llvm::Value* v) {
    auto* constant = llvm::dyn_cast<llvm::Constant>(v);
    const llvm::Constant* lane = constant ? constant->getSplatValue() : nullptr;
    return lane == nullptr || lane->isZeroValue();
  };
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(x->getType());
  if (vector == nullptr || !may_have_zero_lanes(x) || !may_have_zero_lanes(y))
    return b_.CreateFDiv(x, y);
  if (frame_.traits().vector_quotients)
    return b_.CreateFDiv(x, b_.CreateUnaryIntrinsic(llvm::Intrinsic::arithmetic_fence, y));
  llvm::Value* quotients = llvm::PoisonValue::get(x->getType());
  for (unsigned i = 0; i < vector->getNumElements(); ++i) {
    llvm::Value* quotient =
        b_.CreateFDiv(b_.CreateExtractElement(x, i), b_.CreateExtractElement(y, i));
    quotients = b_.CreateInsertElement(quotients, quotient, i);
  }
  return quotients;
}

llvm::Value* FunctionBuilder::integer_binary(UOp u, llvm::Value* x, llvm::Value* y) {
  bool is_bool = u.dtype().is_bool(), exact = cannot_wrap(u);
  switch (u.op()) {
    case Op::Add: return is_bool ? b_.CreateOr(x, y) : b_.CreateAdd(x, y, "", false, exact);
    case Op::Sub: return is_bool ? b_.CreateXor(x, y) : b_.CreateSub(x, y, "", false, exact);
    case Op::Mul: return is_bool ? b_.CreateAnd(x, y) : b_.CreateMul(x, y, "", false, exact);
    case Op::And: return b_.CreateAnd(x, y);
    case Op::Or: return b_.CreateOr(x, y);
    case Op::Xor: return b_.CreateXor(x, y);
    case Op::Shl:
    case Op::Shr: return shift(u, x, y);
    case Op::CDiv:
    case Op::CMod: return divide(u, x, y);
    case Op::Max: {
      if (is_bool) return b_.CreateOr(x, y);
      bool is_unsigned = u.dtype().is_unsigned();
      return b_.CreateBinaryIntrinsic(is_unsigned ? llvm::Intrinsic::umax : llvm::Intrinsic::smax,
                                      x, y);
    }
    default: UNREACHABLE("op {} on integers in a linear program", core::name_of(u.op()));
  }
}

llvm::Value* FunctionBuilder::compare(UOp u, llvm::Value* x, llvm::Value* y) {
  DType t = u.src(0).dtype();
  if (t.is_float()) {
    if (u.op() == Op::CmpLt) return b_.CreateFCmpOLT(x, y);
    return u.op() == Op::CmpEq ? b_.CreateFCmpOEQ(x, y) : b_.CreateFCmpUNE(x, y);
  }
  if (u.op() == Op::CmpEq) return b_.CreateICmpEQ(x, y);
  if (u.op() == Op::CmpNe) return b_.CreateICmpNE(x, y);
  bool is_unsigned = t.is_unsigned() || t.is_bool();
  return is_unsigned ? b_.CreateICmpULT(x, y) : b_.CreateICmpSLT(x, y);
}

// Amounts of the width or more shift everything out: 0, or the sign.
llvm::Value* FunctionBuilder::shift(UOp u, llvm::Value* x, llvm::Value* y) {
  UOp amount = u.src(1);
  bool is_left = u.op() == Op::Shl, is_signed = u.dtype().is_signed_int();
  llvm::Value* in_range = nullptr;
  if (amount.vmin() < 0 || amount.vmax() >= u.dtype().bits()) {
    auto width = static_cast<u64>(u.dtype().bits());
    in_range = b_.CreateICmpULT(y, llvm::ConstantInt::get(y->getType(), width));
  }
  llvm::Type* type = x->getType();
  y = b_.CreateIntCast(y, type, false);  // the amount may be of another int type
  auto last = static_cast<u64>(u.dtype().bits() - 1);
  if (in_range) y = b_.CreateSelect(in_range, y, llvm::ConstantInt::get(type, last));
  if (!is_left && is_signed) return b_.CreateAShr(x, y);
  llvm::Value* shifted = is_left ? b_.CreateShl(x, y) : b_.CreateLShr(x, y);
  if (!in_range) return shifted;
  return b_.CreateSelect(in_range, shifted, llvm::ConstantInt::get(type, 0));
}

// Division and modulo by zero give 0; the least number by -1 wraps, where the machine would trap.
llvm::Value* FunctionBuilder::divide(UOp u, llvm::Value* x, llvm::Value* y) {
  DType t = u.dtype();
  bool is_div = u.op() == Op::CDiv, is_signed = t.is_signed_int();
  auto quotient = [&](llvm::Value* d) {
    if (is_div) return is_signed ? b_.CreateSDiv(x, d) : b_.CreateUDiv(x, d);
    return is_signed ? b_.CreateSRem(x, d) : b_.CreateURem(x, d);
  };
  UOp divisor = u.src(1);
  if (divisor.vmin() > 0 || divisor.vmax() < -1) return quotient(y);
  llvm::Type* type = x->getType();
  llvm::Value *zero = llvm::ConstantInt::get(type, 0), *one = llvm::ConstantInt::get(type, 1);
  llvm::Value* is_zero = b_.CreateICmpEQ(y, zero);
  llvm::Value* unsafe = is_zero;
  llvm::Value* is_minus_one = nullptr;
  if (is_signed) {
    is_minus_one = b_.CreateICmpEQ(y, llvm::ConstantInt::getAllOnesValue(type));
    unsafe = b_.CreateOr(is_zero, is_minus_one);
  }
  llvm::Value* result = quotient(b_.CreateSelect(unsafe, one, y));
  if (is_signed && is_div) result = b_.CreateSelect(is_minus_one, b_.CreateNeg(x), result);
  return b_.CreateSelect(is_zero, zero, result);
}

// A CPU's max gives its second operand where either is NaN. Taken both ways round, the
// results are the same number, or one of them is the NaN, whose bits survive an "or" with any
// others, or they are the two zeros, of which an "and" is the larger. That is shorter in a
// reduction's chain than to look for NaN and zeros first.
llvm::Value* FunctionBuilder::float_max(llvm::Value* x, llvm::Value* y) {
  if (llvm::isa<llvm::Constant>(x)) std::swap(x, y);
  if (frame_.traits().native_maximum)
    return b_.CreateBinaryIntrinsic(llvm::Intrinsic::maximum, x, y);
  auto* constant = llvm::dyn_cast<llvm::Constant>(y);
  if (constant != nullptr && constant->isNullValue())
    return b_.CreateSelect(b_.CreateFCmpOLE(x, y), y, x);
  llvm::Value* keeps_x = b_.CreateSelect(b_.CreateFCmpOGT(y, x), y, x);
  if (constant != nullptr && !constant->isNaN()) return keeps_x;
  llvm::Value* keeps_y = b_.CreateSelect(b_.CreateFCmpOGT(x, y), x, y);
  unsigned width = x->getType()->getScalarSizeInBits();
  llvm::Type* bits = x->getType()->getWithNewType(b_.getIntNTy(width));
  keeps_x = b_.CreateBitCast(keeps_x, bits);
  keeps_y = b_.CreateBitCast(keeps_y, bits);
  llvm::Value* of_equal = b_.CreateAnd(keeps_x, keeps_y);
  llvm::Value* both =
      b_.CreateSelect(b_.CreateFCmpOEQ(x, y), of_equal, b_.CreateOr(keeps_x, keeps_y));
  return b_.CreateBitCast(both, x->getType());
}

}  // namespace doorbell::codegen
