// The CPU's kernels: arguments by pointer to an array, work split over threads.
#include <llvm/ADT/SmallVector.h>
#include <llvm/Analysis/VectorUtils.h>
#include <llvm/IR/IntrinsicsX86.h>

#include <utility>

#include "base/util/check.h"
#include "codegen/render/llvm/kernel_frame.h"

namespace doorbell::codegen {
namespace {

class CpuFrame final : public KernelFrame {
 public:
  CpuFrame(const LinearProgram& program, std::string_view features) : KernelFrame(program) {
    const auto has = [&](std::string_view name) {
      return features.find(name) != std::string_view::npos;
    };
    // VMASKMOVPS of AVX takes 12 cycles for a store on a Zen 4; others have no instruction at all.
    traits_.fast_masked_stores = has("+avx512vl");
    traits_.has_dots = has("+avx512vl") && has("+avx512bf16") && has("+avx512vnni");
  }

  const FrameTraits& traits() const override { return traits_; }

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

  // VDPBF16PS or VPDPBUSD, in pieces of a register.
  llvm::Value* dot(llvm::IRBuilder<>& b, llvm::Value* x, llvm::Value* y,
                   llvm::Value* sum) override {
    const unsigned lanes = llvm::cast<llvm::FixedVectorType>(sum->getType())->getNumElements();
    const unsigned width = lanes > 8 ? 16 : lanes > 4 ? 8 : 4;
    llvm::SmallVector<llvm::Value*, 4> pieces;
    for (unsigned first = 0; first < lanes; first += width)
      pieces.push_back(dot_of_register(b, piece_of(b, x, first, width),
                                       piece_of(b, y, first, width),
                                       piece_of(b, sum, first, width)));
    return piece_of(b, llvm::concatenateVectors(b, pieces), 0, lanes);
  }

 private:
  // `width` lanes; those behind the end are poison.
  static llvm::Value* piece_of(llvm::IRBuilder<>& b, llvm::Value* from, unsigned first,
                               unsigned width) {
    const unsigned all = llvm::cast<llvm::FixedVectorType>(from->getType())->getNumElements();
    if (all == width) return from;
    llvm::SmallVector<int, 16> lanes;
    for (unsigned i = first; i < first + width; ++i)
      lanes.push_back(i < all ? static_cast<int>(i) : -1);
    return b.CreateShuffleVector(from, lanes);
  }
  static llvm::Value* dot_of_register(llvm::IRBuilder<>& b, llvm::Value* x, llvm::Value* y,
                                      llvm::Value* sum) {
    using namespace llvm::Intrinsic;
    constexpr ID kFloat[] = {x86_avx512bf16_dpbf16ps_128, x86_avx512bf16_dpbf16ps_256,
                             x86_avx512bf16_dpbf16ps_512};
    constexpr ID kBytes[] = {x86_avx512_vpdpbusd_128, x86_avx512_vpdpbusd_256,
                             x86_avx512_vpdpbusd_512};
    const auto* type = llvm::cast<llvm::FixedVectorType>(sum->getType());
    const unsigned size = type->getNumElements() / 8;  // 0, 1, 2
    const ID id = type->getElementType()->isFloatTy() ? kFloat[size] : kBytes[size];
    // LLVM 22 has other types of operands than 21.
    const llvm::FunctionType* taken = getType(b.getContext(), id);
    // A word that all lanes share is x. As the last operand it is read by the instruction itself;
    // a VBROADCASTSS beside each VDPBF16PS takes a third longer on a Zen 4. Of bytes the first are
    // unsigned.
    if (type->getElementType()->isFloatTy()) std::swap(x, y);
    llvm::Value* first = b.CreateBitCast(x, taken->getParamType(1));
    llvm::Value* second = b.CreateBitCast(y, taken->getParamType(2));
    return b.CreateIntrinsic(id, {}, {sum, first, second});
  }

  FrameTraits traits_{.vector_quotients = true, .masked_vectors = true};
  llvm::Function* function_ = nullptr;
};

}  // namespace

std::unique_ptr<KernelFrame> make_cpu_frame(const LinearProgram& program,
                                            std::string_view features) {
  return std::make_unique<CpuFrame>(program, features);
}

}  // namespace doorbell::codegen
