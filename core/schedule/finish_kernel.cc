// Copying out, and comparing kernels.
#include "core/schedule/finish_kernel.h"

#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <array>

#include "base/util/check.h"
#include "base/util/hash.h"
#include "core/schedule/planned_kernel.h"
#include "core/uop/validate.h"

namespace doorbell::core {

namespace {

// Variables are hashed by name: their ids differ from process to process.
u64 hash_args(UOp u) {
  u64 hash = u.narg();
  for (usize i = 0; i < u.narg(); ++i) {
    bool name = u.is(Op::Variable) && i == 0;
    hash =
        hash_combine(hash, name ? hash_bytes(interned_name(u.arg(0))) : static_cast<u64>(u.arg(i)));
  }
  return hash;
}

class Copier {
 public:
  explicit Copier(Arena& from) : from_(from) { result_.ast.arena = std::make_unique<Arena>(); }

  FinishedKernel run(UOp sink) {
    std::vector<UOp> order = topological_order(from_, {&sink, 1});
    UOp effect = sink.src(0).src(0);
    for (UOp store : effect.is(Op::Group) ? effect.srcs() : sink.src(0).srcs().first(1)) {
      param(store.src(0).src(0));
    }
    result_.ast.output_count = static_cast<u32>(result_.slots.size());
    from_.new_epoch();
    u64 key = order.size();
    for (usize i = 0; i < order.size(); ++i) {
      UOp copy = copy_of(order[i]);
      from_.set_scratch(order[i], const_cast<Node*>(copy.node()));
      key = hash_combine(key, static_cast<u64>(copy.op()) << 32 | copy.dtype().key());
      key = hash_combine(key, hash_args(copy));
      // Every node of the copy is made in this order, so ids are places in it.
      for (UOp s : copy.srcs()) key = hash_combine(key, s.id());
    }
    result_.ast.sink = UOp(static_cast<const Node*>(from_.scratch(sink)));
    result_.ast.key = hash_mix(key);
    validate(*result_.ast.arena, result_.ast.sink, Stage::Kernel, "schedule");
    result_.ast.param_count = static_cast<u32>(result_.slots.size());
    return std::move(result_);
  }

 private:
  i64 param(UOp u) {
    i64 slot = u.arg(0);
    auto at = std::ranges::find(result_.slots, slot);
    if (at == result_.slots.end()) at = result_.slots.insert(at, slot);
    return at - result_.slots.begin();
  }

  i64 range(UOp u) {
    auto at = std::ranges::find(ranges_, u.range_id());
    if (at == ranges_.end()) at = ranges_.insert(at, u.range_id());
    return at - ranges_.begin();
  }

  UOp copy_of(UOp u) {
    srcs_.clear();
    for (UOp s : u.srcs()) srcs_.push_back(UOp(static_cast<const Node*>(from_.scratch(s))));
    std::array<i64, 2> args{};
    Arena& to = *result_.ast.arena;
    if (u.is(Op::Param)) {
      args = {param(u), u.arg(1)};
      return to.make(u.op(), u.dtype(), srcs_, args);
    }
    if (u.is(Op::Range)) {
      args = {range(u), u.arg(1)};
      return to.make(u.op(), u.dtype(), srcs_, args);
    }
    if (u.is(Op::Variable)) {
      std::vector<i64>& names = result_.ast.variables;
      if (std::ranges::find(names, u.arg(0)) == names.end()) names.push_back(u.arg(0));
    }
    return to.make(u.op(), u.dtype(), srcs_, u.args(), u.payload());
  }

  Arena& from_;
  FinishedKernel result_;
  std::vector<i64> ranges_;  // by new id: the old one
  std::vector<UOp> srcs_;
};

}  // namespace

FinishedKernel finish_kernel(Arena& arena, UOp sink) { return Copier(arena).run(sink); }

namespace {

// The graph of a planned kernel, in the schedule's arena.
UOp sink_of(Arena& arena, const PlannedKernel& kernel, const Schedule& schedule) {
  std::vector<UOp> stores;
  for (const PlannedStore& store : kernel.stores) {
    DType dtype = store.value.dtype();
    i64 slot = -static_cast<i64>(stores.size()), count = schedule.buffers[store.buffer].count;
    UOp memory = arena.make(Op::Param, dtype, {}, {slot, count});
    UOp place = arena.make(Op::Index, dtype, {memory, store.at});
    stores.push_back(arena.make(Op::Store, dtypes::void_, {place, store.value}));
  }
  std::vector<UOp> end{stores[0]};
  if (stores.size() > 1) end[0] = arena.make(Op::Group, dtypes::void_, stores);
  end.insert(end.end(), kernel.ranges.begin(), kernel.ranges.end());
  UOp effect = arena.make(Op::End, dtypes::void_, end);
  return arena.make(Op::Sink, dtypes::void_, {effect});
}

struct Finished {
  std::shared_ptr<const KernelAst> ast;
  std::vector<i64> slots;
};

}  // namespace

void finish_kernels(Arena& arena, std::span<const PlannedKernel> kernels, Schedule* schedule) {
  // By expression in `arena`, and by key. Looked up, never iterated.
  absl::flat_hash_map<const Node*, Finished> finished;
  absl::flat_hash_map<u64, std::shared_ptr<const KernelAst>> shared;
  for (const PlannedKernel& kernel : kernels) {
    if (kernel.stores.empty()) continue;
    ScheduleItem item{kernel.kind, kernel.device, nullptr, {}};
    if (kernel.kind == ScheduleItem::Kind::Copy) {
      item.ast = kernel.exchange;
      item.buffers = {kernel.stores[0].buffer, kernel.reads[0]};
      schedule->items.push_back(std::move(item));
      continue;
    }
    UOp sink = sink_of(arena, kernel, *schedule);
    auto [it, fresh] = finished.try_emplace(sink.node());
    if (fresh) {
      FinishedKernel made = finish_kernel(arena, sink);
      auto [same, first] = shared.try_emplace(made.ast.key);
      if (!first && !same_kernel(*same->second, made.ast)) first = true;  // the newer is kept
      if (first) same->second = std::make_shared<const KernelAst>(std::move(made.ast));
      it->second = {same->second, std::move(made.slots)};
    }
    item.ast = it->second.ast;
    for (i64 slot : it->second.slots) {
      item.buffers.push_back(slot <= 0 ? kernel.stores[static_cast<usize>(-slot)].buffer
                                       : kernel.reads[static_cast<usize>(slot) - 1]);
    }
    schedule->items.push_back(std::move(item));
  }
}

bool same_kernel(const KernelAst& a, const KernelAst& b) {
  if (a.key != b.key || a.param_count != b.param_count) return false;
  std::vector<UOp> as = topological_order(*a.arena, {&a.sink, 1});
  std::vector<UOp> bs = topological_order(*b.arena, {&b.sink, 1});
  if (as.size() != bs.size()) return false;
  absl::flat_hash_map<const Node*, const Node*> twin;  // looked up, never iterated
  for (usize i = 0; i < as.size(); ++i) {
    UOp x = as[i], y = bs[i];
    bool same = x.op() == y.op() && x.dtype() == y.dtype() && x.nsrc() == y.nsrc() &&
                std::ranges::equal(x.args(), y.args()) && x.payload() == y.payload();
    for (usize s = 0; same && s < x.nsrc(); ++s) same = twin[x.src(s).node()] == y.src(s).node();
    if (!same) return false;
    twin.emplace(x.node(), y.node());
  }
  return true;
}

}  // namespace doorbell::core
