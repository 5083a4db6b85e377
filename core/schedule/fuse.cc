// Decides which values are stored and which are computed again, and plans the kernels.
#include "core/schedule/fuse.h"

#include <algorithm>
#include <array>

#include "base/util/check.h"
#include "core/schedule/exchange.h"
#include "core/uop/graph.h"

namespace doorbell::core {

Schedule Fuser::run() {
  place_inputs();
  for (LazyId id = 0; id < graph_.size(); ++id) {
    if (sweep_.stored[id] == Stored::No) continue;
    if (graph_[id].op == Op::Copy)
      copy(id);
    else
      decide(id);
  }
  for (LazyId root : graph_.roots) schedule_.results.push_back(storage_[root].buffer);
  return std::move(schedule_);
}

u16 Fuser::device_of(LazyId id) const {
  return graph_[id].device > 0 ? graph_[id].device - 1 : options_.default_device;
}

u32 Fuser::add_buffer(LazyId id, i64 count) {
  const LazyNode& node = graph_[id];
  CHECK(!node.dtype.is_index(), "node {} of dtype index cannot be stored", id);
  ScheduleBuffer buffer{ScheduleBuffer::Kind::Temporary, 0, node.dtype, count, device_of(id), -1};
  if (node.input >= 0) {
    buffer.kind = ScheduleBuffer::Kind::Input;
    buffer.index = static_cast<u32>(node.input);
  } else if (node.output >= 0) {
    buffer.kind = ScheduleBuffer::Kind::Output;
    buffer.index = static_cast<u32>(node.output);
  }
  schedule_.buffers.push_back(buffer);
  return static_cast<u32>(schedule_.buffers.size()) - 1;
}

// Two nodes may be views of one input; they share its buffer.
void Fuser::place_inputs() {
  std::vector<u32> buffers;
  for (LazyId id = 0; id < graph_.size(); ++id) {
    if (graph_[id].op != Op::Buffer) continue;
    usize input = static_cast<usize>(graph_[id].input);
    if (buffers.size() <= input) buffers.resize(input + 1, ~u32{0});
    i64 count = graph_.max_count(id);
    if (buffers[input] == ~u32{0}) buffers[input] = add_buffer(id, count);
    storage_[id] = {buffers[input], ~u32{0}, count};
  }
}

void Fuser::copy(LazyId id) {
  const Storage& source = storage_[graph_.src(id)];
  CHECK(source.exists(), "the source of copy {} is not stored", id);
  i64 count = graph_.max_count(id);
  storage_[id] = {add_buffer(id, count), ~u32{0}, count};
  PlannedKernel kernel;
  kernel.kind = ScheduleItem::Kind::Copy;
  if (graph_[id].is_exchange) {
    const i64 args[] = {graph_.number(id, 0), graph_.number(id, 1), graph_.number(id, 2)};
    kernel.exchange = exchange_ast(graph_[id].dtype, device_of(id), args);
  }
  kernel.device = device_of(id);
  kernel.stores.push_back({storage_[id].buffer, UOp(), UOp()});
  kernel.reads = {source.buffer};
  kernels_.push_back(std::move(kernel));
}

void Fuser::decide(LazyId id) {
  BuiltValue built = builder_.build(id, storage_, sweep_.stored);
  if (!built.fits) return keep(id);
  if (!graph_[id].exposed) {
    if (built.value.is_const()) return fold(id, built.value);
    if (is_alias(id, built)) return;
    if (sweep_.stored[id] == Stored::Candidate) {
      if (is_cheap(id, cost_of(built.value, built.buffers.size()))) return;
    }
  }
  emit(id, built);
}

// A constant is not loaded; it has the same value wherever it is used.
void Fuser::fold(LazyId id, UOp value) {
  graph_.nodes[id].op = Op::Const;
  graph_.nodes[id].nsrc = 0;
  graph_.nodes[id].value = value;
}

// Does the kernel only copy memory that is laid out like its result? Then the result is that
// memory.
bool Fuser::is_alias(LazyId id, const BuiltValue& built) {
  UOp value = built.value;
  if (!value.is(Op::Load) || value.src(0).nsrc() != 2) return false;
  u32 buffer = built.buffers[static_cast<usize>(value.src(0).src(0).arg(0)) - 1];
  i64 count = value.src(0).src(0).arg(1);
  if (count != graph_.max_count(id) || schedule_.buffers[buffer].dtype != graph_[id].dtype) {
    return false;
  }
  if (value.src(0).src(1) != moves_.flat(built.tuple, graph_[id].shape)) return false;
  storage_[id] = {buffer, ~u32{0}, count};
  return true;
}

namespace {
constexpr f64 kGatherWork = 2;  // extra work of a load whose index was loaded
// A value that one kernel reads more often, for each of its elements, is an operand of a
// contraction.
constexpr f64 kOperandReads = 4;
}  // namespace

Fuser::Cost Fuser::cost_of(UOp value, usize buffers) {
  Cost cost;
  cost.buffers = buffers;
  std::vector<UOp> order = topological_order(arena_, {&value, 1});
  // By position in `order`: whether the value reads memory, and how often it is evaluated for one
  // element.
  struct Mark {
    f64 times = 0;
    bool loads = false;
    bool gathers = false;  // an Index computed from loaded values
  };
  std::vector<Mark> marks(order.size());
  arena_.new_epoch();
  for (usize i = 0; i < order.size(); ++i) {
    UOp u = order[i];
    for (UOp s : u.srcs()) marks[i].loads |= static_cast<Mark*>(arena_.scratch(s))->loads;
    if (u.is(Op::Reduce) && marks[i].loads) cost.reduces_memory = true;
    if (u.is(Op::Index) && marks[i].loads) marks[i].gathers = true;
    marks[i].loads |= u.is(Op::Load);
    arena_.set_scratch(u, &marks[i]);
  }
  cost.loads =
      static_cast<usize>(std::ranges::count_if(order, [](UOp u) { return u.is(Op::Load); }));
  marks.back().times = 1;
  for (usize i = order.size(); i-- > 0;) {
    UOp u = order[i];
    f64 inside = marks[i].times;
    if (u.is(Op::Reduce)) {
      for (UOp range : u.srcs().subspan(1)) inside *= static_cast<f64>(range.src(0).vmax());
    }
    if (u.is(Op::Load) || ((is_elementwise(u.op()) || u.is(Op::Reduce)) && !u.dtype().is_index())) {
      cost.work += inside * work_of(u.op());
    }
    if (marks[i].gathers) cost.work += inside * kGatherWork;
    for (usize s = 0; s < u.nsrc(); ++s) {
      Mark* mark = static_cast<Mark*>(arena_.scratch(u.src(s)));
      mark->times = std::max(mark->times, s == 0 ? inside : marks[i].times);
    }
  }
  return cost;
}

// Each consumer takes over its share of the work that the value would have been on its own. Every
// kernel does at most twice its unfused work then, and so do all together. An operand of a
// contraction is of one load, so that the code generator can pack it, and load it once.
bool Fuser::is_cheap(LazyId id, const Cost& cost) {
  if (cost.buffers > options_.max_inline_buffers || cost.reduces_memory) return false;
  f64 users = 0;
  const f64 count = static_cast<f64>(graph_.max_count(id));
  for (u32 use = sweep_.first_use[id]; use != kNoUse; use = sweep_.uses[use].next) {
    ++users;
    if (cost.loads > 1 && sweep_.uses[use].reads > kOperandReads * count) return false;
  }
  // The sweep's estimate includes loops that were simplified away since.
  f64 alone = std::min(unfused_[id], cost.work * count);
  f64 share = alone / users;
  // Where the value is stored, it costs a load.
  f64 extra = cost.work - work_of(Op::Load);
  for (u32 use = sweep_.first_use[id]; use != kNoUse; use = sweep_.uses[use].next) {
    const Use& u = sweep_.uses[use];
    if (sweep_.work[u.owner] + u.reads * extra > 2 * (unfused_[u.owner] + share)) return false;
  }
  for (u32 use = sweep_.first_use[id]; use != kNoUse; use = sweep_.uses[use].next) {
    const Use& u = sweep_.uses[use];
    sweep_.work[u.owner] += u.reads * extra;
    unfused_[u.owner] += share;
  }
  return true;
}

// Stores values that were to be computed again, because the kernel became too large with them.
void Fuser::keep(LazyId id) {
  std::vector<LazyId> open{id};
  while (!open.empty()) {
    if (storage_[open.back()].exists()) {
      open.pop_back();
      continue;
    }
    BuiltValue built = builder_.build(open.back(), storage_, sweep_.stored);
    if (built.fits) {
      emit(open.back(), built);
      open.pop_back();
      continue;
    }
    CHECK(!built.inlined.empty(), "the kernel of node {} is too large", open.back());
    open.insert(open.end(), built.inlined.begin(), built.inlined.end());
  }
}

void Fuser::emit(LazyId id, const BuiltValue& built) {
  std::span<const UOp> shape = graph_.shape(id), index = graph_.tuples[built.tuple];
  u32 live = 0;
  i64 count = 1;
  std::vector<UOp> ranges;
  for (usize i = 0; i < shape.size(); ++i) {
    bool varies = index[i].is(Op::Range) && built.value.range_mask() >> index[i].range_id() & 1;
    if (!varies && !graph_[id].exposed) continue;
    live |= u32{1} << i;
    count *= shape[i].vmax();
    if (index[i].is(Op::Range)) ranges.push_back(index[i]);
  }
  storage_[id] = {add_buffer(id, count), live, count};
  if (count == 0) return;

  PlannedKernel kernel;
  kernel.device = device_of(id);
  kernel.ranges = std::move(ranges);
  UOp at = moves_.flat(built.tuple, graph_[id].shape, live);
  kernel.stores.push_back({storage_[id].buffer, at, built.value});
  kernel.reads = built.buffers;
  kernels_.push_back(std::move(kernel));
}

}  // namespace doorbell::core
