// One pass over the graph in topological order. A node that varies with unrolled ranges becomes one
// instance for each combination of their values, in mixed radix of the ranges it varies with, so
// the number of new nodes is the number of distinct values and nothing is made twice. Reductions
// over the same loops are expanded together, into one nest of loops with all their registers.
// Long because every op's expansion, short by itself, needs the same table of instances.
#include "codegen/lower/expand.h"

#include <absl/container/inlined_vector.h>

#include <algorithm>
#include <array>
#include <bit>

#include "base/util/check.h"
#include "codegen/linear/combined_load.h"
#include "codegen/linear/tensor_copy.h"
#include "codegen/lower/lanes.h"
#include "codegen/lower/shared_loops.h"
#include "codegen/lower/transpose.h"
#include "core/eval/eval.h"

namespace doorbell::codegen {

using core::Arena;
using core::AxisType;
using core::DType;
using core::Op;
using core::Rewriter;
using core::UOp;
using UOps = absl::InlinedVector<UOp, 8>;

namespace {

constexpr i64 kWave = 32;  // of chips that load matrices

class Expander {
 public:
  Expander(Rewriter& rw, const Caps& caps)
      : rw_(rw), arena_(rw.arena()), lanes_(rw, caps), transposer_(rw, caps, lanes_) {}
  UOp run(UOp sink);

 private:
  struct Instances {
    UOps values;         // one for each combination of the unrolled ranges in `mask`
    u64 mask = 0;        // unrolled ranges the node varies with
    bool index = false;  // index domain: scalar over the Vector range
  };

  void collect_ranges(std::span<const UOp> order);
  i64 count(u64 mask) const;
  // The position among the instances of `to` of combination `n` of `from`; to is a subset of from.
  i64 project(i64 n, u64 from, u64 to) const;
  const Instances& of(UOp u) const { return table_[slots_[u.id()]]; }
  UOp at(UOp u, i64 n, u64 from) const {
    const Instances& x = of(u);
    return x.values[static_cast<usize>(project(n, from, x.mask))];
  }
  UOp vector_range(u64 mask) const;
  UOp value(UOp u, i64 n, u64 from);
  UOp symbolic(UOp u, i64 n, u64 from);
  bool decide_domain(UOp u) const;
  u64 unrolled(u64 mask) const { return mask & unrolled_mask_; }

  Instances expand_node(UOp u);
  std::vector<LaneAccess> accesses(UOp u, u64 mask);
  Instances expand_load(UOp u);
  UOp load_matrix(UOp memory, DType element, UOp index, i64 how, UOp v);
  Instances expand_store(UOp u);
  UOp make_async(UOp store);
  UOp indexed(UOp place, i64 n, u64 from);
  Instances expand_tensor_copy(UOp u);
  Instances expand_end(UOp u);
  Instances expand_order(UOp u);
  // One of the reductions that share a nest of loops.
  struct Accumulation {
    UOp reduce;
    u64 closed, mask;         // ranges that it closes; unrolled ranges of its value
    std::vector<UOps> parts;  // for each instance what one iteration adds to it
    UOps registers;           // for each instance
  };
  Accumulation begin_reduce(UOp u);
  void accumulate(std::span<const UOp> around, std::span<const UOp> loops, Accumulation* a,
                  UOps* updates);
  void expand_reduces(std::span<const UOp> reduces);
  void add(UOp u, Instances x) {
    slots_[u.id()] = static_cast<u32>(table_.size());
    table_.push_back(std::move(x));
  }
  Instances expand_elementwise(UOp u);
  Instances expand_wmma(UOp u);
  UOps closed_values(UOp reduce, i64 n, u64 mask, u64 closed);
  UOp chain_product(UOp product, UOp start, bool ends);
  UOp combine(UOp reduce, UOp start, const UOps& values, bool ends);

  Rewriter& rw_;
  Arena& arena_;
  Lanes lanes_;
  Transposer transposer_;
  u64 unrolled_mask_ = 0, vector_mask_ = 0;
  i64 sizes_[64] = {};
  UOp ranges_[64];
  std::vector<u32> slots_;        // by node id: index into table_
  std::vector<Instances> table_;  // in topological order
  i64 next_register_ = 0;
};

void Expander::collect_ranges(std::span<const UOp> order) {
  u32 max_id = 0;
  for (UOp u : order) {
    max_id = std::max(max_id, u.id());
    if (!u.is(Op::Range)) continue;
    i64 id = u.range_id();
    ranges_[id] = u;
    AxisType t = u.axis_type();
    if (t == AxisType::Upcast || t == AxisType::Unroll) unrolled_mask_ |= u64{1} << id;
    if (t == AxisType::Vector) vector_mask_ |= u64{1} << id;
    if (t == AxisType::Upcast || t == AxisType::Unroll || t == AxisType::Vector) {
      sizes_[id] = u.range_size();
    }
  }
  slots_.resize(max_id + 1);
}

i64 Expander::count(u64 mask) const {
  i64 n = 1;
  for (; mask; mask &= mask - 1) n *= sizes_[std::countr_zero(mask)];
  return n;
}

i64 Expander::project(i64 n, u64 from, u64 to) const {
  if (from == to) return n;
  // The lowest range id is the most significant digit.
  i64 result = 0, stride = 1;
  while (from) {
    int id = 63 - std::countl_zero(from);
    from &= ~(u64{1} << id);
    i64 digit = n % sizes_[id];
    n /= sizes_[id];
    if (to >> id & 1) {
      result += digit * stride;
      stride *= sizes_[id];
    }
  }
  return result;
}

UOp Expander::vector_range(u64 mask) const {
  mask &= vector_mask_;
  if (!mask) return UOp();
  CHECK((mask & (mask - 1)) == 0, "a node varies with two Vector ranges");
  return ranges_[std::countr_zero(mask)];
}

// An instance as a value: index-domain expressions become vectors here.
UOp Expander::value(UOp u, i64 n, u64 from) {
  UOp v = at(u, n, from);
  if (!of(u).index) return v;
  UOp range = vector_range(v.range_mask());
  return range ? lanes_.vectorize(v, range) : v;
}

// An instance as a scalar expression of the Vector range, for addresses and gates. A value that is
// a vector already (a loaded index) is referred to lane by lane.
UOp Expander::symbolic(UOp u, i64 n, u64 from) {
  UOp v = at(u, n, from);
  if (of(u).index || v.dtype().lanes == 1) return v;
  return lanes_.lane_of(v, vector_range(u.range_mask()));
}

// Index arithmetic, and the Bool arithmetic of its comparisons.
bool Expander::decide_domain(UOp u) const {
  if (u.dtype().is_index()) return true;
  if (!u.dtype().is_bool()) return false;
  if (u.is_const()) return true;
  if (!core::is_elementwise(u.op()) || u.is(Op::Cast) || u.is(Op::Bitcast)) return false;
  for (UOp s : u.srcs()) {
    if (!of(s).index) return false;
  }
  return true;
}

Expander::Instances Expander::expand_elementwise(UOp u) {
  Instances x{{}, unrolled(u.range_mask()), decide_domain(u)};
  i64 n = count(x.mask);
  x.values.reserve(static_cast<usize>(n));
  UOps srcs;
  for (i64 i = 0; i < n; ++i) {
    srcs.clear();
    for (UOp s : u.srcs()) srcs.push_back(x.index ? symbolic(s, i, x.mask) : value(s, i, x.mask));
    x.values.push_back(x.index ? rw_.make(u.op(), u.dtype(), srcs, u.args())
                               : lanes_.elementwise(u.op(), u.dtype(), srcs));
  }
  return x;
}

// Makes it one of vectors, or of places in local memory, with an accumulator of zero.
Expander::Instances Expander::expand_wmma(UOp u) {
  const TensorCore& core = tensor_core(u.arg(0));
  const DType made = u.dtype().with_lanes(static_cast<u16>(core.result_elements));
  UOp zero =
      u.dtype().is_float() ? arena_.const_float(u.dtype(), 0) : arena_.const_int(u.dtype(), 0);
  zero = lanes_.splat(zero, made.lanes);
  Instances x{{}, unrolled(u.range_mask())};
  absl::InlinedVector<i64, 6> args{u.arg(0)};
  if (core.reads_local) {
    const UOp a = u.src(0), b = u.src(1);
    args.insert(args.end(), {a.arg(3), a.arg(1), a.arg(2), b.arg(1), b.arg(2)});
  }
  for (i64 i = 0, n = count(x.mask); i < n; ++i) {
    UOp operands[2];
    for (usize s = 0; s < 2; ++s) {
      UOp v = value(u.src(s), i, x.mask);
      operands[s] = core.reads_local ? v : lanes_.splat(v, static_cast<u16>(core.operand_elements));
    }
    const UOp srcs[] = {operands[0], operands[1], zero};
    x.values.push_back(arena_.make(Op::Wmma, made, srcs, args));
  }
  return x;
}

// In parts of four words. Item 8 m + n names unit n of word m. That begins with the word of item
// 4 n; or, transposed, with element n % 2 of the word of item n / 2. Of bytes, transposed, words
// 2 m and 2 m + 1 have pairs: of the two first and the two last elements of words m and m + 2.
UOp Expander::load_matrix(UOp memory, DType element, UOp index, i64 how, UOp v) {
  const bool transposed = how & kMatrixTransposed, in_pairs = transposed && element.bytes() == 1;
  const bool swapped = how & kMatrixSwapped && !in_pairs;
  const i64 word = 4 / element.bytes();  // elements
  UOp item = rw_.make(Op::Special, core::dtypes::index, {},
                      {static_cast<i64>(core::SpecialKind::LocalId), 0, kWave});
  UOp number = rw_.floordiv(item, 8), unit = rw_.floormod(item, 8);
  const UOp high = swapped ? rw_.floordiv(number, 2) : UOp();
  if (swapped) number = rw_.add(rw_.mul(rw_.floormod(number, 2), 2), high);
  UOp from_item = transposed ? rw_.floordiv(unit, 2) : rw_.mul(unit, 4);
  UOps lanes;
  for (i64 first = 0; first < v.range_size() / word; first += 4) {
    UOp at = rw_.add(rw_.mul(number, transposed ? 2 : word), first * word);
    if (transposed) at = rw_.add(at, rw_.floormod(unit, 2));
    const std::pair<UOp, UOp> named[] = {{v, at}, {item, from_item}};
    UOp place = arena_.make(Op::Index, memory.dtype(), {memory, rw_.substitute(index, named)});
    const DType four = element.with_lanes(static_cast<u16>(4 * word));
    UOp loaded = arena_.make(Op::Load, four, {place}, {how & ~kMatrixSwapped});
    for (i64 n = 0; n < 4 * word; ++n) {
      const i64 m = n / word, from = swapped ? m / 2 + m % 2 * 2 : m;
      const i64 lane = in_pairs ? m % 2 * 8 + n % 4 * 2 + m / 2 : from * word + n % word;
      lanes.push_back(lanes_.lane(loaded, static_cast<u16>(lane)));
    }
  }
  return lanes_.vec(lanes);
}

// The instances of a Load or Store.
std::vector<LaneAccess> Expander::accesses(UOp u, u64 mask) {
  UOp place = u.src(0), gate = place.nsrc() > 2 ? place.src(2) : UOp();
  std::vector<LaneAccess> made;
  for (i64 i = 0, n = count(mask); i < n; ++i) {
    made.push_back({symbolic(place.src(1), i, mask), gate ? symbolic(gate, i, mask) : UOp(),
                    u.is(Op::Store) ? value(u.src(1), i, mask) : UOp()});
  }
  return made;
}

Expander::Instances Expander::expand_load(UOp u) {
  UOp place = u.src(0);
  Instances x{{}, unrolled(u.range_mask())};
  UOp memory = of(place.src(0)).values[0];
  const std::vector<LaneAccess> all = accesses(u, x.mask);
  for (i64 i = 0, n = count(x.mask); i < n; ++i) {
    const auto& [index, on, none] = all[static_cast<usize>(i)];
    UOp alt = u.nsrc() > 1 ? at(u.src(1), i, x.mask) : UOp();
    UOp v = vector_range(index.range_mask() | (on ? on.range_mask() : 0));
    const auto rest = std::span(all).subspan(static_cast<usize>(i));
    if (const usize run = transposer_.run_of(u.dtype(), rest, v)) {
      const std::vector<UOp> made = transposer_.load(memory, u.dtype(), rest.first(run), v);
      x.values.insert(x.values.end(), made.begin(), made.end());
      i += static_cast<i64>(run) - 1;
      continue;
    }
    if (is_local_matrix(u)) {
      x.values.push_back(arena_.make(Op::Index, memory.dtype(), {memory, index}));
      continue;
    }
    if (is_combined_load(u)) {
      UOp element = arena_.make(Op::Index, memory.dtype(), {memory, index});
      x.values.push_back(arena_.make(Op::Load, u.dtype(), std::array{element}, u.args()));
      continue;
    }
    if (is_matrix_load(u)) {
      x.values.push_back(load_matrix(memory, u.dtype(), index, u.arg(0), v));
      continue;
    }
    x.values.push_back(lanes_.load(memory, u.dtype(), index, on, alt, v, is_transposing_load(u)));
  }
  return x;
}

// The Index of an instance.
UOp Expander::indexed(UOp place, i64 n, u64 from) {
  absl::InlinedVector<UOp, 3> srcs{of(place.src(0)).values[0], symbolic(place.src(1), n, from)};
  if (place.nsrc() > 2) srcs.push_back(symbolic(place.src(2), n, from));
  return arena_.make(Op::Index, srcs[0].dtype(), srcs);
}

// A copy of a box, or the wait for its phase.
Expander::Instances Expander::expand_tensor_copy(UOp u) {
  Instances x{{}, unrolled(u.range_mask())};
  for (i64 i = 0, n = count(x.mask); i < n; ++i) {
    UOps srcs;
    for (UOp s : u.srcs())
      srcs.push_back(s.is(Op::Index) ? indexed(s, i, x.mask) : symbolic(s, i, x.mask));
    x.values.push_back(arena_.make(Op::Store, u.dtype(), srcs, u.args()));
  }
  return x;
}

Expander::Instances Expander::expand_store(UOp u) {
  if (is_tensor_copy(u) || is_phase_wait(u)) return expand_tensor_copy(u);
  Instances x{{}, unrolled(u.range_mask())};
  UOp memory = of(u.src(0).src(0)).values[0];
  UOp v = vector_range(u.range_mask());
  const std::vector<LaneAccess> all = accesses(u, x.mask);
  for (usize i = 0; i < all.size();) {
    const auto rest = std::span(all).subspan(i);
    const usize run = transposer_.run_of(memory.dtype().element(), rest, v);
    UOp made = run ? transposer_.store(memory, rest.first(run), v)
                   : lanes_.store(memory, all[i].index, all[i].gate, all[i].value, v);
    if (is_async_store(u)) made = make_async(made);
    i += std::max<usize>(run, 1);
    x.values.resize(i, made);
  }
  return x;
}

// Where it is one copy of the right size; else it is done at once.
UOp Expander::make_async(UOp store) {
  const bool is_copy = store.is(Op::Store) && store.src(1).is(Op::Load) &&
                       store.src(1).dtype().bytes() == kAsyncBytes;
  return is_copy ? arena_.make(Op::Store, store.dtype(), {store.src(0), store.src(1)}, {kAsync})
                 : store;
}

Expander::Instances Expander::expand_end(UOp u) {
  const UOps& effects = of(u.src(0)).values;
  UOp effect =
      effects.size() == 1 ? effects[0] : arena_.make(Op::Group, core::dtypes::void_, effects);
  UOps srcs{effect};
  for (usize i = 1; i < u.nsrc(); ++i) {
    UOp r = u.src(i);
    if (!((unrolled_mask_ | vector_mask_) >> r.range_id() & 1)) srcs.push_back(r);
  }
  if (srcs.size() == 1) return {{effect}};
  return {{arena_.make(Op::End, core::dtypes::void_, srcs)}};
}

// After, Group, Sink, and memory: one instance, over all instances of the sources.
Expander::Instances Expander::expand_order(UOp u) {
  if (u.nsrc() == 0) return {{u}};
  absl::InlinedVector<UOp, 16> srcs;
  for (UOp s : u.srcs()) {
    for (UOp v : of(s).values) srcs.push_back(v);
  }
  return {{arena_.make(u.op(), u.dtype(), srcs, u.args())}};
}

// The contribution of one iteration of the reduced loops: all unrolled values of the body.
UOps Expander::closed_values(UOp reduce, i64 n, u64 mask, u64 closed) {
  u64 both = mask | closed;
  UOp body = reduce.src(0);
  u64 body_mask = of(body).mask;
  UOps values;
  // Combination n of `mask` with each combination of `closed`: rebuild the joint number.
  for (i64 c = 0, end = count(closed); c < end; ++c) {
    i64 joint = 0, stride = 1, rest_n = n, rest_c = c;
    for (u64 m = both; m;) {
      int id = 63 - std::countl_zero(m);
      m &= ~(u64{1} << id);
      i64& rest = closed >> id & 1 ? rest_c : rest_n;
      joint += rest % sizes_[id] * stride;
      rest /= sizes_[id];
      stride *= sizes_[id];
    }
    values.push_back(value(body, project(joint, both, both & body_mask), body_mask));
  }
  return values;
}

// A product that adds to `start`, which may be null. `ends`: it ends a batch, where there are any.
UOp Expander::chain_product(UOp product, UOp start, bool ends) {
  const UOp sum = start ? start : product.src(2);
  absl::InlinedVector<i64, 6> args(product.args().begin(), product.args().end());
  if (reads_local(product) && !ends) args[1] = kSameBatch;
  const UOp srcs[] = {product.src(0), product.src(1), sum};
  return arena_.make(Op::Wmma, product.dtype(), srcs, args);
}

// start op v0 op v1 ...: one after the other, so that products fuse into multiply-adds. `ends`: the
// last product ends a batch.
UOp Expander::combine(UOp reduce, UOp start, const UOps& values, bool ends) {
  for (usize i = 0; i < values.size(); ++i) {
    UOp v = values[i];
    const bool short_sums = v.is(Op::Wmma) && tensor_core(v.arg(0)).short_sums;
    if (v.is(Op::Wmma) && !short_sums) {
      start = chain_product(v, start, ends && i + 1 == values.size());
      continue;
    }
    UOp pair[2] = {start, v};
    start = start ? lanes_.elementwise(reduce.reduce_op(), reduce.dtype(), pair) : v;
  }
  return start;
}

Expander::Accumulation Expander::begin_reduce(UOp u) {
  Accumulation a{u, 0, unrolled(u.range_mask()), {}, {}};
  for (UOp r : u.srcs().subspan(1)) a.closed |= u64{1} << r.range_id();
  for (i64 i = 0, n = count(a.mask); i < n; ++i)
    a.parts.push_back(closed_values(u, i, a.mask, unrolled(a.closed)));
  // A value that does not vary with the reduced Vector range still counts once for each lane.
  if (!(a.closed & vector_mask_)) return a;
  const u16 width = static_cast<u16>(vector_range(a.closed).range_size());
  for (UOps& part : a.parts)
    for (UOp& v : part) v = lanes_.splat(v, width);
  return a;
}

// Registers: set before the loops, once in each iteration of the loops around them.
void Expander::accumulate(std::span<const UOp> around, std::span<const UOp> loops, Accumulation* a,
                          UOps* updates) {
  const UOp u = a->reduce;
  for (const UOps& values : a->parts) {
    u16 lanes = 1;
    for (UOp v : values) lanes = std::max(lanes, v.dtype().lanes);
    const DType t = u.dtype().with_lanes(lanes);
    UOps here{arena_.make(Op::DefineReg, t, {}, {next_register_++})};
    here.insert(here.end(), around.begin(), around.end());
    UOp before = here.size() == 1 ? here[0] : arena_.make(Op::After, t, here);
    const core::ScalarValue identity = core::reduce_identity(u.reduce_op(), u.dtype());
    UOp start = lanes_.splat(rw_.constant(u.dtype(), identity), lanes);
    UOps inside{before, arena_.make(Op::Store, core::dtypes::void_, {before, start})};
    inside.insert(inside.end(), loops.begin(), loops.end());
    UOp held = arena_.make(Op::After, t, inside), old = arena_.make(Op::Load, t, {held});
    UOp sum = combine(u, old, values, &values == &a->parts.back());
    updates->push_back(arena_.make(Op::Store, core::dtypes::void_, {held, sum}));
    a->registers.push_back(before);
  }
}

// Reductions over the same loops, none of which needs the result of another.
void Expander::expand_reduces(std::span<const UOp> reduces) {
  const std::vector<UOp> loops = loops_of(reduces[0], unrolled_mask_ | vector_mask_);
  std::vector<Accumulation> all;
  for (UOp u : reduces) all.push_back(begin_reduce(u));
  UOp end;
  if (u64 outside = 0; !loops.empty()) {
    UOps around, updates;
    for (UOp u : reduces) outside |= u.range_mask() & ~(unrolled_mask_ | vector_mask_);
    for (; outside; outside &= outside - 1) around.push_back(ranges_[std::countr_zero(outside)]);
    for (Accumulation& a : all) accumulate(around, loops, &a, &updates);
    UOps srcs{updates[0]};
    if (updates.size() > 1) srcs[0] = arena_.make(Op::Group, core::dtypes::void_, updates);
    srcs.insert(srcs.end(), loops.begin(), loops.end());
    end = arena_.make(Op::End, core::dtypes::void_, srcs);
  }
  for (const Accumulation& a : all) {
    absl::InlinedVector<i64, 1> how;
    if (reads_local(a.parts[0][0])) how.push_back(kFinished);
    Instances x{{}, a.mask};
    for (usize i = 0; i < a.parts.size(); ++i) {
      UOp result = end ? UOp() : combine(a.reduce, UOp(), a.parts[i], true);
      if (end) {
        const UOp reg = a.registers[i], done = arena_.make(Op::After, reg.dtype(), {reg, end});
        result = arena_.make(Op::Load, reg.dtype(), std::array{done}, how);
      }
      if (a.closed & vector_mask_) result = lanes_.horizontal(a.reduce.reduce_op(), result);
      x.values.push_back(result);
    }
    add(a.reduce, std::move(x));
  }
}

Expander::Instances Expander::expand_node(UOp u) {
  switch (u.op()) {
    case Op::Range: {
      if (!(unrolled_mask_ >> u.range_id() & 1)) return {{u}, 0, true};
      Instances x{{}, u64{1} << u.range_id(), true};
      for (i64 i = 0; i < u.range_size(); ++i) x.values.push_back(rw_.index(i));
      return x;
    }
    case Op::Const:
    case Op::Variable:
    case Op::Special: return {{u}, 0, u.dtype().is_index() || u.dtype().is_bool()};
    case Op::Index: return {};  // handled by its Load or Store
    case Op::Load: return expand_load(u);
    case Op::Store: return expand_store(u);
    case Op::End: return expand_end(u);
    case Op::Wmma: return expand_wmma(u);
    case Op::After:
    case Op::Group:
    case Op::Sink:
    case Op::Param:
    case Op::DefinePrivate:
    case Op::DefineLocal:
    case Op::Barrier: return expand_order(u);
    default:
      CHECK(core::is_elementwise(u.op()), "{} in a kernel before expansion", core::name_of(u.op()));
      return expand_elementwise(u);
  }
}

UOp Expander::run(UOp sink) {
  std::vector<UOp> order = core::topological_order(arena_, {&sink, 1});
  collect_ranges(order);
  const SharedLoops shared(order, unrolled_mask_ | vector_mask_);
  order = shared.put_together(std::move(order));
  table_.reserve(order.size());
  for (usize i = 0; i < order.size();) {
    const UOp u = order[i];
    const usize together = std::max<usize>(1, shared.group_of(u).size());
    if (u.is(Op::Reduce))
      expand_reduces({&order[i], together});
    else
      add(u, expand_node(u));
    i += together;
  }
  return of(sink).values[0];
}

}  // namespace

UOp expand(Rewriter& rewriter, UOp sink, const Caps& caps) {
  return Expander(rewriter, caps).run(sink);
}

}  // namespace doorbell::codegen
