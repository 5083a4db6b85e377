// Recognises a contraction of two operands and picks its blocks: register tile by issue slots,
// KC x lanes of B for L1, MT x KC of A and MT x NT of sums for L2.
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
};

bool all_sizes_constant(const KernelInfo& info) {
  for (const RangeInfo& r : info.ranges) {
    if (r.range && r.size == 0) return false;
  }
  return true;
}

// Fills in the axes: i is only in A, j only in B, k in both.
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
  if (axis0 < 0 || axis1 < 0) return false;
  // The lane axis is the one along which the result is contiguous.
  bool second = true;
  for (const Access& a : info.accesses) {
    if (a.store) second = a.affine.coefficient(axis1).value_or(0) == 1;
  }
  if (std::popcount(own0) != 1 && std::popcount(own1) != 1) return false;
  c->i = second ? axis0 : axis1;
  c->j = second ? axis1 : axis0;
  c->a_slot = operands[second ? 0 : 1]->memory.arg(0);
  c->b_slot = operands[second ? 1 : 0]->memory.arg(0);
  return true;
}

}  // namespace

Plan tile_plan(const KernelInfo& info, const Caps& caps) {
  Contraction c;
  if (caps.vector_bytes == 0 || !caps.private_arrays || caps.has_local || !recognise(info, &c))
    return {};
  i64 m = info.size(c.i), n = info.size(c.j), k = info.size(c.k);
  f64 macs = static_cast<f64>(m) * static_cast<f64>(n) * static_cast<f64>(k);
  if (m < 8 || n < 16 || k < 16 || macs < kWorthTiling) return {};
  i64 bytes = info.reduces[0].reduce.dtype().bytes(), width = caps.vector_bytes / bytes;
  // Register tile: `rows` broadcasts and `vectors` loads feed rows * vectors multiply-adds.
  i64 rows = 0, lanes = 0;
  f64 best = 0;
  for (i64 l : lane_counts(n, 4 * width, false)) {
    i64 vectors = (l + width - 1) / width;
    f64 filled = static_cast<f64>(l) / static_cast<f64>(vectors * width);
    for (i64 r : divisors(m, 16)) {
      if (r * vectors + vectors + 1 > caps.vector_registers) continue;
      f64 issue = std::max<f64>(static_cast<f64>(r * vectors), static_cast<f64>(r + vectors));
      f64 chain = 2 * 4;  // latency of one multiply-add, in issue slots
      f64 speed = filled * static_cast<f64>(r * vectors) / (std::max(issue, chain) + 1);
      if (speed > best * 1.001) best = speed, rows = r, lanes = l;
    }
  }
  if (rows == 0 || lanes < 2) return {};
  i64 kc = largest_divisor(k, std::max<i64>(16, caps.l1_bytes * 3 / 4 / (lanes * bytes)), 1);
  kc = std::min<i64>(kc, 256 < k ? largest_divisor(k, 256, 1) : kc);
  if (kc < 8) return {};
  i64 mt = largest_divisor(m, std::max<i64>(rows, caps.l2_bytes / 8 / (kc * bytes)), rows);
  i64 nt = largest_divisor(n, std::max<i64>(lanes, caps.l2_bytes / 4 / (mt * bytes)), lanes);
  Plan plan{{OptOp::Tile, c.k, kc},      {OptOp::Tile, c.i, mt},      {OptOp::Tile, c.j, nt},
            {OptOp::Stage, c.a_slot, 1}, {OptOp::Stage, c.b_slot, 1}, {OptOp::Upcast, c.i, rows},
            {OptOp::Vector, c.j, lanes}};
  if (!caps.host_threads || (caps.threads < 2 && macs < kWorthStopping)) return plan;
  // Threads get blocks of i and j; blocks of i are made smaller until there are enough. Many parts
  // also help beside other programs: a delayed thread delays only one part.
  while ((m / mt) * (n / nt) < caps.threads && mt > rows && largest_divisor(m, mt / 2, rows) > 0) {
    mt = largest_divisor(m, mt / 2, rows);
  }
  plan[1].amount = mt;
  for (const auto& [axis, blocks] : {std::pair(c.i, m / mt), std::pair(c.j, n / nt)})
    if (blocks > 1) plan.push_back({OptOp::Thread, axis, blocks});
  return plan;
}

}  // namespace doorbell::codegen::detail
