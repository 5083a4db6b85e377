// A contraction out[.., i, j] = sum over k of A[.., i, k] * B[.., k, j], blocked for the caches.
// The classic nest of Goto and van de Geijn ("Anatomy of High-Performance Matrix Multiplication",
// 2008), written as a graph: the meaning of Tile on a reduced axis and Stage on both operands
// (opt.h).
//
//   for outer loops and blocks of i (MT) and j (NT):
//     acc[MT * NT] = 0
//     for blocks of k (KC):
//       a_tile[MT * KC]  = A, so that the rows of one register tile are consecutive  (L2)
//       for panels of j (lanes):
//         b_tile[KC * lanes] = B                                                     (L1)
//         for register tiles of i (upcast):
//           registers = sum over KC of a_tile * b_tile;  acc += registers
//     out = epilogue(acc)
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

struct Tiled {
  Tiled(Rewriter& r, const KernelInfo& kernel, UOp root, const Plan& opts)
      : rw(r), info(kernel), sink(root), plan(opts), range(r) {}

  Rewriter& rw;
  const KernelInfo& info;
  UOp sink;
  const Plan& plan;
  RangeMaker range;

  UOp reduce;
  i64 i = -1, j = -1, k = -1;  // range ids of the three axes
  i64 mt = 1, nt = 1, kc = 1;  // block sizes
  i64 upcast = 1, lanes = 1, threads = 1;
  std::vector<RangeImage> outer;  // by range id: the part outside the blocks
  RangeList outer_loops;
  UOp ko;  // the loop over blocks of k
  i64 next_private = 0;

  void find_axes();
  void make_outer();
  UOp define(DType t, i64 count);
  UOp after(UOp memory, std::initializer_list<UOp> effects, bool outer_too);
  UOp mul_add(UOp a, i64 b, UOp c) { return rw.add(rw.mul(a, rw.index(b)), c); }
  RangeImage within(i64 axis, UOp tile, UOp unrolled, i64 unrolled_size, i64 block);
  Rebuilder mapping(UOp ti, UOp ui, UOp tj, UOp vj, UOp kk);
  UOp operand(u64 needs) const;
  UOp stage(UOp load, UOp memory, UOp tile_j, bool is_a, i64 lanes_or_rows);
  UOp run();
};

void Tiled::find_axes() {
  reduce = info.main_reduce()->reduce;
  for (const Opt& o : plan) {
    bool reduced = o.op != OptOp::Stage && info.ranges[static_cast<usize>(o.axis)].reduce;
    if (o.op == OptOp::Tile && reduced) k = o.axis, kc = o.amount;
    if (o.op == OptOp::Vector) j = o.axis, lanes = o.amount;
    if (o.op == OptOp::Upcast) i = o.axis, upcast = o.amount;
    if (o.op == OptOp::Thread) threads *= o.amount;
  }
  CHECK(i >= 0 && j >= 0 && k >= 0, "a tiled reduction needs UPCAST, VECTOR and TILE axes");
  CHECK(reduce.reduce_op() == Op::Add, "tiled reduction of {}", core::name_of(reduce.reduce_op()));
  mt = amount_of(plan, OptOp::Tile, i);
  nt = amount_of(plan, OptOp::Tile, j);
  CHECK(mt % upcast == 0 && nt % lanes == 0, "tile {} x {} of {} x {}", mt, nt, upcast, lanes);
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
    CHECK(r.size % (parts * block) == 0, "axis {} of size {} does not split into {}", id, r.size,
          parts * block);
    i64 loop = r.size / (parts * block);
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

// The image of an output axis inside its block: (outer * tiles + tile) * size + unrolled.
RangeImage Tiled::within(i64 axis, UOp tile, UOp unrolled, i64 unrolled_size, i64 block) {
  RangeImage image = outer[static_cast<usize>(axis)];
  append_part(rw, image, tile, block / unrolled_size);
  append_part(rw, image, unrolled, unrolled_size);
  return image;
}

Rebuilder Tiled::mapping(UOp ti, UOp ui, UOp tj, UOp vj, UOp kk) {
  Rebuilder rebuild(rw);
  for (usize id = 0; id < outer.size(); ++id) {
    i64 axis = static_cast<i64>(id);
    if (axis == i)
      rebuild.set(axis, within(i, ti, ui, upcast, mt));
    else if (axis == j)
      rebuild.set(axis, within(j, tj, vj, lanes, nt));
    else if (axis == k)
      rebuild.set(axis, {mul_add(ko, kc, kk), {}});
    else if (outer[id].value)
      rebuild.set(axis, outer[id]);
  }
  return rebuild;
}

// The Load inside the reduction whose address varies with exactly the axes in `needs` of i, j, k.
UOp Tiled::operand(u64 needs) const {
  u64 all = u64{1} << i | u64{1} << j | u64{1} << k;
  for (UOp u : info.order) {
    if (u.is(Op::Load) && (u.range_mask() & all) == needs) return u;
  }
  CHECK(false, "the contraction has no operand of axes {:x}", needs);
  return {};
}

// Fills `memory` with one tile of an operand: a_tile[(tile * KC + k) * upcast + row] or
// b_tile[k * lanes + column]. Returns the fill as an effect.
UOp Tiled::stage(UOp load, UOp memory, UOp tile_j, bool is_a, i64 width) {
  i64 axis = is_a ? i : j;
  Affine address = to_affine(load.src(0).src(1));
  bool contiguous = address.coefficient(axis).value_or(0) == 1;
  UOp tile = is_a ? range(AxisType::Loop, mt / upcast) : tile_j;
  UOp inner, kk;
  if (contiguous) {
    kk = range(AxisType::Loop, kc);
    inner = range(AxisType::Vector, width);
  } else {
    inner = range(AxisType::Loop, width);
    i64 unroll = kc % 8 == 0 ? 8 : 1;
    UOp blocks = range(AxisType::Loop, kc / unroll);
    kk = mul_add(blocks, unroll, range(AxisType::Upcast, unroll));
  }
  UOp zero = rw.index(0);
  Rebuilder rebuild =
      is_a ? mapping(tile, inner, zero, zero, kk) : mapping(zero, zero, tile, inner, kk);
  UOp value = rebuild(load);
  UOp row = is_a ? mul_add(tile, kc, kk) : kk;
  UOp place = rw.make(Op::Index, memory.dtype(), {memory, mul_add(row, width, inner)});
  UOp store = rw.make(Op::Store, core::dtypes::void_, {place, value});
  absl::InlinedVector<UOp, 6> srcs{store};
  auto close = [&](UOp e) {
    for (const Affine::Term& t : to_affine(e).ranges) srcs.push_back(t.value);
  };
  if (is_a) close(tile);
  close(kk);
  close(inner);
  return srcs.size() == 1 ? store : rw.make(Op::End, core::dtypes::void_, srcs);
}

UOp close(Rewriter& rw, UOp effect, std::initializer_list<UOp> ranges) {
  absl::InlinedVector<UOp, 6> srcs{effect};
  for (UOp r : ranges) {
    if (r.is(Op::Range)) srcs.push_back(r);
  }
  return srcs.size() == 1 ? effect : rw.make(Op::End, core::dtypes::void_, srcs);
}

UOp Tiled::run() {
  find_axes();
  make_outer();
  DType t = reduce.dtype();
  UOp a = operand(u64{1} << i | u64{1} << k), b = operand(u64{1} << j | u64{1} << k);
  i64 i_tiles = mt / upcast, j_tiles = nt / lanes;
  auto place = [&](UOp memory, UOp ti, UOp tj, UOp ui, UOp vj) {
    UOp tile = mul_add(tj, i_tiles, ti);
    return rw.make(Op::Index, t, {memory, mul_add(mul_add(tile, upcast, ui), lanes, vj)});
  };

  // acc = 0
  UOp acc = after(define(t, mt * nt), {}, true);
  i64 clear_lanes = 64 / t.bytes();
  while (mt * nt % clear_lanes) clear_lanes /= 2;
  UOp z = range(AxisType::Loop, mt * nt / clear_lanes), zv = range(AxisType::Vector, clear_lanes);
  UOp cleared = rw.make(Op::Index, t, {acc, mul_add(z, clear_lanes, zv)});
  UOp clear = rw.make(Op::Store, core::dtypes::void_, {cleared, rw.arena().const_of(t, 0)});
  clear = close(rw, clear, {z, zv});

  // for blocks of k: stage, multiply, accumulate
  i64 k_blocks = info.size(k) / kc;
  ko = range(AxisType::Loop, k_blocks);
  UOp acc_k = after(acc, {clear, ko}, false);
  UOp a_tile = after(define(a.dtype(), mt * kc), {ko}, true);
  UOp a_filled = after(a_tile, {stage(a, a_tile, UOp(), true, upcast)}, false);
  UOp tj = range(AxisType::Loop, j_tiles);
  UOp b_tile = after(define(b.dtype(), kc * lanes), {ko, tj}, true);
  UOp b_filled = after(b_tile, {stage(b, b_tile, tj, false, lanes)}, false);
  UOp ti = range(AxisType::Loop, i_tiles), ki = range(AxisType::Reduce, kc);
  UOp ui = range(AxisType::Upcast, upcast), vj = range(AxisType::Vector, lanes);
  Rebuilder micro = mapping(ti, ui, tj, vj, ki);
  UOp a_at = mul_add(mul_add(ti, kc, ki), upcast, ui), b_at = mul_add(ki, lanes, vj);
  UOp a_place = rw.make(Op::Index, a.dtype(), {a_filled, a_at});
  UOp b_place = rw.make(Op::Index, b.dtype(), {b_filled, b_at});
  micro.replace(a, rw.make(Op::Load, a.dtype(), {a_place}));
  micro.replace(b, rw.make(Op::Load, b.dtype(), {b_place}));
  UOp product = micro(reduce.src(0));
  UOp partial = rw.make(Op::Reduce, t, {product, ki}, {static_cast<i64>(Op::Add), 0});
  UOp at = place(acc_k, ti, tj, ui, vj);
  UOp sum = rw.make(Op::Add, t, {rw.make(Op::Load, t, {at}), partial});
  UOp update = rw.make(Op::Store, core::dtypes::void_, {at, sum});
  update = close(rw, close(rw, update, {tj, ti, ui, vj}), {ko});

  // the rest of the kernel reads acc
  UOp acc_done = after(acc, {update}, false);
  UOp eti = range(AxisType::Loop, i_tiles), etj = range(AxisType::Loop, j_tiles);
  UOp eui = range(AxisType::Loop, upcast), evj = range(AxisType::Vector, lanes);
  Rebuilder epilogue = mapping(eti, eui, etj, evj, rw.index(0));
  epilogue.replace(reduce, rw.make(Op::Load, t, {place(acc_done, eti, etj, eui, evj)}));
  return epilogue(sink);
}

}  // namespace

Applied apply_tiled(Rewriter& rewriter, const KernelInfo& info, UOp sink, const Plan& plan) {
  Tiled tiled(rewriter, info, sink, plan);
  UOp result = tiled.run();
  return {result, tiled.threads};
}

}  // namespace doorbell::codegen::detail
