// The sweep over the numbered nodes, consumers before producers. Ranges are numbered from 0 within
// each kernel, so kernels of one structure have one set of index expressions.
#include "core/schedule/sweep.h"

#include <algorithm>
#include <array>

#include "base/util/check.h"
#include "core/schedule/kernel.h"
#include "core/uop/graph.h"

namespace doorbell::core {

f64 work_of(Op op) {
  switch (op) {
    case Op::Exp2:
    case Op::Log2:
    case Op::Sin:
    case Op::Pow: return 4;
    case Op::Sqrt:
    case Op::Recip:
    case Op::FDiv: return 2;
    case Op::FloorDiv:
    case Op::FloorMod:
    case Op::CDiv:
    case Op::CMod: return 4;
    case Op::Threefry: return 60;
    case Op::Cast:
    case Op::Bitcast:
    case Op::Contiguous: return 0;
    default: return is_movement(op) ? 0 : 1;
  }
}

namespace {

// More uses than this are counted together; they only feed an estimate.
constexpr int kMaxUses = 16;
// Index expressions grow with the movement ops they went through; after this many, a value is
// stored.
constexpr u16 kMaxMoves = 64;

class Sweeper {
 public:
  Sweeper(LazyGraph& graph, Moves& moves, Arena& arena)
      : graph_(graph), moves_(moves), arena_(arena), visits_(graph.size()) {
    result_.stored.assign(graph.size(), Stored::No);
    result_.owner.assign(graph.size(), kNoNode);
    result_.first_use.assign(graph.size(), kNoUse);
    result_.work.assign(graph.size(), 0);
  }

  Sweep run();

 private:
  // What a node's consumers decided about it.
  struct Visit {
    u32 out = 0, in = 0;  // how its own and its sources' elements are indexed
    f64 evaluations = 0, in_evaluations = 0;
    u16 moves = 0;       // movement ops between its kernel's Ranges and its sources' indexes
    u8 next_range = 0;   // of a stored node's kernel
    bool mixed = false;  // a movement op that its consumers read differently: each reads through it
    bool ending = false;  // a loop that the node does not vary with is around it
  };
  // What the consumers of the node at hand say, taken together.
  struct Demand {
    bool any = false, agreed = true, ending = false, broadcast_ending = false;
    u32 tuple = 0;
    LazyId owner = kNoNode;
    f64 evaluations = 0;
    u16 moves = 0;
    u32 first_use = kNoUse;
  };

  void link_consumers();
  Demand ask_consumers(LazyId id);
  void ask_consumer(LazyId id, LazyId consumer, Demand* demand);
  void add_use(LazyId owner, f64 reads, u32* first);
  void store(LazyId id, Stored how);
  void pass_on(LazyId id, bool broadcast_ending);
  bool has_ranges(UOp index) const { return index.range_mask() != 0; }
  bool fits_ranges(LazyId id) const;

  LazyGraph& graph_;
  Moves& moves_;
  Arena& arena_;
  std::vector<Visit> visits_;
  std::vector<u32> consumer_starts_;
  std::vector<LazyId> consumers_;
  Sweep result_;
};

// consumers_ of every node, last consumer first, each as often as it has the node for a source.
void Sweeper::link_consumers() {
  consumer_starts_.assign(graph_.size() + 1, 0);
  for (LazyId id = 0; id < graph_.size(); ++id) {
    for (LazyId s : graph_.sources(id)) ++consumer_starts_[s + 1];
  }
  for (LazyId id = 0; id < graph_.size(); ++id) consumer_starts_[id + 1] += consumer_starts_[id];
  consumers_.resize(consumer_starts_.back());
  std::vector<u32> next(consumer_starts_.begin(), consumer_starts_.end() - 1);
  for (LazyId id = graph_.size(); id-- > 0;) {
    for (LazyId s : graph_.sources(id)) consumers_[next[s]++] = id;
  }
}

void Sweeper::add_use(LazyId owner, f64 reads, u32* first) {
  int count = 0;
  for (u32 use = *first; use != kNoUse; use = result_.uses[use].next) {
    if (result_.uses[use].owner != owner && ++count < kMaxUses) continue;
    result_.uses[use].reads += reads;
    return;
  }
  result_.uses.push_back({owner, reads, *first});
  *first = static_cast<u32>(result_.uses.size()) - 1;
}

void Sweeper::ask_consumer(LazyId id, LazyId consumer, Demand* demand) {
  const Visit& visit = visits_[consumer];
  LazyId owner = result_.owner[consumer];
  demand->moves = std::max(demand->moves, visit.moves);
  if (visit.mixed) {
    demand->any = true;
    demand->agreed = false;
    demand->ending |= visit.ending;
    for (u32 use = result_.first_use[consumer]; use != kNoUse; use = result_.uses[use].next) {
      Use copy = result_.uses[use];
      add_use(copy.owner, copy.reads, &demand->first_use);
    }
    return;
  }
  if (owner == kNoNode) return;  // dead
  u32 tuple = visit.in;
  if (is_elementwise(graph_[consumer].op)) {
    u32 to = graph_[consumer].shape, from = graph_[id].shape;
    tuple = moves_.broadcast(visit.in, to, from);
    std::span<const UOp> index = graph_.tuples[visit.in], sizes = graph_.tuples[from];
    usize skip = index.size() - sizes.size();
    for (usize i = 0; to != from && i < index.size(); ++i) {
      bool repeated = i < skip || sizes[i - skip].is_const(1);
      demand->broadcast_ending |= repeated && has_ranges(index[i]);
    }
  }
  bool repeat = demand->any && demand->agreed && demand->owner == owner && demand->tuple == tuple;
  if (!demand->any) {
    demand->tuple = tuple;
    demand->owner = owner;
    demand->any = true;
  } else if (!repeat) {
    demand->agreed = false;
  }
  demand->evaluations = std::max(demand->evaluations, visit.in_evaluations);
  demand->ending |= visit.ending;
  if (!repeat) add_use(owner, visit.in_evaluations, &demand->first_use);
}

Sweeper::Demand Sweeper::ask_consumers(LazyId id) {
  Demand demand;
  for (u32 i = consumer_starts_[id]; i < consumer_starts_[id + 1]; ++i) {
    ask_consumer(id, consumers_[i], &demand);
  }
  return demand;
}

// Gives the node a kernel of its own, with fresh Ranges over its axes.
void Sweeper::store(LazyId id, Stored how) {
  Visit& visit = visits_[id];
  std::array<UOp, kMaxRank> index;
  std::span<const UOp> shape = graph_.shape(id);
  visit.evaluations = 1;
  visit.next_range = 0;
  for (usize i = 0; i < shape.size(); ++i) {
    visit.evaluations *= static_cast<f64>(shape[i].vmax());
    index[i] = shape[i].is_const(1) ? arena_.index(0)
                                    : arena_.range(visit.next_range++, AxisType::Loop, shape[i]);
  }
  visit.out = graph_.tuples.intern({index.data(), shape.size()});
  visit.moves = 0;
  visit.ending = false;
  visit.mixed = false;
  result_.stored[id] = how;
  result_.owner[id] = id;
  result_.work[id] = visit.evaluations;  // the store
}

// Would the Ranges that a Reduce closes still fit into the kernel it would be part of?
bool Sweeper::fits_ranges(LazyId id) const {
  int count = visits_[result_.owner[id]].next_range;
  for (usize i = 0; i < graph_[id].rank; ++i) count += graph_.number(id, 0) >> i & 1;
  return count <= kMaxKernelRanges;
}

// How the node's sources are indexed, given how the node is.
void Sweeper::pass_on(LazyId id, bool broadcast_ending) {
  const LazyNode& node = graph_[id];
  Visit& visit = visits_[id];
  visit.in = visit.out;
  visit.in_evaluations = visit.evaluations;
  visit.ending |= broadcast_ending;
  if (is_movement(node.op)) {
    ++visit.moves;
    if (node.op == Op::Expand) {
      std::span<const UOp> index = graph_.tuples[visit.out], from = graph_.shape(graph_.src(id));
      usize skip = index.size() - from.size();
      for (usize i = 0; i < index.size(); ++i) {
        bool repeated =
            i < skip || (from[i - skip].is_const(1) && !graph_.shape(id)[i].is_const(1));
        visit.ending |= repeated && has_ranges(index[i]);
      }
    }
    visit.in = moves_.through(id, visit.out).tuple;
  } else if (node.op == Op::Reduce) {
    std::array<UOp, kMaxRank> index;
    std::ranges::copy(graph_.tuples[visit.out], index.begin());
    Visit& kernel = visits_[result_.owner[id]];
    for (usize i = 0; i < node.rank; ++i) {
      if (!(graph_.number(id, 0) >> i & 1)) continue;
      UOp size = graph_.shape(graph_.src(id))[i];
      index[i] = arena_.range(kernel.next_range++, AxisType::Reduce, size);
      visit.in_evaluations *= static_cast<f64>(size.vmax());
    }
    visit.in = graph_.tuples.intern({index.data(), node.rank});
  }
  f64 evaluations = node.op == Op::Reduce ? visit.in_evaluations : visit.evaluations;
  result_.work[result_.owner[id]] += evaluations * work_of(node.op);
}

Sweep Sweeper::run() {
  link_consumers();
  for (LazyId id = graph_.size(); id-- > 0;) {
    const LazyNode& node = graph_[id];
    Demand demand = ask_consumers(id);
    if (!demand.any && !node.forced) continue;
    result_.first_use[id] = demand.first_use;
    bool computes = is_elementwise(node.op) || node.op == Op::Reduce;
    bool ending = demand.ending || (node.op == Op::Reduce && demand.broadcast_ending);
    Visit& visit = visits_[id];
    if (node.op == Op::Const) continue;
    if (node.op != Op::Buffer) {
      if (node.forced || demand.moves >= kMaxMoves) {
        store(id, Stored::Must);
      } else if (computes && (ending || !demand.agreed)) {
        store(id, Stored::Candidate);
      } else if (!demand.agreed) {
        visit.mixed = true;
        visit.moves = demand.moves + 1;
        visit.ending = ending || node.op == Op::Expand;
        continue;
      } else {
        visit.out = demand.tuple;
        visit.evaluations = demand.evaluations;
        visit.moves = demand.moves;
        visit.ending = ending;
        result_.owner[id] = demand.owner;
        if (node.op == Op::Reduce && !fits_ranges(id)) store(id, Stored::Must);
      }
      bool stored = result_.stored[id] != Stored::No;
      pass_on(id, !stored && demand.broadcast_ending);
      if (!stored) continue;
    }
    for (u32 use = demand.first_use; use != kNoUse; use = result_.uses[use].next) {
      result_.work[result_.uses[use].owner] += result_.uses[use].reads;  // the loads
    }
  }
  return std::move(result_);
}

}  // namespace

Sweep sweep(LazyGraph& graph, Moves& moves, Arena& arena) {
  return Sweeper(graph, moves, arena).run();
}

}  // namespace doorbell::core
