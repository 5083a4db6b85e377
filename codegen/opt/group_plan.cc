// The plan of a kernel on a target with work groups: work items along the innermost output axes, so
// that neighbours read neighbouring memory.
#include <algorithm>
#include <bit>

#include "codegen/opt/heuristic.h"

namespace doorbell::codegen {

namespace {

constexpr i64 kWantedItems = 256;

i64 smaller_limit(i64 a, i64 limit) { return limit > 0 ? std::min(a, limit) : a; }

}  // namespace

Plan choose_group_plan(const KernelInfo& info, const Caps& caps) {
  Plan plan;
  i64 left = smaller_limit(kWantedItems, caps.max_local);
  for (i64 id = static_cast<i64>(info.ranges.size()) - 1; id >= 0 && plan.size() < 3; --id) {
    if (!(info.output_mask >> id & 1) || info.size(id) < 2) continue;
    i64 most = smaller_limit(left, caps.max_local_axis[plan.size()]);
    i64 covers = static_cast<i64>(std::bit_ceil(static_cast<u64>(info.size(id))));
    i64 amount = std::min(covers, static_cast<i64>(std::bit_floor(static_cast<u64>(most))));
    if (amount < 2) break;
    plan.push_back({OptOp::Local, id, amount});
    left /= amount;
  }
  return plan;
}

}  // namespace doorbell::codegen
