// Steps of three kinds of plans: contractions in blocks, loops of a CPU, work groups.
#include "codegen/search/moves.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <optional>
#include <utility>

#include "base/util/format.h"
#include "codegen/opt/contraction.h"
#include "codegen/opt/heuristic.h"

namespace doorbell::codegen {
namespace {

constexpr i64 kMostLanes = 64, kMostCopies = 32, kMostUnrolled = 16;
constexpr i64 kMostThreads = 4096;
// Bytes that a block may take on a thread's stack, as in opt/tile_plan.cc.
constexpr i64 kMostSums = 512 << 10, kMostPacked = 448 << 10;

using detail::divide_up;
i64 round_up(i64 n, i64 step) { return divide_up(n, step) * step; }

// Collects plans, each once.
class Moves {
 public:
  explicit Moves(Plan from) : from_(std::move(from)) {}
  void add(std::string word, Plan plan) {
    const auto is_plan = [&](const Move& move) { return move.plan == plan; };
    if (plan != from_ && std::ranges::none_of(found_, is_plan))
      found_.push_back({std::move(word), std::move(plan)});
  }
  std::vector<Move> take() { return std::move(found_); }

 private:
  const Plan from_;
  std::vector<Move> found_;
};

// ---- contractions in blocks ---------------------------------------------------------------------

// The sizes of a plan that tile_plan.cc makes; see opt/tile.cc for what they mean.
struct Blocks {
  i64 i = -1, j = -1, k = -1;
  i64 mt = 1, nt = 1, kc = 1, rows = 1, lanes = 1, unroll = 1;
  i64 parts = 1;  // of a word along k
  bool threads_of_blocks = false;
  Plan others;  // Stage, and Thread of other axes
  Plan joins;
};

std::optional<Blocks> blocks_of(const KernelInfo& info, const Plan& plan) {
  Blocks b;
  for (const Opt& o : plan) {
    const bool reduced = o.op == OptOp::Tile && info.ranges[static_cast<usize>(o.axis)].reduce;
    if (reduced) b.k = o.axis, b.kc = o.amount;
    if (o.op == OptOp::Vector) b.j = o.axis, b.lanes = o.amount;
    if (o.op == OptOp::Upcast) b.i = o.axis, b.rows = o.amount;
    if (o.op == OptOp::Unroll) b.unroll = o.amount;
    if (o.op == OptOp::Stage) b.parts = o.amount;
    if (o.op == OptOp::Join) b.joins.push_back(o);
  }
  if (b.j < 0 || b.k < 0) return std::nullopt;
  // With a single row in a register tile, i is the other axis in blocks.
  for (const Opt& o : plan)
    if (o.op == OptOp::Tile && o.axis != b.j && o.axis != b.k) b.i = o.axis;
  b.mt = b.i < 0 ? 1 : amount_of(plan, OptOp::Tile, b.i);
  b.nt = std::max(amount_of(plan, OptOp::Tile, b.j), b.lanes);
  for (const Opt& o : plan) {
    const bool of_block = o.axis == b.i || o.axis == b.j;
    if (o.op == OptOp::Thread && of_block) b.threads_of_blocks = true;
    if (o.op == OptOp::Stage || (o.op == OptOp::Thread && !of_block)) b.others.push_back(o);
  }
  return b;
}

// Empty where the blocks do not fit a thread's stack or the registers.
Plan plan_of(const KernelInfo& info, const Caps& caps, Blocks b) {
  const i64 bytes = info.reduces[0].reduce.dtype().bytes();
  const auto size = [&](i64 axis) { return detail::joined_axis(info, b.joins, axis).size; };
  const i64 m = b.i < 0 ? 1 : size(b.i), n = size(b.j), k = size(b.k);
  if (b.rows < 1 || b.lanes < 2 || b.lanes > kMostLanes || b.kc < 1) return {};
  b.kc = round_up(std::min(b.kc, k), b.unroll);
  b.mt = std::min(round_up(b.mt, b.rows), round_up(m, b.rows));
  b.nt = std::min(round_up(b.nt, b.lanes), round_up(n, b.lanes));
  const i64 vectors = divide_up(b.lanes * bytes, std::max(caps.vector_bytes, 1));
  if (b.rows * vectors >= 2 * caps.vector_registers) return {};
  if (b.kc < k && b.mt * b.nt * bytes > kMostSums) return {};
  const bool staged = has_opt(b.others, OptOp::Stage);
  const i64 words = divide_up(b.kc, b.parts);
  if (staged && std::max(b.mt, b.lanes) * words * bytes > kMostPacked) return {};
  Plan plan = b.joins;
  plan.insert(plan.end(), {{OptOp::Tile, b.k, b.kc}, {OptOp::Tile, b.j, b.nt}});
  if (b.i >= 0) plan.insert(plan.end(), {{OptOp::Tile, b.i, b.mt}, {OptOp::Upcast, b.i, b.rows}});
  plan.push_back({OptOp::Vector, b.j, b.lanes});
  if (b.unroll > 1) plan.push_back({OptOp::Unroll, b.k, b.unroll});
  plan.insert(plan.end(), b.others.begin(), b.others.end());
  if (!b.threads_of_blocks) return plan;
  for (const auto& [axis, parts] : {std::pair{b.i, divide_up(m, b.mt)}, {b.j, divide_up(n, b.nt)}})
    if (axis >= 0 && parts > 1) plan.push_back({OptOp::Thread, axis, parts});
  return plan;
}

void add_block_moves(const KernelInfo& info, const Caps& caps, const Blocks& from, Moves* moves) {
  const auto step = [&](const char* word, const std::function<void(Blocks&)>& change) {
    Blocks b = from;
    change(b);
    if (Plan plan = plan_of(info, caps, b); !plan.empty()) moves->add(word, std::move(plan));
  };
  step("tile.k*2", [](Blocks& b) { b.kc *= 2; });
  step("tile.k/2", [](Blocks& b) { b.kc = divide_up(b.kc, 2); });
  step("tile.k*3/2", [](Blocks& b) { b.kc = divide_up(3 * b.kc, 2); });
  step("tile.k*2/3", [](Blocks& b) { b.kc = divide_up(2 * b.kc, 3); });
  step("tile.j*2", [](Blocks& b) { b.nt *= 2; });
  step("tile.j/2", [](Blocks& b) { b.nt = divide_up(b.nt, 2); });
  step("vector*2", [](Blocks& b) { b.lanes *= 2; });
  step("vector/2", [](Blocks& b) { b.lanes /= 2; });
  step("vector*2,upcast/2", [](Blocks& b) { b.lanes *= 2, b.rows = divide_up(b.rows, 2); });
  step("vector/2,upcast*2", [](Blocks& b) { b.lanes /= 2, b.rows *= 2; });
  step("threads", [](Blocks& b) { b.threads_of_blocks = !b.threads_of_blocks; });
  if (from.unroll == 1 && from.parts == 1) step("unroll*2", [](Blocks& b) { b.unroll = 2; });
  if (from.i < 0) return;
  step("tile.i*2", [](Blocks& b) { b.mt *= 2; });
  step("tile.i/2", [](Blocks& b) { b.mt = divide_up(b.mt, 2); });
  step("upcast+1", [](Blocks& b) { ++b.rows; });
  step("upcast-1", [](Blocks& b) { --b.rows; });
  step("upcast+2", [](Blocks& b) { b.rows += 2; });
  step("upcast-2", [](Blocks& b) { b.rows -= 2; });
}

// ---- loops and work groups ----------------------------------------------------------------------

const char* word_of(OptOp op) {
  switch (op) {
    case OptOp::Vector: return "vector";
    case OptOp::Upcast: return "upcast";
    case OptOp::Unroll: return "unroll";
    case OptOp::Thread: return "thread";
    case OptOp::Tile: return "tile";
    case OptOp::Local: return "local";
    case OptOp::Group: return "group";
    case OptOp::Stage: return "stage";
    default: return "other";
  }
}

i64 most_of(OptOp op) {
  switch (op) {
    case OptOp::Vector: return kMostLanes;
    case OptOp::Upcast: return kMostCopies;
    case OptOp::Unroll: return kMostUnrolled;
    case OptOp::Thread: return kMostThreads;
    case OptOp::Stage: return 2;
    default: return 1 << 12;
  }
}

// All opts of the plan that must stay equal to this one: lanes of loops over the same rows.
bool goes_with(const Opt& opt, const Opt& other) {
  const bool equal = opt.op == other.op && opt.amount == other.amount;
  return equal && (opt.op == OptOp::Vector || opt.op == OptOp::Group || opt.op == OptOp::Stage);
}

Plan with_amount(const Plan& plan, const Opt& opt, i64 amount) {
  Plan changed = plan;
  for (Opt& o : changed)
    if (o == opt || goes_with(opt, o)) o.amount = amount;
  // Neutral amounts are left out; copies into local memory have at least one buffer.
  std::erase_if(changed, [](const Opt& o) { return o.amount == 1 && o.op != OptOp::Stage; });
  return changed;
}

void add_amounts(const Plan& plan, Moves* moves) {
  for (const Opt& o : plan) {
    if (o.op >= OptOp::Rows) continue;  // matrix instructions, and what is no loop
    const std::string word = word_of(o.op);
    if (2 * o.amount <= most_of(o.op)) moves->add(word + "*2", with_amount(plan, o, 2 * o.amount));
    if (o.amount % 2 == 0) moves->add(word + "/2", with_amount(plan, o, o.amount / 2));
    if (o.op == OptOp::Stage || o.op == OptOp::Vector) continue;
    if (3 * o.amount <= most_of(o.op)) moves->add(word + "*3", with_amount(plan, o, 3 * o.amount));
    if (o.amount % 3 == 0) moves->add(word + "/3", with_amount(plan, o, o.amount / 3));
    moves->add(word + "-", with_amount(plan, o, 1));
  }
}

void add_new_opts(const KernelInfo& info, const Caps& caps, const Plan& plan, Moves* moves) {
  for (usize id = 0; id < info.ranges.size(); ++id) {
    const RangeInfo& range = info.ranges[id];
    const i64 axis = static_cast<i64>(id);
    if (range.size < 2) continue;
    const bool output = info.output_mask >> id & 1;
    const auto add = [&](OptOp op, i64 amount) {
      if (amount_of(plan, op, axis) > 1 || range.size < amount) return;
      Plan made = plan;
      made.push_back({op, axis, amount});
      moves->add(std::string(word_of(op)) + "+", std::move(made));
    };
    for (i64 amount : {2, 4})
      add(output ? OptOp::Upcast : OptOp::Unroll, range.size % amount == 0 ? amount : amount + 1);
    if (output && !has_opt(plan, OptOp::Thread) && caps.host_threads && caps.threads > 1)
      add(OptOp::Thread, detail::largest_divisor(range.size, 8 * caps.threads, 1));
    if (caps.has_local || caps.vector_bytes == 0 || has_opt(plan, OptOp::Vector)) continue;
    for (i64 bytes : {1, 2}) add(OptOp::Vector, bytes * caps.vector_bytes / 4);
  }
}

}  // namespace

std::vector<Move> moves_from(const KernelInfo& info, const Caps& caps, const Plan& plan) {
  Moves moves(plan);
  const std::optional<Blocks> blocks = caps.has_local ? std::nullopt : blocks_of(info, plan);
  if (blocks) {
    add_block_moves(info, caps, *blocks, &moves);
  } else {
    add_amounts(plan, &moves);
    add_new_opts(info, caps, plan, &moves);
  }
  return moves.take();
}

}  // namespace doorbell::codegen
