// Blocks: one for each loop and one for what is outside all loops. Nodes are appended to their
// block in topological order, a whole loop at the position of its End; so everything that a loop
// needs comes before it.
#include "codegen/linear/linearize.h"

#include <absl/container/inlined_vector.h>

#include <algorithm>
#include <bit>

#include "base/util/check.h"

namespace doorbell::codegen {

using core::Arena;
using core::Op;
using core::UOp;

namespace {

constexpr int kRoot = -1;

int innermost(u64 mask) { return mask ? 63 - std::countl_zero(mask) : kRoot; }

class Linearizer {
 public:
  Linearizer(Arena& arena, UOp sink) : arena_(arena), sink_(sink) {}
  std::vector<UOp> run();

 private:
  // A node, or (with node null) the loop of a range id.
  struct Item {
    UOp node;
    int loop = kRoot;
  };
  std::vector<Item>& block(int id) { return blocks_[static_cast<usize>(id + 1)]; }
  void place_end(UOp end);
  void emit();

  Arena& arena_;
  UOp sink_;
  std::vector<Item> blocks_[65];
  UOp ranges_[64], ends_[64];  // the Range and the single-range End of each loop
  std::vector<UOp> list_;
};

// An End over several ranges becomes one End a loop, the innermost first.
void Linearizer::place_end(UOp end) {
  absl::InlinedVector<UOp, 4> loops(end.srcs().begin() + 1, end.srcs().end());
  std::sort(loops.begin(), loops.end(), [](UOp a, UOp b) { return a.range_id() < b.range_id(); });
  UOp effect = end.src(0);
  for (usize i = loops.size(); i-- > 0;) {
    int id = static_cast<int>(loops[i].range_id());
    CHECK(!ends_[id], "range {} is closed twice", id);
    effect =
        loops.size() == 1 ? end : arena_.make(Op::End, core::dtypes::void_, {effect, loops[i]});
    ends_[id] = effect;
    int parent = i > 0 ? static_cast<int>(loops[i - 1].range_id()) : innermost(end.range_mask());
    CHECK(parent < id, "loop {} inside loop {}", id, parent);
    block(parent).push_back({UOp(), id});
  }
}

void Linearizer::emit() {
  struct Frame {
    int loop;
    usize next;
  };
  std::vector<Frame> stack{{kRoot, 0}};
  while (!stack.empty()) {
    Frame& top = stack.back();
    std::vector<Item>& items = block(top.loop);
    if (top.next == items.size()) {
      if (top.loop != kRoot) list_.push_back(ends_[top.loop]);
      stack.pop_back();
      continue;
    }
    Item item = items[top.next++];
    if (item.node) {
      list_.push_back(item.node);
    } else {
      list_.push_back(ranges_[item.loop]);
      stack.push_back({item.loop, 0});
    }
  }
}

std::vector<UOp> Linearizer::run() {
  std::vector<UOp> order = core::topological_order(arena_, {&sink_, 1});
  list_.reserve(order.size());
  for (UOp u : order) {
    if (u.is(Op::Range)) {
      ranges_[u.range_id()] = u;
    } else if (u.is(Op::End)) {
      place_end(u);
    } else if (!u.is(Op::Sink)) {
      block(innermost(u.range_mask())).push_back({u, kRoot});
    }
  }
  emit();
  return std::move(list_);
}

}  // namespace

std::vector<UOp> linearize(Arena& arena, UOp sink) { return Linearizer(arena, sink).run(); }

}  // namespace doorbell::codegen
