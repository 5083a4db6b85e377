// The parts of a GPU's frame that do not depend on the vendor.
#include "codegen/render/llvm/gpu_frame.h"

namespace doorbell::codegen {

void GpuFrame::add_function(llvm::Module& module, llvm::CallingConv::ID convention) {
  llvm::LLVMContext& context = module.getContext();
  std::vector<llvm::Type*> types(program_.params.size(),
                                 llvm::PointerType::get(context, kGlobalSpace));
  types.resize(types.size() + program_.variables.size(), llvm::Type::getInt64Ty(context));
  types.resize(types.size() + program_.tensor_maps.size(), llvm::PointerType::get(context, 0));
  auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(context), types, false);
  function_ = llvm::Function::Create(type, llvm::Function::ExternalLinkage, program_.name, module);
  function_->setCallingConv(convention);
  for (llvm::Argument& argument : function_->args()) {
    const unsigned number = argument.getArgNo();
    const usize slots = program_.params.size();
    argument.setName((is_param(number) ? "p" : "n") +
                     std::to_string(is_param(number) ? number : number - slots));
    argument.addAttr(llvm::Attribute::NoUndef);
    if (is_param(number) && !program_.params[number].written)
      argument.addAttr(llvm::Attribute::ReadOnly);
  }
}

llvm::Value* GpuFrame::special(llvm::IRBuilder<>& entry, core::SpecialKind kind, i64 axis,
                               i64 extent) {
  CHECK(kind != core::SpecialKind::ThreadId, "a worker thread's number on a GPU");
  CHECK(axis >= 0 && axis < 3, "axis {} of a grid", axis);
  const bool group = kind == core::SpecialKind::GroupId;
  llvm::CallInst* call = call_intrinsic(entry, (group ? indices().group : indices().item)[axis]);
  call->addRangeRetAttr(
      llvm::ConstantRange(llvm::APInt(32, 0), llvm::APInt(32, static_cast<u64>(extent))));
  return call;
}

llvm::Value* GpuFrame::local_array(llvm::Module& module, llvm::Type* element, core::UOp u) {
  auto* type = llvm::ArrayType::get(element, static_cast<u64>(u.arg(1)));
  auto* array = new llvm::GlobalVariable(module, type, false, llvm::GlobalValue::InternalLinkage,
                                         llvm::PoisonValue::get(type), "local", nullptr,
                                         llvm::GlobalValue::NotThreadLocal, kLocalSpace);
  array->setAlignment(llvm::Align(static_cast<u64>(local_array_alignment(u))));
  return array;
}

}  // namespace doorbell::codegen
