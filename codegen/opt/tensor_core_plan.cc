// Waves compute blocks of whole instructions from operands that the group stages in local memory.
// The numbers of instructions per wave and of waves per group with the least estimated time win:
// instructions, reads of local memory, traffic of global memory, blocks that run past the end, too
// few groups to fill the target.
#include "codegen/opt/tensor_core_plan.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "codegen/linear/multiple.h"
#include "codegen/opt/group_plan.h"
#include "codegen/opt/occupancy.h"
#include "codegen/opt/stage_tile.h"

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
constexpr i64 kTileBytes = 64;              // of a row of a tile in local memory, at least
constexpr i64 kBuffers = 2;                 // of tiles, in local memory, at least
constexpr i64 kMaxBuffers = 4;              // the same at most, where copies are asynchronous
constexpr i64 kMaxTileBytes = 256;          // then, too
constexpr i64 kMaxDepthWaves = 8;
constexpr i64 kMaxRegisters = 256;      // of an item
constexpr i64 kOtherRegisters = 24;     // of an item: addresses, and what waits in a copy
constexpr f64 kInstructionCycles = 16;  // of a SIMD
// Of a copy of 16 bytes with its addresses, and of a tile for waits, steps and the loop.
constexpr f64 kAsyncInstructions = 3, kTileInstructions = 15;
constexpr f64 kRemainderInstructions = 10;  // of a tile, for its place in a ring of three
constexpr f64 kIssueCycles = 3;  // by which each of these delays matrix instructions, about
constexpr i64 kBusyWaves = 4;    // of a group that copies so: as many keep the matrix units busy
// Of matrix instructions that read local memory: their time, among those that read registers,
// about; and what the SIMDs that share local memory do in a cycle, in multiply-adds of 16 bits and
// in bytes of it. [NVIDIA, "H100 Tensor Core GPU Architecture", "H100 SXM5": 989 TFLOPS of FP16
// with 132 SMs at 1.83 GHz; CUDA Programming Guide 13, "Shared Memory": 32 banks of 4 bytes]
constexpr f64 kLocalCost = 0.62, kLocalMacs = 2048, kLocalBytes = 128;
constexpr f64 kUnfinished = 1.15;  // the slowdown where one tile's must be done before the next's
constexpr f64 kAlone = 1.1;        // that of one wave, with nobody to fill its waits
constexpr f64 kRemainder = 1.01;   // that of a ring whose place is no mask of a tile's number

// Axes and the part of them that a group covers.
struct Block {
  i64 row_waves, column_waves, row_tiles, column_tiles;
  i64 depth_waves = 1;  // with the same results, of parts of the depth: they are added at the end
  i64 tile_bytes = kTileBytes, buffers = kBuffers;
  i64 waves() const { return row_waves * column_waves * depth_waves; }
};

class TensorCorePlan {
 public:
  TensorCorePlan(const KernelInfo& info, const Caps& caps)
      : info_(info), caps_(caps), axes_(info, caps) {}
  Plan choose();

 private:
  std::vector<i64> cores(const Product& product);
  bool can_read_local(const Product& product) const;
  bool find_axes(const Product& product);
  bool fits(i64 axis, i64 step) const;
  i64 longest(u64 mask, i64 step) const;
  i64 tile_depth(const Block& b) const;
  bool is_aligned(const Access& a, i64 along) const;
  bool copies_async(const Access& a) const;
  bool copies_all_async() const;
  i64 rows_of(const Block& b) const { return b.row_waves * b.row_tiles * core_->rows; }
  i64 columns_of(const Block& b) const { return b.column_waves * b.column_tiles * core_->columns; }
  i64 bytes(const Block& b) const;
  i64 max_bytes() const;
  i64 copies_of_item(const Block& b) const;
  // That keep a target busy with a few waves each.
  f64 simds() const {
    return static_cast<f64>(axes_.busy_items()) / static_cast<f64>(kBusyWaves * core_->items());
  }
  f64 tile_instructions(const Block& b) const;
  f64 sum_instructions(const Block& b) const;
  f64 copy_instructions(const Block& b) const;
  f64 time(const Block& b) const;
  f64 local_time(const Block& b) const;
  Plan build(const Block& b) const;
  void consider(Block b);
  void consider_depths(Block b);
  void use(i64 number) { number_ = number, core_ = &tensor_core(number); }

  const KernelInfo& info_;
  const Caps& caps_;
  GroupAxes axes_;
  i64 number_ = -1;
  const TensorCore* core_ = nullptr;
  i64 rows_ = -1, columns_ = -1, depth_ = -1;  // axes
  f64 best_ = 1e300;
  i64 chosen_core_ = -1;
  Block chosen_{};
};

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
  return true;
}

i64 TensorCorePlan::tile_depth(const Block& b) const {
  const i64 least = core_->reads_local ? core_->depth * b.depth_waves : 1;
  i64 tile = std::max(b.tile_bytes / core_->operand_bytes(), core_->depth * b.depth_waves);
  while (tile > least && info_.size(depth_) % tile) tile /= 2;
  return tile;
}

i64 TensorCorePlan::bytes(const Block& b) const {
  // Rows along the depth, or along the other axis, are padded, or swizzled instead.
  const i64 depth = tile_depth(b), least = caps_.async_copies ? depth : 0;
  const i64 padded =
      core_->reads_local ? 0 : std::max(rows_of(b), least) + std::max(columns_of(b), least);
  const i64 tiles = b.buffers * ((rows_of(b) + columns_of(b)) * depth * core_->operand_bytes() +
                                 padded * 16 + 128);
  return tiles + (b.depth_waves > 1 ? b.depth_waves * rows_of(b) * columns_of(b) * 4 : 0);
}

// More than a kernel has by itself pays for rings of several tiles.
i64 TensorCorePlan::max_bytes() const {
  return copies_all_async() ? std::max(caps_.max_shared_bytes, caps_.max_dynamic_shared_bytes)
                            : caps_.max_shared_bytes;
}

// Of 16 bytes, of the larger operand's tile.
i64 TensorCorePlan::copies_of_item(const Block& b) const {
  const i64 items = b.waves() * core_->items();
  const i64 bytes = std::max(rows_of(b), columns_of(b)) * tile_depth(b) * core_->operand_bytes();
  return (bytes / kAsyncBytes + items - 1) / items;
}

// In units of what an instruction of a wave would take for the same work on a full target. One
// block of each core of the target computes at a time, whatever the occupancy: its matrix units are
// busy then.
f64 TensorCorePlan::local_time(const Block& b) const {
  const i64 tiles = b.row_tiles * b.column_tiles, items = b.waves() * core_->items();
  const i64 depth = tile_depth(b), of_step = core_->depth * b.depth_waves;
  const i64 sums = tiles * core_->result_elements * (core_->short_sums ? 2 : 1);
  const i64 registers = sums + 2 * kOtherRegisters;
  const Caps::Simd& simd = caps_.simd;
  const bool fits = depth % of_step == 0 && items <= axes_.all_items() &&
                    registers <= std::min(simd.max_registers, kMaxRegisters) &&
                    registers * items <= simd.registers * simd.sharing * simd.wave_items &&
                    bytes(b) <= max_bytes() && copies_all_async() &&
                    copies_of_item(b) <= kMaxUnrolledCopies;
  if (!fits) return 1e300;
  const f64 high = static_cast<f64>(rows_of(b)), wide = static_cast<f64>(columns_of(b));
  const f64 rows = static_cast<f64>(info_.size(rows_));
  const f64 columns = static_cast<f64>(info_.size(columns_));
  const f64 down = std::ceil(rows / high), across = std::ceil(columns / wide);
  const f64 of_depth = static_cast<f64>(info_.size(depth_)), deep = static_cast<f64>(depth);
  const f64 tiles_of_depth = std::ceil(of_depth / deep);
  const f64 waste = down * high / rows * across * wide / columns * tiles_of_depth * deep / of_depth;
  const u64 both = u64{1} << rows_ | u64{1} << columns_;
  const f64 groups = down * across * axes_.values(info_.output_mask & ~both);
  const f64 at_a_time =
      axes_.busy_items() / static_cast<f64>(kBusyWaves * simd.wave_items * simd.sharing);
  const f64 busy = groups / at_a_time / std::ceil(groups / at_a_time);
  // Cycles of a tile: of its products, and of what they read and copies write.
  const f64 bytes_of_row = static_cast<f64>(depth * core_->operand_bytes());
  const f64 products = high * wide * bytes_of_row / 2 / kLocalMacs;
  const f64 of_row = static_cast<f64>(b.row_waves * b.row_tiles);
  const f64 of_column = static_cast<f64>(b.column_waves * b.column_tiles);
  const f64 local = bytes_of_row * (high * (of_column + 1) + wide * (of_row + 1)) / kLocalBytes;
  // Until a tile's copy is there, those before it are computed.
  const i64 left = b.buffers > 2 && !core_->short_sums ? 1 : 0, ahead = b.buffers - 1 - left;
  const f64 together = waves_of_simd(caps_, {registers, bytes(b), items}) *
                       static_cast<f64>(simd.wave_items * simd.sharing) / static_cast<f64>(items);
  const f64 at_once = std::max(1.0, std::min(together, groups / at_a_time));
  const f64 stall = stall_factor(caps_, at_once + 1, products * static_cast<f64>(ahead));
  const f64 alone = at_once * static_cast<f64>(b.waves()) < 2 ? kAlone : 1;
  const f64 done = left == 0 && at_once < 2 ? kUnfinished : 1;
  const f64 place = std::has_single_bit(static_cast<u64>(b.buffers)) ? 1 : kRemainder;
  const f64 of_tiles = products * tiles_of_depth;
  const f64 end = sum_instructions(b) * static_cast<f64>(b.waves()) / of_tiles;
  const f64 compute =
      kLocalCost * (std::max(1.0, local / products) * stall * alone * done * place + end) / busy;
  return waste * (compute + 32 * (1 / high + 1 / wide) / std::sqrt(busy));
}

// In units of an instruction on a full target.
f64 TensorCorePlan::time(const Block& b) const {
  if (core_->reads_local) return local_time(b);
  const i64 waves = b.waves(), tiles = b.row_tiles * b.column_tiles;
  const i64 steps = tile_depth(b) / (core_->depth * b.depth_waves);
  if (steps == 0 || tile_depth(b) % (core_->depth * b.depth_waves)) return 1e300;
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
  if (caps_.max_shared_bytes > 0 && bytes(b) > max_bytes()) return 1e300;
  if (async && copies_of_item(b) > kMaxUnrolledCopies) return 1e300;
  const f64 high = static_cast<f64>(rows_of(b)), wide = static_cast<f64>(columns_of(b));
  const f64 down = std::ceil(static_cast<f64>(info_.size(rows_)) / high);
  const f64 across = std::ceil(static_cast<f64>(info_.size(columns_)) / wide);
  const f64 waste = down * high / static_cast<f64>(info_.size(rows_)) * across * wide /
                    static_cast<f64>(info_.size(columns_));
  const u64 both = u64{1} << rows_ | u64{1} << columns_;
  const f64 groups = down * across * axes_.values(info_.output_mask & ~both);
  const i64 busy_items =
      async ? std::min(waves, kBusyWaves) * core_->items() * 4 : waves * core_->items() * 2;
  const f64 at_a_time = static_cast<f64>(axes_.busy_items()) / static_cast<f64>(busy_items);
  const f64 rounds = async ? std::ceil(groups / at_a_time) : std::max(1.0, groups / at_a_time);
  const f64 busy = groups / at_a_time / rounds;
  // Reads of local memory beside the instructions, and the group's wait for its tiles.
  const f64 local = static_cast<f64>(operands) / static_cast<f64>(tiles);
  const f64 at_once =
      std::min(waves_of_simd(caps_, {all_registers, bytes(b), waves * core_->items()}),
               std::max(1.0, groups * static_cast<f64>(waves) / simds()));
  // From the start of a tile's copy until it is needed.
  const f64 work = static_cast<f64>((b.buffers - 1) * tiles * steps) * kInstructionCycles;
  const f64 lanes_per_cycle = static_cast<f64>(caps_.simd.lanes_per_cycle);
  // While it is copied asynchronously, the wave itself works too.
  const f64 stall = stall_factor(caps_, async ? at_once + 1 : at_once,
                                 work * lanes_per_cycle / static_cast<f64>(caps_.simd.wave_items));
  const f64 of_tile =
      async ? kIssueCycles * tile_instructions(b) : copy_instructions(b) + 2 * kTileInstructions;
  const f64 copies = of_tile / static_cast<f64>(tiles * steps);
  const f64 end = sum_instructions(b) * static_cast<f64>(core_->depth * b.depth_waves) /
                  static_cast<f64>(info_.size(depth_) * tiles);
  const f64 compute = (1 + local / 2 + (copies + end) / kInstructionCycles) * stall / busy;
  const f64 memory = 32 * (1 / high + 1 / wide) / std::sqrt(busy);
  return waste * (compute + memory);
}

// Whether blocks of 16 bytes along the axis begin at multiples of 16 bytes, and have one gate.
bool TensorCorePlan::is_aligned(const Access& a, i64 along) const {
  const i64 block = kAsyncBytes / core_->operand_bytes();
  const auto is_multiple = [&](const Affine::Term& t) {
    const bool is_along = t.value.is(Op::Range) && t.value.range_id() == along;
    return is_along || t.coefficient * known_multiple(t.value) % block == 0;
  };
  return a.affine.constant % block == 0 && !(a.gate_mask >> along & 1) &&
         std::ranges::all_of(a.affine.ranges, is_multiple) &&
         std::ranges::all_of(a.affine.others, is_multiple);
}

// Blocks of 16 bytes, along the depth or, transposed by matrix loads, along the other axis.
bool TensorCorePlan::copies_async(const Access& a) const {
  if (!caps_.async_copies || !(core_->loads_matrices || core_->reads_local)) return false;
  const i64 other = a.mask >> rows_ & 1 ? rows_ : columns_;
  const bool by_depth = axes_.contiguous(a, depth_);
  if (!by_depth && (core_->operand_bytes() != 2 || !axes_.contiguous(a, other))) return false;
  return !core_->reads_local || is_aligned(a, by_depth ? depth_ : other);
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
  const f64 items = static_cast<f64>(b.waves() * core_->items());
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

// Of an item, beside products and their operands, where copies are asynchronous.
f64 TensorCorePlan::tile_instructions(const Block& b) const {
  const bool is_masked = std::has_single_bit(static_cast<u64>(b.buffers));
  return copy_instructions(b) + kTileInstructions + (is_masked ? 0 : kRemainderInstructions);
}

// Of an item, for adding what waves have of parts of the depth: it stores its own by vectors, reads
// all of them, and adds.
f64 TensorCorePlan::sum_instructions(const Block& b) const {
  if (b.depth_waves == 1) return 0;
  const i64 results = b.row_tiles * b.column_tiles * core_->result_elements;
  return static_cast<f64>(results) * (0.25 + static_cast<f64>(b.depth_waves) * 1.25);
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
  add(OptOp::Upcast, columns_, b.column_tiles);
  add(OptOp::Upcast, rows_, b.row_tiles);
  const i64 tile = tile_depth(b);
  add(OptOp::Unroll, depth_, tile / (core_->depth * b.depth_waves));
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
  for (const i64 number : cores(*product)) {
    use(number);
    if (!find_axes(*product)) continue;
    for (i64 row_waves : {1, 2, 4}) {
      for (i64 column_waves : {1, 2, 4}) {
        for (i64 row_tiles : {1, 2, 4, 8}) {
          for (i64 column_tiles : {1, 2, 4, 8})
            consider_depths({row_waves, column_waves, row_tiles, column_tiles});
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
      for (b.buffers = kBuffers; b.buffers <= most_buffers; ++b.buffers) consider(b);
    }
  }
}

}  // namespace

Plan tensor_core_plan(const KernelInfo& info, const Caps& caps) {
  return caps.tensor_cores.none() ? Plan{} : TensorCorePlan(info, caps).choose();
}

}  // namespace doorbell::codegen::detail
