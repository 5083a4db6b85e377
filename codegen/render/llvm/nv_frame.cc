// NVIDIA's kernels, for nvptx64-nvidia-cuda. What launches one may rely on:
//   arguments   8 bytes a slot: the address of each Param by slot, then each variable as i64
//   groups      of exactly LinearProgram::group_items items, all of them full (.reqntid)
//   shared      arrays of a size that the code says, or LinearProgram::dynamic_shared_bytes
#include <llvm/Config/llvm-config.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/IntrinsicsNVPTX.h>

#include <fmt/format.h>

#include "codegen/render/llvm/gpu_frame.h"
#include "codegen/render/nv_matrix.h"
#include "codegen/render/nv_tensor_copy.h"

namespace doorbell::codegen {
namespace {

class NvFrame final : public GpuFrame {
 public:
  using GpuFrame::GpuFrame;

  const FrameTraits& traits() const override {
    static constexpr FrameTraits kTraits{
        .native_f16 = true, .byte_permutes = true, .keeps_loops = true};
    return kTraits;
  }

  llvm::Function* make_function(llvm::Module& module) override {
    add_function(module, llvm::CallingConv::PTX_Kernel);
    // Every Param is memory of its own as far as this kernel is concerned: loads of what is also
    // ReadOnly go through the cache that is not coherent. [LLVM NVPTXUsage, "Kernel Metadata"]
    for (unsigned i = 0; is_param(i); ++i) function_->getArg(i)->addAttr(llvm::Attribute::NoAlias);
    pass_maps(module);
    say_group_size(module);
    return function_;
  }

  // Through lane 0, so that ptxas knows that all lanes have the same. [PTX ISA 9.0, "shfl.sync"]
  llvm::Value* special(llvm::IRBuilder<>& entry, core::SpecialKind kind, i64 axis,
                       i64 extent) override {
    if (axis != kWaveAxis) return GpuFrame::special(entry, kind, axis, extent);
    llvm::Value* item = entry.getInt32(0);
    for (usize i = 3; i-- > 0;) {
      llvm::Value* before =
          entry.CreateMul(item, entry.getInt32(static_cast<u32>(program_.group_items[i])));
      item = entry.CreateAdd(before, call_intrinsic(entry, indices().item[i]));
    }
    llvm::Value* wave = entry.CreateUDiv(item, entry.getInt32(kNvWarp));
    return entry.CreateIntrinsic(
        llvm::Intrinsic::nvvm_shfl_sync_idx_i32, llvm::ArrayRef<llvm::Type*>(),
        {entry.getInt32(~0u), wave, entry.getInt32(0), entry.getInt32(31)});
  }

  // Dynamic shared memory is one external array without a size. [PTX ISA 9.0, "Kernel and Function
  // Directives", ".shared"; CUDA Programming Guide 13, "Dynamic Allocation of Shared Memory"]
  llvm::Value* local_array(llvm::Module& module, llvm::Type* element, core::UOp array) override {
    if (program_.dynamic_shared_bytes == 0) return GpuFrame::local_array(module, element, array);
    llvm::Type* byte = llvm::Type::getInt8Ty(module.getContext());
    if (dynamic_shared_ == nullptr) {
      dynamic_shared_ = new llvm::GlobalVariable(
          module, llvm::ArrayType::get(byte, 0), false, llvm::GlobalValue::ExternalLinkage, nullptr,
          "dynamic_shared", nullptr, llvm::GlobalValue::NotThreadLocal, kLocalSpace);
    }
    const llvm::Align alignment(static_cast<u64>(local_array_alignment(array)));
    if (dynamic_shared_->getAlign().valueOrOne() < alignment)
      dynamic_shared_->setAlignment(alignment);
    const i64 start = local_array_start(array, next_shared_);
    next_shared_ = start + local_array_bytes(array);
    llvm::Constant* at = llvm::ConstantInt::get(llvm::Type::getInt64Ty(module.getContext()),
                                                static_cast<u64>(start));
    return llvm::ConstantExpr::getInBoundsGetElementPtr(byte, dynamic_shared_, at);
  }

  // bar.sync 0: also orders the memory of those who meet. [PTX ISA, "bar"]
  void barrier(llvm::IRBuilder<>& b) override {
#if LLVM_VERSION_MAJOR >= 21
    b.CreateIntrinsic(llvm::Intrinsic::nvvm_barrier_cta_sync_aligned_all,
                      llvm::ArrayRef<llvm::Type*>(), {b.getInt32(0)});
#else
    call_intrinsic(b, llvm::Intrinsic::nvvm_barrier0);
#endif
  }

  // By PTX as text, which is the same for all versions of LLVM.
  llvm::Value* matrix(llvm::IRBuilder<>& b, const TensorCore& core, llvm::Value* x, llvm::Value* y,
                      llvm::Value* sum) override {
    const auto words = [&](llvm::Value* v) {
      if (core.operand == core::Scalar::F32) return round_to_tf32(b, v);
      const auto bits = static_cast<unsigned>(v->getType()->getPrimitiveSizeInBits());
      return b.CreateBitCast(v, llvm::FixedVectorType::get(b.getInt32Ty(), bits / 32));
    };
    llvm::Value *a = words(x), *c = words(y);
    llvm::Type* element = llvm::cast<llvm::VectorType>(sum->getType())->getElementType();
    const bool floats = element->isFloatTy();
    for (const NvMatrixStep& step : nv_matrix_steps(core)) {
      llvm::SmallVector<llvm::Value*, 10> inputs;
      std::string constraints = floats ? "=f,=f,=f,=f" : "=r,=r,=r,=r";
      for (const int i : step.a) inputs.push_back(b.CreateExtractElement(a, static_cast<u64>(i)));
      for (const int i : step.b) inputs.push_back(b.CreateExtractElement(c, static_cast<u64>(i)));
      for (usize i = 0; i < inputs.size(); ++i) constraints += ",r";
      for (usize i = 0; i < step.sums.size(); ++i) {
        inputs.push_back(b.CreateExtractElement(sum, static_cast<u64>(step.sums[i])));
        constraints += fmt::format(",{}", i);
      }
      llvm::SmallVector<llvm::Type*, 10> types;
      for (llvm::Value* input : inputs) types.push_back(input->getType());
      auto* type = llvm::FunctionType::get(
          llvm::StructType::get(b.getContext(), {element, element, element, element}), types,
          false);
      llvm::CallInst* call = b.CreateCall(
          llvm::InlineAsm::get(type, nv_matrix_text(core, '$'), constraints, false), inputs);
      call->setConvergent();
      for (usize i = 0; i < step.sums.size(); ++i) {
        sum = b.CreateInsertElement(sum, b.CreateExtractValue(call, static_cast<unsigned>(i)),
                                    static_cast<u64>(step.sums[i]));
      }
    }
    return sum;
  }

  // Sums go through the instructions, and through their wait, so that nobody reads them before.
  llvm::Value* through_sums(llvm::IRBuilder<>& b, const std::string& text, llvm::Value* sums,
                            llvm::ArrayRef<llvm::Value*> others) {
    auto* vector = llvm::cast<llvm::FixedVectorType>(sums->getType());
    llvm::Type* element = vector->getElementType();
    const unsigned count = vector->getNumElements();
    const std::string_view output = element->isFloatTy() ? "=f" : "=r";
    llvm::SmallVector<llvm::Value*, 130> inputs(others);
    std::string constraints;
    for (unsigned i = 0; i < count; ++i) constraints += fmt::format("{}{}", i ? "," : "", output);
    for (usize i = 0; i < others.size(); ++i) constraints += ",r";
    for (unsigned i = 0; i < count; ++i) {
      inputs.push_back(b.CreateExtractElement(sums, u64{i}));
      constraints += fmt::format(",{}", i);
    }
    llvm::SmallVector<llvm::Type*, 130> types;
    for (llvm::Value* input : inputs) types.push_back(input->getType());
    const llvm::SmallVector<llvm::Type*, 128> elements(count, element);
    auto* type =
        llvm::FunctionType::get(llvm::StructType::get(b.getContext(), elements), types, false);
    llvm::CallInst* call =
        b.CreateCall(llvm::InlineAsm::get(type, text, constraints + ",~{memory}", true), inputs);
    call->setConvergent();
    llvm::Value* made = llvm::PoisonValue::get(vector);
    for (unsigned i = 0; i < count; ++i)
      made = b.CreateInsertElement(made, b.CreateExtractValue(call, i), u64{i});
    return made;
  }

  llvm::Value* local_matrix(llvm::IRBuilder<>& b, core::UOp wmma, llvm::Value* x, llvm::Value* y,
                            llvm::Value* sum) override {
    const auto descriptor = [&](llvm::Value* address, usize operand) {
      llvm::Value* low = b.CreateLShr(b.CreatePtrToInt(address, b.getInt32Ty()), 4);
      return b.CreateOr(low, nv_descriptor(wmma, operand));
    };
    llvm::Value *a = descriptor(x, 0), *c = descriptor(y, 1);
    return through_sums(b, nv_warpgroup_text(wmma, '$'), sum, {a, c});
  }
  llvm::Value* finish_matrix(llvm::IRBuilder<>& b, llvm::Value* sum) override {
    return through_sums(b, nv_warpgroup_wait(), sum, {});
  }
  // [PTX ISA 9.0, "Async proxy"; "membar/fence"]
  void show_matrix(llvm::IRBuilder<>& b) override {
    auto* type = llvm::FunctionType::get(b.getVoidTy(), false);
    llvm::CallInst* call = b.CreateCall(
        llvm::InlineAsm::get(type, "fence.proxy.async.shared::cta;", "~{memory}", true));
    call->setConvergent();
  }

  // Words of a vector of f32.
  static llvm::Value* round_to_tf32(llvm::IRBuilder<>& b, llvm::Value* v) {
    const auto lanes = llvm::cast<llvm::FixedVectorType>(v->getType())->getNumElements();
    auto* type = llvm::FunctionType::get(b.getInt32Ty(), {b.getFloatTy()}, false);
    auto* round = llvm::InlineAsm::get(type, nv_tf32_text('$'), "=r,f", false);
    llvm::Value* made = llvm::PoisonValue::get(llvm::FixedVectorType::get(b.getInt32Ty(), lanes));
    for (unsigned i = 0; i < lanes; ++i) {
      llvm::Value* one = b.CreateExtractElement(v, u64{i});
      made = b.CreateInsertElement(made, b.CreateCall(round, {one}), u64{i});
    }
    return made;
  }

  llvm::Value* load_matrix(llvm::IRBuilder<>& b, llvm::Type* type, llvm::Value* address,
                           bool transposed) override {
    const auto id = transposed ? llvm::Intrinsic::nvvm_ldmatrix_sync_aligned_m8n8_x4_trans_b16
                               : llvm::Intrinsic::nvvm_ldmatrix_sync_aligned_m8n8_x4_b16;
    llvm::Value* four = b.CreateIntrinsic(id, {address->getType()}, {address});
    llvm::Value* words = llvm::PoisonValue::get(llvm::FixedVectorType::get(b.getInt32Ty(), 4));
    for (unsigned i = 0; i < 4; ++i)
      words = b.CreateInsertElement(words, b.CreateExtractValue(four, i), i);
    return b.CreateBitCast(words, type);
  }

  // [PTX ISA 9.0, "cp.async": of fewer bytes than 16, the rest are zeros]
  void copy_async(llvm::IRBuilder<>& b, llvm::Value* to, llvm::Value* from,
                  llvm::Value* gate) override {
    using namespace llvm::Intrinsic;
    const llvm::ArrayRef<llvm::Type*> none;
    if (gate == nullptr) {
      b.CreateIntrinsic(nvvm_cp_async_cg_shared_global_16, none, {to, from});
    } else {
      b.CreateIntrinsic(nvvm_cp_async_cg_shared_global_16_s, none,
                        {to, from, b.CreateSelect(gate, b.getInt32(16), b.getInt32(0))});
    }
  }
  void commit_async(llvm::IRBuilder<>& b) override {
    call_intrinsic(b, llvm::Intrinsic::nvvm_cp_async_commit_group);
  }
  void wait_async(llvm::IRBuilder<>& b, i64 pending) override {
    b.CreateIntrinsic(llvm::Intrinsic::nvvm_cp_async_wait_group, llvm::ArrayRef<llvm::Type*>(),
                      {b.getInt32(static_cast<u32>(pending))});
  }

  void init_mbarriers(llvm::IRBuilder<>& b, llvm::Value* first, i64 count) override {
    llvm::Value* item = b.getInt32(0);
    for (const auto id : indices().item) item = b.CreateOr(item, call_intrinsic(b, id));
    llvm::Value* is_first = b.CreateZExt(b.CreateICmpEQ(item, b.getInt32(0)), b.getInt32Ty());
    call_text(b, nv_mbarrier_init(count, '$'), "r,r", {is_first, shared_address(b, first)});
    barrier(b);
  }
  void copy_tensor(llvm::IRBuilder<>& b, core::UOp copy, llvm::Value* to, llvm::Value* mbarrier,
                   llvm::ArrayRef<llvm::Value*> coordinates) override {
    llvm::SmallVector<llvm::Value*, 8> operands{shared_address(b, to),
                                                map_address(b, tensor_map_number(program_, copy)),
                                                shared_address(b, mbarrier)};
    std::string constraints = "r,l,r";
    for (llvm::Value* c : coordinates) {
      operands.push_back(b.CreateSExtOrTrunc(c, b.getInt32Ty()));
      constraints += ",r";
    }
    call_text(b, nv_tensor_copy(copy, '$'), constraints, operands);
  }
  void wait_for_phase(llvm::IRBuilder<>& b, llvm::Value* mbarrier, llvm::Value* parity) override {
    call_text(b, nv_phase_wait('$'), "r,r",
              {shared_address(b, mbarrier), b.CreateZExtOrTrunc(parity, b.getInt32Ty())});
  }

  // PRMT takes bytes 0 to 3 from its first source. [PTX ISA, "prmt"]
  llvm::Value* permute(llvm::IRBuilder<>& b, llvm::Value* low, llvm::Value* high,
                       std::array<u8, 4> bytes) override {
    u32 selector = 0;
    for (usize i = 0; i < 4; ++i) selector |= u32{bytes[i]} << (4 * i);
    return b.CreateIntrinsic(llvm::Intrinsic::nvvm_prmt, llvm::ArrayRef<llvm::Type*>(),
                             {low, high, b.getInt32(selector)});
  }

 private:
  static void call_text(llvm::IRBuilder<>& b, const std::string& text, std::string constraints,
                        llvm::ArrayRef<llvm::Value*> operands) {
    llvm::SmallVector<llvm::Type*, 8> types;
    for (llvm::Value* operand : operands) types.push_back(operand->getType());
    auto* type = llvm::FunctionType::get(b.getVoidTy(), types, false);
    b.CreateCall(llvm::InlineAsm::get(type, text, constraints + ",~{memory}", true), operands)
        ->setConvergent();
  }
  static llvm::Value* shared_address(llvm::IRBuilder<>& b, llvm::Value* pointer) {
    return b.CreatePtrToInt(pointer, b.getInt32Ty());
  }

  // Maps are the last arguments.
  unsigned map_argument(usize number) const {
    return static_cast<unsigned>(program_.params.size() + program_.variables.size() + number);
  }
  void pass_maps(llvm::Module& module) {
    llvm::LLVMContext& context = module.getContext();
    auto* type = llvm::ArrayType::get(llvm::Type::getInt8Ty(context), kNvTensorMapBytes);
    for (usize i = 0; i < program_.tensor_maps.size(); ++i) {
      llvm::Argument* map = function_->getArg(map_argument(i));
      map->addAttr(llvm::Attribute::getWithByValType(context, type));
      map->addAttr(llvm::Attribute::getWithAlignment(context, llvm::Align(kNvTensorMapAlignment)));
    }
  }
  // By the name that LLVM gives the parameter: a copy of it would not do. [PTX ISA 9.0, "cvta"]
  llvm::Value* map_address(llvm::IRBuilder<>& b, usize number) {
    const std::string text =
        fmt::format("{{ .reg .b64 at; mov.b64 at, {}_param_{}; cvta.param.u64 $0, at; }}",
                    program_.name, map_argument(number));
    auto* type = llvm::FunctionType::get(b.getInt64Ty(), false);
    return b.CreateCall(llvm::InlineAsm::get(type, text, "=l", false));
  }

  llvm::GlobalVariable* dynamic_shared_ = nullptr;
  i64 next_shared_ = 0;  // where the next array may begin in it

  const Indices& indices() const override {
    using namespace llvm::Intrinsic;
    static constexpr Indices kIndices = {
        {nvvm_read_ptx_sreg_ctaid_x, nvvm_read_ptx_sreg_ctaid_y, nvvm_read_ptx_sreg_ctaid_z},
        {nvvm_read_ptx_sreg_tid_x, nvvm_read_ptx_sreg_tid_y, nvvm_read_ptx_sreg_tid_z}};
    return kIndices;
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
};

}  // namespace

std::unique_ptr<KernelFrame> make_nv_frame(const LinearProgram& program) {
  return std::make_unique<NvFrame>(program);
}

}  // namespace doorbell::codegen
