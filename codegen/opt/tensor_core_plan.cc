// Waves compute blocks of whole instructions from operands that the group stages in local memory.
// The numbers of instructions per wave and of waves per group with the least estimated time win.
#include "codegen/opt/tensor_core_plan.h"

#include <algorithm>
#include <bit>

#include "codegen/opt/stage_tile.h"
#include "codegen/opt/tensor_core_choice.h"

namespace doorbell::codegen::detail {

using core::Op;
using core::UOp;

std::optional<Product> find_product(const KernelInfo& info) {
  if (info.reduces.size() != 1) return std::nullopt;
  const ReduceInfo& r = info.reduces[0];
  UOp product = r.reduce.src(0);
  if (r.reduce.reduce_op() != Op::Add || !product.is(Op::Mul)) return std::nullopt;
  UOp x = product.src(0), y = product.src(1);
  if (x.is(Op::Load) && y.is(Op::Load) && x.dtype() == core::dtypes::f32) return Product{&r, x, y};
  if (!x.is(Op::Cast) || !y.is(Op::Cast) || x.src(0).dtype() != y.src(0).dtype())
    return std::nullopt;
  return Product{&r, x.src(0), y.src(0)};
}

namespace {

constexpr f64 kWorthTensorCores = 1 << 14;  // multiply-adds
constexpr i64 kMaxBuffers = 4;              // of tiles, at most, where copies are asynchronous
constexpr i64 kMaxTileBytes = 256;          // of a row, at most, then
constexpr i64 kMaxDepthWaves = 8;
constexpr i64 kMaxTaps = 16;  // of all windows of a plan

}  // namespace

// The deepest of those of a wave, and all that read local memory.
std::vector<i64> TensorCorePlan::cores(const Product& product) {
  std::vector<i64> numbers;
  bool found = false;
  for (usize i = kTensorCoreCount; i-- > 0;) {
    const TensorCore& core = tensor_cores()[i];
    if (!caps_.tensor_cores[i] || core.operand != product.x.dtype().scalar ||
        core.result != product.reduce->reduce.dtype().scalar) {
      continue;
    }
    use(static_cast<i64>(i));
    if (longest(product.reduce->closed, core.depth) < 0) continue;
    if (core.reads_local ? !can_read_local(product) : found) continue;
    found |= !core.reads_local;
    numbers.push_back(static_cast<i64>(i));
  }
  return numbers;
}

// Operands as they are in memory.
bool TensorCorePlan::can_read_local(const Product& product) const {
  const auto is_memory = [](UOp u) { return u.is(Op::Load) && u.src(0).src(0).is(Op::Param); };
  return caps_.fast_shared && is_memory(product.x) && is_memory(product.y);
}

// Whether the axis takes parts of `step`: whole ones, or, where tiles are read from local memory,
// into which zeros are copied from behind the end, more than half of one. Copies of 16 bytes must
// not cross that end.
bool TensorCorePlan::fits(i64 axis, i64 step) const {
  const i64 size = info_.size(axis);
  if (size <= 0 || size % step == 0) return size > 0;
  if (!core_->reads_local || 2 * size <= step) return false;
  const bool is_copied_along = std::ranges::any_of(
      info_.accesses, [&](const Access& a) { return !a.store && axes_.contiguous(a, axis); });
  return !is_copied_along || size * core_->operand_bytes() % kAsyncBytes == 0;
}

// The longest axis of the mask that takes parts of `step`, or -1.
i64 TensorCorePlan::longest(u64 mask, i64 step) const {
  i64 best = -1;
  for (; mask; mask &= mask - 1) {
    i64 axis = std::countr_zero(mask);
    if (fits(axis, step) && (best < 0 || info_.size(axis) > info_.size(best))) best = axis;
  }
  return best;
}

bool TensorCorePlan::find_axes(const Product& product) {
  const u64 x = product.x.range_mask() & info_.output_mask;
  const u64 y = product.y.range_mask() & info_.output_mask;
  const u64 of_x = x & ~y, of_y = y & ~x;
  depth_ = longest(product.reduce->closed, core_->depth);
  // Neighbouring results of an item are stored at once.
  const bool neighbours = core_->result_row.element[0].step == 1;
  const i64 step = neighbours ? core_->rows : core_->columns;
  // The axis along which results are contiguous, and one of the other operand.
  i64 across = -1;
  for (i64 axis : axes_.outputs()) {
    const bool is_of_one = (of_x | of_y) >> axis & 1;
    if (across < 0 && is_of_one && fits(axis, step)) across = axis;
  }
  if (across < 0) return false;
  const i64 other =
      longest(of_x >> across & 1 ? of_y : of_x, neighbours ? core_->columns : core_->rows);
  if (other < 0) return false;
  rows_ = neighbours ? across : other;
  columns_ = neighbours ? other : across;
  find_window_axes(product);
  return true;
}

// Windows whose taps are all that is reduced besides the depth, and few.
void TensorCorePlan::find_window_axes(const Product& product) {
  taps_ = 1, along_ = -1;
  windows_ = {};
  if (core_->reads_local) return;
  Windows found = find_windows(info_, product.reduce->closed & ~(u64{1} << depth_));
  for (const Window& w : found.list) {
    if (info_.size(w.tap) <= 0 || info_.size(w.along) <= 0) return;
    taps_ *= info_.size(w.tap);
    if (w.along == rows_ || w.along == columns_) continue;
    if (along_ >= 0) return;
    along_ = w.along;
  }
  if (taps_ <= kMaxTaps) windows_ = std::move(found);
}

Plan TensorCorePlan::build(const Block& b) const {
  Plan plan{{OptOp::Rows, rows_, number_},
            {OptOp::Columns, columns_, number_},
            {OptOp::Depth, depth_, number_}};
  auto add = [&](OptOp op, i64 axis, i64 amount) {
    if (amount > 1) plan.push_back({op, axis, amount});
  };
  add(OptOp::Local, columns_, b.column_waves);
  add(OptOp::Local, rows_, b.row_waves);
  add(OptOp::Group, depth_, b.depth_waves);
  if (along_ >= 0) add(OptOp::Local, along_, b.along_waves);
  add(OptOp::Upcast, columns_, b.column_tiles);
  add(OptOp::Upcast, rows_, b.row_tiles);
  const i64 tile = tile_depth(b);
  add(OptOp::Unroll, depth_, tile / (core_->depth * b.depth_waves));
  for (const Window& w : windows_.list) {
    if (b.taps == 1) continue;
    add(OptOp::Unroll, w.tap, info_.size(w.tap));
    add(OptOp::Tile, w.tap, info_.size(w.tap));
  }
  if (!caps_.fast_shared) return plan;
  if (b.persistent) {
    const i64 groups = static_cast<i64>(cores_of_target()) * groups_of_core(b);
    plan.push_back({OptOp::Persistent, 0, groups});
  }
  plan.push_back({OptOp::Tile, depth_, tile});
  for (const Access& a : info_.accesses) {
    if (a.store || !(a.mask >> depth_ & 1) || !a.memory.is(Op::Param)) continue;
    const Opt stage{OptOp::Stage, a.memory.arg(0), b.buffers};
    if (std::find(plan.begin(), plan.end(), stage) == plan.end()) plan.push_back(stage);
  }
  return plan;
}

Plan TensorCorePlan::choose() {
  const std::optional<Product> product = find_product(info_);
  if (!product || product->reduce->trips < kWorthTensorCores) return {};
  for (const i64 number : cores(*product)) {
    use(number);
    if (!find_axes(*product)) continue;
    for (i64 row_waves : {1, 2, 4}) {
      for (i64 column_waves : {1, 2, 4}) {
        for (i64 row_tiles : {1, 2, 4, 8}) {
          for (i64 column_tiles : {1, 2, 4, 8})
            consider_all({row_waves, column_waves, row_tiles, column_tiles});
        }
      }
    }
  }
  if (best_ == 1e300) return {};
  use(chosen_core_);
  find_axes(*product);
  return build(chosen_);
}

void TensorCorePlan::consider(Block b) {
  const f64 t = time(b);
  if (t < best_) best_ = t, chosen_ = b, chosen_core_ = number_;
}

// A block, with each depth and number of its tiles.
void TensorCorePlan::consider_depths(Block b) {
  const bool async = copies_all_async();
  const i64 longest_row = async ? kMaxTileBytes : 2 * kTileBytes;
  const i64 most_buffers = async ? kMaxBuffers : kBuffers;
  // There are three axes of items.
  const i64 depth_waves = b.row_waves > 1 && b.column_waves > 1 ? 1 : kMaxDepthWaves;
  for (b.depth_waves = 1; b.depth_waves <= depth_waves; b.depth_waves *= 2) {
    for (b.tile_bytes = kTileBytes; b.tile_bytes <= longest_row; b.tile_bytes *= 2) {
      for (b.buffers = kBuffers; b.buffers <= most_buffers; ++b.buffers) {
        for (const bool persistent : {false, true})
          if (!persistent || caps_.tensor_copies) b.persistent = persistent, consider(b);
      }
    }
  }
}

// A block with whole windows in its tiles, which are too large for a ring.
void TensorCorePlan::consider_windows(Block b) {
  if (windows_.list.empty() || !caps_.fast_shared) return;
  const Access& over = *windows_.over;
  // The image's tile has no limit of its own: its axes have no end inside a block.
  for (const Window& w : windows_.list) {
    const i64 block = w.along == rows_ ? rows_of(b) : w.along == columns_ ? columns_of(b) : 1;
    if (info_.size(w.along) % block) return;
  }
  b.taps = taps_, b.buffers = 1, b.tile_bytes = core_->depth * core_->operand_bytes();
  for (b.along_waves = 1; b.along_waves <= 4; b.along_waves *= 2) {
    const int axes = (b.row_waves > 1) + (b.column_waves > 1) + (b.along_waves > 1);
    const bool has_axis = b.along_waves == 1 || along_ >= 0;
    if (axes > 2 || !has_axis || (along_ >= 0 && info_.size(along_) % b.along_waves)) continue;
    // As a block of an item fills a vector of the tile.
    const i64 blocks = extent(over, b) * tile_depth(b) * core_->operand_bytes() / 16;
    if (blocks <= kMaxUnrolledCopies * b.waves() * core_->items()) consider(b);
  }
}

Plan tensor_core_plan(const KernelInfo& info, const Caps& caps, f64* time) {
  if (caps.tensor_cores.none()) return {};
  TensorCorePlan plans(info, caps);
  Plan plan = plans.choose();
  if (time != nullptr) *time = plans.best_time();
  return plan;
}

}  // namespace doorbell::codegen::detail
