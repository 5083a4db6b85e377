// Choosing a plan without running anything: a small cost model of issue slots, latency, registers
// and lanes, and a greedy walk over vector axis, register tile and unrolling. Contractions larger
// than the caches get TILE and STAGE.
#pragma once

#include "codegen/caps.h"
#include "codegen/opt/kernel_info.h"
#include "codegen/opt/opt.h"

namespace doorbell::codegen {

Plan choose_plan(const KernelInfo& info, const Caps& caps);
// The same for targets with work groups.
Plan choose_group_plan(const KernelInfo& info, const Caps& caps);

namespace detail {

// Estimated cycles of the kernel under a plan without tiles, on one thread.
f64 estimate_cycles(const KernelInfo& info, const Caps& caps, const Plan& plan);

// The blocking of a large contraction, or an empty plan where the kernel is not one.
Plan tile_plan(const KernelInfo& info, const Caps& caps);

// Lane counts to try for an axis of n, ascending: powers of two that divide it, or, with masks,
// that waste few lanes.
std::vector<i64> lane_counts(i64 n, i64 limit, bool masked);
// The divisors of n in [2, limit], ascending. Tries them all: for small limits.
std::vector<i64> divisors(i64 n, i64 limit);
// The largest divisor of n that is at most `limit` and a multiple of `step`, or 0. Takes at most
// 2^16 steps; factors of n beyond that are not split.
i64 largest_divisor(i64 n, i64 limit, i64 step);

}  // namespace detail

}  // namespace doorbell::codegen
