// Loads, stores and addresses, plain and gated.
//
// Gates: a gate per lane, and on targets that have masked vectors one gate of a vector access, is a
// masked load or store; of stores, where these are slow, only if some lanes are stored and some are
// not (masked_store()). Any other load reads the memory's beginning where its gate is false, so
// that no branch is taken, or behind a buffer's end, where the target knows it; a store branches.
#include <llvm/IR/CFG.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/MDBuilder.h>

#include <absl/container/inlined_vector.h>

#include <algorithm>
#include <bit>

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

// The Params of a kernel do not alias: one scope each.
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

namespace {

// Whether the value differs between items of a wave, as far as this can tell.
bool varies_with_item(UOp u, std::vector<i8>* known) {
  if (known->size() <= u.id()) known->resize(u.id() + 64, -1);
  if ((*known)[u.id()] >= 0) return (*known)[u.id()] != 0;
  bool varies = u.is(Op::Load) || (u.is(Op::Special) && static_cast<core::SpecialKind>(u.arg(0)) !=
                                                            core::SpecialKind::GroupId);
  for (UOp s : u.srcs()) varies = varies || varies_with_item(s, known);
  (*known)[u.id()] = varies;
  return varies;
}

}  // namespace

// A load in a loop that moves all items' addresses together: what moves is an operand apart from
// what differs between items, so that the loop has one addition for many loads. Null if it is of
// another kind, or the target has no such form.
llvm::Instruction* FunctionBuilder::load_in_step(UOp load, llvm::Type* type, llvm::Value* gate) {
  UOp index = load.src(0), memory = memory_of(index), at = index.src(1);
  const i64 bytes = memory.dtype().element().bytes();
  const i64 limit = INT32_MAX / bytes;
  if (!memory.is(Op::Param) || at.range_mask() == 0 || at.vmax() >= limit) return nullptr;
  UOp otherwise = gate ? load.src(1) : UOp();
  if (otherwise && otherwise.is(Op::Splat)) otherwise = otherwise.src(0);
  const bool is_zero = otherwise && otherwise.is_const() && otherwise.arg(0) == 0;  // +0.0 too
  if (gate ? index.src(2).range_mask() != 0 || !is_zero : at.vmin() < 0) return nullptr;
  struct Term {
    UOp value;
    i64 factor;
  };
  absl::InlinedVector<Term, 8> open{{at, 1}}, item, shared;
  i64 lowest = 0, highest = 0, lowest_shared = 0, constant = 0;
  while (!open.empty()) {
    const auto [u, factor] = open.back();
    open.pop_back();
    const bool scales = u.is(Op::Mul) && u.src(1).is_const() && u.range_mask() == 0;
    if (u.is(Op::Add)) {
      open.insert(open.end(), {{u.src(1), factor}, {u.src(0), factor}});
    } else if (u.is_const()) {
      constant += u.const_int() * factor;
    } else if (scales && u.src(1).const_int() > 0 && u.src(1).const_int() < limit / factor) {
      open.push_back({u.src(0), factor * u.src(1).const_int()});
    } else if (u.vmin() < -limit / factor || u.vmax() > limit / factor) {
      return nullptr;
    } else if (u.range_mask() != 0) {
      if (varies_with_item(u, &varies_)) return nullptr;
      shared.push_back({u, factor});
      lowest_shared += u.vmin() * factor;
    } else {
      item.push_back({u, factor});
      lowest += u.vmin() * factor, highest += u.vmax() * factor;
    }
  }
  // All are unsigned.
  const bool is_negative = lowest < 0 || lowest_shared < 0 || (constant < 0 && !gate);
  if (item.empty() || shared.empty() || is_negative || highest + constant >= limit) return nullptr;
  auto sum = [&](std::span<const Term> terms) {
    llvm::Value* made = nullptr;
    for (const Term& t : terms) {
      llvm::Value* term = b_.CreateZExtOrTrunc(value(t.value), b_.getInt32Ty());
      if (t.factor != 1) term = b_.CreateMul(term, b_.getInt32(static_cast<u32>(t.factor)));
      made = made ? b_.CreateAdd(made, term) : term;
    }
    return b_.CreateShl(made, static_cast<u64>(std::countr_zero(static_cast<u64>(bytes))));
  };
  llvm::Value *of_item = sum(item), *of_all = sum(shared);
  return frame_.load_in_step(b_, type, static_cast<usize>(memory.arg(0)),
                             {of_item, of_all, constant * bytes, gate, is_transposing_load(load)});
}

// With a gate: the address of the memory's beginning if it is false. `inside`: the element is in
// bounds, or the gate is given.
llvm::Value* FunctionBuilder::address(UOp index, llvm::Value* gate, bool inside) {
  UOp memory = memory_of(index), at = index.src(1);
  llvm::Value* base = value(index.src(0));
  llvm::Value* element = value(at);
  if (gate) {
    element = b_.CreateSelect(gate, element, llvm::Constant::getNullValue(element->getType()));
  }
  llvm::Type* type = memory_type(memory.dtype().element());
  i64 bytes = memory.dtype().element().bytes();
  bool fits = at.vmin() >= 0 && at.vmax() < INT32_MAX / bytes;
  if (frame_.traits().offset_addresses && memory.is(Op::Param) && fits && inside) {
    llvm::Value* offset = b_.CreateZExtOrTrunc(element, b_.getInt32Ty());
    offset = b_.CreateShl(offset, static_cast<u64>(std::countr_zero(static_cast<u64>(bytes))), "",
                          true, true);
    return b_.CreateInBoundsGEP(b_.getInt8Ty(), base, b_.CreateZExt(offset, b_.getInt64Ty()));
  }
  element = b_.CreateSExtOrTrunc(element, b_.getInt64Ty());
  // An address outside must not be poison.
  return b_.CreateGEP(type, base, element, "",
                      inside ? llvm::GEPNoWrapFlags::inBounds() : llvm::GEPNoWrapFlags::none());
}

llvm::Align FunctionBuilder::alignment(UOp index, DType access) const {
  return llvm::Align(static_cast<u64>(known_alignment(program_, index, access)));
}

llvm::Value* FunctionBuilder::gate_of(UOp index) {
  return index.nsrc() < 3 ? nullptr : value(index.src(2));
}

bool FunctionBuilder::is_masked(UOp index, DType access) const {
  if (index.nsrc() < 3 || access.lanes == 1) return false;
  bool by_lane = index.src(2).dtype().lanes > 1;
  CHECK(!by_lane || frame_.traits().masked_vectors,
        "a gate per lane on a target without masked vectors");
  return frame_.traits().masked_vectors;
}

llvm::Value* FunctionBuilder::load(UOp u) {
  DType t = u.dtype();
  UOp index = u.src(0), memory = memory_of(index);
  if (memory.is(Op::DefineReg)) {
    llvm::Value* held = b_.CreateLoad(value_type(t), value(index));
    return is_finished_load(u) ? frame_.finish_matrix(b_, held) : held;
  }
  if (is_matrix_load(u))
    return frame_.load_matrix(b_, value_type(t), address(index, nullptr, true),
                              (u.arg(0) & kMatrixTransposed) != 0);
  llvm::Align align = alignment(index, t);
  llvm::Type* type = memory_type(t);
  llvm::Value* gate = gate_of(index);
  llvm::Value* otherwise = gate ? value(u.src(1)) : nullptr;
  if (gate && t.is_bool()) otherwise = b_.CreateZExt(otherwise, type);
  llvm::Instruction* access;
  llvm::Value* result;
  if (is_masked(index, t)) {
    if (index.src(2).dtype().lanes == 1) gate = b_.CreateVectorSplat(t.lanes, gate);
    llvm::Value* pointer = address(index, nullptr, false);
    result = access = b_.CreateMaskedLoad(type, pointer, align, gate, otherwise);
  } else {
    access = load_in_step(u, type, gate);
    const bool is_gated = access != nullptr;
    if (!access && is_transposing_load(u))
      access = frame_.load_transposing(b_, type, address(index, nullptr, true));
    else if (!access)
      access = b_.CreateAlignedLoad(type, address(index, gate, true), align);
    result = access->getType() == type ? access : b_.CreateBitCast(access, type);
    if (gate && !is_gated) result = b_.CreateSelect(gate, result, otherwise);
  }
  mark_access(access, memory);
  return t.is_bool() ? b_.CreateTrunc(result, value_type(t)) : result;
}

// The load that it copies from is left without use, and removed. False where an address may not be
// aligned.
bool FunctionBuilder::copy_async(UOp store) {
  UOp to = store.src(0), load = store.src(1), from = load.src(0);
  if (std::min(alignment(to, load.dtype()), alignment(from, load.dtype())).value() < kAsyncBytes)
    return false;
  UOp source_gate = async_source_gate(store);
  llvm::Value* gate = source_gate ? value(source_gate) : nullptr;
  const bool inside = from.nsrc() < 3;
  frame_.copy_async(b_, address(to, nullptr, true), address(from, nullptr, inside), gate);
  return true;
}

void FunctionBuilder::copy_tensor(UOp u) {
  llvm::SmallVector<llvm::Value*, 5> coordinates;
  for (UOp c : coordinates_of(u)) coordinates.push_back(value(c));
  frame_.copy_tensor(b_, u, address(u.src(0), nullptr, true), address(u.src(1), nullptr, true),
                     coordinates);
}

// The block to go on in, where there is a gate: what follows is done where it is true.
llvm::BasicBlock* FunctionBuilder::begin_gated(llvm::Value* gate) {
  if (!gate) return nullptr;
  auto* then = llvm::BasicBlock::Create(context_, "store", function_);
  auto* exit = llvm::BasicBlock::Create(context_, "stored", function_);
  b_.CreateCondBr(gate, then, exit);
  b_.SetInsertPoint(then);
  return exit;
}

void FunctionBuilder::end_gated(llvm::BasicBlock* exit) {
  if (!exit) return;
  if (!b_.GetInsertBlock()->getTerminator()) b_.CreateBr(exit);
  b_.SetInsertPoint(exit);
}

// The same, for a store to local memory right after another with the same gate: in the other's
// block. What was made in between comes before both. Null if there is none.
llvm::BasicBlock* FunctionBuilder::join_gated(llvm::Value* gate) {
  constexpr unsigned kLocalSpace = 3;  // of GPUs
  llvm::BasicBlock* exit = b_.GetInsertBlock();
  if (!gate || exit->getName().substr(0, 6) != "stored") return nullptr;
  llvm::BasicBlock *from = nullptr, *then = nullptr;
  for (llvm::BasicBlock* before : llvm::predecessors(exit)) {
    auto* branch = llvm::cast<llvm::BranchInst>(before->getTerminator());
    (branch->isConditional() ? from : then) = before;
  }
  if (!from || !then) return nullptr;
  const auto* branch = llvm::cast<llvm::BranchInst>(from->getTerminator());
  const bool stays = std::ranges::any_of(*exit, [](const llvm::Instruction& i) {
    const auto* load = llvm::dyn_cast<llvm::LoadInst>(&i);
    return i.mayWriteToMemory() || (load && load->getPointerAddressSpace() == kLocalSpace);
  });
  const bool only_local = std::ranges::all_of(*then, [](const llvm::Instruction& i) {
    const auto* store = llvm::dyn_cast<llvm::StoreInst>(&i);
    return !i.mayWriteToMemory() || (store && store->getPointerAddressSpace() == kLocalSpace);
  });
  if (branch->getCondition() != gate || stays || !only_local) return nullptr;
  from->splice(from->getTerminator()->getIterator(), exit);
  b_.SetInsertPoint(then->getTerminator());
  return exit;
}

// Where masks are slow, only vectors of which some lanes are stored have them.
void FunctionBuilder::masked_store(UOp index, llvm::Value* v, llvm::Align align,
                                   llvm::Value* gate) {
  const bool by_lane = index.src(2).dtype().lanes > 1;
  llvm::BasicBlock* exit = nullptr;
  if (!frame_.traits().fast_masked_stores) {
    auto* whole = llvm::BasicBlock::Create(context_, "whole", function_);
    auto* other = by_lane ? llvm::BasicBlock::Create(context_, "masked", function_) : nullptr;
    exit = llvm::BasicBlock::Create(context_, "stored", function_);
    b_.CreateCondBr(by_lane ? b_.CreateAndReduce(gate) : gate, whole, by_lane ? other : exit);
    b_.SetInsertPoint(whole);
    mark_access(b_.CreateAlignedStore(v, address(index, nullptr, true), align), memory_of(index));
    b_.CreateBr(exit);
    if (!by_lane) return b_.SetInsertPoint(exit);
    b_.SetInsertPoint(other);
  }
  if (!by_lane) {
    const auto* type = llvm::cast<llvm::FixedVectorType>(v->getType());
    gate = b_.CreateVectorSplat(type->getNumElements(), gate);
  }
  llvm::Value* to = address(index, nullptr, false);
  mark_access(b_.CreateMaskedStore(v, to, align, gate), memory_of(index));
  end_gated(exit);
}

void FunctionBuilder::store(UOp u) {
  UOp index = u.src(0), memory = memory_of(index);
  if (is_phase_wait(u))
    return frame_.wait_for_phase(b_, address(index, nullptr, true), value(u.src(1)));
  if (is_tensor_copy(u)) {
    llvm::BasicBlock* exit = begin_gated(gate_of(index));
    copy_tensor(u);
    return end_gated(exit);
  }
  llvm::Value* v = value(u.src(1));
  if (memory.is(Op::DefineReg)) {
    b_.CreateStore(v, value(index));
    return;
  }
  DType t = u.src(1).dtype();
  llvm::Align align = alignment(index, t);
  if (t.is_bool()) v = b_.CreateZExt(v, memory_type(t));
  llvm::Value* gate = gate_of(index);
  if (is_masked(index, t)) return masked_store(index, v, align, gate);
  llvm::BasicBlock* exit = memory.is(Op::DefineLocal) ? join_gated(gate) : nullptr;
  if (!exit) exit = begin_gated(gate);
  if (!is_async_store(u) || !copy_async(u))
    mark_access(b_.CreateAlignedStore(v, address(index, nullptr, true), align), memory);
  end_gated(exit);
}

}  // namespace doorbell::codegen
