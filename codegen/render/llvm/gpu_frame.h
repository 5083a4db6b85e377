// GpuFrame: what the kernels of AMD and NVIDIA share: a function whose arguments are the address of
// each Param by slot, then each variable as i64; hardware indices from intrinsics; arrays of a work
// group in an address space.
#pragma once

#include <llvm/IR/ConstantRange.h>
#include <llvm/IR/Constants.h>

#include "base/util/check.h"
#include "codegen/render/llvm/kernel_frame.h"

namespace doorbell::codegen {

// The same numbers on both. [LLVM AMDGPUUsage, "Address Spaces"; LLVM NVPTXUsage, "Address Spaces"]
inline constexpr unsigned kGlobalSpace = 1, kLocalSpace = 3;

class GpuFrame : public KernelFrame {
 public:
  llvm::Value* param(llvm::IRBuilder<>&, usize slot) override {
    return function_->getArg(static_cast<unsigned>(slot));
  }
  llvm::Value* variable(llvm::IRBuilder<>&, usize position) override {
    return function_->getArg(static_cast<unsigned>(program_.params.size() + position));
  }
  llvm::Value* special(llvm::IRBuilder<>& entry, core::SpecialKind kind, i64 axis,
                       i64 extent) override;
  llvm::Value* local_array(llvm::Module& module, llvm::Type* element, core::UOp array) override;

 protected:
  using KernelFrame::KernelFrame;

  // Intrinsics that give the number of a work group, and of an item in its group, by axis.
  struct Indices {
    llvm::Intrinsic::ID group[3];
    llvm::Intrinsic::ID item[3];
  };
  virtual const Indices& indices() const = 0;

  // Sets function_. Marks all arguments NoUndef, and those that are only read ReadOnly.
  void add_function(llvm::Module& module, llvm::CallingConv::ID convention);
  bool is_param(unsigned argument) const { return argument < program_.params.size(); }

  static llvm::CallInst* call_intrinsic(llvm::IRBuilder<>& b, llvm::Intrinsic::ID id) {
    return b.CreateIntrinsic(id, llvm::ArrayRef<llvm::Type*>(), llvm::ArrayRef<llvm::Value*>());
  }

  llvm::Function* function_ = nullptr;
};

}  // namespace doorbell::codegen
