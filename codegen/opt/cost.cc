// The cost model: how often each access and operation is issued under a plan, in cycles of a core
// that issues two of them a cycle. It knows no caches: for those see tile_plan.cc.
#include <algorithm>
#include <bit>
#include <cmath>

#include "codegen/opt/heuristic.h"

namespace doorbell::codegen::detail {

namespace {

constexpr f64 kScalarLatency = 4, kLoopOverhead = 1;

class CostModel {
 public:
  CostModel(const KernelInfo& info, const Caps& caps, const Plan& plan);
  f64 cycles() const;

 private:
  // Executions of straight-line code that varies with `mask`: all loops around its innermost loop.
  f64 executions(u64 mask) const;
  f64 instances(u64 mask) const;
  f64 vectors(i64 bytes) const {
    return std::ceil(static_cast<f64>(lanes_ * bytes) / std::max(caps_.vector_bytes, 4));
  }
  f64 access_cost(const Access& a) const;
  f64 work_cost(const Work& w) const;
  f64 register_pressure(const ReduceInfo& r) const;
  int reduce_of(u64 mask) const;

  const KernelInfo& info_;
  const Caps& caps_;
  f64 loops_[64], copies_[64];  // by range: loop trips, unrolled copies
  u64 vector_mask_ = 0;         // at most one of these axes is in any node
  i64 lanes_ = 1;
  bool padded_ = false;
};

CostModel::CostModel(const KernelInfo& info, const Caps& caps, const Plan& plan)
    : info_(info), caps_(caps) {
  for (usize i = 0; i < info.ranges.size(); ++i) {
    f64 n = info.ranges[i].size > 0 ? static_cast<f64>(info.ranges[i].size) : 16;
    loops_[i] = info.ranges[i].range ? n : 1;
    copies_[i] = 1;
  }
  for (const Opt& o : plan) {
    usize axis = static_cast<usize>(o.axis);
    if (o.op == OptOp::Vector) vector_mask_ |= u64{1} << o.axis, lanes_ = o.amount;
    if (o.op == OptOp::Upcast || o.op == OptOp::Unroll) copies_[axis] *= static_cast<f64>(o.amount);
    if (o.op == OptOp::Vector) {
      f64 vectors = std::ceil(loops_[axis] / static_cast<f64>(o.amount));
      padded_ = vectors * static_cast<f64>(o.amount) != loops_[axis];
      loops_[axis] = vectors;
    }
    if (o.op == OptOp::Upcast || o.op == OptOp::Unroll) loops_[axis] /= static_cast<f64>(o.amount);
  }
}

int CostModel::reduce_of(u64 mask) const {
  for (usize i = 0; i < info_.reduces.size(); ++i) {
    if (mask & info_.reduces[i].closed) return static_cast<int>(i);
  }
  return -1;
}

f64 CostModel::executions(u64 mask) const {
  int reduce = reduce_of(mask);
  // The loops of a reduction stand inside every output loop that its result varies with.
  u64 outer =
      info_.output_mask & (reduce < 0 ? mask : info_.reduces[static_cast<usize>(reduce)].mask);
  f64 n = 1, prefix = 1;
  auto walk = [&](u64 loops, u64 wanted) {
    prefix = 1;
    f64 running = 1;
    for (; loops; loops &= loops - 1) {
      int id = std::countr_zero(loops);
      running *= loops_[id];
      if (wanted >> id & 1 && loops_[id] > 1) prefix = running;
    }
    n *= prefix;
  };
  walk(info_.output_mask, outer);
  if (reduce >= 0) walk(info_.reduces[static_cast<usize>(reduce)].closed, mask);
  return n;
}

f64 CostModel::instances(u64 mask) const {
  f64 n = 1;
  for (; mask; mask &= mask - 1) n *= copies_[std::countr_zero(mask)];
  return n;
}

f64 CostModel::access_cost(const Access& a) const {
  f64 each = a.store ? 1 : 0.5;
  u64 lanes = a.mask & vector_mask_;
  bool by_lane = false;
  if (lanes) {
    std::optional<i64> stride = a.affine.coefficient(std::countr_zero(lanes));
    bool gated = a.gate_mask & lanes;
    by_lane = !stride || *stride != 1 || (gated && !caps_.masked_access);
    f64 mask = gated ? 2.5 : padded_ ? 1.2 : 1;
    each *= by_lane ? static_cast<f64>(lanes_) * 2.5 : vectors(a.bytes) * mask;
  } else if (a.gate_mask) {
    each *= 2;
  }
  return executions(a.mask) * instances(a.mask) * each;
}

f64 CostModel::work_cost(const Work& w) const {
  bool lanes = w.mask & vector_mask_;
  return executions(w.mask) * instances(w.mask) * w.ops * 0.5 * (lanes ? vectors(4) : 1);
}

f64 CostModel::register_pressure(const ReduceInfo& r) const {
  bool lanes = r.mask & vector_mask_;
  f64 held = instances(r.mask & ~r.closed) * (lanes ? vectors(r.reduce.dtype().bytes()) : 1);
  f64 operands = 1;
  for (const Access& a : info_.accesses) {
    if (a.store || !(a.mask & r.closed) || !(a.mask & vector_mask_)) continue;
    operands = std::max(operands, instances(a.mask & ~r.closed) * vectors(a.bytes));
  }
  return (held + operands + 1) / caps_.vector_registers;
}

f64 CostModel::cycles() const {
  std::vector<f64> bodies(info_.reduces.size(), 0);
  f64 total = 0;
  auto add = [&](u64 mask, f64 cost) {
    int reduce = reduce_of(mask);
    (reduce < 0 ? total : bodies[static_cast<usize>(reduce)]) += cost;
  };
  for (const Access& a : info_.accesses) add(a.mask, access_cost(a));
  for (const Work& w : info_.work) add(w.mask, work_cost(w));
  for (usize i = 0; i < bodies.size(); ++i) {
    const ReduceInfo& r = info_.reduces[i];
    f64 trips = executions(r.mask);
    // Vectors by the core's measure: where wide ones are split, fewer keep it busy.
    const bool lanes = r.mask & vector_mask_;
    const f64 latency = lanes ? static_cast<f64>(caps_.core.fma_in_flight) / 2 : kScalarLatency;
    f64 chain = trips * latency * instances(r.closed);
    f64 cost = std::max(bodies[i], chain) + trips * kLoopOverhead;
    f64 pressure = register_pressure(r);
    if (pressure > 1) cost *= 1 + 2 * (pressure - 1) + 0.5;
    // Lanes and copies of a reduction are combined once for each result.
    bool across = r.closed & vector_mask_;
    f64 results = executions(r.mask & ~r.closed) * instances(r.mask & ~r.closed);
    total += cost + results * (across ? 4 + 2 * vectors(4) : 1);
  }
  return total + executions(info_.output_mask) * kLoopOverhead;
}

}  // namespace

f64 estimate_cycles(const KernelInfo& info, const Caps& caps, const Plan& plan) {
  return CostModel(info, caps, plan).cycles();
}

std::vector<i64> lane_counts(i64 n, i64 limit, bool masked) {
  std::vector<i64> result;
  for (i64 l = 2; l <= limit; l *= 2) {
    bool useful = n % l == 0 || (masked && (n > l ? n >= 4 * l : l < 2 * n));
    if (useful) result.push_back(l);
  }
  return result;
}

std::vector<i64> divisors(i64 n, i64 limit) {
  std::vector<i64> result;
  for (i64 d = 2; d <= std::min(n, limit); ++d) {
    if (n % d == 0) result.push_back(d);
  }
  return result;
}

namespace {

constexpr i64 kMaxTried = 1 << 16;  // of the numbers to divide by

// The largest product of n's prime factors up to `limit`. The cofactor that trial division leaves
// counts as one prime.
i64 largest_product(i64 n, i64 limit) {
  std::vector<i64> products{1};  // up to the limit
  auto add_prime = [&](i64 prime, int times) {
    const usize before = products.size();
    i64 power = 1;
    for (; times > 0 && power <= limit / prime; --times) {
      power *= prime;
      for (usize i = 0; i < before; ++i) {
        if (products[i] <= limit / power) products.push_back(products[i] * power);
      }
    }
  };
  for (i64 prime = 2; prime < kMaxTried && prime <= n / prime; ++prime) {
    int times = 0;
    for (; n % prime == 0; n /= prime) ++times;
    add_prime(prime, times);
  }
  if (n > 1) add_prime(n, 1);
  return *std::max_element(products.begin(), products.end());
}

}  // namespace

i64 largest_divisor(i64 n, i64 limit, i64 step) {
  if (limit / step > kMaxTried) {
    return n % step == 0 ? largest_product(n / step, limit / step) * step : 0;
  }
  for (i64 d = limit / step * step; d >= step; d -= step) {
    if (n % d == 0) return d;
  }
  return 0;
}

}  // namespace doorbell::codegen::detail
