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
constexpr u64 kRegisters = 256, kOtherRegisters = 64, kAddressRegisters = 16, kLoadRegisters = 4;
constexpr usize kFirstLoads = 2;  // that a step's first product takes
constexpr i64 kWorthOrder = 16;   // products between two barriers
// Scalar instructions and accesses of global memory may pass; what waits for the latter may not.
// [LLVM AMDGPUUsage, "llvm.amdgcn.sched.barrier"]
constexpr u32 kMayPass = 0x4 | 0x10, kScalarMayPass = 0x4;

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

bool is_local_store(const Instruction* i) {
  const auto* store = llvm::dyn_cast<llvm::StoreInst>(i);
  return store && store->getPointerAddressSpace() == kLocalSpace;
}

u64 registers(const llvm::Value* v) {
  return v->getType()->getPrimitiveSizeInBits().getFixedValue() / 32;
}

// Whether a product's operand is a load, or made of it.
bool takes(const llvm::Value* v, const Instruction* load) {
  const auto* u = llvm::dyn_cast<Instruction>(v);
  if (u == load || !u) return u == load;
  if (!is_matrix(u) && (u->mayReadOrWriteMemory() || llvm::isa<llvm::PHINode>(u))) return false;
  return std::ranges::any_of(u->operands(), [&](const llvm::Use& operand) {
    return !is_matrix(operand.get()) && takes(operand.get(), load);
  });
}

// Keeps instructions of other kinds than `may_pass` on their side.
void pin(Instruction* before, u32 may_pass = kMayPass) {
  llvm::IRBuilder<> b(before);
  b.CreateIntrinsic(llvm::Intrinsic::amdgcn_sched_barrier, llvm::ArrayRef<llvm::Type*>(),
                    llvm::ArrayRef<llvm::Value*>(b.getInt32(may_pass)));
}

// The instructions between two barriers.
class Segment {
 public:
  explicit Segment(std::span<Instruction* const> all) : all_(all.begin(), all.end()) {}
  u64 order();  // how many registers sums and operands take, or 0 where it does nothing

 private:
  struct Step {
    std::vector<Instruction*> products, loads;  // loads by their first use
    u64 levels = 1;                             // with loads
  };
  void add(Step step);
  bool find_steps();
  bool find_operands(Instruction* u, Step* step);
  bool is_closed() const;
  u64 registers_of(usize steps) const;
  Instruction* last_product() const;
  void load(std::span<Instruction* const> loads, Instruction* before, usize last);
  void order_in_turn(Instruction* before);
  usize last_uses(const Step& step, usize product) const;
  void place(Instruction* u, Instruction* before);

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
    Step step{products, {}};
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

// Of sums, and of the operands of so many steps, one or two, at once.
u64 Segment::registers_of(usize steps) const {
  u64 most = 0, before = 0;
  for (const Step& step : steps_) {
    u64 loaded = 0;
    for (const Instruction* load : step.loads) loaded += registers(load);
    most = std::max(most, loaded + before);
    before = steps > 1 ? loaded : 0;
  }
  return sums_ * registers(steps_[0].products[0]) + most;
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

// Loads arrive in order: where the first product needs what is loaded last, the others do not wait.
void Segment::load(std::span<Instruction* const> loads, Instruction* before, usize last) {
  for (usize i = loads.size(); i-- > 0;) {
    if (i + 1 == last) pin(before);
    loads[i]->moveBefore(*before->getParent(), before->getIterator());
  }
}

// Without registers for all operands of another step: as soon as the last product that takes an
// operand is there, one of the next step takes its registers. One wait is for all of a step's.
void Segment::order_in_turn(Instruction* before) {
  load(steps_[0].loads, before, kFirstLoads);
  for (usize i = 0; i < steps_.size(); ++i) {
    const std::vector<Instruction*>& products = steps_[i].products;
    std::span<Instruction* const> next;
    if (i + 1 < steps_.size()) next = steps_[i + 1].loads;
    for (usize p = 0; p < products.size(); ++p) {
      if (p < 2) pin(before);
      place(products[p], before);
      const usize free = std::min(last_uses(steps_[i], p), next.size());
      if (free == 0 || next.size() <= kFirstLoads) continue;
      pin(before);
      const usize left = std::max(next.size() - free, kFirstLoads);
      load(next.subspan(left), before, 0);
      pin(before);
      next = next.first(left);
    }
    if (!next.empty()) pin(before);
    load(next, before, kFirstLoads);
  }
}

// Of a step's loads, how many its product of this number is the last to take.
usize Segment::last_uses(const Step& step, usize product) const {
  const auto is_later = [&](const Instruction* load) {
    return std::any_of(step.products.begin() + static_cast<std::ptrdiff_t>(product) + 1,
                       step.products.end(), [&](const Instruction* u) { return takes(u, load); });
  };
  return static_cast<usize>(std::ranges::count_if(step.loads, [&](const Instruction* load) {
    return takes(step.products[product], load) && !is_later(load);
  }));
}

u64 Segment::order() {
  if (!find_steps() || !is_closed()) return 0;
  const usize ahead = registers_of(2) + kOtherRegisters <= kRegisters ? 1 : 0;
  const auto in_order = [](const Step& s) { return s.levels == 1 ? kFirstLoads : 0; };
  Instruction* end = last_product()->getNextNode();
  if (ahead == 0 && std::ranges::all_of(steps_, [](const Step& s) { return s.levels == 1; })) {
    order_in_turn(end);
    return registers_of(1);
  }
  if (ahead > 0) load(steps_[0].loads, end, in_order(steps_[0]));
  for (usize i = 0; i < steps_.size(); ++i) {
    if (i + ahead < steps_.size()) {
      if (i > 0) pin(end);
      load(steps_[i + ahead].loads, end, ahead > 0 ? in_order(steps_[i + ahead]) : 0);
      pin(end);
    }
    for (Instruction* u : steps_[i].products) place(u, end);
  }
  return registers_of(1 + ahead);
}

// Whether it is loaded from global memory, or put together of what is.
bool is_copied(const llvm::Value* v) {
  const auto* u = llvm::dyn_cast<Instruction>(v);
  if (!u) return false;
  if (llvm::isa<llvm::BitCastInst, llvm::ShuffleVectorInst, llvm::InsertElementInst,
                llvm::SelectInst>(u))
    return std::ranges::any_of(u->operands(),
                               [](const llvm::Use& o) { return is_copied(o.get()); });
  const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(u);
  const llvm::Intrinsic::ID id = call ? call->getIntrinsicID() : llvm::Intrinsic::not_intrinsic;
  return id == llvm::Intrinsic::amdgcn_raw_ptr_buffer_load ||
         id == llvm::Intrinsic::amdgcn_global_load_tr_b64 ||
         id == llvm::Intrinsic::amdgcn_global_load_tr_b128 ||
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

// What local stores between two barriers are made of that was loaded before the first of these, or,
// where nothing is multiplied, before the stores.
class Copies {
 public:
  explicit Copies(std::span<Instruction* const> all) : all_(all.begin(), all.end()) {
    for (const Instruction* u : all_) inside_.insert(u);
    multiplies_ = std::ranges::any_of(all_, is_matrix);
  }
  void join(u64 used);

 private:
  void keep_apart(u64 used);
  void find(Instruction* u);
  bool move_behind_loads();
  bool takes_loaded(const Instruction* u) const;

  std::vector<Instruction*> all_, loaded_;
  std::set<const Instruction*> inside_, known_, users_;
  bool multiplies_ = false;
};

void Copies::find(Instruction* u) {
  if (!known_.insert(u).second) return;
  if (llvm::isa<llvm::PHINode>(u) || (is_copied(u) && (!inside_.contains(u) || !multiplies_))) {
    loaded_.push_back(u);
    return;
  }
  if (!inside_.contains(u) || u->mayReadOrWriteMemory()) return;
  users_.insert(u);
  for (llvm::Use& operand : u->operands())
    if (auto* made = llvm::dyn_cast<Instruction>(operand.get())) find(made);
}

// LLVM has the next tile's loads before this one's stores. Where there are no registers for both,
// they stay behind: `used` are taken besides.
void Copies::keep_apart(u64 used) {
  u64 copied = 0;
  for (const Instruction* u : loaded_) copied += registers(u);
  const auto store = std::find_if(all_.rbegin(), all_.rend(), is_local_store);
  if (used == 0 || used + 2 * copied + kAddressRegisters <= kRegisters || store == all_.rend())
    return;
  pin((*store)->getNextNode(), kScalarMayPass);
}

// Takes all of them at once by an instruction of no code: one wait is for all. It also takes a sum,
// so that it stands behind most of the products: LLVM would wait as soon as it can.
void Copies::join(u64 used) {
  for (Instruction* u : all_) {
    if (!is_local_store(u)) continue;
    users_.insert(u);
    auto* stored = llvm::cast<llvm::StoreInst>(u)->getValueOperand();
    if (auto* made = llvm::dyn_cast<Instruction>(stored)) find(made);
  }
  keep_apart(used);
  if (loaded_.size() < 2 || !std::ranges::all_of(loaded_, is_words)) return;
  const auto takes = [&](const Instruction* u) { return takes_loaded(u); };
  const auto first = std::ranges::find_if(all_, takes);
  std::vector<Instruction*> products;
  std::copy_if(all_.begin(), first, std::back_inserter(products), is_matrix);
  if (!move_behind_loads()) return;
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

// What is loaded between the same barriers is loaded first. False if something else is in between.
bool Copies::move_behind_loads() {
  const auto is_loaded = [&](const Instruction* u) {
    return inside_.contains(u) && std::ranges::find(loaded_, u) != loaded_.end();
  };
  const auto last = std::find_if(all_.rbegin(), all_.rend(), is_loaded);
  if (multiplies_ || last == all_.rend()) return true;
  const auto is_user = [&](const Instruction* u) { return users_.contains(u); };
  const std::vector<Instruction*> before(std::find_if(all_.begin(), last.base(), is_user),
                                         last.base());
  const auto stays = [&](const Instruction* u) {
    const bool takes = std::ranges::any_of(u->operands(), [&](const llvm::Use& operand) {
      return users_.contains(llvm::dyn_cast<Instruction>(operand.get()));
    });
    return !users_.contains(u) && (takes || is_local_load(u) || u->mayWriteToMemory());
  };
  if (std::ranges::any_of(before, stays)) return false;
  Instruction* behind = (*last)->getNextNode();
  for (Instruction* u : before)
    if (is_user(u)) u->moveBefore(*behind->getParent(), behind->getIterator());
  return true;
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
  const auto is_worth = [](const std::vector<Instruction*>& s) {
    return std::ranges::count_if(s, is_matrix) >= kWorthOrder;
  };
  u64 used = 0;
  bool is_any_worth = false;
  for (llvm::BasicBlock& block : function) {
    const auto segments = segments_of(block);
    if (std::ranges::none_of(segments, is_worth)) continue;
    is_any_worth = true;
    for (const std::vector<Instruction*>& s : segments) used = std::max(used, Segment(s).order());
  }
  if (!is_any_worth) return;
  // Copies of which some are gated end a block.
  for (llvm::BasicBlock& block : function)
    for (const std::vector<Instruction*>& s : segments_of(block)) Copies(s).join(used);
}

}  // namespace doorbell::codegen
