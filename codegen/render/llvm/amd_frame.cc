// AMD's kernels, for amdgcn-amd-amdhsa. The driver that launches one (drivers/amd) may rely on:
//   arguments   8 bytes a slot: the address of each Param by slot, then each variable as i64. No
//               hidden arguments: neither dispatch packet nor queue nor implicit pointer is wanted
//   groups      of exactly LinearProgram::group_items items, all of them full
//   registers   what the kernel descriptor enables, and nothing else: the kernel argument pointer,
//               the group ids in use, and where there is scratch what docs/hw/amd-code-objects.md
//               says of each chip
#include <llvm/Config/llvm-config.h>
#include <llvm/IR/ConstantRange.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/IntrinsicsAMDGPU.h>
#include <llvm/IR/MDBuilder.h>

#include <fmt/format.h>

#include "base/util/check.h"
#include "codegen/render/llvm/amd_matrix.h"
#include "codegen/render/llvm/kernel_frame.h"

namespace doorbell::codegen {
namespace {

// [LLVM AMDGPUUsage, "Address Spaces"]
constexpr unsigned kGlobalSpace = 1, kLocalSpace = 3;
// [LLVM AMDGPUUsage, "Code Object V5"]
constexpr u32 kCodeObjectVersion = 500;

// Inputs that a kernel could request from the hardware or the runtime, and these kernels do not.
// Without these attributes, LLVM assumes all of them. (Clusters are gfx1250's; a cluster's ids need
// the group's.) [LLVM AMDGPUUsage, "AMDGPU Attributes"]
constexpr const char* kUnwanted[] = {
    "amdgpu-no-dispatch-ptr",       "amdgpu-no-queue-ptr",         "amdgpu-no-implicitarg-ptr",
    "amdgpu-no-dispatch-id",        "amdgpu-no-heap-ptr",          "amdgpu-no-hostcall-ptr",
    "amdgpu-no-default-queue",      "amdgpu-no-completion-action", "amdgpu-no-lds-kernel-id",
    "amdgpu-no-multigrid-sync-arg", "amdgpu-no-flat-scratch-init", "amdgpu-no-cluster-id-x",
    "amdgpu-no-cluster-id-y",       "amdgpu-no-cluster-id-z"};

class AmdFrame final : public KernelFrame {
 public:
  using KernelFrame::KernelFrame;

  const FrameTraits& traits() const override {
    static constexpr FrameTraits kTraits{
        .native_f16 = true, .native_maximum = true, .offset_addresses = true};
    return kTraits;
  }

  llvm::Function* make_function(llvm::Module& module) override {
    llvm::LLVMContext& context = module.getContext();
    module.addModuleFlag(llvm::Module::Error, "amdhsa_code_object_version", kCodeObjectVersion);
    std::vector<llvm::Type*> types(program_.params.size(),
                                   llvm::PointerType::get(context, kGlobalSpace));
    types.resize(types.size() + program_.variables.size(), llvm::Type::getInt64Ty(context));
    auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(context), types, false);
    function_ =
        llvm::Function::Create(type, llvm::Function::ExternalLinkage, program_.name, module);
    function_->setCallingConv(llvm::CallingConv::AMDGPU_KERNEL);
    for (usize i = 0; i < types.size(); ++i) {
      llvm::Argument* argument = function_->getArg(static_cast<unsigned>(i));
      const bool is_param = i < program_.params.size();
      argument->setName((is_param ? "p" : "n") +
                        std::to_string(is_param ? i : i - program_.params.size()));
      argument->addAttr(llvm::Attribute::NoUndef);
      if (is_param && !program_.params[i].written) argument->addAttr(llvm::Attribute::ReadOnly);
    }
    add_attributes();
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
    llvm::CallInst* call = call_intrinsic(entry, intrinsic(kind, axis));
    call->addRangeRetAttr(
        llvm::ConstantRange(llvm::APInt(32, 0), llvm::APInt(32, static_cast<u64>(extent))));
    return call;
  }

  llvm::Value* local_array(llvm::Module& module, llvm::Type* element, i64 count) override {
    auto* type = llvm::ArrayType::get(element, static_cast<u64>(count));
    auto* array = new llvm::GlobalVariable(module, type, false, llvm::GlobalValue::InternalLinkage,
                                           llvm::PoisonValue::get(type), "local", nullptr,
                                           llvm::GlobalValue::NotThreadLocal, kLocalSpace);
    array->setAlignment(llvm::Align(64));
    return array;
  }

  // Orders local memory only; stores to global memory need not be visible yet. [LLVM AMDGPUUsage,
  // "Memory Model", fences with address spaces]
  void barrier(llvm::IRBuilder<>& b) override {
    llvm::LLVMContext& context = b.getContext();
    const auto scope = context.getOrInsertSyncScopeID("workgroup");
    llvm::MDNode* local =
        llvm::MDNode::get(context, {llvm::MDString::get(context, "amdgpu-synchronize-as"),
                                    llvm::MDString::get(context, "local")});
    auto fence = [&](llvm::AtomicOrdering ordering) {
      b.CreateFence(ordering, scope)->setMetadata(llvm::LLVMContext::MD_mmra, local);
    };
    fence(llvm::AtomicOrdering::Release);
    call_intrinsic(b, llvm::Intrinsic::amdgcn_s_barrier);
    fence(llvm::AtomicOrdering::Acquire);
  }

  llvm::Value* matrix(llvm::IRBuilder<>& b, const TensorCore& core, llvm::Value* x, llvm::Value* y,
                      llvm::Value* sum) override {
    return multiply_matrices(b, core, x, y, sum);
  }

 private:
  static llvm::Intrinsic::ID intrinsic(core::SpecialKind kind, i64 axis) {
    using namespace llvm::Intrinsic;
    static constexpr llvm::Intrinsic::ID kGroup[] = {amdgcn_workgroup_id_x, amdgcn_workgroup_id_y,
                                                     amdgcn_workgroup_id_z};
    static constexpr llvm::Intrinsic::ID kItem[] = {amdgcn_workitem_id_x, amdgcn_workitem_id_y,
                                                    amdgcn_workitem_id_z};
    CHECK(axis >= 0 && axis < 3, "axis {} of a grid", axis);
    return (kind == core::SpecialKind::GroupId ? kGroup : kItem)[axis];
  }

  static llvm::CallInst* call_intrinsic(llvm::IRBuilder<>& b, llvm::Intrinsic::ID id) {
    return b.CreateIntrinsic(id, llvm::ArrayRef<llvm::Type*>(), llvm::ArrayRef<llvm::Value*>());
  }

  void add_attributes() {
    const i64(&items)[3] = program_.group_items;
    const i64 all = items[0] * items[1] * items[2];
    function_->addFnAttr("amdgpu-flat-work-group-size", fmt::format("{},{}", all, all));
    function_->addFnAttr("uniform-work-group-size", "true");
    for (const char* name : kUnwanted) function_->addFnAttr(name);
    // By kind and axis, the ids that are read.
    bool used[2][3] = {};
    for (core::UOp u : program_.ops) {
      if (!u.is(core::Op::Special)) continue;
      const bool group = static_cast<core::SpecialKind>(u.arg(0)) == core::SpecialKind::GroupId;
      used[group ? 0 : 1][u.arg(1)] = true;
    }
    for (int axis = 0; axis < 3; ++axis) {
      const char name = static_cast<char>('x' + axis);
      if (!used[0][axis]) function_->addFnAttr(fmt::format("amdgpu-no-workgroup-id-{}", name));
      if (!used[1][axis]) function_->addFnAttr(fmt::format("amdgpu-no-workitem-id-{}", name));
    }
    llvm::MDBuilder metadata(function_->getContext());
    llvm::Type* i32 = llvm::Type::getInt32Ty(function_->getContext());
    llvm::Metadata* sizes[3];
    for (int axis = 0; axis < 3; ++axis) {
      sizes[axis] =
          metadata.createConstant(llvm::ConstantInt::get(i32, static_cast<u64>(items[axis])));
    }
    function_->setMetadata("reqd_work_group_size",
                           llvm::MDNode::get(function_->getContext(), sizes));
  }

  llvm::Function* function_ = nullptr;
};

}  // namespace

std::unique_ptr<KernelFrame> make_amd_frame(const LinearProgram& program) {
  return std::make_unique<AmdFrame>(program);
}

}  // namespace doorbell::codegen
