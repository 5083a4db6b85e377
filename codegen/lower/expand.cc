// One pass over the graph in topological order: every op but reductions.
#include "codegen/lower/expand.h"

#include <algorithm>
#include <array>
#include <bit>

#include "base/util/check.h"
#include "codegen/linear/combined_load.h"
#include "codegen/linear/tensor_copy.h"
#include "codegen/lower/expander.h"
#include "codegen/lower/shared_loops.h"
#include "core/eval/eval.h"

namespace doorbell::codegen {

using core::AxisType;
using core::DType;
using core::Op;
using core::Rewriter;
using core::UOp;

namespace {

constexpr i64 kWave = 32;  // of chips that load matrices

}  // namespace

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

UOp expand(Rewriter& rewriter, UOp sink, const Caps& caps) {
  return Expander(rewriter, caps).run(sink);
}

}  // namespace doorbell::codegen
