// A contraction out[.., i, j] = sum over k of A[.., i, k] * B[.., k, j], blocked for the caches.
// The classic nest of Goto and van de Geijn ("Anatomy of High-Performance Matrix Multiplication",
// 2008), written as a graph: the meaning of Tile on a reduced axis and Stage on operands (opt.h).
//
//   for outer loops and blocks of i (MT) and j (NT):
//     acc[MT * NT] = 0
//     for blocks of k (KC):
//       a_tile[MT * KC]  = A                                                           (L2)
//       for panels of j (lanes):
//         b_tile[KC * lanes] = B                                                       (L1)
//         for register tiles of i (upcast):
//           registers = sum over KC of a_tile * b_tile;  acc += registers
//     out = epilogue(acc)
//
// With a single block of k the epilogue follows each register tile and there is no acc. An operand
// without Stage is read where it lies: where A has few rows, B streams through a few rows of it at
// a time (KC = Unroll = 8), and acc is small enough to be added to as often.
//
// Sizes need not be multiples of their blocks: the last blocks run past the axis. There staged
// tiles hold zeros, so that the innermost loop has no masks, and accesses to arguments are gated.
//
// What is staged is not the operand as it lies in memory but the largest expression that only its
// axes vary: a conversion or a scale is computed once for each element of a tile.
#include <algorithm>

#include "base/util/check.h"
#include "codegen/opt/apply.h"

namespace doorbell::codegen::detail {

using core::Arena;
using core::AxisType;
using core::DType;
using core::Op;
using core::Rewriter;
using core::UOp;

namespace {

constexpr i64 kLineBytes = 64;
constexpr i64 kHeavyEpilogue = 8;  // nodes that would be repeated for each register

// The factor of the product that varies with i and k, or with j and k.
struct Operand {
  UOp value;  // what is staged; a Load
  bool staged = false;
  bool along_k = false;  // memory is contiguous along k
  i64 pitch = 0;         // of rows in the tile
};

// A register tile, and a register in it.
struct Registers {
  UOp ti, ui, tj, vj;
};

struct Tiled {
  Tiled(Rewriter& r, const KernelInfo& kernel, UOp root, const Plan& opts)
      : rw(r), info(kernel), sink(root), plan(opts), range(r) {}

  Rewriter& rw;
  const KernelInfo& info;
  UOp sink;
  const Plan& plan;
  RangeMaker range;

  UOp reduce;
  i64 i = -1, j = -1, k = -1;  // range ids of the three axes; i: -1 if A is a single row
  i64 mt = 1, nt = 1, kc = 1;  // block sizes
  i64 upcast = 1, lanes = 1, unroll = 1, threads = 1;
  std::vector<RangeImage> outer;  // by range id: the part outside the blocks
  RangeList outer_loops;
  UOp ko;        // the loop over blocks of k
  Operand a, b;  // a has no value without i
  i64 next_private = 0;

  void find_axes();
  void make_outer();
  Operand find_operand(i64 axis, i64 other) const;
  bool light_epilogue() const;
  UOp define(DType t, i64 count);
  UOp after(UOp memory, std::initializer_list<UOp> effects, bool outer_too);
  UOp mul_add(UOp x, i64 y, UOp z) { return rw.add(rw.mul(x, rw.index(y)), z); }
  UOp place(UOp memory, UOp at) { return rw.make(Op::Index, memory.dtype(), {memory, at}); }
  RangeImage image(i64 axis, UOp block_number, i64 block, UOp inside);
  Rebuilder mapping(UOp in_i, UOp in_j, UOp in_k);
  UOp fill(const Operand& from, Rebuilder& rebuild, UOp in_k, UOp to);
  UOp stage_rows(UOp tile);
  UOp stage_panel(const Operand& from, UOp tile, UOp number, i64 width);
  UOp stage_a();
  UOp stage_b(UOp tj);
  UOp clear(UOp memory, i64 count);
  UOp product(UOp in_i, UOp in_j, UOp in_k, UOp a_element, UOp b_element);
  UOp row(const Registers& r) { return mul_add(r.ti, upcast, r.ui); }
  UOp column(const Registers& r) { return mul_add(r.tj, lanes, r.vj); }
  UOp partial_sums(UOp a_tile, UOp b_tile, const Registers& r);
  UOp sum_at(UOp acc, const Registers& r);
  UOp accumulate(const Registers& r, UOp acc, UOp cleared, UOp sums);
  UOp run();
};

i64 divide_up(i64 n, i64 by) { return (n + by - 1) / by; }

UOp close(Rewriter& rw, UOp effect, std::initializer_list<UOp> values) {
  absl::InlinedVector<UOp, 8> srcs{effect};
  for (UOp value : values)
    for (const Affine::Term& t : to_affine(value).ranges) srcs.push_back(t.value);
  return srcs.size() == 1 ? effect : rw.make(Op::End, core::dtypes::void_, srcs);
}

void Tiled::find_axes() {
  reduce = info.main_reduce()->reduce;
  for (const Opt& o : plan) {
    bool reduced = o.op != OptOp::Stage && info.ranges[static_cast<usize>(o.axis)].reduce;
    if (o.op == OptOp::Tile && reduced) k = o.axis, kc = o.amount;
    if (o.op == OptOp::Vector) j = o.axis, lanes = o.amount;
    if (o.op == OptOp::Upcast) i = o.axis, upcast = o.amount;
    if (o.op == OptOp::Unroll) unroll = o.amount;
    if (o.op == OptOp::Thread) threads *= o.amount;
  }
  CHECK(j >= 0 && k >= 0, "a tiled reduction needs VECTOR and TILE axes");
  CHECK(reduce.reduce_op() == Op::Add, "tiled reduction of {}", core::name_of(reduce.reduce_op()));
  mt = i < 0 ? 1 : std::max(amount_of(plan, OptOp::Tile, i), upcast);
  nt = std::max(amount_of(plan, OptOp::Tile, j), lanes);
  CHECK(mt % upcast == 0 && nt % lanes == 0, "tile {} x {} of {} x {}", mt, nt, upcast, lanes);
  CHECK(kc % unroll == 0, "tile {} of {}", kc, unroll);
}

void Tiled::make_outer() {
  outer.resize(info.ranges.size());
  i64 inner_parts = threads;  // of this axis and those that follow: ThreadId counts the last first
  for (usize id = 0; id < info.ranges.size(); ++id) {
    const RangeInfo& r = info.ranges[id];
    if (!r.range || r.reduce) continue;
    i64 axis = static_cast<i64>(id), block = axis == i ? mt : axis == j ? nt : 1;
    i64 parts = amount_of(plan, OptOp::Thread, axis);
    if (parts > 1) {
      UOp part = thread_part(rw, threads);
      if (inner_parts < threads) part = rw.floormod(part, inner_parts);
      inner_parts /= parts;
      if (inner_parts > 1) part = rw.floordiv(part, inner_parts);
      append_part(rw, outer[id], part, parts);
    }
    i64 loop = divide_up(r.size, parts * block);
    append_part(rw, outer[id], range(AxisType::Loop, loop), loop);
    for (UOp loop_range : outer[id].ranges) outer_loops.push_back(loop_range);
  }
}

UOp Tiled::define(DType t, i64 count) {
  return rw.make(Op::DefinePrivate, t, {}, {next_private++, count});
}

UOp Tiled::after(UOp memory, std::initializer_list<UOp> effects, bool outer_too) {
  absl::InlinedVector<UOp, 8> srcs{memory};
  if (outer_too) {
    for (UOp loop : outer_loops) srcs.push_back(loop);
  }
  for (UOp e : effects) {
    if (!e.is_const()) srcs.push_back(e);
  }
  return srcs.size() == 1 ? memory : rw.make(Op::After, memory.dtype(), srcs);
}

// An axis inside a block of it, with a gate where the blocks run past its end.
RangeImage Tiled::image(i64 axis, UOp block_number, i64 block, UOp inside) {
  RangeImage made{mul_add(block_number, block, inside), {}, {}};
  for (const Affine::Term& t : to_affine(made.value).ranges) made.ranges.push_back(t.value);
  UOp gate = rw.lt(made.value, info.size(axis));
  if (!gate.is_const(1)) made.gate = gate;
  return made;
}

Rebuilder Tiled::mapping(UOp in_i, UOp in_j, UOp in_k) {
  Rebuilder rebuild(rw);
  for (usize id = 0; id < outer.size(); ++id) {
    i64 axis = static_cast<i64>(id);
    if (axis == k)
      rebuild.set(axis, image(k, ko, kc, in_k));
    else if (axis == i)
      rebuild.set(axis, image(i, outer[id].value, mt, in_i));
    else if (axis == j)
      rebuild.set(axis, image(j, outer[id].value, nt, in_j));
    else if (outer[id].value)
      rebuild.set(axis, image(axis, outer[id].value, 1, rw.index(0)));
  }
  return rebuild;
}

// The largest expression inside the reduction that varies with `axis` and not with `other`, if
// there is one; else the one Load of these axes.
Operand Tiled::find_operand(i64 axis, i64 other) const {
  const u64 own = u64{1} << axis, foreign = other < 0 ? 0 : u64{1} << other;
  std::vector<UOp> open{reduce.src(0)}, seen, found;
  while (!open.empty()) {
    UOp u = open.back();
    open.pop_back();
    if (!(u.range_mask() & own) || std::find(seen.begin(), seen.end(), u) != seen.end()) continue;
    seen.push_back(u);
    if (u.range_mask() & foreign)
      open.insert(open.end(), u.srcs().begin(), u.srcs().end());
    else
      found.push_back(u);
  }
  UOp load;
  for (UOp u : info.order) {
    const u64 both = own | u64{1} << k;
    if (u.is(Op::Load) && (u.range_mask() & (both | foreign)) == both) load = u;
  }
  CHECK(load, "the contraction has no operand of axis {}", axis);
  const bool single = found.size() == 1 && !found[0].dtype().is_bool();
  Operand made{single ? found[0] : load};
  for (const Opt& o : plan)
    made.staged |= o.op == OptOp::Stage && o.axis == load.src(0).src(0).arg(0);
  if (!made.staged) made.value = load;
  const Affine address = to_affine(load.src(0).src(1));
  made.along_k = address.coefficient(axis) != 1 && address.coefficient(k) == 1;
  return made;
}

// Whether the epilogue is so short that it may be repeated for each register.
bool Tiled::light_epilogue() const {
  std::vector<UOp> open{sink}, seen;
  i64 nodes = 0;
  while (!open.empty()) {
    UOp u = open.back();
    open.pop_back();
    if (u == reduce || std::find(seen.begin(), seen.end(), u) != seen.end()) continue;
    seen.push_back(u);
    nodes += core::is_elementwise(u.op()) && !u.dtype().is_index();
    open.insert(open.end(), u.srcs().begin(), u.srcs().end());
  }
  return nodes < kHeavyEpilogue;
}

// Stores an element of the operand at `to`; zero behind the end of k.
UOp Tiled::fill(const Operand& from, Rebuilder& rebuild, UOp in_k, UOp to) {
  UOp value = rebuild(from.value);
  const UOp gate = image(k, ko, kc, in_k).gate;
  if (gate && !from.value.is(Op::Load))
    value = rw.where(gate, value, rw.arena().const_of(value.dtype(), 0));
  return rw.make(Op::Store, core::dtypes::void_, {to, value});
}

// A, row by row: a_tile[row * pitch + k].
UOp Tiled::stage_rows(UOp tile) {
  const i64 width = kLineBytes / a.value.dtype().bytes();
  UOp row = range(AxisType::Loop, mt), vectors = range(AxisType::Loop, divide_up(kc, width));
  UOp in_k = mul_add(vectors, width, range(AxisType::Vector, width));
  Rebuilder rebuild = mapping(row, rw.index(0), in_k);
  UOp store = fill(a, rebuild, in_k, place(tile, mul_add(row, a.pitch, in_k)));
  return close(rw, store, {row, in_k});
}

// As the innermost loop reads it: a_tile[(number * KC + k) * upcast + row] or
// b_tile[k * lanes + column].
UOp Tiled::stage_panel(const Operand& from, UOp tile, UOp number, i64 width) {
  const bool is_a = &from == &a;
  UOp inner, in_k;
  if (from.along_k) {
    inner = range(AxisType::Loop, width);
    const i64 copies = kc % 8 == 0 ? 8 : 1;
    UOp blocks = range(AxisType::Loop, kc / copies);
    in_k = mul_add(blocks, copies, range(AxisType::Upcast, copies));
  } else {
    in_k = range(AxisType::Loop, kc);
    inner = range(AxisType::Vector, width);
  }
  UOp at = mul_add(number, width, inner), zero = rw.index(0);
  Rebuilder rebuild = is_a ? mapping(at, zero, in_k) : mapping(zero, at, in_k);
  UOp row = is_a ? mul_add(number, kc, in_k) : in_k;
  UOp store = fill(from, rebuild, in_k, place(tile, mul_add(row, width, inner)));
  return is_a ? close(rw, store, {number, in_k, inner}) : close(rw, store, {in_k, inner});
}

// The tile of A in blocks of k, filled; null if A is read where it lies.
UOp Tiled::stage_a() {
  if (!a.staged) return UOp();
  const DType t = a.value.dtype();
  const i64 line = kLineBytes / t.bytes();
  // An odd number of cache lines, so that rows fall to different sets.
  if (a.along_k) a.pitch = (divide_up(kc, line) | 1) * line;
  UOp tile = after(define(t, mt * (a.along_k ? a.pitch : kc)), {ko}, true);
  UOp filled = a.along_k ? stage_rows(tile)
                         : stage_panel(a, tile, range(AxisType::Loop, mt / upcast), upcast);
  return after(tile, {filled}, false);
}

UOp Tiled::stage_b(UOp tj) {
  if (!b.staged) return UOp();
  UOp tile = after(define(b.value.dtype(), kc * lanes), {ko, tj}, true);
  UOp filled = stage_panel(b, tile, tj, lanes);
  return after(tile, {filled}, false);
}

// memory[0 .. count) = 0
UOp Tiled::clear(UOp memory, i64 count) {
  i64 width = kLineBytes / memory.dtype().bytes();
  while (count % width) width /= 2;
  UOp vectors = range(AxisType::Loop, count / width);
  UOp at = mul_add(vectors, width, range(AxisType::Vector, width));
  UOp zero = rw.arena().const_of(memory.dtype(), 0);
  UOp store = rw.make(Op::Store, core::dtypes::void_, {place(memory, at), zero});
  return close(rw, store, {at});
}

// The body of the reduction, zero behind the end of k.
UOp Tiled::product(UOp in_i, UOp in_j, UOp in_k, UOp a_element, UOp b_element) {
  Rebuilder rebuild = mapping(in_i, in_j, in_k);
  if (a_element) rebuild.replace(a.value, a_element);
  if (b_element) rebuild.replace(b.value, b_element);
  UOp made = rebuild(reduce.src(0));
  const UOp gate = image(k, ko, kc, in_k).gate;
  if (!gate) return made;
  Rebuilder outside = mapping(in_i, in_j, in_k);
  UOp zero = rw.arena().const_of(reduce.dtype(), 0);
  for (const Operand* o : {&a, &b})
    if (o->value) outside.replace(o->value, rw.arena().const_of(o->value.dtype(), 0));
  UOp beyond = outside(reduce.src(0));
  return beyond == zero ? made : rw.where(gate, made, zero);
}

// The sums of a register tile over a block of k.
UOp Tiled::partial_sums(UOp a_tile, UOp b_tile, const Registers& r) {
  UOp ki = range(AxisType::Reduce, kc / unroll), part = range(AxisType::Unroll, unroll);
  UOp in_k = mul_add(ki, unroll, part), in_i = row(r);
  UOp a_element, b_element;
  if (a_tile) {
    UOp at =
        a.along_k ? mul_add(in_i, a.pitch, in_k) : mul_add(mul_add(r.ti, kc, in_k), upcast, r.ui);
    a_element = rw.make(Op::Load, a_tile.dtype(), {place(a_tile, at)});
  }
  if (b_tile) {
    UOp at = mul_add(in_k, lanes, r.vj);
    b_element = rw.make(Op::Load, b_tile.dtype(), {place(b_tile, at)});
  }
  UOp body = product(in_i, column(r), in_k, a_element, b_element);
  absl::InlinedVector<UOp, 3> srcs{body};
  for (UOp over : {ki, part})
    if (over.is(Op::Range)) srcs.push_back(over);
  if (srcs.size() == 1) return body;
  const i64 args[] = {static_cast<i64>(Op::Add), 0};
  return rw.make(Op::Reduce, reduce.dtype(), srcs, args);
}

UOp Tiled::sum_at(UOp acc, const Registers& r) {
  return place(acc, mul_add(mul_add(r.tj, mt, row(r)), lanes, r.vj));
}

// Adds to `acc`, from which the epilogue reads.
UOp Tiled::accumulate(const Registers& r, UOp acc, UOp cleared, UOp sums) {
  const DType t = reduce.dtype();
  UOp at = sum_at(after(acc, {cleared, ko}, false), r);
  UOp sum = rw.make(Op::Add, t, {rw.make(Op::Load, t, {at}), sums});
  UOp update = rw.make(Op::Store, core::dtypes::void_, {at, sum});
  update = close(rw, close(rw, update, {row(r), column(r)}), {ko});
  Registers result;
  result.ti = range(AxisType::Loop, mt / upcast), result.tj = range(AxisType::Loop, nt / lanes);
  result.ui = range(AxisType::Loop, upcast), result.vj = range(AxisType::Vector, lanes);
  Rebuilder epilogue = mapping(row(result), column(result), rw.index(0));
  UOp done = after(acc, {update}, false);
  epilogue.replace(reduce, rw.make(Op::Load, t, {sum_at(done, result)}));
  return epilogue(sink);
}

UOp Tiled::run() {
  find_axes();
  if (i >= 0) a = find_operand(i, j);
  b = find_operand(j, i);
  make_outer();
  const i64 k_blocks = divide_up(info.size(k), kc);
  const bool direct = k_blocks == 1 && light_epilogue();
  UOp acc, cleared;
  if (!direct) {
    acc = after(define(reduce.dtype(), mt * nt), {}, true);
    cleared = clear(acc, mt * nt);
  }

  // for blocks of k: stage, multiply, accumulate
  ko = range(AxisType::Loop, k_blocks);
  UOp a_tile = stage_a();
  Registers r;
  r.tj = range(AxisType::Loop, nt / lanes);
  UOp b_tile = stage_b(r.tj);
  r.ti = range(AxisType::Loop, mt / upcast);
  r.ui = range(AxisType::Upcast, upcast), r.vj = range(AxisType::Vector, lanes);
  UOp sums = partial_sums(a_tile, b_tile, r);
  if (!direct) return accumulate(r, acc, cleared, sums);
  Rebuilder epilogue = mapping(row(r), column(r), rw.index(0));
  epilogue.replace(reduce, sums);
  return epilogue(sink);
}

}  // namespace

Applied apply_tiled(Rewriter& rewriter, const KernelInfo& info, UOp sink, const Plan& plan) {
  Tiled tiled(rewriter, info, sink, plan);
  UOp result = tiled.run();
  return {result, tiled.threads};
}

}  // namespace doorbell::codegen::detail
