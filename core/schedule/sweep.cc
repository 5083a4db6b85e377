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
// Rows that a kernel with row reductions must have, to keep threads busy; unless it is this small.
constexpr f64 kMinRows = 16, kSmallKernel = 16384;
// A reduction of so many times the elements of a row is a kernel of its own.
constexpr f64 kLongInRow = 8;
// Additions of a reduction that is worth a plan of its own, and compiling it.
constexpr f64 kWorthAPlan = 1 << 25;
// Of a reduction's elements: how often its kernel may compute them, because a movement op pads or
// repeats them, unless what that wastes is little.
constexpr f64 kMaxRepeats = 1.5;

class Sweeper {
 public:
  Sweeper(LazyGraph& graph, Moves& moves, Arena& arena, const ScheduleOptions& options)
      : graph_(graph), moves_(moves), arena_(arena), options_(options), visits_(graph.size()) {
    result_.stored.assign(graph.size(), Stored::No);
    result_.owner.assign(graph.size(), kNoNode);
    result_.first_use.assign(graph.size(), kNoUse);
    result_.work.assign(graph.size(), 0);
  }

  Sweep run();

 private:
  // How one kernel reads a value: in one way, or in two where both belong to one row.
  struct AccessPatterns {
    u32 tuples[2] = {};
    u8 count = 0;
    bool has(u32 tuple) const {
      return (count > 0 && tuples[0] == tuple) || (count > 1 && tuples[1] == tuple);
    }
  };
  // What a node's consumers decided about it.
  struct Visit {
    AccessPatterns out, in;                   // how its own and its sources' elements are indexed
    f64 evaluations = 0, in_evaluations = 0;  // of all patterns together
    u16 moves = 0;       // movement ops between its kernel's Ranges and its sources' indexes
    u8 next_range = 0;   // of a stored node's kernel: Ranges so far,
    u8 outputs = 0;      // and of these its axes
    bool mixed = false;  // a movement op that its consumers read differently: each reads through it
    bool recomputed_in_loop = false;  // a loop that the node does not vary with is around it
    bool row = false;                 // below a row reduction
    bool once_per_row = false;
    bool has_rows = false, has_loops = false;  // of a stored node's kernel: row reductions, others,
    bool has_large = false;                    // of the others one that is worth a plan
  };
  // The decisions of all consumers of the current node, combined.
  struct ConsumerSummary {
    bool any = false, recomputed_in_loop = false, broadcast_recomputed = false, row = false;
    bool one_kernel = true;  // all patterns are in `patterns`, and in the kernel of `owner`
    AccessPatterns patterns;
    LazyId owner = kNoNode;
    f64 evaluations = 0;
    u16 moves = 0;
    u32 first_use = kNoUse;
    bool agreed() const { return one_kernel && patterns.count == 1; }
  };

  void link_consumers();
  void find_reductions();
  ConsumerSummary ask_consumers(LazyId id);
  void ask_consumer(LazyId id, LazyId consumer, ConsumerSummary* consumers);
  void ask_pattern(LazyId id, LazyId consumer, u32 tuple, ConsumerSummary* consumers);
  void add_use(LazyId owner, f64 reads, u32* first);
  void store(LazyId id, Stored how);
  // Decides about a node with consumers that need not be stored. False where it must be.
  bool stays_in_kernel(LazyId id, const ConsumerSummary& consumers, bool recomputed_in_loop);
  f64 rows_of(const ConsumerSummary& consumers) const;
  f64 reduced_count(LazyId id) const;
  bool is_nested_work(LazyId id, const ConsumerSummary& consumers) const;
  bool is_repeated_work(LazyId id, const ConsumerSummary& consumers) const;
  bool is_long_in_row(LazyId id, f64 rows, const ConsumerSummary& consumers) const;
  bool changes_axes(LazyId id) const;
  bool is_other_layout(LazyId id) const;
  void pass_on(LazyId id, bool broadcast_recomputed);
  u32 pass_way_on(LazyId id, u32 tuple);
  bool has_ranges(UOp index) const { return index.range_mask() != 0; }
  bool fits_ranges(LazyId id) const;

  LazyGraph& graph_;
  Moves& moves_;
  Arena& arena_;
  const ScheduleOptions& options_;
  std::vector<Visit> visits_;
  std::vector<u32> consumer_starts_;
  std::vector<LazyId> consumers_;
  std::vector<bool>
      reduces_;  // by node: whether its value needs a reduction that need not be stored
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

void Sweeper::find_reductions() {
  reduces_.assign(graph_.size(), false);
  for (LazyId id = 0; id < graph_.size(); ++id) {
    bool below = graph_[id].op == Op::Reduce;
    for (LazyId s : graph_.sources(id)) below |= reduces_[s] && !graph_[s].forced;
    reduces_[id] = below;
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

void Sweeper::ask_consumer(LazyId id, LazyId consumer, ConsumerSummary* consumers) {
  const Visit& visit = visits_[consumer];
  LazyId owner = result_.owner[consumer];
  consumers->moves = std::max(consumers->moves, visit.moves);
  if (visit.mixed) {
    consumers->any = true;
    consumers->one_kernel = false;
    consumers->recomputed_in_loop |= visit.recomputed_in_loop;
    for (u32 use = result_.first_use[consumer]; use != kNoUse; use = result_.uses[use].next) {
      Use copy = result_.uses[use];
      add_use(copy.owner, copy.reads, &consumers->first_use);
    }
    return;
  }
  if (owner == kNoNode) return;  // dead
  if (!consumers->any) consumers->owner = owner;
  if (consumers->owner != owner) consumers->one_kernel = false;
  consumers->any = true;
  consumers->recomputed_in_loop |= visit.recomputed_in_loop;
  consumers->row |= visit.row;
  for (u8 way = 0; way < visit.in.count; ++way) {
    ask_pattern(id, consumer, visit.in.tuples[way], consumers);
  }
}

void Sweeper::ask_pattern(LazyId id, LazyId consumer, u32 tuple, ConsumerSummary* consumers) {
  const Visit& visit = visits_[consumer];
  if (is_elementwise(graph_[consumer].op)) {
    u32 whole = tuple, to = graph_[consumer].shape, from = graph_[id].shape;
    tuple = moves_.broadcast(whole, to, from);
    std::span<const UOp> index = graph_.tuples[whole], sizes = graph_.tuples[from];
    usize skip = index.size() - sizes.size();
    for (usize i = 0; to != from && i < index.size(); ++i) {
      bool repeated = i < skip || sizes[i - skip].is_const(1);
      consumers->broadcast_recomputed |= repeated && has_ranges(index[i]);
    }
  }
  LazyId owner = result_.owner[consumer];
  f64 evaluations = visit.in_evaluations / visit.in.count;
  if (consumers->one_kernel && consumers->patterns.has(tuple)) {
    consumers->evaluations = std::max(consumers->evaluations, evaluations);
    return;
  }
  add_use(owner, evaluations, &consumers->first_use);
  if (consumers->patterns.count == 2) {
    consumers->one_kernel = false;
    return;
  }
  consumers->patterns.tuples[consumers->patterns.count++] = tuple;
  consumers->evaluations += evaluations;
}

Sweeper::ConsumerSummary Sweeper::ask_consumers(LazyId id) {
  ConsumerSummary consumers;
  for (u32 i = consumer_starts_[id]; i < consumer_starts_[id + 1]; ++i) {
    ask_consumer(id, consumers_[i], &consumers);
  }
  return consumers;
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
  visit.outputs = visit.next_range;
  visit.out = {{graph_.tuples.intern({index.data(), shape.size()})}, 1};
  visit.moves = 0;
  visit.recomputed_in_loop = visit.mixed = visit.row = false;
  result_.stored[id] = how;
  result_.owner[id] = id;
  result_.work[id] = visit.evaluations;  // the store
}

// Whether the Ranges that a Reduce closes still fit into the kernel that it would be part of.
bool Sweeper::fits_ranges(LazyId id) const {
  int count = visits_[result_.owner[id]].next_range;
  for (usize i = 0; i < graph_[id].rank; ++i) count += graph_.number(id, 0) >> i & 1;
  return count <= kMaxKernelRanges;
}

// The output loops run one inside the other, in the order of the axes. A value that varies with the
// outer ones only (a row of the output) is computed once for each of their iterations: it need not
// be stored. Returns how often that is, or 0 where the value is not of that kind.
f64 Sweeper::rows_of(const ConsumerSummary& consumers) const {
  if (!options_.fuse_rows || !consumers.agreed()) return 0;
  const Visit& kernel = visits_[consumers.owner];
  u64 mask = 0;
  f64 rows = 1, all = 1;
  for (UOp at : graph_.tuples[consumers.patterns.tuples[0]]) {
    if (!at.is(Op::Range) && !at.is_const()) return 0;
    mask |= at.range_mask();
  }
  for (UOp at : graph_.tuples[kernel.out.tuples[0]]) {
    if (!at.is(Op::Range)) continue;
    f64 size = static_cast<f64>(at.src(0).vmax());
    if (mask >> at.range_id() & 1) rows *= size;
    all *= size;
  }
  // The loops of a row are the first so many, and not all.
  bool prefix = (mask & (mask + 1)) == 0 && mask < (u64{1} << kernel.outputs) - 1;
  return prefix && (rows >= kMinRows || all <= kSmallKernel) ? rows : 0;
}

// Elements that one element of a Reduce is made of.
f64 Sweeper::reduced_count(LazyId id) const {
  f64 count = 1;
  for (usize i = 0; i < graph_[id].rank; ++i) {
    if (graph_.number(id, 0) >> i & 1)
      count *= static_cast<f64>(graph_.shape(graph_.src(id))[i].vmax());
  }
  return count;
}

// Whether the reduction is much longer than the row that its result serves: the plan of a kernel of
// rows is made for the row.
bool Sweeper::is_long_in_row(LazyId id, f64 rows, const ConsumerSummary& consumers) const {
  f64 all = 1;
  for (UOp at : graph_.tuples[visits_[consumers.owner].out.tuples[0]])
    if (at.is(Op::Range)) all *= static_cast<f64>(at.src(0).vmax());
  const f64 length = reduced_count(id);
  return length > kLongInRow * all / rows && length * rows > kSmallKernel;
}

// Whether a reduction would be computed at many places where it has no element, as where several
// are concatenated.
bool Sweeper::is_repeated_work(LazyId id, const ConsumerSummary& consumers) const {
  const f64 wasted = consumers.evaluations - static_cast<f64>(graph_.max_count(id));
  return consumers.evaluations > kMaxRepeats * static_cast<f64>(graph_.max_count(id)) &&
         wasted * reduced_count(id) > kSmallKernel;
}

// A reduction inside the loop of another has only the outer one's results to run in parallel, and
// its loops cannot be tiled. Where there is much to do, it is better stored.
bool Sweeper::is_nested_work(LazyId id, const ConsumerSummary& consumers) const {
  u64 outputs = (u64{1} << visits_[consumers.owner].outputs) - 1;
  bool nested = false;
  for (UOp at : graph_.tuples[consumers.patterns.tuples[0]])
    nested |= (at.range_mask() & ~outputs) != 0;
  const f64 work = consumers.evaluations * reduced_count(id);
  return nested && work > options_.max_nested_work;
}

bool Sweeper::stays_in_kernel(LazyId id, const ConsumerSummary& consumers,
                              bool recomputed_in_loop) {
  const LazyNode& node = graph_[id];
  Visit& visit = visits_[id];
  bool reduces = node.op == Op::Reduce;
  f64 rows = rows_of(consumers);
  if (reduces) {
    // A kernel has row reductions or a loop for every element, not both: that one is tiled.
    Visit& kernel = visits_[consumers.owner];
    if (rows == 0 && (recomputed_in_loop || !consumers.agreed() || kernel.has_rows)) return false;
    if (is_nested_work(id, consumers)) return false;
    if (rows > 0 && is_long_in_row(id, rows, consumers)) return false;
    if (rows == 0 && is_repeated_work(id, consumers)) return false;
    // A kernel has one plan of tiles.
    const bool large = consumers.evaluations * reduced_count(id) > kWorthAPlan;
    if (rows == 0 && large && kernel.has_large) return false;
    if (rows > 0 && kernel.has_loops) return false;
    (rows > 0 ? kernel.has_rows : kernel.has_loops) = true;
    kernel.has_large |= rows == 0 && large;
  } else if (is_elementwise(node.op)) {
    bool twice = consumers.one_kernel && consumers.row;
    if ((recomputed_in_loop && rows == 0) || !(consumers.agreed() || twice)) return false;
    // What a reduction is made into is stored before a border is added: its loops keep their sizes.
    const bool padded = consumers.agreed() && !consumers.broadcast_recomputed &&
                        consumers.evaluations > static_cast<f64>(graph_.max_count(id));
    if (padded && rows == 0 && reduces_[id]) return false;
  }
  visit.out = consumers.patterns;
  visit.evaluations = rows > 0 ? rows : consumers.evaluations;
  visit.moves = consumers.moves;
  visit.recomputed_in_loop = recomputed_in_loop && rows == 0;
  visit.once_per_row = rows > 0;
  visit.row = consumers.row || (reduces && rows > 0);
  result_.owner[id] = consumers.owner;
  return !reduces || fits_ranges(id);
}

// Whether a Reshape splits or joins axes, beyond those of one element.
bool Sweeper::changes_axes(LazyId id) const {
  std::vector<UOp> to, from;
  for (UOp size : graph_.shape(id))
    if (!size.is_const(1)) to.push_back(size);
  for (UOp size : graph_.shape(graph_.src(id)))
    if (!size.is_const(1)) from.push_back(size);
  return to != from;
}

// Whether the node permutes a computed value, and is the only one that reads it: several kernels
// will, and find it in the order in which they go over it if it is stored so. A reduction keeps its
// axes, which its plan is made for.
bool Sweeper::is_other_layout(LazyId id) const {
  if (graph_[id].op != Op::Permute) return false;
  bool changed = false;
  for (; graph_[id].op == Op::Permute || graph_[id].op == Op::Reshape; id = graph_.src(id)) {
    changed |= graph_[id].op == Op::Reshape && changes_axes(id);
    const LazyId source = graph_.src(id);
    if (consumer_starts_[source + 1] - consumer_starts_[source] != 1 || graph_[source].forced)
      return false;
  }
  return (is_elementwise(graph_[id].op) || graph_[id].op == Op::Reduce) &&
         !(changed && reduces_[id]);
}

// How the node's sources are indexed, given how the node is.
void Sweeper::pass_on(LazyId id, bool broadcast_recomputed) {
  const LazyNode& node = graph_[id];
  Visit& visit = visits_[id];
  visit.in_evaluations = visit.evaluations;
  visit.recomputed_in_loop |= broadcast_recomputed;
  if (is_movement(node.op)) ++visit.moves;
  visit.in.count = visit.out.count;
  for (u8 way = 0; way < visit.out.count; ++way) {
    visit.in.tuples[way] = pass_way_on(id, visit.out.tuples[way]);
  }
  f64 evaluations = node.op == Op::Reduce ? visit.in_evaluations : visit.evaluations;
  result_.work[result_.owner[id]] += evaluations * work_of(node.op);
}

u32 Sweeper::pass_way_on(LazyId id, u32 tuple) {
  const LazyNode& node = graph_[id];
  Visit& visit = visits_[id];
  if (node.op == Op::Expand) {
    std::span<const UOp> index = graph_.tuples[tuple], from = graph_.shape(graph_.src(id));
    usize skip = index.size() - from.size();
    for (usize i = 0; i < index.size(); ++i) {
      bool repeated = i < skip || (from[i - skip].is_const(1) && !graph_.shape(id)[i].is_const(1));
      visit.recomputed_in_loop |= repeated && has_ranges(index[i]);
    }
  }
  if (is_movement(node.op)) return moves_.through(id, tuple).tuple;
  if (node.op != Op::Reduce) return tuple;
  std::array<UOp, kMaxRank> index;
  std::ranges::copy(graph_.tuples[tuple], index.begin());
  Visit& kernel = visits_[result_.owner[id]];
  for (usize i = 0; i < node.rank; ++i) {
    if (!(graph_.number(id, 0) >> i & 1)) continue;
    UOp size = graph_.shape(graph_.src(id))[i];
    index[i] = arena_.range(kernel.next_range++, AxisType::Reduce, size);
    visit.in_evaluations *= static_cast<f64>(size.vmax());
  }
  return graph_.tuples.intern({index.data(), node.rank});
}

Sweep Sweeper::run() {
  link_consumers();
  find_reductions();
  for (LazyId id = graph_.size(); id-- > 0;) {
    const LazyNode& node = graph_[id];
    ConsumerSummary consumers = ask_consumers(id);
    if (!consumers.any && !node.forced) continue;
    result_.first_use[id] = consumers.first_use;
    bool computes = is_elementwise(node.op) || node.op == Op::Reduce;
    bool recomputed_in_loop =
        consumers.recomputed_in_loop || (node.op == Op::Reduce && consumers.broadcast_recomputed);
    Visit& visit = visits_[id];
    if (node.op == Op::Const) continue;
    if (node.op != Op::Buffer) {
      bool read_together = consumers.agreed() || (consumers.one_kernel && consumers.row);
      if (node.forced || consumers.moves >= kMaxMoves) {
        store(id, Stored::Must);
      } else if (!computes && !read_together && is_other_layout(id)) {
        store(id, Stored::Candidate);
      } else if (!computes && !read_together) {
        visit.mixed = true;
        visit.moves = consumers.moves + 1;
        visit.recomputed_in_loop = recomputed_in_loop || node.op == Op::Expand;
        continue;
      } else if (!stays_in_kernel(id, consumers, recomputed_in_loop)) {
        store(id, Stored::Candidate);
      }
      bool stored = result_.stored[id] != Stored::No;
      pass_on(id, !stored && consumers.broadcast_recomputed && !visit.once_per_row);
      if (!stored) continue;
    }
    for (u32 use = consumers.first_use; use != kNoUse; use = result_.uses[use].next) {
      result_.work[result_.uses[use].owner] += result_.uses[use].reads;  // the loads
    }
  }
  return std::move(result_);
}

}  // namespace

Sweep sweep(LazyGraph& graph, Moves& moves, Arena& arena, const ScheduleOptions& options) {
  return Sweeper(graph, moves, arena, options).run();
}

}  // namespace doorbell::core
