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
// Where the target copies from global to local memory by itself, nothing is held. With a ring of n
// buffers, n - 1 tiles are on their way:
//
//   start copies of tiles 0 .. n - 2
//   for tile number t:
//     wait for the copy of tile t; barrier (and all have used tile t - 1)
//     start the copy of tile t + n - 1, into the buffer of tile t - 1
//     for k in the tile: sum += a_tile[t % n][k][i] * b_tile[t % n][k][j]
//
// No copy is started of what is behind the last tile. Matrix instructions that read local memory go
// on while the next tile's begin, so that the copy of tile t + n - 2 is started then, into the
// buffer of tile t - 2.
//
// Where it copies whole boxes of tensors, one item starts the copies, all wait for their phase on a
// buffer's mbarrier (codegen/linear/tensor_copy.h), and meet at the barrier then. Of a persistent
// group the ring goes on: t counts the tiles of all that it computes, one after the other, and the
// first tiles of the next are copied while the last ones of this are used.
//
// For a tile's layout and its copy see stage_tile.h.
#include <algorithm>
#include <bit>

#include "codegen/linear/tensor_copy.h"
#include "codegen/opt/stage_tile.h"
#include "codegen/opt/staged_value.h"

namespace doorbell::codegen::detail {

using core::AxisType;
using core::Op;
using core::UOp;

namespace {

// What a reduction reads through local memory.
class Staging {
 public:
  Staging(GroupLoops& loops, const ReduceInfo& reduce, std::span<const i64> slots);
  void run(Rebuilder& rebuild, i64 buffers);

 private:
  void find_loads(const ReduceInfo& reduce, std::span<const i64> slots, u64 tiled);
  bool can_ring(i64 buffers) const;
  bool walks() const { return static_cast<bool>(loops_.walk); }
  i64 trips() const;
  std::vector<std::pair<UOp, UOp>> tile(i64 number);
  std::vector<std::pair<UOp, UOp>> later_tile(i64 ahead, UOp gate);
  UOp hold_first(usize i);
  UOp copy_async(LoopValues values, UOp buffer, UOp done, UOp gate);
  UOp copy_boxes(LoopValues values, UOp buffer, UOp done, UOp gate);
  UOp wait_for_boxes(UOp number, i64 buffers, std::span<const UOp> after);
  UOp make_ring(i64 buffers);
  void hold_ring();
  void copy_ring(i64 buffers);

  GroupLoops& loops_;
  core::Rewriter& rw_;
  RangeList around_;                 // loops over tiles, outer ones first
  std::vector<UOp> loads_, values_;  // and what the tiles hold of them
  std::vector<Stager> tiles_;
  std::vector<UOp> memories_, bases_;  // by load
  std::vector<i64> counts_;            // elements of a buffer of the ring, by load
  bool boxes_ = false;                 // copies of boxes can fill the tiles
  UOp mbarriers_;                      // of the ring's buffers, for copies of boxes
  i64 left_ = 0;                       // batches of matrix instructions that may be done later
  std::vector<UOp> after_;             // the effects that reads of tiles come after
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
  if (loops.walk) around_.insert(around_.begin(), loops.walk);
  find_loads(reduce, slots, tiled);
}

void Staging::find_loads(const ReduceInfo& reduce, std::span<const i64> slots, u64 tiled) {
  const bool has_matrices =
      std::ranges::any_of(loops_.parts, [](const GroupParts& p) { return p.matrix > 1; });
  for (UOp u : core::topological_order(rw_.arena(), {&reduce.reduce, 1})) {
    if (!u.is(Op::Load) || !(u.range_mask() & tiled)) continue;
    UOp memory = u.src(0).src(0);
    bool wanted =
        memory.is(Op::Param) && std::find(slots.begin(), slots.end(), memory.arg(0)) != slots.end();
    if (!wanted) continue;
    loads_.push_back(u);
    values_.push_back(has_matrices ? u : staged_value(loops_.info, u).value);
  }
}

// Whether an item's part of the tiles can be in registers, or boxes fill them, and the loops over
// tiles are all that there is around them, but for a walk, whose first step has the ring's first
// copies.
bool Staging::can_ring(i64 buffers) const {
  const usize first = walks() ? 1 : 0;
  if (!loops_.caps.private_arrays || around_.size() <= first || buffers == 1) return false;
  for (UOp r : loops_.ranges) {
    if (r.axis_type() == AxisType::Loop && r != loops_.walk) return false;
  }
  for (usize i = first; i < around_.size(); ++i) {
    if (!around_[i].src(0).is_const()) return false;
  }
  if (walks() && (!boxes_ || trips() < buffers)) return false;
  return boxes_ || std::ranges::all_of(tiles_, &Stager::can_hold);
}

// Of the loops over tiles, but for a walk.
i64 Staging::trips() const {
  i64 product = 1;
  for (UOp loop : around_)
    if (loop != loops_.walk) product *= loop.src(0).const_int();
  return product;
}

// The loops' values at tile `number`, of the walk's first step.
std::vector<std::pair<UOp, UOp>> Staging::tile(i64 number) {
  std::vector<std::pair<UOp, UOp>> values;
  for (usize i = around_.size(); i-- > 0;) {
    if (around_[i] == loops_.walk) {
      values.push_back({around_[i], rw_.index(0)});
      continue;
    }
    const i64 size = around_[i].src(0).const_int();
    values.push_back({around_[i], rw_.index(number % size)});
    number /= size;
  }
  return values;
}

// The loops' values `ahead` iterations later; after the last one come those of the first. With a
// gate, nobody uses values where it is false: behind the last iteration.
std::vector<std::pair<UOp, UOp>> Staging::later_tile(i64 ahead, UOp gate) {
  std::vector<std::pair<UOp, UOp>> later;
  if (around_.size() == 1 && gate) {
    later.push_back({around_[0], rw_.add(around_[0], ahead)});
    return later;
  }
  if (around_.size() == 2 && walks() && gate) {
    UOp more = rw_.add(around_[1], ahead), step = rw_.add(around_[0], 1);
    UOp wraps = rw_.lt(rw_.index(trips() - 1), more), over = rw_.sub(more, rw_.index(trips()));
    later.push_back({around_[0], rw_.where(wraps, step, around_[0])});
    later.push_back({around_[1], rw_.where(wraps, over, more)});
    return later;
  }
  for (UOp loop : around_) later.push_back({loop, loop});
  for (; ahead > 0; --ahead) {
    UOp carry;  // null: true
    for (usize i = later.size(); i-- > 0;) {
      UOp now = later[i].second, more = rw_.add(now, 1), zero = rw_.index(0);
      UOp wraps = rw_.eq(more, later[i].first.src(0));
      UOp stepped = rw_.where(wraps, zero, more);
      later[i].second = carry ? rw_.where(carry, stepped, now) : stepped;
      carry = carry ? rw_.land(carry, wraps) : wraps;
    }
  }
  return later;
}

// Starts a load's part of the ring by way of registers: they hold the first tile.
UOp Staging::hold_first(usize i) {
  const i64 elements = tiles_[i].held_count();
  UOp memory =
      rw_.make(Op::DefinePrivate, loads_[i].dtype(), {}, {loops_.next_private++, elements});
  UOp start = tiles_[i].hold(memory, tile(0));
  absl::InlinedVector<UOp, 4> srcs{memory, start};
  srcs.insert(srcs.end(), around_.begin(), around_.end());
  return rw_.make(Op::After, memory.dtype(), srcs);
}

// Copies the tile at these values of the loops into a buffer of the ring, after `done`, which may
// be null, if `gate`, which may be null too, is true.
UOp Staging::copy_async(LoopValues values, UOp buffer, UOp done, UOp gate) {
  std::vector<UOp> stores;
  for (usize i = 0; i < loads_.size(); ++i) {
    UOp memory = done ? loops_.after(memories_[i], {done}) : memories_[i];
    stores.push_back(tiles_[i].fill_async(memory, rw_.mul(buffer, counts_[i]), values, gate));
  }
  const i64 args[] = {kAsync};
  return rw_.make(Op::Group, core::dtypes::void_, stores, args);
}

// The same by boxes, which one item of the first wave copies.
UOp Staging::copy_boxes(LoopValues values, UOp buffer, UOp done, UOp gate) {
  const auto at = [&](UOp memory) { return done ? loops_.after(memory, {done}) : memory; };
  UOp first = rw_.eq(loops_.wave(), rw_.index(0));
  if (gate) first = rw_.land(first, gate);
  BoxPhase phase{at(mbarriers_), buffer};
  for (usize i = 0; i < loads_.size(); ++i)
    phase.bytes += tiles_[i].count() * loads_[i].dtype().bytes();
  std::vector<UOp> copies;
  for (usize i = 0; i < loads_.size(); ++i)
    tiles_[i].copy_boxes(at(memories_[i]), rw_.mul(buffer, counts_[i]), phase, values, first,
                         &copies);
  return rw_.make(Op::Group, core::dtypes::void_, copies);
}

// The barrier that stands where all copies of the tile are done. Each buffer's phases take turns.
UOp Staging::wait_for_boxes(UOp number, i64 buffers, std::span<const UOp> after) {
  absl::InlinedVector<UOp, 4> srcs{mbarriers_};
  srcs.insert(srcs.end(), after.begin(), after.end());
  UOp memory = rw_.make(Op::After, mbarriers_.dtype(), srcs);
  UOp turn = rw_.floordiv(number, buffers), which = rw_.floormod(number, buffers);
  UOp place = rw_.make(Op::Index, memory.dtype(), {memory, which});
  UOp parity = rw_.floormod(turn, 2);
  UOp waited = rw_.make(Op::Store, core::dtypes::void_, {place, parity}, {kPhaseWait});
  return rw_.make(Op::Barrier, core::dtypes::void_, {waited});
}

// The number of the tile, and memory for the ring.
UOp Staging::make_ring(i64 buffers) {
  UOp number = rw_.index(0);
  for (UOp loop : around_)
    number = loop == loops_.walk ? loop : rw_.add(rw_.mul(number, loop.src(0)), loop);
  UOp buffer = rw_.floormod(number, buffers);
  for (usize i = 0; i < loads_.size(); ++i) {
    const i64 granule = std::max<i64>(1, 64 / tiles_[i].dtype().bytes());
    counts_.push_back((tiles_[i].count() + granule - 1) / granule * granule);
    memories_.push_back(
        loops_.define_local(tiles_[i].dtype(), buffers * counts_[i], tiles_[i].alignment()));
    bases_.push_back(rw_.mul(buffer, counts_[i]));
  }
  return number;
}

void Staging::hold_ring() {
  make_ring(2);
  std::vector<UOp> held, effects;
  for (usize i = 0; i < loads_.size(); ++i) held.push_back(hold_first(i));
  for (usize i = 0; i < loads_.size(); ++i)
    effects.push_back(tiles_[i].store_held(memories_[i], bases_[i], held[i]));
  const std::vector<std::pair<UOp, UOp>> next = later_tile(1, UOp());
  for (usize i = 0; i < loads_.size(); ++i) {
    UOp stored = loops_.after(held[i], {effects[i]});
    effects.push_back(tiles_[i].hold(stored, next));
  }
  after_ = {loops_.barrier(effects)};
}

void Staging::copy_ring(i64 buffers) {
  UOp number = make_ring(buffers), copied;
  left_ = loops_.overlaps_products && buffers > 2 ? 1 : 0;
  const i64 ahead = buffers - 1 - left_;  // tiles on their way
  if (boxes_) mbarriers_ = loops_.define_mbarriers(buffers);
  const auto start = [&](LoopValues values, UOp buffer, UOp done, UOp gate) {
    return boxes_ ? copy_boxes(values, buffer, done, gate) : copy_async(values, buffer, done, gate);
  };
  for (i64 i = 0; i < ahead; ++i) copied = start(tile(i), rw_.index(i), copied, UOp());
  std::vector<UOp> effects{copied};
  effects.insert(effects.end(), around_.begin(), around_.end());
  UOp filled =
      boxes_ ? wait_for_boxes(number, buffers, effects) : loops_.barrier(effects, ahead - 1);
  UOp later = rw_.add(number, ahead), free = rw_.floormod(later, buffers);
  UOp tiles = rw_.index(trips());
  if (walks()) tiles = rw_.mul(loops_.walk.src(0), tiles);
  UOp is_left = rw_.lt(later, tiles);
  after_ = {filled, start(later_tile(ahead, is_left), free, filled, is_left)};
}

void Staging::run(Rebuilder& rebuild, i64 buffers) {
  if (loads_.empty()) return;
  for (usize i = 0; i < loads_.size(); ++i) tiles_.emplace_back(loops_, loads_[i], values_[i]);
  boxes_ = std::ranges::all_of(tiles_, [](const Stager& t) { return t.fit_boxes().has_value(); });
  const bool rings = can_ring(buffers);
  if (rings && std::ranges::all_of(tiles_, &Stager::copies_async)) {
    copy_ring(std::min(buffers, trips()));
  } else if (rings) {
    hold_ring();
  } else {
    std::vector<UOp> fills;
    UOp start = around_.empty() ? UOp() : loops_.barrier(around_);
    for (usize i = 0; i < loads_.size(); ++i) {
      memories_.push_back(
          loops_.define_local(tiles_[i].dtype(), tiles_[i].count(), tiles_[i].alignment()));
      bases_.push_back(rw_.index(0));
      UOp memory = start ? loops_.after(memories_[i], {start}) : memories_[i];
      fills.push_back(tiles_[i].fill(memory));
    }
    after_ = {loops_.barrier(fills)};
  }
  for (usize i = 0; i < loads_.size(); ++i) {
    absl::InlinedVector<UOp, 4> srcs{memories_[i]};
    srcs.insert(srcs.end(), after_.begin(), after_.end());
    UOp memory = rw_.make(Op::After, memories_[i].dtype(), srcs);
    rebuild.replace(values_[i], tiles_[i].read(memory, bases_[i], left_));
  }
}

}  // namespace

void stage_operands(GroupLoops& loops, Rebuilder& rebuild, const ReduceInfo& reduce,
                    std::span<const i64> slots, i64 buffers) {
  Staging(loops, reduce, slots).run(rebuild, buffers);
}

}  // namespace doorbell::codegen::detail
