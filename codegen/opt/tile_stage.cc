// The tiles of a blocked contraction's operands: which elements are copied, in which order, and
// where the innermost loop finds them.
#include <numeric>
#include <tuple>

#include "base/util/check.h"
#include "codegen/opt/tile_nest.h"

namespace doorbell::codegen::detail {

using core::AxisType;
using core::DType;
using core::Op;
using core::UOp;

// The depth of a block in loops over the axes that k is of, so that the number of each needs no
// division; the innermost in runs of up to `most` neighbours, a power of two.
UOp Tiled::walk_depth(AxisType innermost, i64 most) {
  if (depth) {
    CHECK(most == 1, "runs of {} along an axis that may end in one", most);
    return range(AxisType::Loop, depth);
  }
  std::vector<i64> sizes;
  i64 rest = kc / parts;
  for (usize n = k.ids.size(); n-- > 1 && rest % info.size(k.ids[n]) == 0;) {
    sizes.insert(sizes.begin(), info.size(k.ids[n]));
    rest /= sizes.front();
  }
  sizes.insert(sizes.begin(), rest);
  const i64 run = std::gcd(most, sizes.back());
  sizes.back() /= run;
  UOp at = rw.index(0);
  for (i64 size : sizes) at = mul_add(at, size, range(AxisType::Loop, size));
  return mul_add(at, run, range(innermost, run));
}

// `width` neighbours of an operand's own axis: vectors where they lie side by side.
UOp Tiled::walk_width(const Operand& from, const JoinedAxis& axis, i64 width) {
  if (!axis.is_joined() && !k.is_joined()) return range(AxisType::Vector, width);
  if (from.access->affine.coefficient(axis.id()) != 1) return range(AxisType::Upcast, width);
  const i64 piece = vector_piece(info, *from.access, axis, width);
  UOp pieces = range(AxisType::Upcast, width / piece);
  return mul_add(pieces, piece, range(AxisType::Vector, piece));
}

// An element of the operand; zero behind the end of k.
UOp Tiled::value_or_zero(const Operand& from, Rebuilder& rebuild, UOp in_k) {
  UOp value = rebuild(from.value);
  const UOp gate = depth_image(in_k).gate;
  if (!gate || from.value.is(Op::Load)) return value;
  return rw.where(gate, value, rw.arena().const_of(value.dtype(), 0));
}

// A, row by row: a_tile[row * pitch + k]. Where the loops end with k, the last vector ends there
// too and overlaps the one before. Rows past the end are the last one again.
UOp Tiled::stage_rows(UOp tile) {
  const i64 width = kTileLineBytes / a.value.dtype().bytes();
  UOp row = range(AxisType::Loop, rw.mul(row_tiles(), upcast));
  UOp vectors = rw.index(0), lane, in_k;
  if (is_linear(info, *a.access, k, 1)) {
    UOp count =
        depth ? rw.floordiv(rw.add(depth, width - 1), width) : rw.index(divide_up(kc, width));
    vectors = range(AxisType::Loop, count);
    UOp first = rw.mul(vectors, width);
    if (depth && (k.size % width != 0 || kc % width != 0))
      first = rw.min(first, rw.sub(rw.index(k.size - width), rw.mul(ko, rw.index(kc))));
    lane = range(AxisType::Vector, width);
    in_k = rw.add(first, lane);
  } else {
    lane = in_k = walk_depth(AxisType::Vector, width);
  }
  Rebuilder rebuild = mapping(row, rw.index(0), in_k);
  if (RangeImage image = row_image(row); image.gate && !i.is_joined()) {
    image.value = rw.min(image.value, rw.index(i.size - 1));
    image.gate = UOp();
    set(rebuild, i, image);
  }
  UOp to = place(tile, mul_add(row, a.pitch, in_k));
  UOp store = rw.make(Op::Store, core::dtypes::void_, {to, value_or_zero(a, rebuild, in_k)});
  return close(rw, store, {row, vectors, lane});
}

// The same numbers from the first of the block on, for blocks of whole inner axes.
std::vector<UOp> Tiled::numbers_in_block(const JoinedAxis& axis, i64 block, UOp inside) {
  const std::vector<i64> extents = *block_extents(info, axis, block);
  std::vector<UOp> made(axis.ids.size(), rw.index(0));
  for (usize n = axis.ids.size(); n-- > 0 && block > 1; block /= extents[n]) {
    made[n] = block == extents[n] ? inside : rw.floormod(inside, extents[n]);
    inside = rw.floordiv(inside, extents[n]);
  }
  return made;
}

// Where the window's tile has the element of a row and a depth.
UOp Tiled::window_at(UOp in_i, UOp in_k) {
  std::vector<UOp> at(info.ranges.size());
  for (const auto& [axis, block, inside] : {std::tuple(&i, mt, in_i), std::tuple(&k, kc, in_k)}) {
    const std::vector<UOp> of = numbers_in_block(*axis, block, inside);
    for (usize n = 0; n < of.size(); ++n) at[static_cast<usize>(axis->ids[n])] = of[n];
  }
  UOp sum = rw.index(0);
  for (const WindowTile::Dim& dim : a.window->dims) {
    UOp position = at[static_cast<usize>(dim.tap)];
    if (dim.along >= 0) position = mul_add(at[static_cast<usize>(dim.along)], dim.step, position);
    sum = mul_add(position, dim.pitch, sum);
  }
  return sum;
}

// The elements that the windows of a block slide over, by taps that run past their end.
UOp Tiled::stage_window(UOp tile) {
  std::vector<UOp> first(info.ranges.size());
  for (const auto& [axis, start] :
       {std::pair(&i, rw.mul(outer[static_cast<usize>(i.id())].value, rw.index(mt))),
        std::pair(&k, rw.mul(ko, rw.index(kc)))}) {
    const std::vector<UOp> of = numbers(*axis, start);
    for (usize n = 0; n < of.size(); ++n) first[static_cast<usize>(axis->ids[n])] = of[n];
  }
  // Half a line: a vector of two registers of AVX2, one of which is masked off as a whole, LLVM 22
  // loads without its mask.
  const i64 width = kTileLineBytes / 2 / a.value.dtype().bytes();
  Rebuilder rebuild = mapping(rw.index(0), rw.index(0), rw.index(0));
  UOp to = rw.index(0), gates = rw.arena().const_int(core::dtypes::bool_, 1);
  for (usize n = a.window->dims.size(); n-- > 0;) {
    const WindowTile::Dim& dim = a.window->dims[n];
    const bool vectors = n == 0 && dim.in_operand == 1;
    UOp at = range(AxisType::Loop, vectors ? divide_up(dim.extent, width) : dim.extent);
    if (vectors) at = mul_add(at, width, range(AxisType::Vector, width));
    to = mul_add(at, dim.pitch, to);
    UOp inside = rw.lt(at, dim.extent);
    UOp tap = rw.add(first[static_cast<usize>(dim.tap)], at);
    i64 end = info.size(dim.tap);
    UOp place = tap;
    if (dim.along >= 0) {
      place = mul_add(first[static_cast<usize>(dim.along)], dim.step, tap);
      end += dim.step * (info.size(dim.along) - 1);
      rebuild.set(dim.along, {first[static_cast<usize>(dim.along)], {}, {}});
    }
    RangeImage image{tap, {}, rw.land(inside, rw.lt(place, end))};
    gates = rw.land(gates, image.gate);
    if (image.gate.is_const(1)) image.gate = UOp();
    rebuild.set(dim.tap, image);
  }
  UOp value = rebuild(a.value);
  if (!a.value.is(Op::Load) && !gates.is_const(1))
    value = rw.where(gates, value, rw.arena().const_of(value.dtype(), 0));
  UOp store = rw.make(Op::Store, core::dtypes::void_, {place(tile, to), value});
  return close(rw, store, {to});
}

// As the innermost loop reads it: a_tile[(number * KC + k) * upcast + row] or
// b_tile[(panel * KC + k) * lanes + column].
UOp Tiled::stage_panel(const Operand& from, UOp tile, UOp number, i64 width) {
  const bool is_a = &from == &a;
  UOp inner, in_k, panel = rw.index(0);
  const bool whole = !is_a && parts == 1 && j.size % nt == 0 && k.size % kc == 0;
  if (const i64 run = whole ? transposed_run(info, *from.access, j, k, kc) : 1; run > 1) {
    inner = range(AxisType::Vector, width);
    in_k = mul_add(range(AxisType::Loop, kc / run), run, range(AxisType::Upcast, run));
  } else if (from.along_k) {
    inner = range(AxisType::Loop, width);
    in_k = walk_depth(AxisType::Upcast, 8);
  } else {
    in_k = walk_depth(AxisType::Loop, 1);
    if (!is_a) panel = range(AxisType::Upcast, panels);
    inner = walk_width(from, is_a ? i : j, width);
  }
  UOp at = mul_add(is_a ? number : mul_add(number, panels, panel), width, inner);
  UOp row = mul_add(is_a ? number : panel, kc / parts, in_k), zero = rw.index(0);
  UOp to = place(tile, mul_add(row, width, inner));
  UOp store;
  if (parts > 1) {
    UOp packed = word_of([&](i64 part) {
      UOp in_part = mul_add(in_k, parts, rw.index(part));
      Rebuilder rebuild = mapping(zero, at, in_part);
      return value_or_zero(from, rebuild, in_part);
    });
    store = rw.make(Op::Store, core::dtypes::void_, {to, packed});
  } else {
    Rebuilder rebuild = is_a ? mapping(at, zero, in_k) : mapping(zero, at, in_k);
    store = rw.make(Op::Store, core::dtypes::void_, {to, value_or_zero(from, rebuild, in_k)});
  }
  return is_a ? close(rw, store, {number, in_k, inner}) : close(rw, store, {in_k, panel, inner});
}

// The tile of A in blocks of k, filled; null if A is read where it lies.
UOp Tiled::stage_a() {
  if (!a.staged) return UOp();
  const DType t = a.value.dtype();
  const i64 line = kTileLineBytes / t.bytes();
  if (a.window) {
    UOp tile = after(define(t, a.window->count), {ko}, true);
    return after(tile, {stage_window(tile)}, false);
  }
  // An odd number of cache lines, so that rows fall to different sets.
  if (a.along_k) a.pitch = (divide_up(kc, line) | 1) * line;
  UOp tile = after(define(t, mt * (a.along_k ? a.pitch : kc)), {ko}, true);
  UOp filled = a.along_k ? stage_rows(tile)
                         : stage_panel(a, tile, range(AxisType::Loop, row_tiles()), upcast);
  return after(tile, {filled}, false);
}

UOp Tiled::stage_b(UOp group) {
  if (!b.staged) return UOp();
  const DType t = parts > 1 ? core::dtypes::u32 : b.value.dtype();
  UOp tile = after(define(t, panels * (kc / parts) * lanes), {ko, group}, true);
  UOp filled = stage_panel(b, tile, group, lanes);
  return after(tile, {filled}, false);
}

}  // namespace doorbell::codegen::detail
