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
// Sizes need not be multiples of their blocks. Along k the loops of the last block end with the
// axis where nothing needs them to be of constant size (Tiled::depth). Otherwise blocks run past
// the axis: staged tiles hold zeros there, so that the innermost loop has no masks, and accesses to
// arguments are gated. Rows of A past the end are copies of the last one; nothing reads their sums.
//
// Each of i, j and k may be several axes of the kernel that are walked as one (contraction.h).
// Where windows slide over A, as over the images of convolutions, its tile is an image
// (window_tile.h).
//
// What is staged is not the operand as it lies in memory but the largest expression that only its
// axes vary: a conversion or a scale is computed once for each element of a tile.
//
// Where an instruction sums products of the parts of words (linear/dot.h), both operands are staged
// as they are before their conversions; a word is of neighbours along k. Bytes of A are unsigned
// there: signed ones are raised by 128, and 128 times the sum of each column of B is subtracted.
#include <algorithm>

#include "base/util/check.h"
#include "codegen/opt/tile_nest.h"

namespace doorbell::codegen::detail {

using core::AxisType;
using core::DType;
using core::Op;
using core::Rewriter;
using core::UOp;

namespace {

constexpr i64 kMostUnrolled = 8;
constexpr i64 kMostTaps = 9, kFewSums = 128;  // unrolled, where a register tile is of few elements
constexpr i64 kHeavyEpilogue = 8;             // nodes that would be repeated for each register

}  // namespace

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
    if (o.op == OptOp::Tile && reduced) k = joined_axis(info, plan, o.axis), kc = o.amount;
    if (o.op == OptOp::Vector) j = joined_axis(info, plan, o.axis), lanes = o.amount;
    if (o.op == OptOp::Upcast) i = joined_axis(info, plan, o.axis), upcast = o.amount;
    if (o.op == OptOp::Unroll) unroll = o.amount;
    if (o.op == OptOp::Thread) threads *= o.amount;
    if (o.op == OptOp::Stage) parts = o.amount;
  }
  CHECK(j.exists() && k.exists(), "a tiled reduction needs VECTOR and TILE axes");
  CHECK(reduce.reduce_op() == Op::Add, "tiled reduction of {}", core::name_of(reduce.reduce_op()));
  mt = i.exists() ? std::max(amount_of(plan, OptOp::Tile, i.id()), upcast) : 1;
  nt = std::max(amount_of(plan, OptOp::Tile, j.id()), lanes);
  CHECK(mt % upcast == 0 && nt % lanes == 0, "tile {} x {} of {} x {}", mt, nt, upcast, lanes);
  kc = divide_up(kc, parts) * parts;
  CHECK(kc % unroll == 0, "tile {} of {}", kc, unroll);
}

void Tiled::make_outer() {
  outer.resize(info.ranges.size());
  i64 inner_parts = threads;  // of this axis and those that follow: ThreadId counts the last first
  for (usize id = 0; id < info.ranges.size(); ++id) {
    const RangeInfo& r = info.ranges[id];
    i64 axis = static_cast<i64>(id), block = 1, size = r.size;
    if (!r.range || r.reduce) continue;
    if (axis == i.id()) {
      block = mt, size = i.size;
    } else if (axis == j.id()) {
      block = nt, size = j.size;
    } else if ((i.mask | j.mask) >> id & 1) {
      continue;
    }
    i64 parts = amount_of(plan, OptOp::Thread, axis);
    if (parts > 1) {
      UOp part = thread_part(rw, threads);
      if (inner_parts < threads) part = rw.floormod(part, inner_parts);
      inner_parts /= parts;
      if (inner_parts > 1) part = rw.floordiv(part, inner_parts);
      append_part(rw, outer[id], part, parts);
    }
    i64 loop = divide_up(size, parts * block);
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

// How many tiles of `size`, of `in_block` in a block, begin before the end of the axis.
UOp Tiled::blocks_of(const JoinedAxis& axis, i64 in_block, i64 size) {
  const i64 all = divide_up(axis.size, size);
  if (all % in_block == 0) return rw.index(in_block);
  UOp before = rw.mul(outer[static_cast<usize>(axis.id())].value, in_block);
  return count_to(rw.sub(rw.index(all), before), in_block);
}

// At most `most` of what is left. What is at most one is one, so that it needs no loop; where it is
// none, gates leave it out.
UOp Tiled::count_to(UOp left, i64 most) {
  UOp count = rw.min(left, rw.index(most));
  return count.vmax() <= 1 ? rw.index(1) : count;
}

UOp Tiled::row_tiles() { return i.exists() ? blocks_of(i, mt / upcast, upcast) : rw.index(1); }

// An axis inside a block of it, with a gate where the blocks run past its end.
RangeImage Tiled::image(i64 size, UOp block_number, i64 block, UOp inside) {
  RangeImage made{mul_add(block_number, block, inside), {}, {}};
  for (const Affine::Term& t : to_affine(made.value).ranges) made.ranges.push_back(t.value);
  UOp gate = rw.lt(made.value, size);
  if (!gate.is_const(1)) made.gate = gate;
  return made;
}

// The numbers of the axes that a joined one is of.
std::vector<UOp> Tiled::numbers(const JoinedAxis& axis, UOp all) {
  std::vector<UOp> made(axis.ids.size());
  for (usize n = axis.ids.size(); n-- > 0;) {
    const i64 size = info.size(axis.ids[n]);
    made[n] = n == 0 ? all : rw.floormod(all, size);
    all = rw.floordiv(all, size);
  }
  return made;
}

// A place along k in a block of it.
RangeImage Tiled::depth_image(UOp in_k) {
  RangeImage made = image(k.size, ko, kc, in_k);
  if (depth) made.gate = UOp();
  return made;
}

RangeImage Tiled::row_image(UOp in_i) {
  return image(i.size, outer[static_cast<usize>(i.id())].value, mt, in_i);
}

void Tiled::set(Rebuilder& rebuild, const JoinedAxis& axis, RangeImage one) {
  const std::vector<UOp> of = numbers(axis, one.value);
  for (usize n = of.size(); n-- > 0; one.ranges.clear()) {  // the last closes the ranges
    one.value = of[n];
    rebuild.set(axis.ids[n], one);
  }
}

Rebuilder Tiled::mapping(UOp in_i, UOp in_j, UOp in_k) {
  Rebuilder rebuild(rw);
  set(rebuild, k, depth_image(in_k));
  if (i.exists()) set(rebuild, i, row_image(in_i));
  set(rebuild, j, image(j.size, outer[static_cast<usize>(j.id())].value, nt, in_j));
  for (usize id = 0; id < outer.size(); ++id) {
    if ((i.mask | j.mask | k.mask) >> id & 1 || !outer[id].value) continue;
    rebuild.set(static_cast<i64>(id), image(info.ranges[id].size, outer[id].value, 1, rw.index(0)));
  }
  return rebuild;
}

// The largest expression inside the reduction that varies with `axis` and not with `other`, if
// there is one; else the one Load of these axes.
Operand Tiled::find_operand(const JoinedAxis& axis, const JoinedAxis& other) const {
  const u64 own = axis.mask, foreign = other.mask;
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
    const u64 both = own | k.mask;
    if (u.is(Op::Load) && (u.range_mask() & (both | foreign)) == both) load = u;
  }
  CHECK(load, "the contraction has no operand of axis {}", axis.id());
  const bool single = found.size() == 1 && !found[0].dtype().is_bool();
  Operand made{single ? found[0] : load};
  for (const Opt& o : plan)
    made.staged |= o.op == OptOp::Stage && o.axis == load.src(0).src(0).arg(0);
  if (!made.staged) made.value = load;
  if (parts > 1) {
    CHECK(single && made.staged && found[0].is(Op::Cast), "words of what is not converted");
    made.value = found[0].src(0);
    if (&axis == &i && made.value.dtype() == core::dtypes::i8) {
      made.is_raised = true;
      UOp bits = rw.make(Op::Bitcast, core::dtypes::u8, {made.value});
      UOp sign = rw.arena().const_of(core::dtypes::u8, 0x80);
      made.value = rw.make(Op::Xor, core::dtypes::u8, {bits, sign});
    }
  }
  for (const Access& access : info.accesses)
    if (access.index == load.src(0)) made.access = &access;
  const Affine& address = made.access->affine;
  made.along_k = address.coefficient(axis.id()) != 1 && address.coefficient(k.id()) == 1;
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

// Whether the loops over a block of k may end with the axis: each of them by itself walks along k,
// by one or by vectors of which the last may overlap the one before (stage_rows()).
bool Tiled::ends_with_axis() const {
  if (k.is_joined() || parts > 1 || unroll > 1 || a.window || b.along_k) return false;
  if (!a.staged || !a.along_k) return true;
  const i64 last = k.size - (divide_up(k.size, kc) - 1) * kc;
  return is_linear(info, *a.access, k, 1) && last >= kTileLineBytes / a.value.dtype().bytes();
}

// Whether results are stored along the rows of a register tile (lower/transpose.h).
bool Tiled::transposes() const {
  if (!i.exists() || i.size % mt != 0 || !light_epilogue()) return false;
  return std::ranges::all_of(info.accesses, [&](const Access& access) {
    return !access.store ||
           (access.affine.coefficient(i.id()) == 1 && access.affine.coefficient(j.id()) != 1);
  });
}

// memory[0 .. count) = 0
UOp Tiled::clear(UOp memory, i64 count) {
  i64 width = kTileLineBytes / memory.dtype().bytes();
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
  const UOp gate = depth_image(in_k).gate;
  if (!gate) return made;
  Rebuilder outside = mapping(in_i, in_j, in_k);
  UOp zero = rw.arena().const_of(reduce.dtype(), 0);
  for (const Operand* o : {&a, &b})
    if (o->value) outside.replace(o->value, rw.arena().const_of(o->value.dtype(), 0));
  UOp beyond = outside(reduce.src(0));
  return beyond == zero ? made : rw.where(gate, made, zero);
}

// The depth of a block as loops of a reduction, `over`.
UOp Tiled::reduce_depth(RangeList* over) {
  if (depth) {
    UOp loop = range(AxisType::Reduce, depth);
    if (loop.is(Op::Range)) over->push_back(loop);
    return loop;
  }
  std::vector<std::pair<AxisType, i64>> loops{{AxisType::Reduce, kc / unroll},
                                              {AxisType::Unroll, unroll}};
  if (a.window) {  // each axis by itself, so that places in the tile need no division
    loops.clear();
    const std::vector<i64> extents = *block_extents(info, k, kc);
    for (i64 extent : extents) loops.push_back({AxisType::Reduce, extent});
    // In a small tile, ending a loop over three rows takes almost as long as the three taps of a
    // row: both are unrolled.
    const bool is_small = upcast * lanes <= kFewSums;
    const i64 last = loops.back().second;
    if (last <= kMostUnrolled) loops.back().first = AxisType::Unroll;
    if (usize n = loops.size() - 1; is_small && n > 1 && loops[n - 1].second * last <= kMostTaps)
      loops[n - 1].first = AxisType::Unroll;
  }
  UOp in_k = rw.index(0);
  for (const auto& [type, size] : loops) {
    UOp loop = range(type, size);
    if (loop.is(Op::Range)) over->push_back(loop);
    in_k = mul_add(in_k, size, loop);
  }
  return in_k;
}

// The sums of a register tile over a block of k.
UOp Tiled::partial_sums(UOp a_tile, UOp b_tile, const Registers& r) {
  RangeList over;
  UOp in_k = reduce_depth(&over), in_i = row(r);
  UOp a_element, b_element;
  if (a_tile) {
    UOp at = a.window    ? window_at(in_i, in_k)
             : a.along_k ? mul_add(in_i, a.pitch, in_k)
                         : mul_add(mul_add(r.ti, kc, in_k), upcast, r.ui);
    a_element = rw.make(Op::Load, a_tile.dtype(), {place(a_tile, at)});
  }
  if (b_tile) {
    UOp at = mul_add(mul_add(r.panel, kc, in_k), lanes, r.vj);
    b_element = rw.make(Op::Load, b_tile.dtype(), {place(b_tile, at)});
  }
  UOp body = product(in_i, column(r), in_k, a_element, b_element);
  if (over.empty()) return body;
  absl::InlinedVector<UOp, 6> srcs{body};
  srcs.insert(srcs.end(), over.begin(), over.end());
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
  result.ti = range(AxisType::Loop, row_tiles());
  result.tj = range(AxisType::Loop, blocks_of(j, nt / lanes, lanes));
  result.ui = range(transposes() ? AxisType::Upcast : AxisType::Loop, upcast);
  result.vj = range(AxisType::Vector, lanes);
  Rebuilder epilogue = mapping(row(result), column(result), rw.index(0));
  UOp done = after(acc, {update}, false);
  epilogue.replace(reduce, rw.make(Op::Load, t, {sum_at(done, result)}));
  return epilogue(sink);
}

UOp Tiled::run() {
  find_axes();
  if (i.exists()) a = find_operand(i, j);
  b = find_operand(j, i);
  if (b.staged && !b.along_k && !j.is_joined() && !k.is_joined()) {
    const i64 element = parts > 1 ? 4 : b.value.dtype().bytes();
    panels = panels_together(nt / lanes, lanes * b.access->bytes, kc / parts * lanes * element);
  }
  make_outer();
  const i64 k_blocks = divide_up(k.size, kc);
  const bool direct = k_blocks == 1 && light_epilogue();
  UOp acc, cleared;
  if (!direct) {
    acc = after(define(reduce.dtype(), mt * nt), {}, true);
    cleared = clear(acc, mt * nt);
  }

  // for blocks of k: stage, multiply, accumulate
  ko = range(AxisType::Loop, k_blocks);
  if (a.staged) a.window = window_tile(info, a.value, *a.access, i, mt, k, kc);
  if (ends_with_axis()) depth = count_to(rw.sub(rw.index(k.size), rw.mul(ko, rw.index(kc))), kc);
  UOp a_tile = stage_a();
  Registers r;
  UOp all = blocks_of(j, nt / lanes, lanes);
  r.group = range(AxisType::Loop,
                  count_to(rw.floordiv(rw.add(all, panels - 1), panels), nt / lanes / panels));
  UOp b_tile = stage_b(r.group);
  UOp before = rw.mul(r.group, panels);
  const bool is_whole = all.is_const() && all.const_int() % panels == 0;
  r.panel =
      range(AxisType::Loop, is_whole ? rw.index(panels) : count_to(rw.sub(all, before), panels));
  r.tj = mul_add(r.group, panels, r.panel);
  UOp surplus = stage_surplus(b_tile, r);
  r.ti = range(AxisType::Loop, row_tiles());
  r.ui = range(AxisType::Upcast, upcast), r.vj = range(AxisType::Vector, lanes);
  UOp sums = parts > 1 ? partial_dots(a_tile, b_tile, surplus, r) : partial_sums(a_tile, b_tile, r);
  if (!direct) return accumulate(r, acc, cleared, sums);
  Rebuilder epilogue = mapping(row(r), column(r), rw.index(0));
  epilogue.replace(reduce, sums);
  return epilogue(sink);
}

Applied apply_tiled(Rewriter& rewriter, const KernelInfo& info, UOp sink, const Plan& plan) {
  Tiled tiled(rewriter, info, sink, plan);
  UOp result = tiled.run();
  return {result, tiled.threads};
}

}  // namespace doorbell::codegen::detail
