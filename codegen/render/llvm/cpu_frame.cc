// The CPU's kernels: arguments by pointer to an array, work split over threads.
#include "base/util/check.h"
#include "codegen/render/llvm/kernel_frame.h"

namespace doorbell::codegen {
namespace {

class CpuFrame final : public KernelFrame {
 public:
  using KernelFrame::KernelFrame;

  const FrameTraits& traits() const override {
    static constexpr FrameTraits kTraits{.vector_quotients = true, .masked_vectors = true};
    return kTraits;
  }

  llvm::Function* make_function(llvm::Module& module) override {
    llvm::LLVMContext& context = module.getContext();
    llvm::Type* pointer = llvm::PointerType::get(context, 0);
    auto* type = llvm::FunctionType::get(
        llvm::Type::getVoidTy(context), {pointer, pointer, llvm::Type::getInt64Ty(context)}, false);
    function_ =
        llvm::Function::Create(type, llvm::Function::ExternalLinkage, program_.name, module);
    function_->getArg(0)->setName("args");
    function_->getArg(1)->setName("variables");
    function_->getArg(2)->setName("thread");
    // Prefers wide registers, whatever the CPU's default is.
    function_->addFnAttr("prefer-vector-width", "512");
    return function_;
  }

  llvm::Value* param(llvm::IRBuilder<>& entry, usize slot) override {
    llvm::Value* place =
        entry.CreateConstInBoundsGEP1_64(entry.getPtrTy(), function_->getArg(0), slot);
    return entry.CreateLoad(entry.getPtrTy(), place, "param" + std::to_string(slot));
  }

  llvm::Value* variable(llvm::IRBuilder<>& entry, usize position) override {
    llvm::Value* place =
        entry.CreateConstInBoundsGEP1_64(entry.getInt64Ty(), function_->getArg(1), position);
    return entry.CreateLoad(entry.getInt64Ty(), place);
  }

  llvm::Value* special(llvm::IRBuilder<>&, core::SpecialKind kind, i64, i64) override {
    CHECK(kind == core::SpecialKind::ThreadId, "special index {} on a CPU", static_cast<int>(kind));
    return function_->getArg(2);
  }

  llvm::Value* local_array(llvm::Module&, llvm::Type*, core::UOp) override {
    UNREACHABLE("memory of a work group on a CPU");
  }
  void barrier(llvm::IRBuilder<>&) override { UNREACHABLE("a barrier on a CPU"); }
  llvm::Value* matrix(llvm::IRBuilder<>&, const TensorCore&, llvm::Value*, llvm::Value*,
                      llvm::Value*) override {
    UNREACHABLE("a tensor core on a CPU");
  }

 private:
  llvm::Function* function_ = nullptr;
};

}  // namespace

std::unique_ptr<KernelFrame> make_cpu_frame(const LinearProgram& program) {
  return std::make_unique<CpuFrame>(program);
}

}  // namespace doorbell::codegen
