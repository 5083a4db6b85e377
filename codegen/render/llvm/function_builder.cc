// The walk over a linear program: arguments, loops, guarded blocks. For single ops see
// build_arithmetic.cc, build_cast.cc, build_vector.cc and build_memory.cc.
#include "codegen/render/llvm/function_builder.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/Instructions.h>

#include <algorithm>

#include "base/util/check.h"
#include "codegen/linear/ring.h"
#include "codegen/render/constants.h"

namespace doorbell::codegen {

using core::Op;
using core::UOp;

FunctionBuilder::FunctionBuilder(llvm::Module& module, const LinearProgram& program,
                                 KernelFrame& frame)
    : program_(program),
      frame_(frame),
      module_(module),
      context_(module.getContext()),
      b_(context_) {
  // a * b + c may become one instruction; nothing else is relaxed.
  llvm::FastMathFlags flags;
  flags.setAllowContract(true);
  b_.setFastMathFlags(flags);
}

llvm::Function* FunctionBuilder::build() {
  begin_function();
  u32 ids = 0;
  for (UOp u : program_.ops) {
    ids = std::max(ids, u.id() + 1);
    for (UOp s : u.srcs()) ids = std::max(ids, s.id() + 1);
  }
  values_.assign(ids, nullptr);
  for (position_ = 0; position_ < program_.ops.size(); ++position_) add_op(program_.ops[position_]);
  CHECK(loops_.empty() && if_exits_.empty(), "{} loops and {} blocks left open in {}",
        loops_.size(), if_exits_.size(), program_.name);
  b_.CreateRetVoid();
  b_.SetInsertPoint(entry_);
  b_.CreateBr(entry_->getNextNode());
  return function_;
}

void FunctionBuilder::begin_function() {
  function_ = frame_.make_function(module_);
  function_->addFnAttr(llvm::Attribute::NoUnwind);
  function_->addFnAttr("no-trapping-math", "true");
  entry_ = llvm::BasicBlock::Create(context_, "entry", function_);
  b_.SetInsertPoint(llvm::BasicBlock::Create(context_, "body", function_));
  make_alias_scopes();
}

void FunctionBuilder::add_op(UOp u) {
  switch (u.op()) {
    case Op::Const: return;  // made where it is used
    case Op::Param: return add_param(u);
    case Op::Variable: return add_variable(u);
    case Op::Special: return add_special(u);
    case Op::DefinePrivate: return set(u, add_alloca(memory_type(u.dtype()), u.arg(1), 64));
    case Op::DefineLocal: return define_local(u);
    case Op::Barrier: return barrier(u);
    case Op::DefineReg: return set(u, add_alloca(value_type(u.dtype()), 1, 0));
    case Op::Range: return begin_range(u);
    case Op::End: return end_range(u);
    case Op::If: return begin_if(u);
    case Op::EndIf: return end_if();
    case Op::Group: return is_async_batch(u) ? frame_.commit_async(b_) : void();
    case Op::Index:
    case Op::Sink: return;  // an Index is part of its access
    case Op::After: return set(u, values_[u.src(0).id()]);
    case Op::Load: return set(u, load(u));
    case Op::Store: return store(u);
    case Op::Vec: return set(u, vec(u));
    case Op::Splat: return set(u, b_.CreateVectorSplat(u.dtype().lanes, value(u.src(0))));
    case Op::Lane: return set(u, lane(u));
    case Op::Ramp: return set(u, ramp(u));
    case Op::Wmma: return set(u, matrix(u));
    default:
      CHECK(core::is_elementwise(u.op()), "op {} in a linear program", core::name_of(u.op()));
      llvm::Value* number = buffer_number(u);
      return set(u, number ? number : elementwise(u));
  }
}

void FunctionBuilder::add_param(UOp u) {
  llvm::IRBuilder<> entry(entry_);
  set(u, frame_.param(entry, static_cast<usize>(u.arg(0))));
}

void FunctionBuilder::add_variable(UOp u) {
  auto it = std::find(program_.variables.begin(), program_.variables.end(), u.arg(0));
  CHECK(it != program_.variables.end(), "variable {} is not an argument",
        core::interned_name(u.arg(0)));
  llvm::IRBuilder<> entry(entry_);
  llvm::Value* wide = frame_.variable(entry, static_cast<usize>(it - program_.variables.begin()));
  set(u, entry.CreateTrunc(wide, value_type(u.dtype())));
}

void FunctionBuilder::define_local(UOp u) {
  set(u, frame_.local_array(module_, memory_type(u.dtype()), u));
  if (!is_mbarriers(u)) return;
  llvm::IRBuilder<> entry(entry_);
  frame_.init_mbarriers(entry, values_[u.id()], u.arg(1));
}

void FunctionBuilder::add_special(UOp u) {
  llvm::IRBuilder<> entry(entry_);
  llvm::Value* index =
      frame_.special(entry, static_cast<core::SpecialKind>(u.arg(0)), u.arg(1), u.arg(2));
  set(u, entry.CreateZExtOrTrunc(index, value_type(u.dtype())));
}

void FunctionBuilder::begin_range(UOp u) {
  llvm::Value* size = value(u.src(0));
  llvm::Type* type = value_type(u.dtype());
  size = b_.CreateSExtOrTrunc(size, type);
  llvm::BasicBlock* before = b_.GetInsertBlock();
  auto* body = llvm::BasicBlock::Create(context_, "loop" + std::to_string(u.arg(0)), function_);
  auto* exit = llvm::BasicBlock::Create(context_, "done" + std::to_string(u.arg(0)), function_);
  if (u.src(0).vmin() >= 1) {
    b_.CreateBr(body);
  } else {
    b_.CreateCondBr(b_.CreateICmpSGT(size, llvm::ConstantInt::get(type, 0)), body, exit);
  }
  b_.SetInsertPoint(body);
  llvm::PHINode* index = b_.CreatePHI(type, 2, "i" + std::to_string(u.arg(0)));
  index->addIncoming(llvm::ConstantInt::get(type, 0), before);
  const std::span<const UOp> ops = std::span(program_.ops).subspan(position_);
  const i64 buffers = frame_.traits().unrolls_rings ? buffers_of_loop(u, ops) : 1;
  loops_.push_back({.range = u,
                    .index = index,
                    .size = size,
                    .body = body,
                    .exit = exit,
                    .buffers = buffers,
                    .begin = position_});
  set(u, index);
}

void FunctionBuilder::end_range(UOp u) {
  CHECK(!loops_.empty() && u.src(u.nsrc() - 1) == loops_.back().range,
        "End does not close the innermost loop");
  auto later = [&](const Loop& loop, i64 iterations) {
    llvm::Type* type = loop.index->getType();
    llvm::Value* step = llvm::ConstantInt::get(type, static_cast<u64>(iterations));
    return b_.CreateAdd(loop.index, step, "", /*HasNUW=*/true, /*HasNSW=*/true);
  };
  if (Loop& open = loops_.back(); ++open.buffer < open.buffers) {
    set(open.range, later(open, open.buffer));
    position_ = open.begin;
    return;
  }
  Loop loop = loops_.back();
  loops_.pop_back();
  llvm::Value* next = later(loop, loop.buffers);
  loop.index->addIncoming(next, b_.GetInsertBlock());
  llvm::Instruction* branch =
      b_.CreateCondBr(b_.CreateICmpSLT(next, loop.size), loop.body, loop.exit);
  if (loop.has_barrier && frame_.traits().keeps_loops) keep_loop(branch);
  b_.SetInsertPoint(loop.exit);
}

// Of an unrolled loop; otherwise null.
llvm::Value* FunctionBuilder::buffer_number(UOp u) {
  for (const Loop& loop : loops_) {
    if (loop.buffers > 1 && is_buffer_number(u, loop.range))
      return llvm::ConstantInt::get(value_type(u.dtype()), static_cast<u64>(loop.buffer));
  }
  return nullptr;
}

void FunctionBuilder::keep_loop(llvm::Instruction* branch) {
  llvm::Metadata* disable =
      llvm::MDNode::get(context_, {llvm::MDString::get(context_, "llvm.loop.unroll.disable")});
  llvm::MDNode* node = llvm::MDNode::getDistinct(context_, {nullptr, disable});
  node->replaceOperandWith(0, node);
  branch->setMetadata(llvm::LLVMContext::MD_loop, node);
}

llvm::Value* FunctionBuilder::matrix(UOp u) {
  llvm::Value* sum = value(u.src(2));
  if (reads_local(u)) {
    llvm::Value *x = address(u.src(0), nullptr, true), *y = address(u.src(1), nullptr, true);
    return frame_.local_matrix(b_, u, x, y, sum);
  }
  llvm::Value *x = value(u.src(0)), *y = value(u.src(1));
  return frame_.matrix(b_, tensor_core(u.arg(0)), x, y, sum);
}

void FunctionBuilder::barrier(UOp u) {
  for (Loop& loop : loops_) loop.has_barrier = true;
  if (u.narg() > 0) frame_.wait_async(b_, u.arg(0));
  if (u.narg() > 1) frame_.show_matrix(b_);
  frame_.barrier(b_);
}

void FunctionBuilder::begin_if(UOp u) {
  auto* then = llvm::BasicBlock::Create(context_, "then", function_);
  auto* exit = llvm::BasicBlock::Create(context_, "endif", function_);
  b_.CreateCondBr(value(u.src(0)), then, exit);
  b_.SetInsertPoint(then);
  if_exits_.push_back(exit);
}

void FunctionBuilder::end_if() {
  CHECK(!if_exits_.empty(), "EndIf without If");
  b_.CreateBr(if_exits_.back());
  b_.SetInsertPoint(if_exits_.back());
  if_exits_.pop_back();
}

llvm::Value* FunctionBuilder::value(UOp u) {
  if (u.is_const()) return constant(u);
  CHECK(u.id() < values_.size() && values_[u.id()] != nullptr, "op {} is used before it is listed",
        core::name_of(u.op()));
  return values_[u.id()];
}

llvm::Value* FunctionBuilder::constant(UOp u) {
  llvm::Type* type = value_type(u.dtype());
  switch (u.dtype().scalar) {
    case core::Scalar::F32:
    case core::Scalar::F64: return llvm::ConstantFP::get(type, u.const_float());
    default: break;
  }
  if (!type->isFPOrFPVectorTy()) return llvm::ConstantInt::get(type, constant_bits(u));
  const llvm::APInt bits(16, constant_bits(u));
  return llvm::ConstantFP::get(type, llvm::APFloat(llvm::APFloat::IEEEhalf(), bits));
}

}  // namespace doorbell::codegen
