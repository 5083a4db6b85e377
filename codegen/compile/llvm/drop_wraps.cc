// Loops of one block, which count by constants.
#include "codegen/compile/llvm/drop_wraps.h"

#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/IntrinsicsAMDGPU.h>

#include <algorithm>
#include <optional>
#include <set>
#include <vector>

#include "base/util/types.h"

namespace doorbell::codegen {
namespace {

using llvm::Instruction;

std::optional<i64> constant(const llvm::Value* v) {
  const auto* number = llvm::dyn_cast<llvm::ConstantInt>(v);
  if (number == nullptr || number->getBitWidth() > 64) return std::nullopt;
  return number->getSExtValue();
}

// A phi and what is added to it.
struct Count {
  const llvm::PHINode* phi = nullptr;
  i64 more = 0;
};

Count count_of(const llvm::Value* v) {
  i64 more = 0;
  while (const auto* sum = llvm::dyn_cast<llvm::BinaryOperator>(v)) {
    const auto added = constant(sum->getOperand(1));
    if (sum->getOpcode() != Instruction::Add || !added) return {};
    more += *added;
    v = sum->getOperand(0);
  }
  return {llvm::dyn_cast<llvm::PHINode>(v), more};
}

// A loop that goes on while `next` of its counter is below the limit.
struct Loop {
  llvm::BasicBlock* block = nullptr;
  Count next;
  i64 limit = 0;
};

std::optional<Loop> loop_of(llvm::BasicBlock& block) {
  const auto* branch = llvm::dyn_cast<llvm::BranchInst>(block.getTerminator());
  if (branch == nullptr || !branch->isConditional() || branch->getSuccessor(0) != &block)
    return std::nullopt;
  const auto* test = llvm::dyn_cast<llvm::ICmpInst>(branch->getCondition());
  if (test == nullptr || test->getPredicate() != llvm::CmpInst::ICMP_SLT) return std::nullopt;
  const auto limit = constant(test->getOperand(1));
  const Count next = count_of(test->getOperand(0));
  if (!limit || next.phi == nullptr || next.phi->getParent() != &block) return std::nullopt;
  return Loop{&block, next, *limit};
}

// Whether a choice is of its true value in the last iteration only.
bool wraps_at_end(const llvm::SelectInst& choice, const Loop& loop) {
  const auto* test = llvm::dyn_cast<llvm::ICmpInst>(choice.getCondition());
  if (test == nullptr || test->getPredicate() != llvm::CmpInst::ICMP_EQ) return false;
  const auto value = constant(test->getOperand(1));
  const Count count = count_of(test->getOperand(0));
  return value && count.phi == loop.next.phi &&
         *value - count.more + loop.next.more >= loop.limit && constant(choice.getTrueValue());
}

// A load of a buffer that ends somewhere.
bool is_bounded_load(const Instruction* u) {
  const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(u);
  if (call == nullptr || call->getIntrinsicID() != llvm::Intrinsic::amdgcn_raw_ptr_buffer_load)
    return false;
  const auto* made = llvm::dyn_cast<llvm::IntrinsicInst>(call->getArgOperand(0));
  if (made == nullptr || made->getIntrinsicID() != llvm::Intrinsic::amdgcn_make_buffer_rsrc)
    return false;
  const auto* records = llvm::dyn_cast<llvm::ConstantInt>(made->getArgOperand(2));
  return records && records->getZExtValue() < UINT32_MAX;
}

// Finds what is made of the value in the iteration. False if something else than addresses of
// buffers' loads and values of the next iteration is.
bool find_uses(Instruction* value, const llvm::BasicBlock* block, std::set<Instruction*>* found) {
  return std::ranges::all_of(value->users(), [&](llvm::User* user) {
    auto* u = llvm::cast<Instruction>(user);
    if (u->getParent() != block) return false;
    if (llvm::isa<llvm::PHINode>(u) || !found->insert(u).second) return true;
    const bool is_pure =
        !u->mayReadOrWriteMemory() && !u->mayHaveSideEffects() && !u->isTerminator();
    return (is_pure || is_bounded_load(u)) && find_uses(u, block, found);
  });
}

// Where the counter meets the limit, LLVM may have something else count in its place.
void test_for_equality(const Loop& loop) {
  const llvm::PHINode* phi = loop.next.phi;
  const int before = phi->getBasicBlockIndex(loop.block) == 0 ? 1 : 0;
  const auto first = constant(phi->getIncomingValue(static_cast<unsigned>(before)));
  const Count step = count_of(phi->getIncomingValueForBlock(loop.block));
  if (phi->getNumIncomingValues() != 2 || !first || step.phi != phi || step.more <= 0) return;
  if (step.more != loop.next.more || *first >= loop.limit || (loop.limit - *first) % step.more)
    return;
  auto* branch = llvm::cast<llvm::BranchInst>(loop.block->getTerminator());
  llvm::cast<llvm::ICmpInst>(branch->getCondition())->setPredicate(llvm::CmpInst::ICMP_NE);
}

}  // namespace

void drop_wraps(llvm::Function& function) {
  for (llvm::BasicBlock& block : function) {
    const std::optional<Loop> loop = loop_of(block);
    if (!loop) continue;
    std::vector<llvm::SelectInst*> choices;
    for (Instruction& u : block) {
      auto* choice = llvm::dyn_cast<llvm::SelectInst>(&u);
      if (choice && wraps_at_end(*choice, *loop)) choices.push_back(choice);
    }
    bool dropped = false;
    for (llvm::SelectInst* choice : choices) {
      std::set<Instruction*> uses;
      if (!find_uses(choice, &block, &uses)) continue;
      for (Instruction* u : uses) u->dropPoisonGeneratingFlags();
      choice->replaceAllUsesWith(choice->getFalseValue());
      choice->eraseFromParent();
      dropped = true;
    }
    if (dropped) test_for_equality(*loop);
  }
}

}  // namespace doorbell::codegen
