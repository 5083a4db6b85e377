// The two passes of a kernel: index tuples downwards, values upwards.
#include "core/schedule/kernel_builder.h"

#include <algorithm>
#include <array>

#include "base/util/check.h"
#include "core/schedule/kernel.h"
#include "core/uop/graph.h"

namespace doorbell::core {

BuiltValue KernelBuilder::build(LazyId root, std::span<const Storage> storage,
                                std::span<const Stored> stored) {
  BuiltValue result;
  if (seen_.size() < graph_.size()) {
    seen_.resize(graph_.size(), 0);
    first_entry_.resize(graph_.size());
  }
  storage_ = storage;
  stored_ = stored;
  root_ = root;
  result_ = &result;
  next_range_ = 0;
  ++epoch_;
  order_.clear();
  entries_.clear();
  if (!collect(root)) return result;

  std::array<UOp, kMaxRank> index;
  std::span<const UOp> shape = graph_.shape(root);
  for (usize i = 0; i < shape.size(); ++i) {
    index[i] = shape[i].is_const(1) ? arena_.index(0)
                                    : arena_.range(next_range_++, AxisType::Loop, shape[i]);
  }
  result.tuple = graph_.tuples.intern({index.data(), shape.size()});
  reduce_mask_ = ~u64{0} << next_range_;
  demand(root, result.tuple, UOp());
  usize values = 0;  // to compute; a node read in several ways has several
  for (usize i = order_.size(); i-- > 0;) {
    for (u32 e = first_entry_[order_[i]]; e != kNoEntry; e = entries_[e].next) {
      Entry entry = entries_[e];  // demand() may move the entries
      hand_down(order_[i], entry);
      entries_[e] = entry;
      values += !is_movement(graph_[order_[i]].op);
    }
    if (next_range_ > kMaxKernelRanges || values > usize{options_.max_ops} * 4) return result;
  }
  // From here on every node has an entry for each way in which it is read.
  for (LazyId id : order_) {
    for (u32 e = first_entry_[id]; e != kNoEntry; e = entries_[e].next) {
      entries_[e].value = compute(id, entries_[e]);
    }
    if (result.buffers.size() >= options_.max_buffers) return result;
  }
  result.value = value_at(root, result.tuple, UOp());
  result.fits = true;
  return result;
}

// Lists the kernel's nodes and what they read, sources first, by a walk that only depends on the
// kernel's structure.
bool KernelBuilder::collect(LazyId root) {
  usize ops = 0;
  seen_[root] = epoch_;
  stack_.assign(1, {root, 0});
  while (!stack_.empty()) {
    Frame& top = stack_.back();
    LazyId id = top.node;
    bool leaf = id != root_ && stops(id);
    if (leaf || top.next == graph_[id].nsrc) {
      first_entry_[id] = kNoEntry;
      order_.push_back(id);
      ops += !leaf && !is_movement(graph_[id].op);
      stack_.pop_back();
      continue;
    }
    LazyId source = graph_.src(id, top.next++);
    if (seen_[source] == epoch_) continue;
    seen_[source] = epoch_;
    if (stored_[source] == Stored::Candidate && !stops(source)) result_->inlined.push_back(source);
    stack_.push_back({source, 0});
  }
  return ops <= usize{options_.max_ops};
}

// Readers that agree on the index share one value, needed where any of them needs it; but a
// condition that varies with a reduction's loop must not reach readers outside the loop. Where the
// index varies with the loop too, all readers are inside.
bool KernelBuilder::is_shareable(u32 tuple, UOp valid) const {
  u64 loops = valid ? valid.range_mask() & reduce_mask_ : 0;
  if (loops == 0) return true;
  for (UOp at : graph_.tuples[tuple]) loops &= ~at.range_mask();
  return loops == 0;
}

u32 KernelBuilder::find(LazyId id, u32 tuple, UOp valid) const {
  bool shareable = is_shareable(tuple, valid);
  for (u32 e = first_entry_[id]; e != kNoEntry; e = entries_[e].next) {
    const Entry& entry = entries_[e];
    if (entry.tuple != tuple) continue;
    if (shareable ? is_shareable(tuple, entry.valid) : entry.valid == valid) return e;
  }
  return kNoEntry;
}

void KernelBuilder::demand(LazyId id, u32 tuple, UOp valid) {
  u32 found = find(id, tuple, valid);
  if (found != kNoEntry) {
    entries_[found].valid = moves_.either(entries_[found].valid, valid);
    return;
  }
  Entry entry{};
  entry.tuple = tuple;
  entry.next = first_entry_[id];
  entry.valid = valid;
  first_entry_[id] = static_cast<u32>(entries_.size());
  entries_.push_back(entry);
}

// The tuple by which `id`, read as `entry`, reads its source.
u32 KernelBuilder::source_tuple(LazyId id, const Entry& entry, LazyId source) {
  if (!is_elementwise(graph_[id].op)) return entry.in_tuple;
  return moves_.broadcast(entry.tuple, graph_[id].shape, graph_[source].shape);
}

void KernelBuilder::hand_down(LazyId id, Entry& entry) {
  const LazyNode& node = graph_[id];
  if (id != root_ && stops(id)) return;
  entry.in_tuple = entry.tuple;
  entry.in_valid = entry.valid;
  if (is_movement(node.op)) {
    Moves::Step step = moves_.through(id, entry.tuple);
    entry.in_tuple = step.tuple;
    entry.step_valid = step.valid;
    entry.in_valid = moves_.both(entry.valid, step.valid);
  } else if (node.op == Op::Reduce) {
    std::array<UOp, kMaxRank> index;
    std::ranges::copy(graph_.tuples[entry.tuple], index.begin());
    entry.first_range = next_range_;
    for (usize i = 0; i < node.rank; ++i) {
      if (!(graph_.number(id, 0) >> i & 1)) continue;
      index[i] = arena_.range(next_range_++, AxisType::Reduce, graph_.shape(graph_.src(id))[i]);
    }
    entry.in_tuple = graph_.tuples.intern({index.data(), node.rank});
  }
  for (LazyId source : graph_.sources(id)) {
    demand(source, source_tuple(id, entry, source), entry.in_valid);
  }
}

UOp KernelBuilder::value_at(LazyId id, u32 tuple, UOp valid) const {
  u32 found = find(id, tuple, valid);
  CHECK(found != kNoEntry, "node {} is not read as tuple {}", id, tuple);
  return entries_[found].value;
}

UOp KernelBuilder::compute(LazyId id, const Entry& entry) {
  const LazyNode& node = graph_[id];
  if (node.op == Op::Const) return node.value;
  if (id != root_ && stops(id)) return load(id, entry);
  if (node.op == Op::Reduce) return reduce(id, entry);
  if (is_elementwise(node.op)) {
    std::array<UOp, 3> srcs;
    for (usize i = 0; i < node.nsrc; ++i) {
      LazyId source = graph_.src(id, i);
      srcs[i] = value_at(source, source_tuple(id, entry, source), entry.in_valid);
    }
    return rewriter_.make(node.op, node.dtype, {srcs.data(), node.nsrc});
  }
  UOp value = value_at(graph_.src(id), entry.in_tuple, entry.in_valid);
  return entry.step_valid ? pad(entry, value) : value;
}

UOp KernelBuilder::param(const Storage& storage, DType dtype) {
  if (slots_.size() <= storage.buffer) slots_.resize(storage.buffer + 1);
  Slot& slot = slots_[storage.buffer];
  if (slot.epoch != epoch_) {
    result_->buffers.push_back(storage.buffer);
    slot = {epoch_, static_cast<u32>(result_->buffers.size())};
  }
  return arena_.make(Op::Param, dtype, {}, {slot.slot, storage.count});
}

UOp KernelBuilder::load(LazyId id, const Entry& entry) {
  DType dtype = graph_[id].dtype;
  UOp zero = arena_.const_of(dtype, 0);
  if (entry.valid && entry.valid.is_const(0)) return zero;
  UOp at = moves_.flat(entry.tuple, graph_[id].shape, storage_[id].live);
  UOp memory = param(storage_[id], dtype);
  if (!entry.valid) {
    UOp place = arena_.make(Op::Index, dtype, {memory, at});
    return arena_.make(Op::Load, dtype, {place});
  }
  UOp place = arena_.make(Op::Index, dtype, {memory, at, entry.valid});
  return arena_.make(Op::Load, dtype, {place, zero});
}

namespace {

// The parts of a conjunction.
std::vector<UOp> clauses_of(UOp condition) {
  std::vector<UOp> open{condition}, clauses;
  while (!open.empty()) {
    UOp c = open.back();
    open.pop_back();
    if (c.is(Op::And))
      open.insert(open.end(), c.srcs().begin(), c.srcs().end());
    else
      clauses.push_back(c);
  }
  return clauses;
}

// Whether the value is zero wherever the condition is false, as for a load gated by it.
bool zero_unless(UOp value, UOp condition) {
  if (!value.is(Op::Load) || value.nsrc() < 2 || value.src(0).nsrc() < 3) return false;
  std::vector<UOp> gate = clauses_of(value.src(0).src(2));
  return std::ranges::all_of(clauses_of(condition),
                             [&](UOp c) { return std::ranges::find(gate, c) != gate.end(); });
}

}  // namespace

UOp KernelBuilder::pad(const Entry& entry, UOp value) {
  if (zero_unless(value, entry.step_valid)) return value;
  UOp zero = arena_.const_of(value.dtype(), 0);
  return rewriter_.where(entry.step_valid, value, zero);
}

UOp KernelBuilder::reduce(LazyId id, const Entry& entry) {
  const LazyNode& node = graph_[id];
  std::array<UOp, kMaxRank + 1> srcs;
  srcs[0] = value_at(graph_.src(id), entry.in_tuple, entry.in_valid);
  usize count = 1;
  for (UOp at : graph_.tuples[entry.in_tuple]) {
    bool closed = at.is(Op::Range) && at.range_id() >= entry.first_range &&
                  at.axis_type() == AxisType::Reduce;
    if (closed) srcs[count++] = at;
  }
  i64 op = static_cast<i64>(node.reduce_op);
  std::array<i64, 2> args{op, 0};
  return rewriter_.make(Op::Reduce, node.dtype, {srcs.data(), count}, args);
}

}  // namespace doorbell::core
