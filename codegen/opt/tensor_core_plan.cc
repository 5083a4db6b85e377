// Waves compute blocks of whole instructions from operands that the group stages in local memory.
// The numbers of instructions per wave and of waves per group with the least estimated time win:
// instructions, reads of local memory, traffic of global memory, blocks that run past the end, too
// few groups to fill the target.
#include "codegen/opt/tensor_core_plan.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "codegen/opt/group_plan.h"
#include "codegen/opt/occupancy.h"

namespace doorbell::codegen::detail {

using core::Op;
using core::UOp;

std::optional<Product> find_product(const KernelInfo& info) {
  if (info.reduces.size() != 1) return std::nullopt;
  const ReduceInfo& r = info.reduces[0];
  UOp product = r.reduce.src(0);
  if (r.reduce.reduce_op() != Op::Add || !product.is(Op::Mul)) return std::nullopt;
  UOp x = product.src(0), y = product.src(1);
  if (!x.is(Op::Cast) || !y.is(Op::Cast) || x.src(0).dtype() != y.src(0).dtype())
    return std::nullopt;
  return Product{&r, x.src(0), y.src(0)};
}

namespace {

constexpr f64 kWorthTensorCores = 1 << 14;  // multiply-adds
constexpr i64 kTileBytes = 64;              // of a row of a tile in local memory, at least
constexpr i64 kBuffers = 2;                 // of tiles, in local memory, at least
constexpr i64 kMaxRegisters = 256;          // of an item
constexpr i64 kOtherRegisters = 24;         // of an item: addresses, and what waits in a copy
constexpr f64 kInstructionCycles = 16;      // of a SIMD
// Of a copy of 16 bytes with its addresses, and of a tile for waits, steps and the loop.
constexpr f64 kAsyncInstructions = 3, kTileInstructions = 15;
constexpr f64 kIssueCycles = 3;  // by which each of these delays matrix instructions, about
constexpr i64 kBusyWaves = 4;    // of a group that copies so: as many keep the matrix units busy

// Axes and the part of them that a group covers.
struct Block {
  i64 row_waves, column_waves, row_tiles, column_tiles;
  i64 tile_bytes = kTileBytes, buffers = kBuffers;
};

class TensorCorePlan {
 public:
  TensorCorePlan(const KernelInfo& info, const Caps& caps)
      : info_(info), caps_(caps), axes_(info, caps) {}
  Plan choose();

 private:
  bool find_core(const Product& product);
  bool find_axes(const Product& product);
  i64 longest(u64 mask, i64 step) const;
  i64 tile_depth(const Block& b) const;
  bool copies_async(const Access& a) const;
  bool copies_all_async() const;
  i64 rows_of(const Block& b) const { return b.row_waves * b.row_tiles * core_->rows; }
  i64 columns_of(const Block& b) const { return b.column_waves * b.column_tiles * core_->columns; }
  i64 bytes(const Block& b) const;
  f64 copy_instructions(const Block& b) const;
  f64 time(const Block& b) const;
  Plan build(const Block& b) const;

  const KernelInfo& info_;
  const Caps& caps_;
  GroupAxes axes_;
  i64 number_ = -1;
  const TensorCore* core_ = nullptr;
  i64 rows_ = -1, columns_ = -1, depth_ = -1;  // axes
};

bool TensorCorePlan::find_core(const Product& product) {
  for (usize i = kTensorCoreCount; i-- > 0;) {  // the deepest first
    const TensorCore& core = tensor_cores()[i];
    if (!caps_.tensor_cores[i] || core.operand != product.x.dtype().scalar ||
        core.result != product.reduce->reduce.dtype().scalar) {
      continue;
    }
    if (longest(product.reduce->closed, core.depth) < 0) continue;
    number_ = static_cast<i64>(i), core_ = &core;
    return true;
  }
  return false;
}

// The longest axis of the mask whose size `step` divides, or -1.
i64 TensorCorePlan::longest(u64 mask, i64 step) const {
  i64 best = -1;
  for (; mask; mask &= mask - 1) {
    i64 axis = std::countr_zero(mask), size = info_.size(axis);
    if (size > 0 && size % step == 0 && (best < 0 || size > info_.size(best))) best = axis;
  }
  return best;
}

bool TensorCorePlan::find_axes(const Product& product) {
  const u64 x = product.x.range_mask() & info_.output_mask;
  const u64 y = product.y.range_mask() & info_.output_mask;
  const u64 of_x = x & ~y, of_y = y & ~x;
  depth_ = longest(product.reduce->closed, core_->depth);
  // The axis along which results are contiguous, and one of the other operand.
  i64 across = -1;
  for (i64 axis : axes_.outputs()) {
    const bool fits = (of_x | of_y) >> axis & 1 && info_.size(axis) > 0 &&
                      info_.size(axis) % std::max(core_->rows, core_->columns) == 0;
    if (fits && across < 0) across = axis;
  }
  if (across < 0) return false;
  const i64 other =
      longest(of_x >> across & 1 ? of_y : of_x, std::max(core_->rows, core_->columns));
  if (other < 0) return false;
  // Neighbouring results of an item are stored at once.
  const bool neighbours = core_->result_row.element[0].step == 1;
  rows_ = neighbours ? across : other;
  columns_ = neighbours ? other : across;
  return true;
}

i64 TensorCorePlan::tile_depth(const Block& b) const {
  i64 tile = std::max(b.tile_bytes / core_->operand_bytes(), core_->depth);
  while (info_.size(depth_) % tile) tile /= 2;
  return tile;
}

i64 TensorCorePlan::bytes(const Block& b) const {
  // Rows along the depth, or along the other axis, are padded.
  const i64 depth = tile_depth(b), least = caps_.async_copies ? depth : 0;
  const i64 padded = std::max(rows_of(b), least) + std::max(columns_of(b), least);
  return b.buffers *
         ((rows_of(b) + columns_of(b)) * depth * core_->operand_bytes() + padded * 16 + 128);
}

// In units of an instruction on a full target.
f64 TensorCorePlan::time(const Block& b) const {
  const i64 waves = b.row_waves * b.column_waves, tiles = b.row_tiles * b.column_tiles;
  const i64 operands = b.row_tiles + b.column_tiles;
  const i64 registers = tiles * core_->result_elements +
                        operands * core_->operand_elements * core_->operand_bytes() / 4;
  const bool async = copies_all_async();
  const i64 copied = async ? 0
                           : (rows_of(b) + columns_of(b)) * tile_depth(b) * core_->operand_bytes() /
                                 4 / (waves * core_->items());
  const i64 all_registers = registers + copied + kOtherRegisters;
  if (all_registers > std::min(caps_.simd.max_registers, kMaxRegisters)) return 1e300;
  if (waves * core_->items() > axes_.all_items()) return 1e300;
  if (caps_.max_shared_bytes > 0 && bytes(b) > caps_.max_shared_bytes) return 1e300;
  const f64 high = static_cast<f64>(rows_of(b)), wide = static_cast<f64>(columns_of(b));
  const f64 down = std::ceil(static_cast<f64>(info_.size(rows_)) / high);
  const f64 across = std::ceil(static_cast<f64>(info_.size(columns_)) / wide);
  const f64 waste = down * high / static_cast<f64>(info_.size(rows_)) * across * wide /
                    static_cast<f64>(info_.size(columns_));
  const u64 both = u64{1} << rows_ | u64{1} << columns_;
  const f64 groups = down * across * axes_.values(info_.output_mask & ~both);
  const i64 busy_items =
      async ? std::min(waves, kBusyWaves) * core_->items() * 4 : waves * core_->items() * 2;
  const f64 busy =
      std::min(1.0, groups * static_cast<f64>(busy_items) / static_cast<f64>(axes_.busy_items()));
  // Reads of local memory beside the instructions, and the group's wait for its tiles.
  const f64 local = static_cast<f64>(operands) / static_cast<f64>(tiles);
  const f64 at_once = waves_of_simd(caps_, {all_registers, bytes(b), waves * core_->items()});
  // From the start of a tile's copy until it is needed.
  const f64 work =
      static_cast<f64>((b.buffers - 1) * tiles * tile_depth(b) / core_->depth) * kInstructionCycles;
  const f64 lanes_per_cycle = static_cast<f64>(caps_.simd.lanes_per_cycle);
  const f64 stall = stall_factor(caps_, at_once,
                                 work * lanes_per_cycle / static_cast<f64>(caps_.simd.wave_items));
  const f64 of_tile =
      async ? kIssueCycles * (copy_instructions(b) + kTileInstructions) : copy_instructions(b);
  const f64 copies = of_tile / static_cast<f64>(tiles * tile_depth(b) / core_->depth);
  const f64 compute = (1 + local / 2 + copies / kInstructionCycles) * stall / busy;
  const f64 memory = 32 * (1 / high + 1 / wide) / std::sqrt(busy);
  return waste * (compute + memory);
}

// Blocks of 16 bytes, along the depth or, transposed by matrix loads, along the other axis.
bool TensorCorePlan::copies_async(const Access& a) const {
  if (!caps_.async_copies || !core_->loads_matrices) return false;
  const i64 other = a.mask >> rows_ & 1 ? rows_ : columns_;
  return axes_.contiguous(a, depth_) || (core_->operand_bytes() == 2 && axes_.contiguous(a, other));
}

bool TensorCorePlan::copies_all_async() const {
  return std::ranges::all_of(info_.accesses, [&](const Access& a) {
    return a.store || !(a.mask >> depth_ & 1) || copies_async(a);
  });
}

// Of an item, for a tile of both operands: asynchronous copies; else loads and stores of 16 bytes,
// or, where the depth is not contiguous in memory, narrower loads, permutations and stores.
f64 TensorCorePlan::copy_instructions(const Block& b) const {
  const bool async = copies_all_async();
  const f64 items = static_cast<f64>(b.row_waves * b.column_waves * core_->items());
  f64 count = 0;
  for (const Access& a : info_.accesses) {
    if (a.store || !(a.mask >> depth_ & 1)) continue;
    const i64 extent = a.mask >> rows_ & 1 ? rows_of(b) : columns_of(b);
    const f64 bytes = static_cast<f64>(extent * tile_depth(b) * core_->operand_bytes()) / items;
    if (async) {
      count += bytes / 16 * kAsyncInstructions;
      continue;
    }
    count += axes_.contiguous(a, depth_) ? bytes / 8 : bytes / 8 + bytes / 4 + bytes / 16;
  }
  return count;
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
  add(OptOp::Upcast, columns_, b.column_tiles);
  add(OptOp::Upcast, rows_, b.row_tiles);
  const i64 tile = tile_depth(b);
  add(OptOp::Unroll, depth_, tile / core_->depth);
  if (!caps_.fast_shared) return plan;
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
  if (!find_core(*product) || !find_axes(*product)) return {};
  f64 best = 1e300;
  Block chosen{};
  const i64 longest_row = copies_all_async() ? 2 * kTileBytes : kTileBytes;
  for (i64 row_waves : {1, 2, 4}) {
    for (i64 column_waves : {1, 2, 4}) {
      for (i64 row_tiles : {1, 2, 4, 8}) {
        for (i64 column_tiles : {1, 2, 4, 8}) {
          Block b{row_waves, column_waves, row_tiles, column_tiles};
          for (b.tile_bytes = kTileBytes; b.tile_bytes <= longest_row; b.tile_bytes *= 2) {
            const f64 t = time(b);
            if (t < best) best = t, chosen = b;
          }
        }
      }
    }
  }
  return best < 1e300 ? build(chosen) : Plan{};
}

}  // namespace

Plan tensor_core_plan(const KernelInfo& info, const Caps& caps) {
  return caps.tensor_cores.none() ? Plan{} : TensorCorePlan(info, caps).choose();
}

}  // namespace doorbell::codegen::detail
