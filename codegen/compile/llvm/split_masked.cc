// The mask of a part is made from the parts of what the whole mask is made of, so that constant
// lanes stay constants.
#include "codegen/compile/llvm/split_masked.h"

#include <llvm/Analysis/VectorUtils.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/PatternMatch.h>

#include <numeric>
#include <vector>

namespace doorbell::codegen {
namespace {

struct Lanes {
  unsigned first, count;
};

llvm::Value* part_of(llvm::IRBuilder<>& b, llvm::Value* vector, Lanes lanes) {
  std::vector<int> which(lanes.count);
  std::iota(which.begin(), which.end(), static_cast<int>(lanes.first));
  return b.CreateShuffleVector(vector, which);
}

llvm::Value* mask_of(llvm::IRBuilder<>& b, llvm::Value* mask, Lanes lanes) {
  using namespace llvm::PatternMatch;
  llvm::Value *x, *y, *condition;
  llvm::Type* type = llvm::FixedVectorType::get(b.getInt1Ty(), lanes.count);
  if (match(mask, m_And(m_Value(x), m_Value(y)))) {
    x = mask_of(b, x, lanes), y = mask_of(b, y, lanes);
    const bool never = match(x, m_Zero()) || match(y, m_Zero());
    return never ? llvm::Constant::getNullValue(type) : b.CreateAnd(x, y);
  }
  if (match(mask, m_Select(m_Value(condition), m_Value(x), m_Value(y)))) {
    x = mask_of(b, x, lanes), y = mask_of(b, y, lanes);
    if (x == y) return x;
    if (condition->getType()->isVectorTy()) condition = mask_of(b, condition, lanes);
    return b.CreateSelect(condition, x, y);
  }
  if (llvm::Value* all = llvm::getSplatValue(mask)) return b.CreateVectorSplat(lanes.count, all);
  return part_of(b, mask, lanes);
}

bool is_wide(llvm::Type* type, unsigned register_bits) {
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
  return vector && vector->getPrimitiveSizeInBits() > register_bits &&
         vector->getPrimitiveSizeInBits() % register_bits == 0;
}

// An access, and the values and pointers of its parts.
class Splitter {
 public:
  Splitter(llvm::IntrinsicInst* access, unsigned register_bits)
      : access_(access), b_(access), is_load_(is_load(access)) {
    type_ = llvm::cast<llvm::FixedVectorType>(value_type(access));
    element_ = type_->getElementType();
    count_ = register_bits / element_->getPrimitiveSizeInBits();
  }

  static bool is_load(const llvm::IntrinsicInst* i) {
    return i->getIntrinsicID() == llvm::Intrinsic::masked_load;
  }
  static llvm::Type* value_type(const llvm::IntrinsicInst* i) {
    return is_load(i) ? i->getType() : i->getArgOperand(0)->getType();
  }

  void run() {
    const unsigned at_pointer = is_load_ ? 0 : 1, last = access_->arg_size() - 1;
#if LLVM_VERSION_MAJOR >= 22
    const llvm::Align align = access_->getParamAlign(at_pointer).valueOrOne();
#else
    const auto* bytes_apart = llvm::cast<llvm::ConstantInt>(access_->getArgOperand(at_pointer + 1));
    const llvm::Align align = bytes_apart->getAlignValue();
#endif
    llvm::Value* pointer = access_->getArgOperand(at_pointer);
    llvm::Value* mask = access_->getArgOperand(is_load_ ? last - 1 : last);
    llvm::Value* values = access_->getArgOperand(is_load_ ? last : 0);
    std::vector<llvm::Value*> parts;
    const uint64_t bytes = element_->getPrimitiveSizeInBits() / 8;
    for (unsigned first = 0; first < type_->getNumElements(); first += count_) {
      const Lanes lanes{first, count_};
      llvm::Value* at = b_.CreateConstGEP1_64(element_, pointer, first);
      parts.push_back(access(at, llvm::commonAlignment(align, first * bytes),
                             mask_of(b_, mask, lanes), part_of(b_, values, lanes)));
    }
    if (is_load_) access_->replaceAllUsesWith(llvm::concatenateVectors(b_, parts));
    access_->eraseFromParent();
  }

 private:
  llvm::Value* access(llvm::Value* at, llvm::Align align, llvm::Value* mask, llvm::Value* value) {
    const auto* constant = llvm::dyn_cast<llvm::Constant>(mask);
    if (constant && constant->isNullValue()) return value;
    llvm::Instruction* part = is_load_
                                  ? b_.CreateMaskedLoad(value->getType(), at, align, mask, value)
                                  : b_.CreateMaskedStore(value, at, align, mask);
    part->copyMetadata(*access_);
    return part;
  }

  llvm::IntrinsicInst* access_;
  llvm::IRBuilder<> b_;
  bool is_load_;
  llvm::FixedVectorType* type_;
  llvm::Type* element_;
  unsigned count_;
};

}  // namespace

void split_masked(llvm::Function& function, unsigned register_bits) {
  std::vector<llvm::IntrinsicInst*> wide;
  for (llvm::BasicBlock& block : function) {
    for (llvm::Instruction& i : block) {
      auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&i);
      if (!call) continue;
      const llvm::Intrinsic::ID id = call->getIntrinsicID();
      if (id != llvm::Intrinsic::masked_load && id != llvm::Intrinsic::masked_store) continue;
      if (is_wide(Splitter::value_type(call), register_bits)) wide.push_back(call);
    }
  }
  for (llvm::IntrinsicInst* access : wide) Splitter(access, register_bits).run();
}

}  // namespace doorbell::codegen
