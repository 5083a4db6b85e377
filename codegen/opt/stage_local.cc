// Operand tiles in local memory. For the tiles of a reduction's axes:
//
//   for tiles of the reduced axes:
//     barrier                              (all have read the last tile)
//     tile[k][i] = operand                 (all items together, in the order of global memory)
//     barrier
//     for k in the tile: sum += a_tile[k][i] * b_tile[k][j]
//
// A tile holds the operand's elements for all items and registers of the group. Its rows run along
// an output axis, as items read them, or along the depth of matrix instructions; rows are padded to
// avoid bank conflicts.
#include <algorithm>
#include <bit>
#include <cstdlib>

#include "base/util/check.h"
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
  // The elements that a work item reads.
  UOp read(UOp memory);
  i64 count() const { return dims_[rows_.front()].extent * dims_[rows_.front()].pitch; }

 private:
  struct Dim {
    i64 axis;
    i64 extent, stride;  // in global memory; a large number if it is not constant
    bool reduced;
    i64 pitch = 1;  // in the tile
  };
  void find_dims();
  void lay_out();
  UOp place(UOp memory, const std::vector<UOp>& at, UOp gate);
  const GroupParts& parts(const Dim& d) const { return loops_.parts[static_cast<usize>(d.axis)]; }

  GroupLoops& loops_;
  core::Rewriter& rw_;
  UOp load_;
  std::vector<Dim> dims_;    // ascending strides: the order of the copy
  std::vector<usize> rows_;  // into dims_: the tile's order, the contiguous one last
  i64 lanes_ = 1;            // elements that an item copies at once
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
  // Whole vectors, where the address and the gates allow.
  const Dim& first = dims_[0];
  i64 size = loops_.info.ranges[static_cast<usize>(first.axis)].size, tile = 1;
  for (const Dim& d : dims_) tile *= d.extent;
  i64 wide = std::clamp<i64>(loops_.caps.vector_bytes / load_.dtype().bytes(), 1, 16);
  bool vectors = first.stride == 1 && size > 0 && !(gates >> first.axis & 1);
  while (wide > 1 &&
         (!vectors || first.extent % wide || size % wide || tile / wide < loops_.all_items())) {
    wide /= 2;
  }
  lanes_ = wide;
  lay_out();
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

UOp Stager::place(UOp memory, const std::vector<UOp>& at, UOp gate) {
  UOp index = rw_.index(0);
  for (usize i : rows_) {
    UOp scaled = rw_.mul(at[i], dims_[i].pitch);
    index = rw_.add(index, scaled);
  }
  if (!gate) return rw_.make(Op::Index, memory.dtype(), {memory, index});
  return rw_.make(Op::Index, memory.dtype(), {memory, index, gate});
}

UOp Stager::read(UOp memory) {
  std::vector<UOp> at;
  for (const Dim& d : dims_) at.push_back(parts(d).inner);
  return rw_.make(Op::Load, load_.dtype(), {place(memory, at, UOp())});
}

UOp Stager::fill(UOp memory) {
  i64 vectors = 1, items = loops_.all_items();
  for (const Dim& d : dims_) vectors *= d.extent;
  vectors /= lanes_;
  i64 copies = (vectors + items - 1) / items;
  RangeList made;
  UOp number = loops_.item_number();
  if (copies > 1) {
    bool unroll = copies <= kMaxUnrolledCopies;
    made.push_back(loops_.range(unroll ? AxisType::Upcast : AxisType::Loop, copies));
    number = loops_.mul_add(made.back(), items, number);
  }
  UOp inside = copies * items > vectors ? rw_.lt(number, vectors) : UOp();
  Rebuilder rebuild(rw_);
  for (usize id = 0; id < loops_.images.size(); ++id) {
    if (loops_.images[id].value) rebuild.set(static_cast<i64>(id), loops_.images[id]);
  }
  std::vector<UOp> at;
  for (usize i = 0; i < dims_.size(); ++i) {
    const Dim& d = dims_[i];
    i64 extent = i == 0 ? d.extent / lanes_ : d.extent;
    bool last = i + 1 == dims_.size();
    UOp coordinate = last ? number : rw_.floormod(number, extent);
    number = rw_.floordiv(number, extent);
    if (i == 0 && lanes_ > 1) {
      made.push_back(loops_.range(AxisType::Vector, lanes_));
      coordinate = loops_.mul_add(coordinate, lanes_, made.back());
    }
    at.push_back(coordinate);
    RangeImage image;
    image.value = loops_.mul_add(parts(d).outer, d.extent, coordinate);
    i64 size = loops_.info.ranges[static_cast<usize>(d.axis)].size;
    if (last && inside) image.gate = inside;
    if (size == 0 || size % d.extent) {
      UOp limit = loops_.info.ranges[static_cast<usize>(d.axis)].range.src(0);
      // A vector is inside or outside as a whole.
      UOp within = i == 0 && lanes_ > 1 ? rw_.lt(rw_.floordiv(image.value, lanes_), size / lanes_)
                                        : rw_.lt(image.value, limit);
      image.gate = image.gate ? rw_.land(image.gate, within) : within;
    }
    rebuild.set(d.axis, image);
  }
  UOp value = rebuild(load_);
  absl::InlinedVector<UOp, 4> srcs{
      rw_.make(Op::Store, core::dtypes::void_, {place(memory, at, inside), value})};
  srcs.insert(srcs.end(), made.begin(), made.end());
  return srcs.size() == 1 ? srcs[0] : rw_.make(Op::End, core::dtypes::void_, srcs);
}

}  // namespace

void stage_operands(GroupLoops& loops, Rebuilder& rebuild, const ReduceInfo& reduce,
                    std::span<const i64> slots) {
  RangeList around;
  u64 tiled = 0;
  for (u64 m = reduce.closed; m; m &= m - 1) {
    const GroupParts& p = loops.parts[static_cast<usize>(std::countr_zero(m))];
    if (p.outer && p.outer.is(Op::Range)) around.push_back(p.outer);
    if (p.block > 1) tiled |= m & -m;
  }
  std::vector<UOp> loads;
  for (UOp u : core::topological_order(loops.rw.arena(), {&reduce.reduce, 1})) {
    if (!u.is(Op::Load) || !(u.range_mask() & tiled)) continue;
    UOp memory = u.src(0).src(0);
    bool wanted =
        memory.is(Op::Param) && std::find(slots.begin(), slots.end(), memory.arg(0)) != slots.end();
    if (wanted) loads.push_back(u);
  }
  if (loads.empty()) return;
  std::vector<Stager> tiles;
  std::vector<UOp> memories, fills;
  UOp start = around.empty() ? UOp() : loops.barrier(around);
  for (UOp load : loads) {
    Stager& tile = tiles.emplace_back(loops, load);
    memories.push_back(loops.define_local(load.dtype(), tile.count()));
    UOp memory = start ? loops.after(memories.back(), {start}) : memories.back();
    fills.push_back(tile.fill(memory));
  }
  UOp filled = loops.barrier(fills);
  for (usize i = 0; i < loads.size(); ++i) {
    rebuild.replace(loads[i], tiles[i].read(loops.after(memories[i], {filled})));
  }
}

}  // namespace doorbell::codegen::detail
