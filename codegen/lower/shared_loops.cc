// Groups by the loops themselves, and an order made in rounds, of which one is enough where a group
// needs no other.
#include "codegen/lower/shared_loops.h"

#include <algorithm>

#include "base/util/check.h"

namespace doorbell::codegen {

using core::Op;
using core::UOp;

std::vector<UOp> loops_of(UOp reduce, u64 straight) {
  std::vector<UOp> loops;
  for (UOp r : reduce.srcs().subspan(1))
    if (!(straight >> r.range_id() & 1)) loops.push_back(r);
  return loops;
}

SharedLoops::SharedLoops(std::span<const UOp> order, u64 straight) {
  for (UOp u : order) {
    if (!u.is(Op::Reduce)) continue;
    const std::vector<UOp> loops = loops_of(u, straight);
    if (loops.empty()) continue;
    auto same = std::find_if(groups_.begin(), groups_.end(),
                             [&](const auto& g) { return loops_of(g[0], straight) == loops; });
    if (same == groups_.end())
      groups_.push_back({u});
    else
      same->push_back(u);
  }
  std::erase_if(groups_, [](const auto& g) { return g.size() < 2; });
}

std::span<const UOp> SharedLoops::group_of(UOp u) const {
  if (!u.is(Op::Reduce)) return {};
  for (const auto& g : groups_)
    if (std::find(g.begin(), g.end(), u) != g.end()) return g;
  return {};
}

std::vector<UOp> SharedLoops::put_together(std::vector<UOp> order) const {
  if (groups_.empty()) return order;
  std::vector<UOp> result;
  u32 max_id = 0;
  for (UOp u : order) max_id = std::max(max_id, u.id());
  std::vector<bool> placed(max_id + 1);
  auto place = [&](std::span<const UOp> unit) {
    for (UOp u : unit)
      for (UOp s : u.srcs())
        if (!placed[s.id()]) return;
    for (UOp u : unit) placed[u.id()] = true;
    result.insert(result.end(), unit.begin(), unit.end());
  };
  while (result.size() < order.size()) {
    const usize before = result.size();
    for (UOp u : order) {
      if (placed[u.id()]) continue;
      const std::span<const UOp> group = group_of(u);
      place(group.empty() ? std::span<const UOp>(&u, 1) : group);
    }
    CHECK(result.size() > before, "reductions over the same loops need each other's results");
  }
  return result;
}

}  // namespace doorbell::codegen
