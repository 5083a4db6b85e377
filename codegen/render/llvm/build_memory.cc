// Loads, stores and addresses, plain and gated.
//
// Gates: a gate per lane, or one gate of a vector access, is a masked load or store. A scalar load
// reads from a dummy where its gate is false, so that no branch is taken; a scalar store branches.
#include <llvm/IR/Constants.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/MDBuilder.h>

#include "base/util/check.h"
#include "codegen/render/llvm/function_builder.h"
#include "codegen/render/memory.h"

namespace doorbell::codegen {

using core::DType;
using core::Op;
using core::UOp;

llvm::AllocaInst* FunctionBuilder::add_alloca(llvm::Type* type, i64 count, u64 align) {
  llvm::IRBuilder<> entry(entry_);
  if (count != 1) type = llvm::ArrayType::get(type, static_cast<u64>(count));
  llvm::AllocaInst* memory = entry.CreateAlloca(type);
  if (align > 0) memory->setAlignment(llvm::Align(align));
  return memory;
}

// Every Param is memory of its own as far as this kernel is concerned: one scope each.
void FunctionBuilder::make_alias_scopes() {
  usize count = program_.params.size();
  bool any_written = false;
  for (const ProgramParam& p : program_.params) any_written |= p.written;
  if (count < 2 || !any_written) return;
  llvm::MDBuilder metadata(context_);
  llvm::MDNode* domain = metadata.createAnonymousAliasScopeDomain(program_.name);
  std::vector<llvm::Metadata*> scopes;
  for (usize i = 0; i < count; ++i) scopes.push_back(metadata.createAnonymousAliasScope(domain));
  for (usize i = 0; i < count; ++i) {
    own_scope_.push_back(llvm::MDNode::get(context_, {scopes[i]}));
    std::vector<llvm::Metadata*> others = scopes;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
    other_scopes_.push_back(llvm::MDNode::get(context_, others));
  }
}

void FunctionBuilder::mark_access(llvm::Instruction* access, UOp memory) {
  if (!memory.is(Op::Param) || own_scope_.empty()) return;
  auto slot = static_cast<usize>(memory.arg(0));
  CHECK(slot < own_scope_.size(), "param {} of {}", slot, own_scope_.size());
  access->setMetadata(llvm::LLVMContext::MD_alias_scope, own_scope_[slot]);
  access->setMetadata(llvm::LLVMContext::MD_noalias, other_scopes_[slot]);
}

llvm::Value* FunctionBuilder::address(UOp index) {
  UOp memory = memory_of(index);
  llvm::Value* base = value(index.src(0));
  llvm::Value* element = value(index.src(1));
  element = b_.CreateSExtOrTrunc(element, b_.getInt64Ty());
  // A gated index may point outside; the pointer must still be no poison.
  bool gated = index.nsrc() > 2;
  return b_.CreateGEP(memory_type(memory.dtype().element()), base, element, "",
                      gated ? llvm::GEPNoWrapFlags::none() : llvm::GEPNoWrapFlags::inBounds());
}

// The gate of an access of type `access` as one bit or one per lane; null where there is none.
llvm::Value* FunctionBuilder::gate_of(UOp index, DType access) {
  if (index.nsrc() < 3) return nullptr;
  llvm::Value* gate = value(index.src(2));
  bool scalar = index.src(2).dtype().lanes == 1;
  return scalar && access.lanes > 1 ? b_.CreateVectorSplat(access.lanes, gate) : gate;
}

llvm::Value* FunctionBuilder::safe_address(llvm::Value* gate, llvm::Value* address, DType t) {
  if (dummy_ == nullptr) {
    auto* type = llvm::ArrayType::get(b_.getInt8Ty(), 64);
    auto* zeros = new llvm::GlobalVariable(module_, type, true, llvm::GlobalValue::PrivateLinkage,
                                           llvm::ConstantAggregateZero::get(type), "masked");
    zeros->setAlignment(llvm::Align(64));
    dummy_ = zeros;
  }
  CHECK(t.bytes() <= 64, "a scalar of {} bytes", t.bytes());
  return b_.CreateSelect(gate, address, dummy_);
}

llvm::Value* FunctionBuilder::load(UOp u) {
  DType t = u.dtype();
  UOp memory = memory_of(u.src(0));
  if (memory.is(Op::DefineReg)) return b_.CreateLoad(value_type(t), value(u.src(0)));
  UOp index = u.src(0);
  llvm::Value* pointer = address(index);
  llvm::Value* gate = gate_of(index, t);
  llvm::Align align(static_cast<u64>(t.element().bytes()));
  llvm::Type* type = memory_type(t);
  llvm::Instruction* access;
  llvm::Value* result;
  if (gate == nullptr) {
    result = access = b_.CreateAlignedLoad(type, pointer, align);
    mark_access(access, memory);
  } else {
    llvm::Value* otherwise = value(u.src(1));
    if (t.is_bool()) otherwise = b_.CreateZExt(otherwise, type);
    if (t.lanes == 1) {
      // Not marked: the dummy belongs to no Param.
      llvm::Value* read = b_.CreateAlignedLoad(type, safe_address(gate, pointer, t), align);
      result = b_.CreateSelect(gate, read, otherwise);
    } else {
      result = access = b_.CreateMaskedLoad(type, pointer, align, gate, otherwise);
      mark_access(access, memory);
    }
  }
  return t.is_bool() ? b_.CreateTrunc(result, value_type(t)) : result;
}

void FunctionBuilder::store(UOp u) {
  UOp memory = memory_of(u.src(0));
  llvm::Value* v = value(u.src(1));
  if (memory.is(Op::DefineReg)) {
    b_.CreateStore(v, value(u.src(0)));
    return;
  }
  UOp index = u.src(0);
  DType t = u.src(1).dtype();
  llvm::Align align(static_cast<u64>(t.element().bytes()));
  if (t.is_bool()) v = b_.CreateZExt(v, memory_type(t));
  llvm::Value* pointer = address(index);
  llvm::Value* gate = gate_of(index, t);
  if (gate == nullptr) {
    mark_access(b_.CreateAlignedStore(v, pointer, align), memory);
  } else if (t.lanes > 1) {
    mark_access(b_.CreateMaskedStore(v, pointer, align, gate), memory);
  } else {
    auto* then = llvm::BasicBlock::Create(context_, "store", function_);
    auto* exit = llvm::BasicBlock::Create(context_, "stored", function_);
    b_.CreateCondBr(gate, then, exit);
    b_.SetInsertPoint(then);
    mark_access(b_.CreateAlignedStore(v, pointer, align), memory);
    b_.CreateBr(exit);
    b_.SetInsertPoint(exit);
  }
}

}  // namespace doorbell::codegen
