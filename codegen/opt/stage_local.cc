// Operand tiles in local memory. For the tiles of a reduction's axes, with one buffer:
//
//   for tiles of the reduced axes:
//     barrier                              (all have read the last tile)
//     tile[k][i] = operand                 (all items together, in the order of global memory)
//     barrier
//     for k in the tile: sum += a_tile[k][i] * b_tile[k][j]
//
// With a ring of buffers, the next tile is on its way from global memory while this one is used:
//
//   held = operand of the first tile       (each item's part, in registers)
//   for tile number t:
//     tile[t % 2][k][i] = held             (nobody reads this buffer since the last barrier)
//     held = operand of tile t + 1         (after the last tile: of the first, and not used)
//     barrier
//     for k in the tile: sum += a_tile[t % 2][k][i] * b_tile[t % 2][k][j]
//
// A tile holds the operand's elements for all items and registers of the group. Its rows run along
// an output axis, as items read them, or along the depth of matrix instructions; rows are padded to
// avoid bank conflicts. An operand whose depth is not contiguous in global memory is transposed in
// registers: an item copies a block of it, with vectors on both sides.
#include <algorithm>
#include <bit>
#include <cstdlib>

#include "base/util/check.h"
#include "codegen/linear/program.h"
#include "codegen/opt/group_loops.h"

namespace doorbell::codegen::detail {

using core::AxisType;
using core::Op;
using core::UOp;

namespace {

constexpr i64 kMaxUnrolledCopies = 8;

// One operand's tile.
class Stager {
 public:
  Stager(GroupLoops& loops, UOp load) : loops_(loops), rw_(loops.rw), load_(load) { find_dims(); }
  // The copy, as an effect, into `memory` as it is once the last tile was read.
  UOp fill(UOp memory);
  // The same in two steps, by way of `held`, private memory of held_count() elements. In the first,
  // the loops over tiles have other values; the tile is stored at element `base`.
  UOp hold(UOp held, std::span<const std::pair<UOp, UOp>> loops);
  UOp store_held(UOp memory, UOp base, UOp held);
  // The elements that a work item reads, of the tile at element `base`.
  UOp read(UOp memory, UOp base);
  i64 count() const { return dims_[rows_.front()].extent * dims_[rows_.front()].pitch; }
  i64 copies() const;
  i64 held_count() const { return copies() * lanes_ * down_; }

 private:
  struct Dim {
    i64 axis;
    i64 extent, stride;  // in global memory; a large number if it is not constant
    bool reduced;
    i64 pitch = 1;  // in the tile
  };
  // Part of a block's place: digit * step of a dim, the fastest first.
  struct Digit {
    usize dim;
    i64 extent, step;
  };
  // The block that an item copies, as ranges: which copy of the item's, and where in the block.
  struct Block {
    UOp copy, lane, row;  // the constant 0 where there is one
    RangeList made;
    std::vector<UOp> at;  // by dim
    UOp inside;           // null: all blocks are
  };
  void find_dims();
  void lay_out();
  void find_block();
  std::vector<Digit> digits() const;
  Block block(core::AxisType lanes, core::AxisType rows);
  UOp place(UOp memory, UOp base, const std::vector<UOp>& at, UOp gate);
  UOp value(const Block& b, std::span<const std::pair<UOp, UOp>> loops);
  UOp held_place(UOp held, const Block& b);
  UOp effect(UOp place, UOp value, const RangeList& made);
  bool loads_matrices() const;
  bool transposes() const { return rows_.back() != 0; }
  const GroupParts& parts(const Dim& d) const { return loops_.parts[static_cast<usize>(d.axis)]; }

  GroupLoops& loops_;
  core::Rewriter& rw_;
  UOp load_;
  std::vector<Dim> dims_;    // ascending strides: the order of the copy
  std::vector<usize> rows_;  // into dims_: the tile's order, the contiguous one last
  // An item copies blocks: `lanes_` neighbours in global memory by `down_` neighbours in the tile,
  // if those are others.
  i64 lanes_ = 1, down_ = 1;
};

void Stager::find_dims() {
  Affine address = to_affine(load_.src(0).src(1));
  u64 gates = load_.src(0).nsrc() > 2 ? load_.src(0).src(2).range_mask() : 0;
  for (u64 m = load_.src(0).src(1).range_mask() | gates; m; m &= m - 1) {
    i64 axis = std::countr_zero(m);
    const GroupParts& p = loops_.parts[static_cast<usize>(axis)];
    i64 taken = p.items * p.unrolled * p.lanes * p.matrix;
    CHECK(p.block >= taken, "a staged operand varies with axis {}, which is not tiled", axis);
    CHECK(!p.loop || loops_.info.ranges[static_cast<usize>(axis)].reduce,
          "a staged operand varies with axis {}, which is a loop", axis);
    if (p.block == 1) continue;
    i64 stride = std::abs(address.coefficient(axis).value_or(INT32_MAX));
    bool reduced = loops_.info.ranges[static_cast<usize>(axis)].reduce;
    dims_.push_back({axis, p.block, stride, reduced});
  }
  CHECK(!dims_.empty(), "an operand to be staged does not vary with any tile");
  std::stable_sort(dims_.begin(), dims_.end(),
                   [](const Dim& a, const Dim& b) { return a.stride < b.stride; });
  lay_out();
  find_block();
}

// Whole vectors, where the address and the gates allow.
void Stager::find_block() {
  const Dim &first = dims_[0], &last = dims_[rows_.back()];
  const u64 gates = load_.src(0).nsrc() > 2 ? load_.src(0).src(2).range_mask() : 0;
  i64 size = loops_.info.ranges[static_cast<usize>(first.axis)].size, tile = 1;
  for (const Dim& d : dims_) tile *= d.extent;
  const i64 bytes = load_.dtype().bytes(), items = loops_.all_items();
  const bool vectors = first.stride == 1 && size > 0 && !(gates >> first.axis & 1);
  auto fits = [&](i64 wide) {
    return wide == 1 || (vectors && first.extent % wide == 0 && size % wide == 0);
  };
  lanes_ = std::clamp<i64>(loops_.caps.vector_bytes / bytes, 1, 16);
  if (transposes() && parts(last).matrix > 1) {
    lanes_ = std::min<i64>(lanes_, 4);
    while (!fits(lanes_)) lanes_ /= 2;
    down_ = std::clamp<i64>(loops_.caps.vector_bytes / bytes, 1, 16);
    while (down_ > 1 &&
           (last.extent % down_ || (down_ * bytes > 4 && tile / (lanes_ * down_) < items))) {
      down_ /= 2;
    }
    return;
  }
  while (lanes_ > 1 && (!fits(lanes_) || tile / lanes_ < items)) lanes_ /= 2;
}

void Stager::lay_out() {
  for (usize i = 0; i < dims_.size(); ++i) rows_.push_back(i);
  // Output axes run inside reduced axes; among them, those with lanes or registers of an item are
  // innermost.
  auto rank = [&](usize i) {
    const GroupParts& p = parts(dims_[i]);
    if (dims_[i].reduced) return p.matrix > 1 ? 4 : 0;  // a whole operand of an instruction
    return p.lanes > 1 ? 3 : p.unrolled > 1 ? 2 : 1;
  };
  std::stable_sort(rows_.begin(), rows_.end(), [&](usize a, usize b) { return rank(a) < rank(b); });
  i64 pitch = 1;
  for (usize i = rows_.size(); i-- > 0;) {
    dims_[rows_[i]].pitch = pitch;
    pitch *= dims_[rows_[i]].extent;
    // Padded if the copy transposes, or if each item reads a row for a matrix instruction.
    const Dim& d = dims_[rows_[i]];
    bool longer = rows_[i] != 0 || (d.reduced && parts(d).matrix > 1);
    if (i + 1 < rows_.size() || i == 0 || !longer) continue;
    pitch += std::max<i64>(1, 16 / load_.dtype().bytes());
  }
}

UOp Stager::place(UOp memory, UOp base, const std::vector<UOp>& at, UOp gate) {
  UOp index = base;
  for (usize i : rows_) {
    UOp scaled = rw_.mul(at[i], dims_[i].pitch);
    index = rw_.add(index, scaled);
  }
  if (!gate) return rw_.make(Op::Index, memory.dtype(), {memory, index});
  return rw_.make(Op::Index, memory.dtype(), {memory, index, gate});
}

UOp Stager::read(UOp memory, UOp base) {
  std::vector<UOp> at;
  for (const Dim& d : dims_) at.push_back(parts(d).inner);
  UOp address = place(memory, base, at, UOp());
  if (!loads_matrices()) return rw_.make(Op::Load, load_.dtype(), {address});
  const bool is_a = dims_[rows_.front()].axis == loops_.matrix_rows;
  return rw_.make(Op::Load, load_.dtype(), {address}, {is_a ? kMatrixSwapped : kMatrix});
}

// Rows of whole units of 16 bytes along the depth.
bool Stager::loads_matrices() const {
  const Dim &row = dims_[rows_.front()], &last = dims_[rows_.back()];
  const i64 bytes = load_.dtype().bytes();
  return (row.axis == loops_.matrix_rows || row.axis == loops_.matrix_columns) &&
         dims_.size() == 2 && last.reduced && parts(last).matrix > 1 && row.pitch * bytes % 16 == 0;
}

i64 Stager::copies() const {
  i64 blocks = 1, items = loops_.all_items();
  for (const Dim& d : dims_) blocks *= d.extent;
  blocks /= lanes_ * down_;
  return (blocks + items - 1) / items;
}

// Neighbouring items copy neighbours in global memory. For rows along the depth, as long as 32 or
// 64 bytes and padded by 16: they copy a whole row of the tile, then the row that is as many rows
// away as a row has units of 16 bytes, so that the units of eight items lie in different banks.
std::vector<Stager::Digit> Stager::digits() const {
  std::vector<Digit> list;
  const usize last = rows_.back();
  const i64 units = dims_[last].extent * load_.dtype().bytes() / 16;
  if (dims_.size() == 2 && parts(dims_[last]).matrix > 1) {
    const usize row = 1 - last;
    const i64 wide = transposes() ? lanes_ : 1, along = transposes() ? down_ : lanes_;
    const i64 extent = dims_[row].extent;
    list.push_back({last, dims_[last].extent / along, along});
    if (wide == 1 && (units == 2 || units == 4) && extent % 8 == 0) {
      list.push_back({row, 8 / units, units});
      list.push_back({row, units, 1});
      if (extent > 8) list.push_back({row, extent / 8, 8});
    } else {
      list.push_back({row, extent / wide, wide});
    }
    return list;
  }
  for (usize i = 0; i < dims_.size(); ++i) {
    const i64 step = i == 0 ? lanes_ : i == last ? down_ : 1;
    list.push_back({i, dims_[i].extent / step, step});
  }
  return list;
}

Stager::Block Stager::block(AxisType lanes, AxisType rows) {
  Block b;
  b.copy = b.lane = b.row = rw_.index(0);
  i64 blocks = 1;
  const i64 items = loops_.all_items();
  UOp number = loops_.item_number();
  if (copies() > 1) {
    const bool unroll = copies() <= kMaxUnrolledCopies;
    b.copy = loops_.range(unroll ? AxisType::Upcast : AxisType::Loop, copies());
    b.made.push_back(b.copy);
    number = loops_.mul_add(b.copy, items, number);
  }
  if (down_ > 1) b.made.push_back(b.row = loops_.range(rows, down_));
  if (lanes_ > 1) b.made.push_back(b.lane = loops_.range(lanes, lanes_));
  b.at.assign(dims_.size(), rw_.index(0));
  const std::vector<Digit> list = digits();
  for (const Digit& d : list) blocks *= d.extent;
  if (copies() * items > blocks) b.inside = rw_.lt(number, blocks);
  for (usize i = 0; i < list.size(); ++i) {
    const Digit& d = list[i];
    UOp digit = i + 1 == list.size() ? number : rw_.floormod(number, d.extent);
    number = rw_.floordiv(number, d.extent);
    b.at[d.dim] = loops_.mul_add(digit, d.step, b.at[d.dim]);
  }
  b.at[0] = rw_.add(b.at[0], b.lane);
  if (down_ > 1) b.at[rows_.back()] = rw_.add(b.at[rows_.back()], b.row);
  return b;
}

// What is copied of the operand, with other values of the loops over tiles.
UOp Stager::value(const Block& b, std::span<const std::pair<UOp, UOp>> loops) {
  Rebuilder rebuild(rw_);
  auto at_loops = [&](UOp expression) {
    return loops.empty() || !expression ? expression : rw_.substitute(expression, loops);
  };
  for (usize id = 0; id < loops_.images.size(); ++id) {
    RangeImage image = loops_.images[id];
    if (!image.value) continue;
    image.value = at_loops(image.value);
    image.gate = at_loops(image.gate);
    rebuild.set(static_cast<i64>(id), image);
  }
  for (usize i = 0; i < dims_.size(); ++i) {
    const Dim& d = dims_[i];
    RangeImage image;
    image.value = loops_.mul_add(at_loops(parts(d).outer), d.extent, b.at[i]);
    i64 size = loops_.info.ranges[static_cast<usize>(d.axis)].size;
    if (i == 0) image.gate = b.inside;
    if (size == 0 || size % d.extent) {
      UOp limit = loops_.info.ranges[static_cast<usize>(d.axis)].range.src(0);
      // A vector is inside or outside as a whole.
      const i64 step = i == 0 ? lanes_ : 1;
      UOp within = step > 1 ? rw_.lt(rw_.floordiv(image.value, step), size / step)
                            : rw_.lt(image.value, limit);
      image.gate = image.gate ? rw_.land(image.gate, within) : within;
    }
    rebuild.set(d.axis, image);
  }
  return rebuild(load_);
}

UOp Stager::effect(UOp place, UOp value, const RangeList& made) {
  absl::InlinedVector<UOp, 4> srcs{rw_.make(Op::Store, core::dtypes::void_, {place, value})};
  srcs.insert(srcs.end(), made.begin(), made.end());
  return srcs.size() == 1 ? srcs[0] : rw_.make(Op::End, core::dtypes::void_, srcs);
}

UOp Stager::fill(UOp memory) {
  const bool across = transposes() && down_ > 1;
  const Block b = block(across ? AxisType::Upcast : AxisType::Vector, AxisType::Vector);
  UOp copied = value(b, {});
  return effect(place(memory, rw_.index(0), b.at, b.inside), copied, b.made);
}

// In the order of the loads.
UOp Stager::held_place(UOp held, const Block& b) {
  UOp row = loops_.mul_add(b.copy, down_, b.row);
  UOp index = loops_.mul_add(row, lanes_, b.lane);
  return rw_.make(Op::Index, held.dtype(), {held, index});
}

UOp Stager::hold(UOp held, std::span<const std::pair<UOp, UOp>> loops) {
  const Block b = block(AxisType::Vector, AxisType::Upcast);
  UOp copied = value(b, loops);
  return effect(held_place(held, b), copied, b.made);
}

UOp Stager::store_held(UOp memory, UOp base, UOp held) {
  const bool across = transposes() && down_ > 1;
  const Block b = block(across ? AxisType::Upcast : AxisType::Vector, AxisType::Vector);
  UOp copied = rw_.make(Op::Load, load_.dtype(), {held_place(held, b)});
  return effect(place(memory, base, b.at, b.inside), copied, b.made);
}

// What a reduction reads through local memory.
class Staging {
 public:
  Staging(GroupLoops& loops, const ReduceInfo& reduce, std::span<const i64> slots);
  void run(Rebuilder& rebuild, i64 buffers);

 private:
  void find_loads(const ReduceInfo& reduce, std::span<const i64> slots, u64 tiled);
  bool can_hold() const;
  std::vector<std::pair<UOp, UOp>> next_tile();
  UOp fill_ring();

  GroupLoops& loops_;
  core::Rewriter& rw_;
  RangeList around_;  // loops over tiles, outer ones first
  std::vector<UOp> loads_;
  std::vector<Stager> tiles_;
  std::vector<UOp> memories_, bases_;  // by load
};

Staging::Staging(GroupLoops& loops, const ReduceInfo& reduce, std::span<const i64> slots)
    : loops_(loops), rw_(loops.rw) {
  u64 tiled = 0;
  for (u64 m = reduce.closed; m; m &= m - 1) {
    const GroupParts& p = loops.parts[static_cast<usize>(std::countr_zero(m))];
    if (p.outer && p.outer.is(Op::Range)) around_.push_back(p.outer);
    if (p.block > 1) tiled |= m & -m;
  }
  std::sort(around_.begin(), around_.end(),
            [](UOp a, UOp b) { return a.range_id() < b.range_id(); });
  find_loads(reduce, slots, tiled);
}

void Staging::find_loads(const ReduceInfo& reduce, std::span<const i64> slots, u64 tiled) {
  for (UOp u : core::topological_order(rw_.arena(), {&reduce.reduce, 1})) {
    if (!u.is(Op::Load) || !(u.range_mask() & tiled)) continue;
    UOp memory = u.src(0).src(0);
    bool wanted =
        memory.is(Op::Param) && std::find(slots.begin(), slots.end(), memory.arg(0)) != slots.end();
    if (wanted) loads_.push_back(u);
  }
}

// Whether an item's part of the tiles can be in registers, and the loops over tiles are all that
// there is around them.
bool Staging::can_hold() const {
  if (!loops_.caps.private_arrays || around_.empty()) return false;
  for (UOp r : loops_.ranges) {
    if (r.axis_type() == AxisType::Loop) return false;
  }
  for (UOp r : around_) {
    if (!r.src(0).is_const()) return false;
  }
  return std::all_of(tiles_.begin(), tiles_.end(),
                     [](const Stager& s) { return s.copies() <= kMaxUnrolledCopies; });
}

// The loops' values in the next iteration; after the last one, those of the first.
std::vector<std::pair<UOp, UOp>> Staging::next_tile() {
  std::vector<std::pair<UOp, UOp>> next;
  UOp carry;  // null: true
  for (usize i = around_.size(); i-- > 0;) {
    UOp more = rw_.add(around_[i], 1), zero = rw_.index(0);
    UOp wraps = rw_.eq(more, around_[i].src(0));
    UOp stepped = rw_.where(wraps, zero, more);
    next.push_back({around_[i], carry ? rw_.where(carry, stepped, around_[i]) : stepped});
    carry = carry ? rw_.land(carry, wraps) : wraps;
  }
  return next;
}

// The effect after which all tiles of an iteration are in the ring.
UOp Staging::fill_ring() {
  std::vector<std::pair<UOp, UOp>> first;
  UOp number = rw_.index(0);
  for (UOp loop : around_) {
    number = rw_.add(rw_.mul(number, loop.src(0)), loop);
    first.push_back({loop, rw_.index(0)});
  }
  const std::vector<std::pair<UOp, UOp>> next = next_tile();
  UOp buffer = rw_.floormod(number, 2);
  std::vector<UOp> held, effects;
  for (usize i = 0; i < loads_.size(); ++i) {
    const i64 granule = std::max<i64>(1, 64 / loads_[i].dtype().bytes());
    const i64 count = (tiles_[i].count() + granule - 1) / granule * granule;
    memories_.push_back(loops_.define_local(loads_[i].dtype(), 2 * count));
    bases_.push_back(rw_.mul(buffer, count));
    const i64 elements = tiles_[i].held_count();
    UOp memory =
        rw_.make(Op::DefinePrivate, loads_[i].dtype(), {}, {loops_.next_private++, elements});
    UOp start = tiles_[i].hold(memory, first);
    absl::InlinedVector<UOp, 4> srcs{memory, start};
    srcs.insert(srcs.end(), around_.begin(), around_.end());
    held.push_back(rw_.make(Op::After, memory.dtype(), srcs));
  }
  for (usize i = 0; i < loads_.size(); ++i)
    effects.push_back(tiles_[i].store_held(memories_[i], bases_[i], held[i]));
  for (usize i = 0; i < loads_.size(); ++i) {
    UOp stored = loops_.after(held[i], {effects[i]});
    effects.push_back(tiles_[i].hold(stored, next));
  }
  return loops_.barrier(effects);
}

void Staging::run(Rebuilder& rebuild, i64 buffers) {
  if (loads_.empty()) return;
  for (UOp load : loads_) tiles_.emplace_back(loops_, load);
  UOp filled;
  if (buffers > 1 && can_hold()) {
    filled = fill_ring();
  } else {
    std::vector<UOp> fills;
    UOp start = around_.empty() ? UOp() : loops_.barrier(around_);
    for (usize i = 0; i < loads_.size(); ++i) {
      memories_.push_back(loops_.define_local(loads_[i].dtype(), tiles_[i].count()));
      bases_.push_back(rw_.index(0));
      UOp memory = start ? loops_.after(memories_[i], {start}) : memories_[i];
      fills.push_back(tiles_[i].fill(memory));
    }
    filled = loops_.barrier(fills);
  }
  for (usize i = 0; i < loads_.size(); ++i) {
    rebuild.replace(loads_[i], tiles_[i].read(loops_.after(memories_[i], {filled}), bases_[i]));
  }
}

}  // namespace

void stage_operands(GroupLoops& loops, Rebuilder& rebuild, const ReduceInfo& reduce,
                    std::span<const i64> slots, i64 buffers) {
  Staging(loops, reduce, slots).run(rebuild, buffers);
}

}  // namespace doorbell::codegen::detail
