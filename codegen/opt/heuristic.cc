// The greedy walk: vector axis and lanes, then up to two register-tile axes, then unrolling of the
// innermost reduced loop, then threads.
#include "codegen/opt/heuristic.h"

#include <algorithm>
#include <bit>

namespace doorbell::codegen {

namespace {

constexpr i64 kMaxLanes = 64, kMaxUpcast = 16, kMaxUnroll = 9;
constexpr f64 kCyclesWorthThreads = 60e3;
// Length of a part: some milliseconds of estimated cycles. A kernel can be stopped between two
// parts, so long kernels have more parts, even on a single thread.
constexpr f64 kCyclesOfPart = 1e7;

struct Candidate {
  Plan plan;
  f64 cycles;
};

class Chooser {
 public:
  Chooser(const KernelInfo& info, const Caps& caps) : info_(info), caps_(caps) {}
  Plan choose();

 private:
  Candidate evaluate(Plan plan) const {
    f64 cycles = detail::estimate_cycles(info_, caps_, plan);
    return {std::move(plan), cycles};
  }
  // Axes along which an access is contiguous, as Vector opts, the widest lanes first.
  std::vector<Plan> vector_starts() const;
  // Axes of the same size in separate loops over the same rows, such as the sums over a row and the
  // row's output. They get lanes together, because no node varies with two of them.
  std::vector<i64> twins(i64 axis) const;
  Candidate with_upcasts(Candidate start) const;
  Candidate with_unroll(Candidate start) const;
  void add_tile(Candidate& best) const;
  void add_threads(Candidate& best) const;
  // How far an axis may still be split: its size over its lanes, or 1 once it is unrolled.
  i64 left(const Plan& plan, i64 axis) const {
    if (amount_of(plan, OptOp::Upcast, axis) * amount_of(plan, OptOp::Unroll, axis) > 1) return 1;
    i64 lanes = amount_of(plan, OptOp::Vector, axis), n = info_.size(axis);
    return n % lanes == 0 ? n / lanes : 1;
  }

  const KernelInfo& info_;
  const Caps& caps_;
};

std::vector<i64> Chooser::twins(i64 axis) const {
  std::vector<i64> found;
  u64 group = u64{1} << axis;
  auto apart = [&](u64 mask) { return std::popcount(mask) <= 1; };
  for (usize id = 0; id < info_.ranges.size() && info_.reduces.size() > 1; ++id) {
    if (group >> id & 1 || info_.ranges[id].size != info_.size(axis)) continue;
    u64 both = group | u64{1} << id;
    bool fits = info_.ranges[id].range && info_.ranges[id].size > 1;
    bool contiguous = false;
    for (const Access& a : info_.accesses) {
      fits = fits && apart((a.mask | a.gate_mask) & both);
      contiguous |= a.affine.coefficient(static_cast<i64>(id)).value_or(0) == 1;
    }
    for (const Work& w : info_.work) fits = fits && apart(w.mask & both);
    for (const ReduceInfo& r : info_.reduces) fits = fits && apart(r.mask & both);
    if (!fits || !contiguous) continue;
    group = both;
    found.push_back(static_cast<i64>(id));
  }
  return found;
}

std::vector<Plan> Chooser::vector_starts() const {
  std::vector<Plan> starts{Plan{}};
  if (caps_.vector_bytes == 0) return starts;
  const ReduceInfo* main = info_.main_reduce();
  u64 allowed = info_.output_mask | (main ? main->closed : 0);
  // A lane axis must not also be a loop of another reduction's body by itself: any closed range of
  // the main reduction or any output range may be it.
  for (usize id = 0; id < info_.ranges.size(); ++id) {
    const RangeInfo& r = info_.ranges[id];
    if (!(allowed >> id & 1) || r.size < 2) continue;
    bool contiguous = false;
    i64 bytes = 1;
    for (const Access& a : info_.accesses) {
      contiguous |= a.affine.coefficient(static_cast<i64>(id)).value_or(0) == 1;
      bytes = std::max(bytes, a.bytes);
    }
    if (!contiguous) continue;
    i64 widest = std::min<i64>(kMaxLanes, 4 * caps_.vector_bytes / bytes);
    std::vector<i64> lanes = detail::lane_counts(r.size, widest, caps_.masked_access);
    usize keep = std::min<usize>(lanes.size(), 4);
    std::vector<i64> same = twins(static_cast<i64>(id));
    for (usize i = lanes.size() - keep; i < lanes.size(); ++i) {
      starts.push_back({{OptOp::Vector, static_cast<i64>(id), lanes[i]}});
      for (i64 twin : same) starts.back().push_back({OptOp::Vector, twin, lanes[i]});
    }
  }
  return starts;
}

Candidate Chooser::with_upcasts(Candidate start) const {
  const ReduceInfo* main = info_.main_reduce();
  if (!main) return start;  // without a reduction there is nothing to reuse in registers
  // If a row is walked several times, one row at a time stays in the cache.
  if (start.plan.size() > 1) return start;
  for (int step = 0; step < 2; ++step) {
    Candidate best = start;
    for (u64 m = info_.output_mask & main->mask; m; m &= m - 1) {
      i64 axis = std::countr_zero(m);
      for (i64 n : detail::divisors(left(start.plan, axis), kMaxUpcast)) {
        Plan plan = start.plan;
        plan.push_back({OptOp::Upcast, axis, n});
        Candidate c = evaluate(std::move(plan));
        if (c.cycles < best.cycles * 0.97) best = std::move(c);
      }
    }
    if (best.plan.size() == start.plan.size()) break;
    start = std::move(best);
  }
  return start;
}

Candidate Chooser::with_unroll(Candidate start) const {
  const ReduceInfo* main = info_.main_reduce();
  if (!main) return start;
  // The innermost loop of the reduction that is still a loop.
  for (int id = 63; id >= 0; --id) {
    if (!(main->closed >> id & 1) || left(start.plan, id) < 2) continue;
    Candidate best = start;
    std::vector<i64> same = twins(id);
    for (i64 n : detail::divisors(left(start.plan, id), kMaxUnroll)) {
      Plan plan = start.plan;
      plan.push_back({OptOp::Unroll, id, n});
      for (i64 twin : same) {
        bool reduced = info_.ranges[static_cast<usize>(twin)].reduce;
        if (reduced) plan.push_back({OptOp::Unroll, twin, n});
      }
      Candidate c = evaluate(std::move(plan));
      if (c.cycles < best.cycles * 0.98) best = std::move(c);
    }
    return best;
  }
  return start;
}

// Without a reduction: where an access steps along another axis than the lanes' (a transposition),
// that axis is walked in short runs, so that each cache line is used while it is there.
void Chooser::add_tile(Candidate& best) const {
  if (info_.main_reduce()) return;
  for (const Opt& o : best.plan) {
    if (o.op != OptOp::Vector) continue;
    i64 lanes_axis = o.axis;
    for (const Access& a : info_.accesses) {
      if (a.affine.coefficient(lanes_axis).value_or(0) <= 1) continue;
      for (const Affine::Term& t : a.affine.ranges) {
        i64 axis = t.value.range_id(), run = detail::largest_divisor(info_.size(axis), 16, 1);
        if (t.coefficient != 1 || axis == lanes_axis || run < 2) continue;
        best.plan[0].amount = std::min<i64>(o.amount, 16);
        best.plan.push_back({OptOp::Tile, axis, run});
        return;
      }
    }
  }
}

void Chooser::add_threads(Candidate& best) const {
  if (!caps_.host_threads || best.cycles < kCyclesWorthThreads) return;
  if (caps_.threads < 2 && best.cycles < 2 * kCyclesOfPart) return;
  const i64 to_stop = static_cast<i64>(std::min(best.cycles / kCyclesOfPart, 1e5));
  const i64 enough = std::max<i64>(caps_.threads, to_stop);
  i64 axis = -1, loops = 1;
  for (u64 m = info_.output_mask; m; m &= m - 1) {
    i64 id = std::countr_zero(m);
    if (info_.size(id) == 0) continue;
    i64 lanes = amount_of(best.plan, OptOp::Vector, id);
    if (info_.size(id) % lanes != 0) continue;  // a padded axis stays whole
    i64 n = info_.size(id) / lanes / amount_of(best.plan, OptOp::Upcast, id) /
            amount_of(best.plan, OptOp::Tile, id);
    // The outermost axis with enough parts, else the longest.
    if (axis < 0 ? n > 1 : (loops < enough && n > loops)) axis = id, loops = n;
  }
  if (axis < 0) return;
  // A few parts per thread, so that uneven progress is balanced.
  i64 parts = std::max<i64>(4 * caps_.threads, to_stop);
  const i64 most = std::min<i64>(loops, std::max<i64>(64 * caps_.threads, 2 * parts));
  while (parts < most && loops % parts != 0) ++parts;
  if (loops % parts != 0 || parts > most) parts = detail::largest_divisor(loops, most, 1);
  if (parts > 1) best.plan.push_back({OptOp::Thread, axis, parts});
}

Plan Chooser::choose() {
  Candidate best{{}, 1e300};
  for (Plan& start : vector_starts()) {
    Candidate c = with_unroll(with_upcasts(evaluate(std::move(start))));
    if (c.cycles < best.cycles) best = std::move(c);
  }
  add_tile(best);
  add_threads(best);
  return best.plan;
}

}  // namespace

Plan choose_plan(const KernelInfo& info, const Caps& caps) {
  Plan tiled = detail::tile_plan(info, caps);
  return tiled.empty() ? Chooser(info, caps).choose() : tiled;
}

}  // namespace doorbell::codegen
