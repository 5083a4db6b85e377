// NVIDIA's kernels, for nvptx64-nvidia-cuda. What launches one may rely on:
//   arguments   8 bytes a slot: the address of each Param by slot, then each variable as i64
//   groups      of exactly LinearProgram::group_items items, all of them full (.reqntid)
//   shared      arrays of a size that the code says; none is asked for at the launch
#include <llvm/Config/llvm-config.h>
#include <llvm/IR/ConstantRange.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/IntrinsicsNVPTX.h>

#include <fmt/format.h>

#include "base/util/check.h"
#include "codegen/render/llvm/kernel_frame.h"

namespace doorbell::codegen {
namespace {

// [LLVM NVPTXUsage, "Address Spaces"]
constexpr unsigned kGlobalSpace = 1, kSharedSpace = 3;

class NvFrame final : public KernelFrame {
 public:
  using KernelFrame::KernelFrame;

  const FrameTraits& traits() const override {
    static constexpr FrameTraits kTraits{.native_f16 = true};
    return kTraits;
  }

  llvm::Function* make_function(llvm::Module& module) override {
    llvm::LLVMContext& context = module.getContext();
    std::vector<llvm::Type*> types(program_.params.size(),
                                   llvm::PointerType::get(context, kGlobalSpace));
    types.resize(types.size() + program_.variables.size(), llvm::Type::getInt64Ty(context));
    auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(context), types, false);
    function_ =
        llvm::Function::Create(type, llvm::Function::ExternalLinkage, program_.name, module);
    function_->setCallingConv(llvm::CallingConv::PTX_Kernel);
    for (usize i = 0; i < types.size(); ++i) {
      llvm::Argument* argument = function_->getArg(static_cast<unsigned>(i));
      argument->addAttr(llvm::Attribute::NoUndef);
      if (i >= program_.params.size()) continue;
      // Every Param is memory of its own as far as this kernel is concerned: with both, loads go
      // through the cache that is not coherent. [LLVM NVPTXUsage, "Kernel Metadata"]
      argument->addAttr(llvm::Attribute::NoAlias);
      if (!program_.params[i].written) argument->addAttr(llvm::Attribute::ReadOnly);
    }
    say_group_size(module);
    return function_;
  }

  llvm::Value* param(llvm::IRBuilder<>&, usize slot) override {
    return function_->getArg(static_cast<unsigned>(slot));
  }
  llvm::Value* variable(llvm::IRBuilder<>&, usize position) override {
    return function_->getArg(static_cast<unsigned>(program_.params.size() + position));
  }

  llvm::Value* special(llvm::IRBuilder<>& entry, core::SpecialKind kind, i64 axis,
                       i64 extent) override {
    CHECK(kind != core::SpecialKind::ThreadId, "a worker thread's number on a GPU");
    llvm::CallInst* call = entry.CreateIntrinsic(
        intrinsic(kind, axis), llvm::ArrayRef<llvm::Type*>(), llvm::ArrayRef<llvm::Value*>());
    call->addRangeRetAttr(
        llvm::ConstantRange(llvm::APInt(32, 0), llvm::APInt(32, static_cast<u64>(extent))));
    return call;
  }

  llvm::Value* local_array(llvm::Module& module, llvm::Type* element, i64 count) override {
    auto* type = llvm::ArrayType::get(element, static_cast<u64>(count));
    auto* array = new llvm::GlobalVariable(module, type, false, llvm::GlobalValue::InternalLinkage,
                                           llvm::PoisonValue::get(type), "local", nullptr,
                                           llvm::GlobalValue::NotThreadLocal, kSharedSpace);
    array->setAlignment(llvm::Align(64));
    return array;
  }

  // bar.sync 0: also orders the memory of those who meet. [PTX ISA, "bar"]
  void barrier(llvm::IRBuilder<>& b) override {
#if LLVM_VERSION_MAJOR >= 21
    b.CreateIntrinsic(llvm::Intrinsic::nvvm_barrier_cta_sync_aligned_all,
                      llvm::ArrayRef<llvm::Type*>(), {b.getInt32(0)});
#else
    b.CreateIntrinsic(llvm::Intrinsic::nvvm_barrier0, llvm::ArrayRef<llvm::Type*>(),
                      llvm::ArrayRef<llvm::Value*>());
#endif
  }

  llvm::Value* matrix(llvm::IRBuilder<>&, const TensorCore& core, llvm::Value*, llvm::Value*,
                      llvm::Value*) override {
    UNREACHABLE("tensor core {} on a chip of NVIDIA", core.name);
  }

 private:
  static llvm::Intrinsic::ID intrinsic(core::SpecialKind kind, i64 axis) {
    using namespace llvm::Intrinsic;
    static constexpr llvm::Intrinsic::ID kGroup[] = {
        nvvm_read_ptx_sreg_ctaid_x, nvvm_read_ptx_sreg_ctaid_y, nvvm_read_ptx_sreg_ctaid_z};
    static constexpr llvm::Intrinsic::ID kItem[] = {
        nvvm_read_ptx_sreg_tid_x, nvvm_read_ptx_sreg_tid_y, nvvm_read_ptx_sreg_tid_z};
    CHECK(axis >= 0 && axis < 3, "axis {} of a grid", axis);
    return (kind == core::SpecialKind::GroupId ? kGroup : kItem)[axis];
  }

  // An attribute since LLVM 21, metadata of the module before.
  void say_group_size([[maybe_unused]] llvm::Module& module) {
    const i64(&items)[3] = program_.group_items;
#if LLVM_VERSION_MAJOR >= 21
    function_->addFnAttr("nvvm.reqntid", fmt::format("{},{},{}", items[0], items[1], items[2]));
#else
    llvm::LLVMContext& context = module.getContext();
    llvm::Type* i32 = llvm::Type::getInt32Ty(context);
    std::vector<llvm::Metadata*> values = {llvm::ValueAsMetadata::get(function_)};
    const char* const names[] = {"reqntidx", "reqntidy", "reqntidz"};
    for (int axis = 0; axis < 3; ++axis) {
      values.push_back(llvm::MDString::get(context, names[axis]));
      values.push_back(llvm::ConstantAsMetadata::get(
          llvm::ConstantInt::get(i32, static_cast<u64>(items[axis]))));
    }
    module.getOrInsertNamedMetadata("nvvm.annotations")
        ->addOperand(llvm::MDNode::get(context, values));
#endif
  }

  llvm::Function* function_ = nullptr;
};

}  // namespace

std::unique_ptr<KernelFrame> make_nv_frame(const LinearProgram& program) {
  return std::make_unique<NvFrame>(program);
}

}  // namespace doorbell::codegen
