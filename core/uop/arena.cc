// The arena's bump allocator and hash-cons table, and what Arena and TensorGraph share about nodes.
#include "core/uop/arena.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <new>
#include <string>
#include <unordered_map>

#include "base/util/check.h"
#include "core/device/counters.h"

namespace doorbell::core {

namespace detail {

namespace {
// One multiply-and-fold step (the core of wyhash-like mixers): cheap, and good enough for a table
// that compares in full on a hit.
u64 mix(u64 a, u64 b) {
  __extension__ using u128 = unsigned __int128;
  u128 product = static_cast<u128>(a ^ 0x9e3779b97f4a7c15u) * (b ^ 0xd1b54a32d192ed03u);
  return static_cast<u64>(product) ^ static_cast<u64>(product >> 64);
}
}  // namespace

u64 hash_parts(Op op, DType dtype, std::span<const UOp> srcs, std::span<const i64> args,
               const Payload* payload) {
  u64 h = mix(static_cast<u64>(op) | u64{dtype.key()} << 8 | u64{srcs.size()} << 40,
              reinterpret_cast<u64>(payload) + args.size());
  for (UOp s : srcs) h = mix(h, s.node()->hash + 0x2545f4914f6cdd1du);
  for (i64 a : args) h = mix(h, static_cast<u64>(a));
  return h;
}

bool same_parts(const Node& node, Op op, DType dtype, std::span<const UOp> srcs,
                std::span<const i64> args, const Payload* payload) {
  if (node.op != op || node.dtype != dtype || node.nsrc != srcs.size() ||
      node.narg != args.size() || node.payload != payload) {
    return false;
  }
  for (usize i = 0; i < srcs.size(); ++i) {
    if (node.srcs()[i] != srcs[i].node()) return false;
  }
  return args.empty() || std::memcmp(node.args(), args.data(), args.size_bytes()) == 0;
}

namespace {
u64 mask_of(const Node& node) {
  if (node.op == Op::Range) return u64{1} << (node.args()[0] & 63);
  u64 mask = 0;
  const Node* const* srcs = node.srcs();
  // Before expansion a Wmma names the range of its result's elements, and closes its operands'.
  usize kept = node.nsrc;
  if (node.op == Op::Reduce || node.op == Op::End) kept = 1;
  if (node.op == Op::Wmma) kept = 3;
  usize open = std::min<usize>(node.nsrc, kept);
  for (usize i = 0; i < open; ++i) mask |= srcs[i]->range_mask;
  // A closed Range's own size may vary with outer ranges, which stay open if not closed too.
  u64 closed = 0, sizes = 0;
  for (usize i = open; i < node.nsrc; ++i) {
    closed |= srcs[i]->op == Op::Range ? u64{1} << (srcs[i]->args()[0] & 63) : 0;
    if (srcs[i]->op == Op::Range)
      sizes |= srcs[i]->srcs()[0]->range_mask;
    else
      mask |= srcs[i]->range_mask;
  }
  return (mask | sizes) & ~closed;
}
}  // namespace

void init_node(Node* node, u64 hash, u32 id, Op op, DType dtype, std::span<const UOp> srcs,
               std::span<const i64> args, Payload* payload) {
  node->hash = hash;
  node->id = id;
  node->dtype = dtype;
  node->op = op;
  node->ndim = 0;
  node->nsrc = static_cast<u16>(srcs.size());
  node->narg = static_cast<u16>(args.size());
  node->device = 0;
  node->payload = payload;
  node->scratch = nullptr;
  node->epoch = 0;
  node->flags = 0;
  if (!srcs.empty()) std::memcpy(static_cast<void*>(node + 1), srcs.data(), srcs.size_bytes());
  if (!args.empty()) std::memcpy(const_cast<i64*>(node->args()), args.data(), args.size_bytes());
  node->range_mask = mask_of(*node);
  compute_bounds(node);
}

}  // namespace detail

namespace {

// Memory of dead arenas, kept by the thread for its next ones: pages fresh from the system cost
// more than the nodes in them. Not under the address sanitizer, which should see a use after free.
// Small arenas do not keep memory: those of kernels live as long as the caches that hold them.
constexpr usize kFirstBlockBytes = 8 << 10, kBlockBytes = 256 << 10;
constexpr usize kFirstTable = 256, kLargestKeptTable = 8192;
#if defined(__SANITIZE_ADDRESS__)
constexpr usize kKeptBlocks = 0;
#else
constexpr usize kKeptBlocks = 32;
#endif

struct Kept {
  std::vector<std::unique_ptr<std::byte[]>> blocks;  // of kBlockBytes each
  std::vector<Node*> table;                          // all null
  ~Kept();
};
thread_local bool kept_is_gone = false;  // an arena may outlive its thread's storage
thread_local Kept kept;
Kept::~Kept() { kept_is_gone = true; }

// A block starts with its size, so that only those of the common size are kept.
constexpr usize kBlockHeader = 16;

}  // namespace

Arena::Arena() : table_(kFirstTable, nullptr) {}

Arena::~Arena() {
  for (Payload* p : payloads_) p->unref();
  counters.arena_nodes.add(count_);
  if (kept_is_gone || kKeptBlocks == 0) return;
  const usize entries = table_.size();
  if (entries > kFirstTable && entries <= kLargestKeptTable && kept.table.empty()) {
    std::fill(table_.begin(), table_.end(), nullptr);
    kept.table = std::move(table_);
  }
  for (std::unique_ptr<std::byte[]>& block : blocks_) {
    usize size;
    std::memcpy(&size, block.get(), sizeof size);
    if (size == kBlockBytes && kept.blocks.size() < kKeptBlocks) {
      kept.blocks.push_back(std::move(block));
    }
  }
}

void* Arena::allocate(usize bytes) {
  if (static_cast<usize>(end_ - next_) < bytes) {
    usize size = std::max(bytes + kBlockHeader, blocks_.empty() ? kFirstBlockBytes : kBlockBytes);
    if (size == kBlockBytes && !kept_is_gone && !kept.blocks.empty()) {
      blocks_.push_back(std::move(kept.blocks.back()));
      kept.blocks.pop_back();
    } else {
      blocks_.emplace_back(new std::byte[size]);
      std::memcpy(blocks_.back().get(), &size, sizeof size);
    }
    next_ = blocks_.back().get() + kBlockHeader;
    end_ = blocks_.back().get() + size;
  }
  void* result = next_;
  next_ += bytes;
  bytes_ += bytes;
  return result;
}

void Arena::grow() {
  std::vector<Node*> bigger;
  if (!kept_is_gone && kept.table.size() > table_.size()) bigger = std::move(kept.table);
  if (bigger.empty()) bigger.resize(table_.size() * 2, nullptr);
  usize mask = bigger.size() - 1;
  for (Node* node : table_) {
    if (!node) continue;
    usize slot = node->hash & mask;
    while (bigger[slot]) slot = (slot + 1) & mask;
    bigger[slot] = node;
  }
  table_ = std::move(bigger);
}

UOp Arena::make(Op op, DType dtype, std::span<const UOp> srcs, std::span<const i64> args,
                Payload* payload) {
  u64 hash = detail::hash_parts(op, dtype, srcs, args, payload);
  usize mask = table_.size() - 1, slot = hash & mask;
  for (; table_[slot]; slot = (slot + 1) & mask) {
    Node* node = table_[slot];
    if (node->hash == hash && detail::same_parts(*node, op, dtype, srcs, args, payload)) {
      return UOp(node);
    }
  }
  CHECK(srcs.size() <= UINT16_MAX && args.size() <= UINT16_MAX, "{} sources, {} args", srcs.size(),
        args.size());
  usize bytes = sizeof(Node) + srcs.size_bytes() + args.size_bytes();
  Node* node = static_cast<Node*>(allocate(bytes));
  new (&node->refs) std::atomic<u32>(0);
  new (&node->realized) std::atomic<const Node*>(nullptr);
  detail::init_node(node, hash, count_, op, dtype, srcs, args, payload);
  if (payload) {
    payload->ref();
    payloads_.push_back(payload);
  }
  table_[slot] = node;
  if (++count_ * 2 > table_.size()) grow();
  return UOp(node);
}

UOp Arena::with_srcs(UOp uop, std::span<const UOp> srcs) {
  return make(uop.op(), uop.dtype(), srcs, uop.args(), uop.payload());
}

UOp Arena::const_of(DType dtype, i64 value) {
  DType e = dtype.element();
  UOp scalar = e.is_float() ? const_float(e, static_cast<f64>(value)) : const_int(e, value);
  return dtype.lanes == 1 ? scalar : make(Op::Splat, dtype, {scalar});
}

std::vector<UOp> topological_order(Arena& arena, std::span<const UOp> roots) {
  struct Frame {
    UOp node;
    usize next;
  };
  static char seen;  // its address marks a visited node
  arena.new_epoch();
  std::vector<UOp> order;
  std::vector<Frame> stack;
  for (UOp root : roots) {
    if (arena.scratch(root)) continue;
    arena.set_scratch(root, &seen);
    stack.push_back({root, 0});
    while (!stack.empty()) {
      Frame& top = stack.back();
      if (top.next == top.node.nsrc()) {
        order.push_back(top.node);
        stack.pop_back();
        continue;
      }
      UOp s = top.node.src(top.next++);
      if (arena.scratch(s)) continue;
      arena.set_scratch(s, &seen);
      stack.push_back({s, 0});
    }
  }
  return order;
}

f64 UOp::const_float() const { return std::bit_cast<f64>(arg(0)); }

namespace {
struct NameTable {
  std::mutex mutex;
  std::unordered_map<std::string, i64> ids;
  std::vector<const std::string*> names;  // point into `ids`, whose nodes do not move
};
NameTable& name_table() {
  static NameTable* table = new NameTable;  // never freed: names outlive every static user
  return *table;
}
}  // namespace

i64 intern_name(std::string_view name) {
  NameTable& table = name_table();
  std::lock_guard lock(table.mutex);
  auto [it, fresh] = table.ids.try_emplace(std::string(name), static_cast<i64>(table.names.size()));
  if (fresh) table.names.push_back(&it->first);
  return it->second;
}

std::string_view interned_name(i64 id) {
  NameTable& table = name_table();
  std::lock_guard lock(table.mutex);
  CHECK(id >= 0 && id < static_cast<i64>(table.names.size()), "name id {} of {}", id,
        table.names.size());
  return *table.names[static_cast<usize>(id)];
}

}  // namespace doorbell::core
