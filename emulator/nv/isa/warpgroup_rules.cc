// Groups of products: each ends with one that names the scoreboard of groups, gsb0. Products are
// executed in their order, so that one may add to another's sums. [PTX ISA, "Asynchronous Warpgroup
// Level Matrix Multiply-Accumulate Operation", "wgmma.mma_async", "wgmma.wait_group"; that
// WARPGROUP.DEPBAR.LE gsb0, n waits until n groups are left: NVRTC's code for wgmma.wait_group]
#include "emulator/nv/isa/warpgroup_rules.h"

#include <fmt/format.h>

#include <algorithm>

#include "emulator/nv/compute/block.h"
#include "emulator/nv/compute/rules.h"
#include "emulator/nv/isa/warpgroup.h"

namespace doorbell::emu::nvgpu {

namespace {

constexpr u32 kWarpgroup = 0x1c5;

}  // namespace

bool WarpgroupRules::check(Warp& warp, const Operation& op, const RegisterUses& uses) {
  const u32 number = op.opcode->number;
  if (is_warpgroup_product(number)) {
    if (warp.mask_of(op) != 0) add_product(op, uses);
    return true;
  }
  if (pending_.empty()) return true;
  if (number == kWarpgroup) {
    const u64 left = op.field(72, 3);
    if (op.bit(80) && warp.mask_of(op) != 0)  // DEPBAR
      std::erase_if(pending_, [&](const Pending& one) { return one.group + left < committed_; });
    return true;
  }
  return check_pending(warp, op, uses);
}

void WarpgroupRules::add_product(const Operation& op, const RegisterUses& uses) {
  for (const RegisterRange& range : uses.writes)
    pending_.push_back({range.row, range.count, true, committed_, &op});
  for (const RegisterRange& range : uses.reads)  // descriptors are read at once
    if (range.row < kUniformStart)
      pending_.push_back({range.row, range.count, false, committed_, &op});
  if (op.field(84, 3) == 0) ++committed_;
}

bool WarpgroupRules::uses_of(const RegisterUses& uses, const Pending& pending) const {
  const auto overlaps = [&](const RegisterRange& range) {
    return range.row < pending.row + pending.count && pending.row < range.row + range.count;
  };
  return std::ranges::any_of(uses.writes, overlaps) ||
         (pending.writes && std::ranges::any_of(uses.reads, overlaps));
}

bool WarpgroupRules::check_pending(Warp& warp, const Operation& op,
                                   const RegisterUses& uses) const {
  if (warp.mask_of(op) == 0) return true;
  const auto found = std::ranges::find_if(
      pending_, [&](const Pending& pending) { return uses_of(uses, pending); });
  if (found == pending_.end()) return true;
  const std::string message = fmt::format(
      "{}: {} uses R{} to R{}, which {} at {:#x} {} until WARPGROUP.DEPBAR",
      warp.block->grid().kernel.name, text_of(op), found->row, found->row + found->count - 1,
      text_of(*found->by), found->by->offset, found->writes ? "may write" : "may read");
  if (warp.block->grid().checks.report(kMissingWait, message) != Level::Error) return true;
  stop(warp, kMissingWait, Warp::first_lane(warp.active), 0, message);
  return false;
}

}  // namespace doorbell::emu::nvgpu
