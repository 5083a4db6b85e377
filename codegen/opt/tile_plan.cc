// Picks the blocks of a contraction of two operands (contraction.h): a register tile that wastes
// little at the ends of the axes, KC x lanes of B for L1, MT x KC of A for L2, and as many blocks
// as threads have work with. Blocks are of equal size, or the last one has fewer register tiles.
#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <utility>

#include "codegen/opt/heuristic.h"
#include "codegen/opt/window_tile.h"

namespace doorbell::codegen::detail {

namespace {

constexpr f64 kWorthTiling = 1 << 19;  // multiply-adds; below, packing costs more than it saves
// Multiply-adds that take some milliseconds. Longer kernels are split into parts even for a single
// thread, because a kernel can be stopped between two parts.
constexpr f64 kWorthStopping = 1 << 27;

// What things take, in multiply-adds of one vector register.
constexpr f64 kStep = 1;                // of the innermost loop, beside its multiply-adds,
constexpr f64 kTightStep = 1.5;         // where few more are in progress than must be:
constexpr f64 kSlack = 1.5;             // less than so many times as many
constexpr f64 kPacked = 6;              // a register of an operand packed
constexpr f64 kFarRows = 2.5;           // from memory, times Caps::far_load: rows lie far apart
constexpr f64 kFarPieces = 5;           // and where only a line is read from each row
constexpr f64 kFarStream = 1.75;        // of rows as they lie
constexpr f64 kSumInL1 = 1.5;           // a register of sums added to while B streams, in cycles
constexpr f64 kGated = 1.15;            // where B streams with masks, a factor,
constexpr f64 kSpilled = 1.65;          // or more of it than registers hold
constexpr f64 kTransposed = 1;          // an element packed where the order changes,
constexpr f64 kInRegisters = 0.4;       // many of them at once, by shuffles
constexpr f64 kPiece = 3;               // a piece of a vector packed where axes end within one
constexpr f64 kScattered = 2;           // an element of the result that is stored by itself,
constexpr f64 kTransposedResult = 0.6;  // or in vectors along the rows of a register tile
constexpr f64 kAccumulated = 6;         // a register of sums added to those of earlier blocks
constexpr f64 kPart = 500;              // a part of the work, whoever runs it
constexpr f64 kWake = 10e3;             // other threads
constexpr i64 kMostSums = 768 << 10;    // bytes of a block: they lie on the stack of any thread
constexpr i64 kMostPacked = 448 << 10;  // and so do these
constexpr i64 kFewRows = 8;             // fewer are not worth packing for,
constexpr i64 kFewTransposed = 4;       // or of a register tile for transposing its results
constexpr i64 kMostRowsOfStreams = 128;
constexpr i64 kMostRowsOfDots = 32, kFewRowsOfDots = 12;
constexpr i64 kMostStreams = 8;     // rows of B at a time
constexpr i64 kOfTwoPorts = 8;      // multiply-adds in progress, of four cycles each
constexpr i64 kMoreBlocks = 8;      // than are needed, to try along an axis
constexpr f64 kWorthTrying = 1.06;  // register tiles: cycles as a multiple of the best's

struct RegisterTile {
  i64 rows, lanes;
};

// The sizes of blocks.
class Blocking {
 public:
  // `parts` neighbours along k are a word (linear/dot.h); 1: no words.
  Blocking(const KernelInfo& info, const Caps& caps, const Contraction& c, i64 parts);
  // Empty if the axes are too short for vectors.
  Plan choose();
  // Of what choose() gave.
  f64 best_cycles() const { return best_; }

 private:
  void choose_registers();
  void choose_depth();
  void choose_joined_depth(i64 most);
  void try_blocks();
  i64 column_block(i64 panels, i64 blocks) const;
  void try_streams();
  Plan plan() const;
  // Of B that are packed at once, at most.
  i64 panels_together() const;
  i64 row_blocks() const { return divide_up(m_, mt_); }
  i64 column_blocks() const { return divide_up(n_, nt_); }
  f64 cycles_of_step(const RegisterTile& t) const;
  f64 cycles_of_block(f64 rows, f64 columns) const;  // of i and j
  f64 cycles_of_packing(bool is_b) const;            // a vector register of an operand
  f64 cycles_of_far_load(bool is_b) const;
  std::optional<WindowTile> window(i64 mt, i64 kc) const {
    return window_tile(info_, c_.a->index, *c_.a, c_.i, mt, c_.k, kc);
  }
  bool rows_fit(i64 rows) const;
  // Cores load two vectors a cycle and store one, and multiply two or one.
  bool multiplies_two() const { return caps_.core.fma_in_flight >= kOfTwoPorts; }
  f64 cycles() const;  // of all, on all threads
  bool is_threaded() const {
    return caps_.host_threads && (caps_.threads > 1 || macs_ >= kWorthStopping);
  }

  const KernelInfo& info_;
  const Caps& caps_;
  const Contraction c_;
  const i64 parts_;
  const i64 m_, n_, k_, bytes_, width_;  // k_ in words
  f64 macs_ = 1;
  i64 outer_axis_ = -1, outer_parts_ = 1, outer_ = 1;  // the longest other axis; all others
  std::vector<RegisterTile> tiles_;
  bool slides_ = false;  // windows over A
  // What is tried.
  bool streams_ = false;  // B, a few rows at a time; nothing is packed
  i64 rows_ = 0, lanes_ = 0, kc_ = 0, mt_ = 0, nt_ = 0;
  f64 best_ = 0;
  Plan best_plan_;
};

Blocking::Blocking(const KernelInfo& info, const Caps& caps, const Contraction& c, i64 parts)
    : info_(info),
      caps_(caps),
      c_(c),
      parts_(parts),
      m_(c.i.size),
      n_(c.j.size),
      k_(divide_up(c.k.size, parts)),
      bytes_(info.reduces[0].reduce.dtype().bytes()),
      width_(std::max<i64>(1, caps.vector_bytes / bytes_)) {
  for (u64 m = info.output_mask & ~(c.i.mask | c.j.mask); m; m &= m - 1) {
    const i64 id = std::countr_zero(m);
    outer_ *= info.size(id);
    if (outer_axis_ < 0 || info.size(id) > info.size(outer_axis_)) outer_axis_ = id;
  }
  for (i64 size : {m_, n_, k_, outer_}) macs_ *= static_cast<f64>(size);
  slides_ = !c.is_plain && window(m_, k_).has_value();
  if (is_threaded() && outer_ > 1)
    outer_parts_ = largest_divisor(info.size(outer_axis_), 64 * caps.threads, 1);
}

f64 Blocking::cycles_of_step(const RegisterTile& t) const {
  const i64 vectors = divide_up(t.lanes, width_), loads = t.rows + vectors;
  const f64 issued =
      static_cast<f64>(std::max(t.rows * vectors, multiplies_two() ? loads : loads / 2));
  // No order of instructions keeps two ports busy with just as many sums: of tiles of 4, 5 and 6
  // rows of two registers of AVX2, a step takes 4.3, 5.2 and 6.0 cycles on a Zen 4.
  const f64 in_flight = static_cast<f64>(caps_.core.fma_in_flight);
  const bool is_tight = static_cast<f64>(t.rows * vectors) < kSlack * in_flight;
  return std::max(issued, in_flight) + (is_tight ? kTightStep : kStep);
}

// The rows of a register tile lie in its window at distances that do not vary from tile to tile.
bool Blocking::rows_fit(i64 rows) const {
  i64 inner = 1;
  for (usize n = c_.i.ids.size(); slides_ && n-- > 1;) {
    inner *= info_.size(c_.i.ids[n]);
    if (inner % rows != 0 && rows % inner != 0) return false;
  }
  return true;
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
      if (!rows_fit(rows)) continue;
      tiles_.push_back({rows, lanes});
      if (best == 0 || cycles(tiles_.back()) < best) best = cycles(tiles_.back());
    }
  }
  std::erase_if(tiles_, [&](const RegisterTile& t) { return cycles(t) > best * kWorthTrying; });
}

// A panel of B stays in L1. Twice as deep is better than a second block, which adds to sums.
void Blocking::choose_depth() {
  const i64 most = std::clamp<i64>(caps_.l1_bytes / (lanes_ * bytes_), 16, 320);
  if (c_.k.is_joined()) return choose_joined_depth(most);
  kc_ = k_ <= 2 * most ? k_ : divide_up(k_, divide_up(k_, most));
  const i64 run = k_ % 16 == 0 ? 16 : 8;  // so many are transposed at once
  if (c_.b_along_k) kc_ = divide_up(kc_, run) * run;
}

// Whole inner axes: the taps of a window, or rows of an image.
void Blocking::choose_joined_depth(i64 most) {
  i64 step = 1;
  for (usize n = c_.k.ids.size(); n-- > 1 && step * info_.size(c_.k.ids[n]) <= most;)
    step *= info_.size(c_.k.ids[n]);
  const i64 steps = k_ / step, fit = std::max<i64>(1, most / step);
  kc_ = k_ <= 2 * most ? k_ : divide_up(steps, divide_up(steps, fit)) * step;
  if (kc_ == k_) return;
  for (i64 n = fit * 5 / 4; n > fit / 2 || (slides_ && n > 0); --n) {
    if (steps % n == 0 && (!slides_ || window(m_, n * step))) {
      kc_ = n * step;
      return;
    }
  }
}

// Where the order stays, vectors, or pieces of them; else element by element.
f64 Blocking::cycles_of_packing(bool is_b) const {
  const Access& access = is_b ? *c_.b : *c_.a;
  const JoinedAxis& own = is_b ? c_.j : c_.i;
  const bool along_own = access.affine.coefficient(own.id()) == 1;
  const bool along_k = !is_b && access.affine.coefficient(c_.k.id()) == 1;
  const bool blocks_fit = is_b && parts_ == 1 && n_ % nt_ == 0 && k_ % kc_ == 0;
  if (blocks_fit && transposed_run(info_, access, own, c_.k, kc_) > 1)
    return kInRegisters * static_cast<f64>(width_);
  if (!along_own && !along_k) return kTransposed * static_cast<f64>(width_);
  const i64 most = is_b ? std::min(lanes_, width_) : width_;
  const i64 piece = vector_piece(info_, access, along_k && !along_own ? c_.k : own, most);
  const f64 loads = is_b ? kPacked * static_cast<f64>(parts_) : kPacked;
  const f64 whole = loads + cycles_of_far_load(is_b);
  return std::max(whole, kPiece * static_cast<f64>(width_ / std::min(piece, width_)));
}

// A register of an operand that no cache of the core holds. Windows read most elements of A again.
f64 Blocking::cycles_of_far_load(bool is_b) const {
  if ((is_b ? n_ : m_) * k_ * bytes_ <= 4 * caps_.l2_bytes) return 0;
  f64 times = is_b && panels_together() == 1 ? kFarPieces : kFarRows;
  if (!c_.is_plain) times = is_b ? 1 : 0;
  return (streams_ ? kFarStream : times) * static_cast<f64>(caps_.core.far_load);
}

i64 Blocking::panels_together() const {
  if (streams_ || !c_.is_plain || c_.b_along_k) return 1;
  constexpr i64 kMany = 16;
  return detail::panels_together(kMany, lanes_ * c_.b->bytes, kc_ * lanes_ * bytes_);
}

f64 Blocking::cycles_of_block(f64 rows, f64 columns) const {
  const i64 blocks = divide_up(k_, kc_);
  const f64 depth = static_cast<f64>(kc_ * blocks), width = static_cast<f64>(width_);
  const f64 tiles = rows / static_cast<f64>(rows_) * (columns / static_cast<f64>(lanes_));
  if (streams_) {
    // Register tiles follow each other without a loop between them, which hides latencies.
    const i64 vectors = divide_up(lanes_, width_);
    const f64 issued = static_cast<f64>(std::max(rows_ * vectors, rows_ + vectors));
    const bool gated = k_ % kc_ != 0 || n_ % lanes_ != 0;
    const bool spills = (kc_ + 2) * vectors >= caps_.vector_registers;
    const f64 slower = (gated ? kGated : 1) * (spills ? kSpilled : 1);
    const f64 of_sum = multiplies_two() ? 2 * kSumInL1 : kSumInL1;
    const f64 sums = static_cast<f64>(rows_ * vectors) * of_sum * static_cast<f64>(blocks);
    const f64 loads = columns / width * depth * cycles_of_far_load(true);
    return tiles * (issued * depth * slower + sums) + loads;
  }
  f64 all = tiles * depth * cycles_of_step({rows_, lanes_});
  all += columns * cycles_of_packing(true) * depth / width;
  if (const auto tile = slides_ ? window(mt_, kc_) : std::nullopt)
    all += static_cast<f64>(tile->count * blocks) * kPacked / width;
  else
    all += rows * cycles_of_packing(false) * depth / width;
  const bool transposes = c_.along_i && m_ % mt_ == 0 && rows_ >= kFewTransposed;
  if (c_.scatters) all += rows * columns * (transposes ? kTransposedResult : kScattered);
  if (blocks > 1) all += rows * columns / width * kAccumulated * static_cast<f64>(blocks);
  return all;
}

f64 Blocking::cycles() const {
  const i64 parts = row_blocks() * column_blocks() * outer_parts_;
  const f64 others = static_cast<f64>(outer_ / outer_parts_), all = static_cast<f64>(parts);
  // The last blocks of an axis may have fewer register tiles.
  const f64 rows = static_cast<f64>(divide_up(m_, rows_) * rows_);
  const f64 columns = static_cast<f64>(divide_up(n_, lanes_) * lanes_);
  const f64 mean = others * cycles_of_block(rows / static_cast<f64>(row_blocks()),
                                            columns / static_cast<f64>(column_blocks()));
  if (parts == 1 || !is_threaded()) return mean * all;
  const f64 threads = static_cast<f64>(std::max(caps_.threads, 1));
  const f64 turns = std::ceil(all / threads);
  const f64 largest = others * cycles_of_block(static_cast<f64>(mt_), static_cast<f64>(nt_));
  // Threads take parts as they get done.
  const f64 longest = std::min(turns * largest, mean * all / threads + largest);
  return longest + turns * kPart + (caps_.threads > 1 ? kWake : 0);
}

// Panels that are packed together lie in one block.
i64 Blocking::column_block(i64 panels, i64 blocks) const {
  const i64 together = panels_together(), least = divide_up(panels, blocks);
  if (least <= together) return least * lanes_;
  const i64 more = divide_up(least, together) * together;
  const bool fits = k_ <= kc_ || mt_ * more * lanes_ * bytes_ <= kMostSums;
  return (fits ? more : more - together) * lanes_;
}

void Blocking::try_blocks() {
  i64 step = rows_;  // of blocks
  for (usize n = c_.i.ids.size(); slides_ && n-- > 1;)
    step = std::lcm(step, info_.size(c_.i.ids[n]));
  const i64 row_tiles = divide_up(m_, step), column_tiles = divide_up(n_, lanes_);
  const i64 packed = std::clamp<i64>(caps_.l2_bytes / 2, 32 << 10, kMostPacked);
  i64 fewest = 1;
  const auto too_many = [&](i64 r) {
    const i64 mt = divide_up(row_tiles, r) * step;
    const auto tile = slides_ ? window(mt, kc_) : std::nullopt;
    return (tile ? tile->count : mt * kc_) * bytes_ > packed;
  };
  while (!streams_ && fewest < row_tiles && too_many(fewest)) ++fewest;
  for (i64 r = fewest; r < fewest + kMoreBlocks && r <= row_tiles; ++r) {
    mt_ = divide_up(row_tiles, r) * step;
    const i64 sums = k_ > kc_ ? divide_up(mt_ * column_tiles * lanes_ * bytes_, kMostSums) : 1;
    for (i64 c = sums; c < sums + kMoreBlocks && c <= column_tiles; ++c) {
      nt_ = column_block(column_tiles, c);
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
  if (parts_ == 1 && c_.is_plain && !c_.b_along_k && m_ <= kMostRowsOfStreams &&
      caps_.masked_access)
    try_streams();
  return best_plan_;
}

Plan Blocking::plan() const {
  Plan made;
  for (const JoinedAxis* axis : {&c_.k, &c_.j, &c_.i})
    for (usize n = axis->ids.size(); n-- > 1;)
      made.push_back({OptOp::Join, axis->id(), axis->ids[n - 1]});
  made.insert(made.end(), {{OptOp::Tile, c_.k.id(), kc_ * parts_}, {OptOp::Tile, c_.j.id(), nt_}});
  if (c_.i.exists())
    made.insert(made.end(), {{OptOp::Tile, c_.i.id(), mt_}, {OptOp::Upcast, c_.i.id(), rows_}});
  made.push_back({OptOp::Vector, c_.j.id(), lanes_});
  if (streams_) {
    made.push_back({OptOp::Unroll, c_.k.id(), kc_});
    // Rows of a power of two apart fall into the same sets of the caches; those of a tile do not.
    if (mt_ > kFewRows) made.push_back({OptOp::Stage, c_.a->memory.arg(0), parts_});
  } else {
    made.push_back({OptOp::Stage, c_.a->memory.arg(0), parts_});
    made.push_back({OptOp::Stage, c_.b->memory.arg(0), parts_});
  }
  if (!is_threaded()) return made;
  const std::pair<i64, i64> parts[] = {
      {outer_axis_, outer_parts_}, {c_.i.id(), row_blocks()}, {c_.j.id(), column_blocks()}};
  for (const auto& [axis, count] : parts)
    if (count > 1) made.push_back({OptOp::Thread, axis, count});
  return made;
}

// Few rows, both operands contiguous along k: lanes along k need no packing, which would change the
// order of B element by element. Empty where the axes do not split into rows * columns sums that
// load few operands for each multiply-add.
Plan dot_plan(const KernelInfo& info, const Caps& caps, const Contraction& c) {
  if (!c.i.exists()) return {};
  const i64 n = c.j.size, k = c.k.size;
  const i64 width = caps.vector_bytes / info.reduces[0].reduce.dtype().bytes();
  i64 rows = 0, columns = 0;
  f64 best = 1.4;  // multiply-adds for each load
  for (i64 r : divisors(c.i.size, 6)) {
    for (i64 l : divisors(n, 6)) {
      const f64 reuse = static_cast<f64>(r * l) / static_cast<f64>(r + l);
      if (r * l + std::max(r, l) + 1 <= caps.vector_registers * 3 / 4 && reuse > best)
        best = reuse, rows = r, columns = l;
    }
  }
  if (rows == 0 || k < 4 * width || (k % width != 0 && !caps.masked_access)) return {};
  Plan made{{OptOp::Vector, c.k.id(), width},
            {OptOp::Upcast, c.i.id(), rows},
            {OptOp::Upcast, c.j.id(), columns}};
  const i64 loops = n / columns;
  const i64 parts = largest_divisor(loops, std::min<i64>(loops, 8 * caps.threads), 1);
  if (caps.host_threads && caps.threads > 1 && parts > 1)
    made.push_back({OptOp::Thread, c.j.id(), parts});
  return made;
}

}  // namespace

Plan tile_plan(const KernelInfo& info, const Caps& caps) {
  if (caps.vector_bytes == 0 || !caps.private_arrays || caps.has_local) return {};
  Plan best;
  f64 cycles = 0;
  for (const Contraction& c : find_contractions(info)) {
    const i64 m = c.i.size, n = c.j.size, k = c.k.size;
    const f64 macs = static_cast<f64>(m) * static_cast<f64>(n) * static_cast<f64>(k);
    if (n < 16 || k < 16 || macs < kWorthTiling) continue;
    if (c.rows_of_dots && m <= kMostRowsOfDots) {
      Plan dots = dot_plan(info, caps, c);
      // With very few rows any plan along k is better than packing, and choose_plan() finds one.
      if (!dots.empty() || m <= kFewRowsOfDots) return dots;
    }
    const i64 most_parts = parts_of_word(info, caps, c);
    for (i64 parts = most_parts;; parts = 1) {
      Blocking blocking(info, caps, c, parts);
      Plan made = blocking.choose();
      const bool better = best.empty() || blocking.best_cycles() < cycles;
      if (!made.empty() && better) best = std::move(made), cycles = blocking.best_cycles();
      if (parts == 1) break;
    }
  }
  return best;
}

}  // namespace doorbell::codegen::detail
