// Works on what lies between two barriers: steps are matrix instructions whose sums do not depend
// on each other, or need the same loads. All of it moves to where the last of them is.
#include "codegen/compile/llvm/order_matrices.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/IntrinsicsAMDGPU.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/util/types.h"

namespace doorbell::codegen {
namespace {

using llvm::Instruction;

constexpr unsigned kLocalSpace = 3;
constexpr u64 kRegisters = 256, kOtherRegisters = 64, kLoadRegisters = 4;
constexpr i64 kWorthOrder = 16;  // products between two barriers
// Scalar instructions and accesses of global memory may pass; what waits for the latter may not.
// [LLVM AMDGPUUsage, "llvm.amdgcn.sched.barrier"]
constexpr u32 kMayPass = 0x4 | 0x10;

bool is_matrix(const llvm::Value* v) {
  const auto* call = llvm::dyn_cast<llvm::CallInst>(v);
  const llvm::Function* f = call ? call->getCalledFunction() : nullptr;
  const std::string_view name = f ? std::string_view(f->getName()) : std::string_view();
  return name.starts_with("llvm.amdgcn.wmma") || name.starts_with("llvm.amdgcn.mfma");
}

bool is_barrier(const Instruction& i) {
  const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&i);
  return call && call->getIntrinsicID() == llvm::Intrinsic::amdgcn_s_barrier;
}

bool is_local_load(const Instruction* i) {
  const auto* load = llvm::dyn_cast<llvm::LoadInst>(i);
  return load && load->getPointerAddressSpace() == kLocalSpace;
}

u64 registers(const llvm::Value* v) {
  return v->getType()->getPrimitiveSizeInBits().getFixedValue() / 32;
}

// The instructions between two barriers.
class Segment {
 public:
  explicit Segment(std::span<Instruction* const> all) : all_(all.begin(), all.end()) {}
  void order();

 private:
  struct Step {
    std::vector<Instruction*> products, loads;  // loads by their first use
    u64 levels = 1;                             // with loads
  };
  void add(Step step);
  bool find_steps();
  bool find_operands(Instruction* u, Step* step);
  bool is_closed() const;
  bool is_ahead() const;
  Instruction* last_product() const;
  void load(const Step& step, Instruction* before, bool ahead);
  void place(Instruction* u, Instruction* before);
  void pin(Instruction* before);

  std::vector<Instruction*> all_;
  std::map<const Instruction*, usize> place_;
  std::vector<Step> steps_;
  usize sums_ = 0;
  std::set<const Instruction*> rest_;   // between loads and products
  std::set<const Instruction*> known_;  // loads and rest_
};

// What an operand is made of: loads from local memory, and instructions without effect. False if
// there is something else.
bool Segment::find_operands(Instruction* u, Step* step) {
  if (!known_.insert(u).second) return true;
  if (is_local_load(u)) return step->loads.push_back(u), true;
  if (u->mayReadOrWriteMemory() || llvm::isa<llvm::PHINode>(u)) return false;
  rest_.insert(u);
  return std::ranges::all_of(u->operands(), [&](llvm::Use& operand) {
    auto* made = llvm::dyn_cast<Instruction>(operand.get());
    return !made || !place_.contains(made) || find_operands(made, step);
  });
}

// LLVM makes one load of two short ones.
void Segment::add(Step step) {
  const bool is_short = !steps_.empty() && !steps_.back().loads.empty() &&
                        registers(steps_.back().loads[0]) * steps_.back().levels < kLoadRegisters;
  if (steps_.empty() || (!step.loads.empty() && !is_short)) {
    steps_.push_back(std::move(step));
    return;
  }
  Step& last = steps_.back();
  last.levels += step.loads.empty() ? 0 : 1;
  last.products.insert(last.products.end(), step.products.begin(), step.products.end());
  last.loads.insert(last.loads.end(), step.loads.begin(), step.loads.end());
}

// By how many products a sum has before; those that need no further loads belong to the step
// before.
bool Segment::find_steps() {
  for (usize i = 0; i < all_.size(); ++i) place_[all_[i]] = i;
  std::vector<std::vector<Instruction*>> levels;
  std::map<const llvm::Value*, usize> level_of;
  for (Instruction* u : all_) {
    if (!is_matrix(u)) continue;
    usize level = 0;
    for (const llvm::Use& operand : u->operands()) {
      const auto before = level_of.find(operand.get());
      if (before != level_of.end()) level = std::max(level, before->second + 1);
    }
    level_of[u] = level;
    levels.resize(std::max(levels.size(), level + 1));
    levels[level].push_back(u);
  }
  if (!levels.empty()) sums_ = levels[0].size();
  for (const std::vector<Instruction*>& products : levels) {
    Step step{.products = products};
    for (Instruction* u : products) {
      for (llvm::Use& operand : u->operands()) {
        auto* made = llvm::dyn_cast<Instruction>(operand.get());
        const bool is_sum = !made || made->getType() == u->getType();
        if (!is_sum && place_.contains(made) && !find_operands(made, &step)) return false;
      }
    }
    add(std::move(step));
  }
  return !steps_.empty() && !steps_[0].loads.empty();
}

// Nothing else uses the loads, sums are used behind the last product, and nothing is stored where
// loads move.
bool Segment::is_closed() const {
  const usize last = place_.at(last_product());
  usize first = last;
  for (const Instruction* u : all_) {
    const bool sums = is_matrix(u);
    if (!sums && !known_.contains(u)) continue;
    if (is_local_load(u)) first = std::min(first, place_.at(u));
    for (const llvm::User* user : u->users()) {
      const auto* i = llvm::dyn_cast<Instruction>(user);
      const auto at = place_.find(i);
      const bool is_inside = at != place_.end() && (is_matrix(i) || rest_.contains(i));
      const bool is_behind = at == place_.end() || at->second > last || llvm::isa<llvm::PHINode>(i);
      if (!is_inside && !(sums && is_behind)) return false;
    }
  }
  return std::none_of(all_.begin() + static_cast<std::ptrdiff_t>(first),
                      all_.begin() + static_cast<std::ptrdiff_t>(last),
                      [](const Instruction* u) { return u->mayWriteToMemory(); });
}

Instruction* Segment::last_product() const {
  return *std::find_if(all_.rbegin(), all_.rend(), [](Instruction* u) { return is_matrix(u); });
}

// Whether registers are left for the operands of two steps.
bool Segment::is_ahead() const {
  u64 most = 0, before = 0;
  for (const Step& step : steps_) {
    u64 loaded = 0;
    for (const Instruction* load : step.loads) loaded += registers(load);
    most = std::max(most, loaded + before);
    before = loaded;
  }
  return sums_ * registers(steps_[0].products[0]) + most + kOtherRegisters <= kRegisters;
}

// With what it is made of, of the instructions without effect that are not there yet.
void Segment::place(Instruction* u, Instruction* before) {
  for (llvm::Use& operand : u->operands()) {
    auto* made = llvm::dyn_cast<Instruction>(operand.get());
    if (!made || !rest_.contains(made)) continue;
    rest_.erase(made);
    place(made, before);
  }
  u->moveBefore(*before->getParent(), before->getIterator());
}

void Segment::pin(Instruction* before) {
  llvm::IRBuilder<> b(before);
  b.CreateIntrinsic(llvm::Intrinsic::amdgcn_sched_barrier, llvm::ArrayRef<llvm::Type*>(),
                    llvm::ArrayRef<llvm::Value*>(b.getInt32(kMayPass)));
}

// A step ahead, the first instruction needs what is loaded last: loads arrive in order, and the
// others do not wait.
void Segment::load(const Step& step, Instruction* before, bool ahead) {
  const usize of_first = 2;
  for (usize i = step.loads.size(); i-- > 0;) {
    if (ahead && step.levels == 1 && i + 1 == of_first) pin(before);
    step.loads[i]->moveBefore(*before->getParent(), before->getIterator());
  }
}

void Segment::order() {
  if (!find_steps() || !is_closed()) return;
  const usize ahead = is_ahead() ? 1 : 0;
  Instruction* end = last_product()->getNextNode();
  for (usize i = 0; i < std::min(ahead, steps_.size()); ++i) load(steps_[i], end, true);
  for (usize i = 0; i < steps_.size(); ++i) {
    if (i + ahead < steps_.size()) {
      if (i > 0) pin(end);
      load(steps_[i + ahead], end, ahead > 0);
      pin(end);
    }
    for (Instruction* u : steps_[i].products) place(u, end);
  }
}

// Whether it is loaded from global memory, or put together of what is.
bool is_copied(const llvm::Value* v) {
  const auto* u = llvm::dyn_cast<Instruction>(v);
  if (!u) return false;
  if (llvm::isa<llvm::BitCastInst, llvm::ShuffleVectorInst, llvm::InsertElementInst>(u))
    return std::ranges::any_of(u->operands(),
                               [](const llvm::Use& o) { return is_copied(o.get()); });
  const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(u);
  return (call && call->getIntrinsicID() == llvm::Intrinsic::amdgcn_raw_ptr_buffer_load) ||
         (llvm::isa<llvm::LoadInst>(u) && !is_local_load(u));
}

// Whether it fills registers that one operand can name.
bool is_words(const Instruction* u) {
  const u64 bits = u->getType()->getPrimitiveSizeInBits().getFixedValue();
  return bits == 32 || bits == 64 || bits == 128 || bits == 256;
}

llvm::Type* words_of(const llvm::Value* v, llvm::IRBuilder<>& b) {
  if (registers(v) == 1) return b.getInt32Ty();
  return llvm::FixedVectorType::get(b.getInt32Ty(), static_cast<u32>(registers(v)));
}

// LLVM keeps bytes of such vectors in a register each. Returns the value in the phi's own type.
Instruction* phi_of_words(llvm::PHINode* phi, llvm::Type* words) {
  if (phi->getType() == words) return phi;
  llvm::IRBuilder<> b(phi);
  llvm::PHINode* made = b.CreatePHI(words, phi->getNumIncomingValues());
  for (u32 i = 0; i < phi->getNumIncomingValues(); ++i) {
    llvm::BasicBlock* from = phi->getIncomingBlock(i);
    b.SetInsertPoint(from->getTerminator());
    made->addIncoming(b.CreateBitCast(phi->getIncomingValue(i), words), from);
  }
  b.SetInsertPoint(phi->getParent(), phi->getParent()->getFirstInsertionPt());
  auto* as_before = llvm::cast<Instruction>(b.CreateBitCast(made, phi->getType()));
  phi->replaceAllUsesWith(as_before);
  phi->eraseFromParent();
  return as_before;
}

// A struct of the same words. `sum` may be null.
llvm::Value* take_all(llvm::IRBuilder<>& b, std::vector<llvm::Value*> words, llvm::Value* sum) {
  std::vector<llvm::Type*> types;
  std::string results, operands;
  for (usize i = 0; i < words.size(); ++i) {
    results += "=v,", operands += (i ? "," : "") + std::to_string(i);
    types.push_back(words[i]->getType());
  }
  auto* all = llvm::StructType::get(b.getContext(), types);
  if (sum) words.push_back(sum), types.push_back(sum->getType()), operands += ",v";
  auto* code = llvm::InlineAsm::get(llvm::FunctionType::get(all, types, false), "",
                                    results + operands, /*hasSideEffects=*/false);
  return b.CreateCall(code, words);
}

// What local stores between two barriers are made of that was loaded before the first of these.
class Copies {
 public:
  explicit Copies(std::span<Instruction* const> all) : all_(all.begin(), all.end()) {
    for (const Instruction* u : all_) inside_.insert(u);
  }
  void join();

 private:
  void find(Instruction* u);
  bool takes_loaded(const Instruction* u) const;

  std::vector<Instruction*> all_, loaded_;
  std::set<const Instruction*> inside_, known_, users_;
};

void Copies::find(Instruction* u) {
  if (!known_.insert(u).second) return;
  if (llvm::isa<llvm::PHINode>(u) || (is_copied(u) && !inside_.contains(u))) {
    loaded_.push_back(u);
    return;
  }
  if (!inside_.contains(u) || u->mayReadOrWriteMemory()) return;
  users_.insert(u);
  for (llvm::Use& operand : u->operands())
    if (auto* made = llvm::dyn_cast<Instruction>(operand.get())) find(made);
}

// Takes all of them at once by an instruction of no code: one wait is for all. It also takes a sum,
// so that it stands behind most of the products: LLVM would wait as soon as it can.
void Copies::join() {
  for (Instruction* u : all_) {
    auto* store = llvm::dyn_cast<llvm::StoreInst>(u);
    if (!store || store->getPointerAddressSpace() != kLocalSpace) continue;
    users_.insert(u);
    if (auto* made = llvm::dyn_cast<Instruction>(store->getValueOperand())) find(made);
  }
  if (loaded_.size() < 2 || !std::ranges::all_of(loaded_, is_words)) return;
  const auto takes = [&](const Instruction* u) { return takes_loaded(u); };
  const auto first = std::ranges::find_if(all_, takes);
  std::vector<Instruction*> products;
  std::copy_if(all_.begin(), first, std::back_inserter(products), is_matrix);
  llvm::IRBuilder<> b(*first);
  std::vector<llvm::Value*> words;
  for (Instruction*& u : loaded_) {
    llvm::Type* type = words_of(u, b);
    if (auto* phi = llvm::dyn_cast<llvm::PHINode>(u)) u = phi_of_words(phi, type);
    words.push_back(b.CreateBitCast(u, type));
  }
  llvm::Value* sum = products.empty() ? nullptr : products[products.size() * 3 / 4];
  llvm::Value* joined = take_all(b, words, sum);
  for (usize i = 0; i < loaded_.size(); ++i) {
    llvm::Value* word = b.CreateExtractValue(joined, static_cast<u32>(i));
    word = b.CreateBitCast(word, loaded_[i]->getType());
    loaded_[i]->replaceUsesWithIf(word, [&](llvm::Use& use) {
      return users_.contains(llvm::cast<Instruction>(use.getUser()));
    });
  }
}

bool Copies::takes_loaded(const Instruction* u) const {
  return users_.contains(u) && std::ranges::any_of(u->operands(), [&](const llvm::Use& o) {
           return std::ranges::find(loaded_, o.get()) != loaded_.end();
         });
}

// The instructions of a block up to each of its barriers.
std::vector<std::vector<Instruction*>> segments_of(llvm::BasicBlock& block) {
  std::vector<std::vector<Instruction*>> segments(1);
  for (Instruction& i : block) {
    segments.back().push_back(&i);
    if (is_barrier(i)) segments.emplace_back();
  }
  return segments;
}

}  // namespace

void order_matrices(llvm::Function& function) {
  for (llvm::BasicBlock& block : function) {
    const auto segments = segments_of(block);
    const auto is_worth = [](const std::vector<Instruction*>& s) {
      return std::ranges::count_if(s, is_matrix) >= kWorthOrder;
    };
    if (std::ranges::none_of(segments, is_worth)) continue;
    for (const std::vector<Instruction*>& s : segments) Segment(s).order();
    for (const std::vector<Instruction*>& s : segments_of(block)) Copies(s).join();
  }
}

}  // namespace doorbell::codegen
