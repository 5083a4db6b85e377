// The walk of graph_key.h. A node costs one header word and its args; an edge to a node met before
// costs one word; nothing is allocated once the vectors have grown.
#include "core/schedule/graph_key.h"

#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <bit>

#include "base/util/hash.h"

namespace doorbell::core {
namespace {

constexpr u64 kBackReference = 0xff;  // no Op has this number
constexpr u64 kRoots = 0xfe;          // begins a key; says how many roots follow
constexpr u64 kDynamicSize = 0;       // not the bits of a constant Dim, which are odd
static_assert(kOpCount <= kRoots);

// op : 8, dtype : 24, sources : 16, words that follow : 16.
u64 header(Op op, DType dtype, usize nsrc, usize words) {
  return static_cast<u64>(op) | u64{dtype.key()} << 8 | u64{nsrc} << 32 | u64{words} << 48;
}

u64 slot_hash(const Node* node) { return (reinterpret_cast<u64>(node) >> 4) * 0x9e3779b97f4a7c15; }

}  // namespace

GraphKey::Seen& GraphKey::find(const Node* node) {
  const usize mask = seen_.size() - 1;
  usize at = slot_hash(node) >> (64 - std::countr_zero(seen_.size()));
  while (seen_[at].epoch == epoch_ && seen_[at].node != node) at = (at + 1) & mask;
  return seen_[at];
}

void GraphKey::grow() {
  std::vector<Seen> old(seen_.empty() ? 64 : seen_.size() * 2);
  old.swap(seen_);
  for (const Seen& entry : old)
    if (entry.node != nullptr && entry.epoch == epoch_) find(entry.node) = entry;
}

void GraphKey::push_sources(UOp node) {
  for (usize i = node.nsrc(); i-- > 0;) stack_.push_back(node.src(i));
}

void GraphKey::back_reference(const Seen& seen) {
  words.push_back(kBackReference | u64{seen.number} << 8);
}

void GraphKey::remember(Seen* seen, const Node* node, u32 input) {
  *seen = {node, count_, epoch_, input};
  if (usize{count_ + 1} * 2 > seen_.size()) grow();
}

void GraphKey::visit_input(UOp node, UOp buffer, Seen* seen, bool with_order) {
  u32 input = seen->input;
  if (seen->epoch == epoch_) {
    back_reference(*seen);
  } else {
    input = static_cast<u32>(inputs.size());
    inputs.push_back(buffer);
    remember(seen, buffer.node(), input);
    ++count_;
    words.push_back(header(Op::Buffer, node.dtype(), 0, node.ndim() + 1));
    words.push_back(buffer.device());
    for (usize axis = 0; axis < node.ndim(); ++axis) {
      const Dim dim = node.dim(axis);
      words.push_back(dim.is_const() ? dim.bits() : kDynamicSize);
    }
    // The sizes' expressions follow as if they were sources.
    for (usize axis = node.ndim(); axis-- > 0;)
      if (!node.dim(axis).is_const()) stack_.push_back(node.dim(axis).expr());
  }
  if (with_order) order.push_back({node, static_cast<i32>(input), -1});
}

void GraphKey::visit_bind(UOp bind, bool with_order) {
  const UOp variable = bind.src(0);
  const i64 name = variable.arg(0), value = bind.src(1).const_int();
  usize at = 0;
  while (at < variables.size() && variables[at].name != name) ++at;
  if (at == variables.size()) variables.push_back({name, value});
  if (variables[at].value != value) conflict = name;
  // Bounds are part of the key: schedules depend on them.
  words.push_back(header(Op::Bind, variable.dtype(), 0, 3));
  for (usize i = 0; i < 3; ++i) words.push_back(static_cast<u64>(variable.arg(i)));
  if (with_order) order.push_back({bind, -1, static_cast<i32>(at)});
}

void GraphKey::visit(UOp node, bool shared, bool with_order) {
  // A node with one owner is reached by one edge only (every edge of the graph is an owner), so
  // it needs no entry in the table; not even when another thread takes a count meanwhile, because
  // that adds no edge to this graph.
  shared = shared || node.node()->refs.load(std::memory_order_relaxed) != 1;
  Seen* seen = shared ? &find(node.node()) : nullptr;
  // Visited before: use what it was then, even if it has been realised since.
  if (seen != nullptr && seen->epoch == epoch_) {
    // A Buffer that was visited through a value that it holds is not in the order yet.
    if (with_order && node.is(Op::Buffer))
      order.push_back({node, static_cast<i32>(seen->input), -1});
    return back_reference(*seen);
  }
  const UOp stored = TensorGraph::realized(node);
  if (stored && stored.is(Op::Buffer)) {
    if (stored != node || seen == nullptr) seen = &find(stored.node());
    return visit_input(node, stored, seen, with_order);
  }
  if (!stored || stored == node) return visit_new(node, shared, with_order);
  if (with_order) order.push_back({node, -1, -1, stored});
  if (const Seen& held = find(stored.node()); held.epoch == epoch_) return back_reference(held);
  visit_new(stored, true, with_order);
}

void GraphKey::visit_new(UOp node, bool shared, bool with_order) {
  if (node.is(Op::Bind)) return visit_bind(node, with_order);
  if (shared) remember(&find(node.node()), node.node(), 0);
  ++count_;
  words.push_back(header(node.op(), node.dtype(), node.nsrc(), node.narg()));
  for (i64 arg : node.args()) words.push_back(static_cast<u64>(arg));
  push_sources(node);
  if (with_order) order.push_back({node, -1, -1});
}

void GraphKey::walk(std::span<const UOp> roots, bool with_order) {
  if (seen_.empty()) grow();
  if (++epoch_ == 0) {  // entries of the first epoch would be valid again
    std::fill(seen_.begin(), seen_.end(), Seen{});
    epoch_ = 1;
  }
  words.clear();
  inputs.clear();
  variables.clear();
  order.clear();
  stack_.clear();
  count_ = 0;
  conflict = -1;
  words.push_back(kRoots | u64{roots.size()} << 8);
  for (UOp root : roots) {
    // One owner may ask for the same root twice, so its count says nothing.
    visit(root, roots.size() > 1, with_order);
    while (!stack_.empty()) {
      UOp node = stack_.back();
      stack_.pop_back();
      visit(node, with_order, with_order);
    }
  }
  if (with_order) sort_order(roots);
  hash = hash_words(words);
}

// From the order of first visit to sources-before-users, each node once.
void GraphKey::sort_order(std::span<const UOp> roots) {
  absl::flat_hash_map<const Node*, usize> place;  // in `order`; looked up, never iterated
  for (usize i = 0; i < order.size(); ++i) place.try_emplace(order[i].node.node(), i);
  std::vector<u8> state(order.size(), 0);  // 0 new, 1 open, 2 done
  std::vector<WalkNode> sorted;
  std::vector<usize> stack;
  for (UOp root : roots) {
    stack.push_back(place.at(root.node()));
    while (!stack.empty()) {
      const usize at = stack.back();
      const WalkNode& entry = order[at];
      if (state[at] != 0) {
        stack.pop_back();
        if (state[at] == 1) sorted.push_back(entry);
        state[at] = 2;
        continue;
      }
      state[at] = 1;
      if (entry.variable >= 0) continue;
      if (entry.input >= 0) {
        for (usize axis = entry.node.ndim(); axis-- > 0;)
          if (!entry.node.dim(axis).is_const())
            stack.push_back(place.at(entry.node.dim(axis).expr().node()));
        continue;
      }
      if (entry.stored) {
        stack.push_back(place.at(entry.stored.node()));
        continue;
      }
      for (usize i = entry.node.nsrc(); i-- > 0;)
        stack.push_back(place.at(entry.node.src(i).node()));
    }
  }
  order = std::move(sorted);
}

}  // namespace doorbell::core
