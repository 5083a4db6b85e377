// A contraction is blocked: each item computes a register tile, each group the tiles of its items,
// and the operands that they read are staged in local memory. The block shape with the least
// estimated time wins: arithmetic, reads of local memory, traffic of global memory, idle items, too
// few groups to fill the target.
#include <algorithm>
#include <bit>
#include <cmath>

#include "base/util/check.h"
#include "codegen/opt/group_plan.h"
#include "codegen/opt/occupancy.h"
#include "codegen/opt/staged_value.h"

namespace doorbell::codegen::detail {

using core::Op;
using core::UOp;

namespace {

constexpr f64 kWorthTiling = 1 << 18;  // multiply-adds
constexpr i64 kTileDepth = 16;         // of the reduced axes together

// One side of the result: the output axes that one operand varies with and the other does not.
struct Side {
  std::vector<i64> axes;  // the fastest in memory first
  i64 items = 1, upcast = 1, lanes = 1;
};

class Contraction {
 public:
  Contraction(const KernelInfo& info, const Caps& caps)
      : info_(info), caps_(caps), axes_(info, caps) {}
  bool recognise();
  Plan plan();
  f64 best_time() const { return best_ / reduce_->trips; }  // of what plan() found

 private:
  struct Shape {
    i64 columns, rows;  // items
    i64 lanes, across;  // registers of an item along the columns: lanes * across
    i64 down;           // and along the rows
  };
  // The part of a side that an axis contributes.
  struct Share {
    i64 axis, items, upcast, lanes;
    i64 block() const { return items * upcast * lanes; }
  };
  std::vector<Share> spread(const std::vector<i64>& side, i64 items, i64 upcast, i64 lanes) const;
  std::vector<std::pair<i64, i64>> depth() const;  // reduced axes and their tiles
  f64 padding(const std::vector<Share>& shares, f64* groups, i64* block) const;
  bool is_staged(const Access& a) const;
  i64 tile_bytes(i64 wide, i64 tall, i64 deep) const;
  f64 values_time(const Shape& s, bool staged, i64 wide, i64 tall) const;
  f64 time(const Shape& s, bool staged, i64 deep) const;
  Plan build(const Shape& s, bool staged) const;

  const KernelInfo& info_;
  const Caps& caps_;
  GroupAxes axes_;
  const ReduceInfo* reduce_ = nullptr;
  std::vector<i64> columns_, rows_;  // output axes of the two sides
  u64 others_ = 0;                   // on both sides: batches
  u64 column_mask_ = 0, row_mask_ = 0;
  std::vector<const Access*> operands_;  // memory that the reduction reads
  std::vector<StagedValue> values_;      // what tiles hold of it
  i64 bytes_ = 4, lanes_ = 1;
  f64 best_ = 1e300;
};

// Of a load that the kernel has once.
StagedValue value_of(const KernelInfo& info, const Access& access) {
  const auto load = std::ranges::find_if(
      info.order, [&](UOp u) { return u.is(Op::Load) && u.src(0) == access.index; });
  CHECK(load != info.order.end(), "no load of an access that is none of a store");
  return staged_value(info, *load);
}

bool Contraction::recognise() {
  if (info_.reduces.size() != 1) return false;
  reduce_ = &info_.reduces[0];
  if (reduce_->closed == 0) return false;
  u64 all = ~u64{0}, some = 0;
  bool contiguous_loads = true;
  for (const RangeInfo& r : info_.ranges) {
    if (r.range && r.size == 0) return false;
  }
  for (const Access& a : info_.accesses) {
    if (a.store || !(a.mask & reduce_->closed)) continue;
    all &= a.mask, some |= a.mask;
    bytes_ = std::max(bytes_, a.bytes);
    operands_.push_back(&a);
    values_.push_back(value_of(info_, a));
  }
  if (operands_.size() < 2) return false;
  u64 shared = some & ~all & info_.output_mask;  // axes that some operand does not vary with
  others_ = info_.output_mask & ~shared;
  // The axis along which the result is contiguous is a column, together with the axes of the same
  // operand.
  for (i64 axis : axes_.outputs()) {
    if (!(shared >> axis & 1)) continue;
    bool with = columns_.empty() || std::all_of(operands_.begin(), operands_.end(), [&](auto* a) {
                  return (a->mask >> axis & 1) == (a->mask >> columns_[0] & 1);
                });
    (with ? columns_ : rows_).push_back(axis);
    (with ? column_mask_ : row_mask_) |= u64{1} << axis;
  }
  if (columns_.empty() || rows_.empty()) return false;
  for (const Access* a : operands_) {
    contiguous_loads &= a->affine.coefficient(columns_[0]).has_value();
  }
  lanes_ = axes_.lanes(columns_[0], [](const Access& a) { return a.store; });
  if (!contiguous_loads) lanes_ = 1;
  return true;
}

// Distributes items and registers over the axes of a side: lanes and items where memory is
// contiguous, the register tile on the next outer axis that is long enough.
std::vector<Contraction::Share> Contraction::spread(const std::vector<i64>& side, i64 items,
                                                    i64 upcast, i64 lanes) const {
  std::vector<Share> shares;
  for (i64 axis : side) {
    Share s{axis, 1, 1, shares.empty() ? lanes : 1};
    i64 size = (info_.size(axis) + s.lanes - 1) / s.lanes;
    s.items = std::min(items, size);
    items = (items + s.items - 1) / s.items == 1 ? 1 : items / s.items;
    i64 left = (size + s.items - 1) / s.items;
    s.upcast = std::min(upcast, left);
    upcast /= s.upcast;
    shares.push_back(s);
  }
  return shares;
}

// The longest reduced axis, and whole others while the tile is shallow.
std::vector<std::pair<i64, i64>> Contraction::depth() const {
  std::vector<i64> closed;
  for (u64 m = reduce_->closed; m; m &= m - 1) closed.push_back(std::countr_zero(m));
  std::stable_sort(closed.begin(), closed.end(),
                   [&](i64 a, i64 b) { return info_.size(a) > info_.size(b); });
  std::vector<std::pair<i64, i64>> tiles;
  i64 deep = 1;
  for (i64 axis : closed) {
    i64 size = info_.size(axis), tile = std::min(size, kTileDepth / deep);
    if (tile < 2) break;
    i64 divisor = largest_divisor(size, tile, 1);
    if (divisor * 2 > tile) tile = divisor;
    tiles.push_back({axis, tile});
    deep *= tile;
  }
  return tiles;
}

// The factor of surplus work from padding; counts the groups and the extent of a block.
f64 Contraction::padding(const std::vector<Share>& shares, f64* groups, i64* block) const {
  f64 waste = 1;
  *block = 1;
  for (const Share& s : shares) {
    f64 size = static_cast<f64>(info_.size(s.axis)), n = static_cast<f64>(s.block());
    f64 blocks = std::ceil(size / n);
    *groups *= blocks;
    *block *= s.block();
    waste *= blocks * n / size;
  }
  return waste;
}

// Operands that vary with both sides are not staged.
bool Contraction::is_staged(const Access& a) const {
  return !(a.mask & column_mask_) || !(a.mask & row_mask_);
}

i64 Contraction::tile_bytes(i64 wide, i64 tall, i64 deep) const {
  i64 bytes = 0;
  for (usize i = 0; i < operands_.size(); ++i) {
    const Access& a = *operands_[i];
    i64 extent = a.mask & column_mask_ ? wide : a.mask & row_mask_ ? tall : 1;
    if (is_staged(a)) bytes += (extent + 8) * deep * values_[i].bytes();
  }
  return bytes;
}

// Of making values of elements, for one multiply-add: a group makes those in tiles once, items make
// the others for each step of their own.
f64 Contraction::values_time(const Shape& s, bool staged, i64 wide, i64 tall) const {
  f64 time = 0;
  for (usize i = 0; i < operands_.size(); ++i) {
    const Access& a = *operands_[i];
    const bool once = staged && is_staged(a);
    i64 uses = 1;
    if (!(a.mask & row_mask_)) uses *= once ? tall : s.down;
    if (!(a.mask & column_mask_)) uses *= once ? wide : s.lanes * s.across;
    time += values_[i].cost / static_cast<f64>(uses);
  }
  return time;
}

// In units of a multiply-add of one item on a full target.
f64 Contraction::time(const Shape& s, bool staged, i64 deep) const {
  constexpr f64 kByte = 4;  // of global memory, among multiply-adds
  i64 wide, tall;
  f64 groups = axes_.values(others_);
  std::vector<Share> columns = spread(columns_, s.columns, s.across, s.lanes);
  std::vector<Share> rows = spread(rows_, s.rows, s.down, 1);
  f64 waste = padding(columns, &groups, &wide) * padding(rows, &groups, &tall);
  // Two groups should fit, or more.
  i64 most = caps_.max_shared_bytes > 0 ? caps_.max_shared_bytes / 2 : INT32_MAX;
  if (staged && tile_bytes(wide, tall, deep) > most) return 1e300;
  f64 items = static_cast<f64>(s.columns * s.rows);
  f64 reads = static_cast<f64>(s.across + s.down) /
              static_cast<f64>(s.lanes * s.across * s.down);  // of a vector and of rows
  const f64 others = reads + values_time(s, staged, wide, tall);
  f64 busy = std::min(1.0, groups * items / axes_.busy_items());
  // A group of few items waits for each of its tiles alone.
  f64 compute = (1 + others + (staged ? 16 / items : 0.5)) / busy;
  if (caps_.simd.waves > 0) {
    // Registers for sums, one step's operands, addresses and copies.
    const i64 sums = s.lanes * s.across * s.down, step = s.lanes * s.across + s.down;
    const Demand demand{sums + 4 * step + 24, staged ? tile_bytes(wide, tall, deep) : 0,
                        s.columns * s.rows};
    const f64 waves = waves_of_simd(caps_, demand);
    const f64 work = static_cast<f64>(sums) * static_cast<f64>(staged ? deep : 4);
    compute = (1 + others) * stall_factor(caps_, waves, work) / busy;
  }
  // Caches serve part of the operands that are not staged.
  f64 fetched = staged ? 1.0 / static_cast<f64>(wide) + 1.0 / static_cast<f64>(tall) : reads / 4;
  f64 memory = fetched * static_cast<f64>(bytes_) * kByte / std::sqrt(busy);
  return reduce_->trips * waste * (compute + memory / 2);
}

Plan Contraction::build(const Shape& s, bool staged) const {
  Plan plan;
  std::vector<Share> columns = spread(columns_, s.columns, s.across, s.lanes);
  std::vector<Share> rows = spread(rows_, s.rows, s.down, 1);
  i64 used = 0, deep = 1;
  auto items = [&](const std::vector<Share>& side, i64 most) {
    for (const Share& x : side) {
      if (x.items < 2 || used == most) continue;
      plan.push_back({OptOp::Local, x.axis, x.items});
      ++used;
    }
  };
  items(columns, rows[0].items > 1 ? 2 : 3);
  items(rows, 3);
  for (const auto* side : {&columns, &rows}) {
    for (const Share& x : *side) {
      if (x.lanes > 1) plan.push_back({OptOp::Vector, x.axis, x.lanes});
      if (x.upcast > 1) plan.push_back({OptOp::Upcast, x.axis, x.upcast});
    }
  }
  for (auto [axis, tile] : depth()) {
    i64 unroll = largest_divisor(tile, std::max<i64>(1, 4 / deep), 1);
    if (staged) plan.push_back({OptOp::Tile, axis, tile});
    if (unroll > 1) plan.push_back({OptOp::Unroll, axis, unroll});
    deep *= unroll;
  }
  for (const Access* a : operands_) {
    Opt stage{OptOp::Stage, a->memory.arg(0), 1};
    bool all = std::all_of(operands_.begin(), operands_.end(), [&](const Access* other) {
      return other->memory != a->memory || is_staged(*other);
    });
    bool listed = std::find(plan.begin(), plan.end(), stage) != plan.end();
    if (staged && all && !listed) plan.push_back(stage);
  }
  return plan;
}

Plan Contraction::plan() {
  f64 results = axes_.values(info_.output_mask);
  if (reduce_->trips < kWorthTiling || results < 256) return {};
  i64 registers = caps_.vector_registers * std::max(caps_.vector_bytes, 4) / 4 / 2;
  i64 most = axes_.all_items(), deep = 1;
  for (auto [axis, tile] : depth()) deep *= tile;
  Shape chosen{};
  bool chosen_staged = false;
  for (i64 columns : {8, 16, 32}) {
    for (i64 rows : {4, 8, 16}) {
      if (columns * rows > most || columns * rows < std::min<i64>(32, most)) continue;
      for (i64 across : {1, 2}) {
        for (i64 down : {1, 2, 4, 8}) {
          if (lanes_ * across * down > registers) continue;
          for (bool staged : {false, true}) {
            if (staged && (deep < 4 || !caps_.fast_shared)) continue;
            Shape s{columns, rows, lanes_, across, down};
            f64 t = time(s, staged, deep);
            if (t < best_) best_ = t, chosen = s, chosen_staged = staged;
          }
        }
      }
    }
  }
  // Few results of long sums are better computed as a reduction shared by items.
  f64 items = results / static_cast<f64>(chosen.lanes * chosen.across * chosen.down);
  bool idle = items < axes_.busy_items() / 16;
  if (best_ == 1e300 || (idle && axes_.values(reduce_->closed) > 4 * results)) {
    return {};
  }
  return build(chosen, chosen_staged);
}

}  // namespace

Plan group_tile_plan(const KernelInfo& info, const Caps& caps, f64* time) {
  Contraction c(info, caps);
  if (!c.recognise()) return {};
  Plan plan = c.plan();
  if (time != nullptr) *time = c.best_time();
  return plan;
}

}  // namespace doorbell::codegen::detail
