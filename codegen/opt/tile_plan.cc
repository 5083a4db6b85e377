// Recognises a contraction of two operands and picks its blocks: a register tile that wastes little
// at the ends of the axes, KC x lanes of B for L1, MT x KC of A for L2, and as many blocks as
// threads have work with. Blocks are of equal size, so that the last one is nearly full.
#include <algorithm>
#include <bit>
#include <utility>

#include "codegen/opt/heuristic.h"

namespace doorbell::codegen::detail {

using core::Op;

namespace {

constexpr f64 kWorthTiling = 1 << 19;  // multiply-adds; below, packing costs more than it saves
// Multiply-adds that take some milliseconds. Longer kernels are split into parts even for a single
// thread, because a kernel can be stopped between two parts.
constexpr f64 kWorthStopping = 1 << 27;

struct Contraction {
  i64 i = -1, j = -1, k = -1;
  i64 a_slot = -1, b_slot = -1;
  bool b_along_k = false;     // B is not contiguous along j
  bool rows_of_dots = false;  // both operands are contiguous along k
};

bool all_sizes_constant(const KernelInfo& info) {
  for (const RangeInfo& r : info.ranges) {
    if (r.range && r.size == 0) return false;
  }
  return true;
}

// Fills in the axes: i is only in A, j only in B, k in both. Without i, A is a single row.
bool recognise(const KernelInfo& info, Contraction* c) {
  if (info.reduces.size() != 1 || !all_sizes_constant(info)) return false;
  const ReduceInfo& r = info.reduces[0];
  if (std::popcount(r.closed) != 1 || r.reduce.reduce_op() != Op::Add) return false;
  if (!r.reduce.dtype().is_float()) return false;
  c->k = std::countr_zero(r.closed);
  const Access* operands[2];
  int n = 0;
  for (const Access& a : info.accesses) {
    if (a.store || !(a.mask & r.closed)) continue;
    if (n == 2 || a.gate_mask || !a.affine.others.empty()) return false;
    operands[n++] = &a;
  }
  if (n != 2) return false;
  u64 own0 = operands[0]->mask & ~operands[1]->mask, own1 = operands[1]->mask & ~operands[0]->mask;
  // With several such axes the longest is blocked and the others stay outer loops.
  auto longest = [&](u64 mask) {
    i64 best = -1;
    for (; mask; mask &= mask - 1) {
      i64 id = std::countr_zero(mask);
      if (best < 0 || info.size(id) >= info.size(best)) best = id;
    }
    return best;
  };
  i64 axis0 = longest(own0), axis1 = longest(own1);
  // The lane axis is the one along which the result is contiguous.
  bool second = axis0 < 0;
  if (axis0 >= 0 && axis1 >= 0) {
    for (const Access& a : info.accesses)
      if (a.store) second = a.affine.coefficient(axis1).value_or(0) == 1;
  }
  if (std::popcount(own0) != 1 && std::popcount(own1) != 1) return false;
  c->i = second ? axis0 : axis1;
  c->j = second ? axis1 : axis0;
  const Access &a = *operands[second ? 0 : 1], &b = *operands[second ? 1 : 0];
  c->a_slot = a.memory.arg(0), c->b_slot = b.memory.arg(0);
  c->b_along_k = b.affine.coefficient(c->j) != 1;
  c->rows_of_dots = a.affine.coefficient(c->k) == 1 && b.affine.coefficient(c->k) == 1;
  return true;
}

i64 divide_up(i64 n, i64 by) { return (n + by - 1) / by; }

// What things take, in multiply-adds of one vector register.
constexpr f64 kLatency = 8;             // of one, in those that could begin meanwhile
constexpr f64 kStep = 1;                // of the innermost loop, beside its multiply-adds
constexpr f64 kPacked = 6;              // a register of an operand packed
constexpr f64 kPackedFromFar = 12;      // the same of B from beyond L2: it comes line by line
constexpr f64 kSumInL1 = 1.5;           // a register of sums added to while B streams
constexpr f64 kGated = 1.15;            // where B streams with masks, a factor
constexpr f64 kTransposed = 1;          // an element packed where the order changes
constexpr f64 kAccumulated = 6;         // a register of sums added to those of earlier blocks
constexpr f64 kPart = 500;              // a part of the work, whoever runs it
constexpr f64 kWake = 10e3;             // other threads
constexpr i64 kMostSums = 512 << 10;    // bytes of a block: they lie on the stack of any thread
constexpr i64 kMostPacked = 448 << 10;  // and so do these
constexpr i64 kFewRows = 8;             // fewer are not worth packing for
constexpr i64 kMostRowsOfStreams = 128;
constexpr i64 kMostRowsOfDots = 32, kFewRowsOfDots = 12;
constexpr i64 kMostStreams = 8;     // rows of B at a time
constexpr i64 kMoreBlocks = 8;      // than are needed, to try along an axis
constexpr f64 kWorthTrying = 1.06;  // register tiles: cycles as a multiple of the best's

struct RegisterTile {
  i64 rows, lanes;
};

// The sizes of blocks.
class Blocking {
 public:
  Blocking(const KernelInfo& info, const Caps& caps, const Contraction& c);
  // Empty if the axes are too short for vectors.
  Plan choose();

 private:
  void choose_registers();
  void choose_depth();
  void try_blocks();
  void try_streams();
  Plan plan() const;
  i64 row_blocks() const { return divide_up(m_, mt_); }
  i64 column_blocks() const { return divide_up(n_, nt_); }
  f64 cycles_of_step(const RegisterTile& t) const;
  f64 cycles_of_block() const;  // of i and j
  f64 cycles() const;           // of all, on all threads
  bool is_threaded() const {
    return caps_.host_threads && (caps_.threads > 1 || macs_ >= kWorthStopping);
  }

  const Caps& caps_;
  const Contraction c_;
  const i64 m_, n_, k_, bytes_, width_;
  f64 macs_ = 1;
  i64 outer_axis_ = -1, outer_parts_ = 1, outer_ = 1;  // the longest other axis; all others
  std::vector<RegisterTile> tiles_;
  // What is tried.
  bool streams_ = false;  // B, a few rows at a time; nothing is packed
  i64 rows_ = 0, lanes_ = 0, kc_ = 0, mt_ = 0, nt_ = 0;
  f64 best_ = 0;
  Plan best_plan_;
};

Blocking::Blocking(const KernelInfo& info, const Caps& caps, const Contraction& c)
    : caps_(caps),
      c_(c),
      m_(c.i < 0 ? 1 : info.size(c.i)),
      n_(info.size(c.j)),
      k_(info.size(c.k)),
      bytes_(info.reduces[0].reduce.dtype().bytes()),
      width_(std::max<i64>(1, caps.vector_bytes / bytes_)) {
  const u64 own = u64{1} << c.j | (c.i < 0 ? 0 : u64{1} << c.i);
  for (u64 m = info.output_mask & ~own; m; m &= m - 1) {
    const i64 id = std::countr_zero(m);
    outer_ *= info.size(id);
    if (outer_axis_ < 0 || info.size(id) > info.size(outer_axis_)) outer_axis_ = id;
  }
  for (i64 size : {m_, n_, k_, outer_}) macs_ *= static_cast<f64>(size);
  if (is_threaded() && outer_ > 1)
    outer_parts_ = largest_divisor(info.size(outer_axis_), 64 * caps.threads, 1);
}

f64 Blocking::cycles_of_step(const RegisterTile& t) const {
  const i64 vectors = divide_up(t.lanes, width_);
  const f64 issued = static_cast<f64>(std::max(t.rows * vectors, t.rows + vectors));
  return std::max(issued, kLatency) + kStep;
}

// `rows` broadcasts and `vectors` loads feed rows * vectors multiply-adds. Those are kept that
// waste little at the ends of the axes.
void Blocking::choose_registers() {
  f64 best = 0;
  auto cycles = [&](const RegisterTile& t) {
    return static_cast<f64>(divide_up(m_, t.rows) * divide_up(n_, t.lanes)) * cycles_of_step(t);
  };
  for (i64 lanes = std::max<i64>(2, width_ / 2); lanes <= 4 * width_ && lanes < 2 * n_;
       lanes *= 2) {
    if (!caps_.masked_access && n_ % lanes != 0) continue;
    const i64 vectors = divide_up(lanes, width_);
    for (i64 rows = 1; rows <= m_ && (rows + 1) * vectors < caps_.vector_registers; ++rows) {
      tiles_.push_back({rows, lanes});
      if (best == 0 || cycles(tiles_.back()) < best) best = cycles(tiles_.back());
    }
  }
  std::erase_if(tiles_, [&](const RegisterTile& t) { return cycles(t) > best * kWorthTrying; });
}

// A panel of B stays in L1. Twice as deep is better than a second block, which adds to sums.
void Blocking::choose_depth() {
  const i64 most = std::clamp<i64>(caps_.l1_bytes / (lanes_ * bytes_), 16, 320);
  kc_ = k_ <= 2 * most ? k_ : divide_up(k_, divide_up(k_, most));
  if (c_.b_along_k) kc_ = divide_up(kc_, 8) * 8;  // so many are transposed at once
}

f64 Blocking::cycles_of_block() const {
  const f64 rows = static_cast<f64>(mt_), columns = static_cast<f64>(nt_);
  const i64 blocks = divide_up(k_, kc_);
  const f64 depth = static_cast<f64>(kc_ * blocks), width = static_cast<f64>(width_);
  const f64 tiles = static_cast<f64>((mt_ / rows_) * (nt_ / lanes_));
  if (streams_) {
    // Register tiles follow each other without a loop between them, which hides latencies.
    const i64 vectors = divide_up(lanes_, width_);
    const f64 issued = static_cast<f64>(std::max(rows_ * vectors, rows_ + vectors));
    const bool gated = k_ % kc_ != 0 || n_ % lanes_ != 0;
    const f64 sums = static_cast<f64>(rows_ * vectors) * kSumInL1 * static_cast<f64>(blocks);
    return tiles * (issued * depth * (gated ? kGated : 1) + sums);
  }
  const bool far = static_cast<f64>(n_ * k_ * bytes_) > 4 * static_cast<f64>(caps_.l2_bytes);
  const f64 panel = c_.b_along_k ? kTransposed * width : far ? kPackedFromFar : kPacked;
  f64 all = tiles * depth * cycles_of_step({rows_, lanes_});
  all += (rows * kPacked + columns * panel) * depth / width;
  if (blocks > 1) all += rows * columns / width * kAccumulated * static_cast<f64>(blocks);
  return all;
}

f64 Blocking::cycles() const {
  const i64 parts = row_blocks() * column_blocks() * outer_parts_;
  const f64 of_part = cycles_of_block() * static_cast<f64>(outer_ / outer_parts_);
  if (parts == 1 || !is_threaded()) return of_part * static_cast<f64>(parts);
  const f64 turns = static_cast<f64>(divide_up(parts, std::max(caps_.threads, 1)));
  return turns * (of_part + kPart) + (caps_.threads > 1 ? kWake : 0);
}

void Blocking::try_blocks() {
  const i64 row_tiles = divide_up(m_, rows_), column_tiles = divide_up(n_, lanes_);
  const i64 packed = std::clamp<i64>(caps_.l2_bytes / 2, 32 << 10, kMostPacked);
  const i64 fewest = streams_ ? 1 : divide_up(row_tiles * rows_ * kc_ * bytes_, packed);
  for (i64 r = fewest; r < fewest + kMoreBlocks && r <= row_tiles; ++r) {
    mt_ = divide_up(row_tiles, r) * rows_;
    const i64 sums = k_ > kc_ ? divide_up(mt_ * column_tiles * lanes_ * bytes_, kMostSums) : 1;
    for (i64 c = sums; c < sums + kMoreBlocks && c <= column_tiles; ++c) {
      nt_ = divide_up(column_tiles, c) * lanes_;
      const f64 all = cycles();
      if (best_plan_.empty() || all < best_ * 0.998) best_ = all, best_plan_ = plan();
    }
  }
}

// Few rows: packing B would take longer than using it.
void Blocking::try_streams() {
  streams_ = true;
  for (kc_ = kMostStreams; kc_ > kMostStreams / 2 && k_ % kc_ != 0; --kc_) {
  }
  if (k_ % kc_ != 0) kc_ = kMostStreams;
  for (lanes_ = width_; lanes_ <= 2 * width_; lanes_ *= 2)
    for (rows_ = std::min<i64>(m_, 4); rows_ <= std::min<i64>(m_, 8); ++rows_) try_blocks();
  streams_ = false;
}

Plan Blocking::choose() {
  if (m_ >= kFewRows) choose_registers();
  for (const RegisterTile& tile : tiles_) {
    rows_ = tile.rows, lanes_ = tile.lanes;
    choose_depth();
    try_blocks();
  }
  if (!c_.b_along_k && m_ <= kMostRowsOfStreams && caps_.masked_access) try_streams();
  return best_plan_;
}

Plan Blocking::plan() const {
  Plan made{{OptOp::Tile, c_.k, kc_}, {OptOp::Tile, c_.j, nt_}};
  if (c_.i >= 0) made.insert(made.end(), {{OptOp::Tile, c_.i, mt_}, {OptOp::Upcast, c_.i, rows_}});
  made.push_back({OptOp::Vector, c_.j, lanes_});
  if (streams_)
    made.push_back({OptOp::Unroll, c_.k, kc_});
  else
    made.insert(made.end(), {{OptOp::Stage, c_.a_slot, 1}, {OptOp::Stage, c_.b_slot, 1}});
  if (!is_threaded()) return made;
  const std::pair<i64, i64> parts[] = {
      {outer_axis_, outer_parts_}, {c_.i, row_blocks()}, {c_.j, column_blocks()}};
  for (const auto& [axis, count] : parts)
    if (count > 1) made.push_back({OptOp::Thread, axis, count});
  return made;
}

// Few rows, both operands contiguous along k: lanes along k need no packing, which would change the
// order of B element by element. Empty where the axes do not split into rows * columns sums that
// load few operands for each multiply-add.
Plan dot_plan(const KernelInfo& info, const Caps& caps, const Contraction& c) {
  if (c.i < 0) return {};
  const i64 n = info.size(c.j), k = info.size(c.k);
  const i64 width = caps.vector_bytes / info.reduces[0].reduce.dtype().bytes();
  i64 rows = 0, columns = 0;
  f64 best = 1.4;  // multiply-adds for each load
  for (i64 r : divisors(info.size(c.i), 6)) {
    for (i64 l : divisors(n, 6)) {
      const f64 reuse = static_cast<f64>(r * l) / static_cast<f64>(r + l);
      if (r * l + std::max(r, l) + 1 <= caps.vector_registers * 3 / 4 && reuse > best)
        best = reuse, rows = r, columns = l;
    }
  }
  if (rows == 0 || k < 4 * width || (k % width != 0 && !caps.masked_access)) return {};
  Plan made{{OptOp::Vector, c.k, width}, {OptOp::Upcast, c.i, rows}, {OptOp::Upcast, c.j, columns}};
  const i64 loops = n / columns;
  const i64 parts = largest_divisor(loops, std::min<i64>(loops, 8 * caps.threads), 1);
  if (caps.host_threads && caps.threads > 1 && parts > 1)
    made.push_back({OptOp::Thread, c.j, parts});
  return made;
}

}  // namespace

Plan tile_plan(const KernelInfo& info, const Caps& caps) {
  Contraction c;
  if (caps.vector_bytes == 0 || !caps.private_arrays || caps.has_local || !recognise(info, &c))
    return {};
  const i64 m = c.i < 0 ? 1 : info.size(c.i), n = info.size(c.j), k = info.size(c.k);
  const f64 macs = static_cast<f64>(m) * static_cast<f64>(n) * static_cast<f64>(k);
  if (n < 16 || k < 16 || macs < kWorthTiling) return {};
  if (c.rows_of_dots && m <= kMostRowsOfDots) {
    Plan dots = dot_plan(info, caps, c);
    // With very few rows any plan along k is better than packing, and choose_plan() finds one.
    if (!dots.empty() || m <= kFewRowsOfDots) return dots;
  }
  return Blocking(info, caps, c).choose();
}

}  // namespace doorbell::codegen::detail
