// The estimate of a block's time, by which a plan with matrix instructions is chosen: instructions,
// reads of local memory, traffic of global memory, blocks that run past the end, too few groups to
// fill the target.
#include <algorithm>
#include <bit>
#include <cmath>

#include "codegen/linear/multiple.h"
#include "codegen/opt/occupancy.h"
#include "codegen/opt/stage_tile.h"
#include "codegen/opt/tensor_core_choice.h"

namespace doorbell::codegen::detail {

using core::Op;
using core::UOp;

namespace {

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
constexpr f64 kWalk = 1.003;       // that of a persistent group, for the place of the next block
constexpr f64 kStartCycles =
    1000;  // of a group that follows another, until its first tile is there

}  // namespace

i64 TensorCorePlan::tile_depth(const Block& b) const {
  const i64 least = core_->reads_local ? core_->depth * b.depth_waves : 1;
  i64 tile = std::max(b.tile_bytes / core_->operand_bytes(), core_->depth * b.depth_waves);
  while (tile > least && info_.size(depth_) % tile) tile /= 2;
  return tile;
}

// Rows along the depth in an operand's tile.
i64 TensorCorePlan::extent(const Access& a, const Block& b) const {
  const i64 axis = a.mask >> rows_ & 1 ? rows_ : columns_;
  i64 along = axis == rows_ ? rows_of(b) : columns_of(b);
  if (b.taps == 1) return along;
  if (&a != windows_.over) return along * b.taps;
  i64 others = 1;
  for (const Window& w : windows_.list) {
    if (w.along == axis)
      along += info_.size(w.tap) - 1 + kWindowPair;
    else
      others = b.along_waves + info_.size(w.tap) - 1;
  }
  return along * others;
}

i64 TensorCorePlan::bytes(const Block& b) const {
  if (b.taps > 1) {
    i64 rows = 0;
    for (const Access& a : info_.accesses) rows += a.store ? 0 : extent(a, b);
    return rows * (tile_depth(b) * core_->operand_bytes() + 16) + 128;
  }
  // Rows along the depth, or along the other axis, are padded, or swizzled instead.
  const i64 depth = tile_depth(b), least = caps_.async_copies ? depth : 0;
  const i64 padded =
      core_->reads_local ? 0 : std::max(rows_of(b), least) + std::max(columns_of(b), least);
  i64 skewed = 0;
  for (const Access& a : info_.accesses) {
    if (!a.store && a.mask >> depth_ & 1 && copies_wide(a, b))
      skewed += extent(a, b) / kWideBlock * kSkewBytes;
    if (loads_pairs(a)) skewed += depth / kPairedRows * kPairedSkewBytes;
  }
  const i64 tiles = b.buffers * ((rows_of(b) + columns_of(b)) * depth * core_->operand_bytes() +
                                 padded * 16 + skewed + 128);
  return tiles + (b.depth_waves > 1 ? b.depth_waves * rows_of(b) * columns_of(b) * 4 : 0);
}

// More than a kernel has by itself pays for rings of several tiles and for whole windows.
i64 TensorCorePlan::max_bytes(const Block& b) const {
  return b.taps > 1 || fills_async(b)
             ? std::max(caps_.max_shared_bytes, caps_.max_dynamic_shared_bytes)
             : caps_.max_shared_bytes;
}

// Of 16 bytes, of the larger operand's tile.
i64 TensorCorePlan::copies_of_item(const Block& b) const {
  const i64 items = b.waves() * core_->items();
  const i64 bytes = std::max(rows_of(b), columns_of(b)) * tile_depth(b) * core_->operand_bytes();
  return (bytes / kAsyncBytes + items - 1) / items;
}

// That keep a target busy with a few waves each.
f64 TensorCorePlan::simds() const {
  return static_cast<f64>(axes_.busy_items()) / static_cast<f64>(kBusyWaves * core_->items());
}

// Those that share local memory.
f64 TensorCorePlan::cores_of_target() const {
  const Caps::Simd& simd = caps_.simd;
  return std::max(1.0, std::floor(axes_.busy_items() /
                                  static_cast<f64>(kBusyWaves * simd.wave_items * simd.sharing)));
}

i64 TensorCorePlan::local_registers(const Block& b) const {
  const i64 tiles = b.row_tiles * b.column_tiles;
  return tiles * core_->result_elements * (core_->short_sums ? 2 : 1) + 2 * kOtherRegisters;
}

// That are resident at once.
i64 TensorCorePlan::groups_of_core(const Block& b) const {
  const i64 items = b.waves() * core_->items();
  const f64 items_of_core = waves_of_simd(caps_, {local_registers(b), bytes(b), items}) *
                            static_cast<f64>(caps_.simd.wave_items * caps_.simd.sharing);
  return std::max<i64>(1, static_cast<i64>(items_of_core) / items);
}

// In units of what an instruction of a wave would take for the same work on a full target. One
// block of each core of the target computes at a time, whatever the occupancy: its matrix units are
// busy then.
f64 TensorCorePlan::local_time(const Block& b) const {
  const i64 items = b.waves() * core_->items(), registers = local_registers(b);
  const i64 depth = tile_depth(b), of_step = core_->depth * b.depth_waves;
  const Caps::Simd& simd = caps_.simd;
  const bool fits = depth % of_step == 0 && items <= axes_.all_items() &&
                    registers <= std::min(simd.max_registers, kMaxRegisters) &&
                    registers * items <= simd.registers * simd.sharing * simd.wave_items &&
                    bytes(b) <= max_bytes(b) && copies_all_async() &&
                    (copies_of_item(b) <= kMaxUnrolledCopies || copies_boxes(b));
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
  const f64 at_a_time = cores_of_target(), together = static_cast<f64>(groups_of_core(b));
  // Cores take groups as they finish others; a persistent group has its part from the start.
  const f64 walkers = at_a_time * together;
  if (b.persistent && (groups <= walkers || tiles_of_depth < static_cast<f64>(b.buffers) ||
                       b.depth_waves > 1 || !copies_boxes(b)))
    return 1e300;
  const f64 turns =
      b.persistent ? std::ceil(groups / walkers) * together : std::ceil(groups / at_a_time);
  const f64 busy = groups / at_a_time / turns;
  // Cycles of a tile: of its products, and of what they read and copies write.
  const f64 bytes_of_row = static_cast<f64>(depth * core_->operand_bytes());
  const f64 products = high * wide * bytes_of_row / 2 / kLocalMacs;
  const f64 of_row = static_cast<f64>(b.row_waves * b.row_tiles);
  const f64 of_column = static_cast<f64>(b.column_waves * b.column_tiles);
  const f64 local = bytes_of_row * (high * (of_column + 1) + wide * (of_row + 1)) / kLocalBytes;
  // Until a tile's copy is there, those before it are computed.
  const i64 left = b.buffers > 2 && !core_->short_sums ? 1 : 0, ahead = b.buffers - 1 - left;
  const f64 at_once = std::max(1.0, std::min(together, groups / at_a_time));
  const f64 stall = stall_factor(caps_, at_once + 1, products * static_cast<f64>(ahead));
  const f64 alone = at_once * static_cast<f64>(b.waves()) < 2 ? kAlone : 1;
  const f64 done = left == 0 && at_once < 2 ? kUnfinished : 1;
  const f64 place = std::has_single_bit(static_cast<u64>(b.buffers)) ? 1 : kRemainder;
  const f64 of_tiles = products * tiles_of_depth;
  const f64 later = at_once < 2 && !b.persistent ? 1 - 1 / turns : 0;
  const f64 started = later * kStartCycles;
  const f64 end = (sum_instructions(b) * static_cast<f64>(b.waves()) + started) / of_tiles;
  const f64 walk = b.persistent ? kWalk : 1;
  const f64 compute =
      kLocalCost * (std::max(1.0, local / products) * stall * alone * done * place * walk + end) /
      busy;
  return waste * (compute + 32 * (1 / high + 1 / wide) / std::sqrt(busy));
}

// In units of an instruction on a full target.
f64 TensorCorePlan::time(const Block& b) const {
  if (core_->reads_local) return local_time(b);
  const i64 waves = b.waves(), tiles = b.row_tiles * b.column_tiles;
  const i64 steps = tile_depth(b) / (core_->depth * b.depth_waves) * b.taps;
  if (steps == 0 || tile_depth(b) % (core_->depth * b.depth_waves)) return 1e300;
  const i64 operands = b.row_tiles + b.column_tiles;
  const bool async = fills_async(b);
  const i64 all_registers = kOtherRegisters + tiles * core_->result_elements + registers_beside(b);
  if (all_registers > std::min(caps_.simd.max_registers, kMaxRegisters)) return 1e300;
  if (waves * core_->items() > axes_.all_items()) return 1e300;
  if (caps_.max_shared_bytes > 0 && bytes(b) > max_bytes(b)) return 1e300;
  if (async && copies_of_item(b) > kMaxUnrolledCopies) return 1e300;
  const f64 high = static_cast<f64>(rows_of(b)), wide = static_cast<f64>(columns_of(b));
  const f64 down = std::ceil(static_cast<f64>(info_.size(rows_)) / high);
  const f64 across = std::ceil(static_cast<f64>(info_.size(columns_)) / wide);
  const f64 waste = down * high / static_cast<f64>(info_.size(rows_)) * across * wide /
                    static_cast<f64>(info_.size(columns_));
  const u64 both = u64{1} << rows_ | u64{1} << columns_;
  const f64 groups =
      down * across * axes_.values(info_.output_mask & ~both) / static_cast<f64>(b.along_waves);
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
  // From the start of a tile's copy until it is needed; without a ring, of other groups.
  const f64 work =
      static_cast<f64>(std::max<i64>(1, b.buffers - 1) * tiles * steps) * kInstructionCycles;
  const f64 lanes_per_cycle = static_cast<f64>(caps_.simd.lanes_per_cycle);
  // While it is copied asynchronously, the wave itself works too.
  const f64 stall = stall_factor(caps_, async ? at_once + 1 : at_once,
                                 work * lanes_per_cycle / static_cast<f64>(caps_.simd.wave_items));
  const f64 of_tile =
      async ? kIssueCycles * tile_instructions(b) : copy_instructions(b) + 2 * kTileInstructions;
  const f64 copies = of_tile / static_cast<f64>(tiles * steps) +
                     kIssueCycles * permutations(b) / static_cast<f64>(tiles);
  const f64 end = sum_instructions(b) * static_cast<f64>(core_->depth * b.depth_waves) /
                  static_cast<f64>(info_.size(depth_) * tiles);
  const f64 compute = (1 + local / 2 + (copies + end) / kInstructionCycles) * stall / busy;
  i64 rows_of_tile = 0;
  for (const Access& a : info_.accesses) rows_of_tile += a.store ? 0 : extent(a, b);
  const f64 products = high * wide * static_cast<f64>(b.taps * b.along_waves);
  const f64 memory = 32 * static_cast<f64>(rows_of_tile) / products / std::sqrt(busy);
  return waste * (compute + memory);
}

// Whether blocks of 16 bytes along the axis begin at multiples of 16 bytes.
bool TensorCorePlan::is_aligned(const Access& a, i64 along) const {
  return detail::is_aligned(a.affine, along, kAsyncBytes / core_->operand_bytes());
}

// Blocks of 16 bytes with one gate each, along the depth or, transposed by matrix loads, along the
// other axis.
bool TensorCorePlan::copies_async(const Access& a) const {
  if (!caps_.async_copies || !(core_->loads_matrices || core_->reads_local)) return false;
  const i64 other = a.mask >> rows_ & 1 ? rows_ : columns_;
  const bool by_depth = axes_.contiguous(a, depth_);
  const i64 bytes = core_->operand_bytes();
  const bool transposes = bytes == 2 || (bytes == 1 && core_->loads_matrices);
  if (!by_depth && (!transposes || !axes_.contiguous(a, other))) return false;
  const i64 along = by_depth ? depth_ : other;
  return !(a.gate_mask >> along & 1) && (!core_->reads_local || is_aligned(a, along));
}

// Whether matrix loads transpose pairs of its bytes.
bool TensorCorePlan::loads_pairs(const Access& a) const {
  return !a.store && a.mask >> depth_ & 1 && core_->operand_bytes() == 1 &&
         !axes_.contiguous(a, depth_) && copies_async(a);
}

bool TensorCorePlan::copies_all_async() const {
  return std::ranges::all_of(info_.accesses, [&](const Access& a) {
    return a.store || !(a.mask >> depth_ & 1) || copies_async(a);
  });
}

// Whether the tiles of all operands are boxes of tensors (Stager::fit_boxes).
bool TensorCorePlan::copies_boxes(const Block& b) const {
  const i64 bytes = core_->operand_bytes(), deep = tile_depth(b);
  return caps_.tensor_copies && std::ranges::all_of(info_.accesses, [&](const Access& a) {
           if (a.store || !(a.mask >> depth_ & 1)) return true;
           const i64 other = a.mask >> rows_ & 1 ? rows_ : columns_;
           const bool by_depth = axes_.contiguous(a, depth_);
           const i64 along = by_depth ? depth_ : other, across = by_depth ? other : depth_;
           const i64 wide = other == rows_ ? rows_of(b) : columns_of(b);
           return a.gate_mask == 0 && a.memory.is(Op::Param) &&
                  fit_tensor_map(info_, {a.affine, a.memory.arg(0), bytes, along, across,
                                         by_depth ? wide : deep,
                                         (by_depth ? deep : wide) * bytes / kLocalRowBytes});
         });
}

// Whether an item copies all of a window, for as many values of the depth as fill a vector.
bool TensorCorePlan::copies_whole(const Access& a, const Block& b) const {
  return b.taps > 1 && a.affine.coefficient(depth_).value_or(0) == b.taps;
}

// As Stager::can_widen() says, or more often.
bool TensorCorePlan::copies_wide(const Access& a, const Block& b) const {
  const i64 other = a.mask >> rows_ & 1 ? rows_ : columns_;
  return !core_->reads_local && !copies_async(a) && b.taps == 1 && axes_.contiguous(a, other) &&
         elements_of_item(a, b) >= kWideBlock * kWideBlock && !loads_transpose(a, b);
}

// As Stager::can_transpose() says.
bool TensorCorePlan::loads_transpose(const Access& a, const Block& b) const {
  const i64 other = a.mask >> rows_ & 1 ? rows_ : columns_, along = extent(a, b);
  const i64 items = b.waves() * core_->items();
  return caps_.transposing_loads && core_->operand_bytes() <= 2 && b.taps == 1 &&
         a.gate_mask == 0 && axes_.contiguous(a, other) && info_.size(other) % along == 0 &&
         info_.size(depth_) % tile_depth(b) == 0 &&
         along * tile_depth(b) % (kTransposedElements * items) == 0 &&
         detail::is_aligned(a.affine, other, kTransposedElements);
}

// Of an operand's tile. Of windows an item copies whole blocks, or none.
f64 TensorCorePlan::elements_of_item(const Access& a, const Block& b) const {
  const f64 items = static_cast<f64>(b.waves() * core_->items());
  const f64 elements = static_cast<f64>(extent(a, b) * tile_depth(b)) / items;
  if (b.taps == 1) return elements;
  const i64 block = 16 / core_->operand_bytes() * (copies_whole(a, b) ? b.taps : 1);
  return std::ceil(elements / static_cast<f64>(block)) * static_cast<f64>(block);
}

// Of an item, beside its results: operands, and what is on its way to local memory. Of windows that
// is nothing while products are computed; each narrow load has a register of its own.
i64 TensorCorePlan::registers_beside(const Block& b) const {
  const i64 operands = (b.row_tiles + b.column_tiles) * core_->operand_elements;
  f64 copied = 0;
  for (const Access& a : info_.accesses) {
    if (a.store || !(a.mask >> depth_ & 1) || fills_async(b)) continue;
    const bool narrow = b.taps > 1 && !copies_whole(a, b);
    copied += elements_of_item(a, b) * static_cast<f64>(narrow ? 4 : core_->operand_bytes()) / 4;
  }
  const i64 of_operands = operands * core_->operand_bytes() / 4, of_copy = static_cast<i64>(copied);
  return b.taps > 1 ? std::max(of_operands, of_copy) : of_operands + of_copy;
}

// Of an item, for a tile of both operands: asynchronous copies; else loads and stores of 16 bytes,
// or, where the depth is not contiguous in memory, narrower loads, permutations and stores.
f64 TensorCorePlan::copy_instructions(const Block& b) const {
  const bool async = fills_async(b);
  f64 count = 0;
  for (const Access& a : info_.accesses) {
    if (a.store || !(a.mask >> depth_ & 1)) continue;
    const f64 elements = elements_of_item(a, b);
    const f64 bytes = elements * static_cast<f64>(core_->operand_bytes());
    if (async) {
      count += bytes / 16 * kAsyncInstructions;
      continue;
    }
    if (axes_.contiguous(a, depth_)) {
      count += bytes / 8;
      continue;
    }
    if (loads_transpose(a, b)) {
      count += 2 * elements / kTransposedElements;
      continue;
    }
    const i64 axis = a.mask >> rows_ & 1 ? rows_ : columns_;
    const bool wide = copies_whole(a, b) || (axes_.contiguous(a, axis) && &a != windows_.over);
    const f64 narrow = copies_wide(a, b) ? elements / 8 : bytes / 8;
    count += (wide ? narrow : elements) + bytes / 4 + bytes / 16;
  }
  return count;
}

// Of an item, beside products and their operands, where copies are asynchronous.
f64 TensorCorePlan::tile_instructions(const Block& b) const {
  const bool is_masked = std::has_single_bit(static_cast<u64>(b.buffers));
  return copy_instructions(b) + kTileInstructions + (is_masked ? 0 : kRemainderInstructions);
}

// Of an item, of a step along the depth, where matrix loads transpose pairs: one for each word.
f64 TensorCorePlan::permutations(const Block& b) const {
  i64 words = 0;
  for (const Access& a : info_.accesses) {
    if (loads_pairs(a))
      words += (a.mask >> rows_ & 1 ? b.row_tiles : b.column_tiles) * core_->operand_elements / 4;
  }
  return static_cast<f64>(words);
}

// Of an item, for adding what waves have of parts of the depth: it stores its own by vectors, reads
// all of them, and adds.
f64 TensorCorePlan::sum_instructions(const Block& b) const {
  if (b.depth_waves == 1) return 0;
  const i64 results = b.row_tiles * b.column_tiles * core_->result_elements;
  return static_cast<f64>(results) * (0.25 + static_cast<f64>(b.depth_waves) * 1.25);
}

}  // namespace doorbell::codegen::detail
