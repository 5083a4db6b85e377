// The sharded weak table of tensor-graph nodes and their iterative release.
#include "core/uop/graph.h"

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <new>
#include <vector>

#include <absl/container/inlined_vector.h>

#include "base/util/check.h"
#include "base/util/hash.h"
#include "base/util/spin_lock.h"
#include "core/device/counters.h"
#include "core/uop/arena.h"
#include "core/uop/placement.h"

namespace doorbell::core {

namespace {

constexpr usize kShards = 64;
// A flag of nodes that are in no table, besides Node::Flag.
constexpr u8 kUnique = 1 << 7;

struct alignas(64) Shard {
  SpinLock mutex;                                              // guards what follows
  std::vector<Node*> table = std::vector<Node*>(64, nullptr);  // linear probing, power of two
  usize used = 0;
  i64 live = 0;
  u32 next_id = 0;

  void insert(Node* node);
  void erase(const Node* node);
};

void Shard::insert(Node* node) {
  if ((used + 1) * 2 > table.size()) {
    std::vector<Node*> bigger(table.size() * 2, nullptr);
    for (Node* n : table) {
      if (!n) continue;
      usize slot = (n->hash / kShards) & (bigger.size() - 1);
      while (bigger[slot]) slot = (slot + 1) & (bigger.size() - 1);
      bigger[slot] = n;
    }
    table = std::move(bigger);
  }
  usize slot = (node->hash / kShards) & (table.size() - 1);
  while (table[slot]) slot = (slot + 1) & (table.size() - 1);
  table[slot] = node;
  ++used;
}

// Removes by backward shift, so the table needs no tombstones.
void Shard::erase(const Node* node) {
  usize mask = table.size() - 1, slot = (node->hash / kShards) & mask;
  while (table[slot] != node) {
    CHECK(table[slot], "node {} is not in its shard", node->id);
    slot = (slot + 1) & mask;
  }
  for (usize next = (slot + 1) & mask; table[next]; next = (next + 1) & mask) {
    usize home = (table[next]->hash / kShards) & mask;
    if (((next - home) & mask) < ((next - slot) & mask)) continue;
    table[slot] = table[next];
    slot = next;
  }
  table[slot] = nullptr;
  --used;
}

Shard* shards() {
  static Shard* all = new Shard[kShards];  // never freed: tensors may die after static destructors
  return all;
}
Shard& shard_of(u64 hash) { return shards()[hash % kShards]; }

// A count on a node that may be dying: fails once the count has reached zero.
bool try_ref(const Node* node) {
  u32 refs = node->refs.load(std::memory_order_relaxed);
  while (refs != 0) {
    if (node->refs.compare_exchange_weak(refs, refs + 1, std::memory_order_acq_rel)) return true;
  }
  return false;
}

Node* new_node(u64 hash, u32 id, Op op, DType dtype, std::span<const UOp> srcs,
               std::span<const i64> args, Payload* payload) {
  Dim dims[kMaxRank];
  usize rank = infer_shape(op, srcs, args, dims);
  usize bytes = sizeof(Node) + srcs.size_bytes() + args.size_bytes() + rank * sizeof(u64);
  void* memory = std::malloc(bytes);
  if (!memory) throw std::bad_alloc();
  Node* node = static_cast<Node*>(memory);
  new (&node->refs) std::atomic<u32>(1);
  new (&node->realized) std::atomic<const Node*>(nullptr);
  detail::init_node(node, hash, id, op, dtype, srcs, args, payload);
  node->flags = payload != nullptr && op == Op::Buffer ? Node::kTensor | kUnique : Node::kTensor;
  node->ndim = static_cast<u8>(rank);
  for (usize i = 0; i < rank; ++i) const_cast<u64*>(node->dims())[i] = dims[i].bits();
  node->device = infer_device(op, srcs, args, {dims, rank});
  for (UOp s : srcs) s.node()->refs.fetch_add(1, std::memory_order_relaxed);
  return node;
}

void remove(Shard& shard, const Node* node) {
  shard.erase(node);
  --shard.live;
}

// Gives a count back. Whether it was the last: then no table has the node any more.
// A thread that holds the only count need not exchange it with other threads: only make() finds a
// node that it has no count of, and only in the table, under the lock of its shard.
bool unref_node(const Node* node) {
  const bool is_alone = node->refs.load(std::memory_order_acquire) == 1;
  if (node->flags & kUnique) {
    if (!is_alone && node->refs.fetch_sub(1, std::memory_order_acq_rel) != 1) return false;
    counters.dead_memory_nodes.add(1);
    return true;
  }
  Shard& shard = shard_of(node->hash);
  if (is_alone) {
    const std::lock_guard lock(shard.mutex);
    if (node->refs.load(std::memory_order_acquire) == 1) {
      remove(shard, node);
      return true;
    }
  }
  if (node->refs.fetch_sub(1, std::memory_order_acq_rel) != 1) return false;
  const std::lock_guard lock(shard.mutex);  // until now, make() passed it by: see try_ref()
  remove(shard, node);
  return true;
}

}  // namespace

UOpRef TensorGraph::make_buffer(DType dtype, std::span<const i64> args, Ref<Payload> memory) {
  const u64 id = static_cast<u64>(args[0]);
  UOpRef made = UOpRef::adopt(
      UOp(new_node(hash_mix(id), static_cast<u32>(id), Op::Buffer, dtype, {}, args, memory.get())));
  (void)memory.release();  // the node's now
  counters.memory_nodes.add(1);
  return made;
}

UOpRef TensorGraph::make(Op op, DType dtype, std::span<const UOp> srcs, std::span<const i64> args,
                         Payload* payload) {
  if (op == Op::Buffer && payload != nullptr) return make_buffer(dtype, args, Ref(payload));
  u64 hash = detail::hash_parts(op, dtype, srcs, args, payload);
  Shard& shard = shard_of(hash);
  const std::lock_guard lock(shard.mutex);
  usize mask = shard.table.size() - 1;
  for (usize slot = (hash / kShards) & mask; shard.table[slot]; slot = (slot + 1) & mask) {
    Node* node = shard.table[slot];
    if (node->hash == hash && detail::same_parts(*node, op, dtype, srcs, args, payload) &&
        try_ref(node)) {
      return UOpRef::adopt(UOp(node));
    }
  }
  Node* node = new_node(hash, shard.next_id++, op, dtype, srcs, args, payload);
  if (payload) payload->ref();
  shard.insert(node);
  ++shard.live;
  return UOpRef::adopt(UOp(node));
}

// Frees the node and every source whose last owner it was, without recursion: a chain may be a
// million nodes deep.
void UOpRef::release() {
  const Node* node = uop_.node();
  if (!unref_node(node)) return;
  absl::InlinedVector<const Node*, 8> dead{node};  // most nodes die alone
  while (!dead.empty()) {
    const Node* n = dead.back();
    dead.pop_back();
    auto drop = [&](const Node* s) {
      if (unref_node(s)) dead.push_back(s);
    };
    for (usize i = 0; i < n->nsrc; ++i) drop(n->srcs()[i]);
    if (const Node* r = n->realized.load(std::memory_order_acquire)) drop(r);
    if (n->payload) n->payload->unref();
    std::free(const_cast<Node*>(n));
  }
}

UOp TensorGraph::set_realized(UOp value, UOp buffer) {
  CHECK(is_stored(buffer), "{} is not a Buffer", name_of(buffer.op()));
  if (is_stored(value)) return value;
  const Node* expected = nullptr;
  buffer.node()->refs.fetch_add(1, std::memory_order_relaxed);
  if (value.node()->realized.compare_exchange_strong(expected, buffer.node(),
                                                     std::memory_order_acq_rel)) {
    return buffer;
  }
  buffer.node()->refs.fetch_sub(1, std::memory_order_relaxed);  // the caller holds a count too
  return UOp(expected);
}

i64 TensorGraph::live_nodes() {
  i64 total = counters.memory_nodes - counters.dead_memory_nodes;
  for (usize i = 0; i < kShards; ++i) {
    const std::lock_guard lock(shards()[i].mutex);
    total += shards()[i].live;
  }
  return total;
}

i64 TensorGraph::made_nodes() {
  i64 total = counters.memory_nodes;
  for (usize i = 0; i < kShards; ++i) {
    const std::lock_guard lock(shards()[i].mutex);
    total += shards()[i].next_id;
  }
  return total;
}

}  // namespace doorbell::core
