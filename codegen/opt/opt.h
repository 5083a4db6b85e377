// OptOps: transformations of a kernel's loops, as data. A list of them is a kernel's plan;
// heuristic.h proposes one, a search may propose others, apply.h applies one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/util/result.h"
#include "base/util/types.h"

namespace doorbell::codegen {

enum class OptOp : u8 {
  Vector,  // `amount` values of the axis become the lanes of vector values; a power of two. Several
           // axes may have it, if no node varies with two of them. Where it does not divide the
           // axis, the last vectors are masked
  Upcast,  // `amount` values of an output axis are computed at once, in registers
  Unroll,  // `amount` values of a reduced axis per loop iteration
  Thread,  // an output axis is split into `amount` parts, run by host threads
  Tile,    // the loop runs over blocks of `amount`; the loops inside a block are innermost
  Stage,   // the operand at Param slot `axis` is copied, tile by tile, to contiguous private
           // memory; with work groups to local memory, by all items together. `amount` is the
           // number of buffers: with 2, the next tile is loaded while one is used. All Stage opts
           // of a plan have the same. On CPUs it is the elements of a word (contraction.h)
  // Only where there are work groups. What of an output axis is not split otherwise goes to groups.
  Local,  // `amount` neighbours of an output axis are work items of a group. The first Local of a
          // plan is axis 0 of the work items, and so on
  Group,  // a reduced axis is split over `amount` work items, which combine what they have through
          // local memory. All Group opts of a plan are of the same items; so is the first Local
          // of the same amount whose axis no such reduction varies with. A power of two
  // A contraction by matrix instructions: `amount` is the number of the tensor core, for all three.
  // Items are waves of it, the first axis of items is a wave's. Local and Group opts count waves,
  // Upcast and Unroll instructions.
  Rows,
  Columns,  // the output axes of operands A and B
  Depth,    // the reduced axis
  // The grid is of `amount` groups; each computes what it would compute as one group after the
  // other of the whole grid, in a loop around all others. The axis is 0.
  Persistent,
  // Only in contractions with Tile on their reduced axis (tile.cc): this axis and the one of id
  // `amount`, whose values are the more significant, are walked as one. Further opts on this axis
  // mean both.
  Join,
};

struct Opt {
  OptOp op;
  i64 axis;  // range id of the kernel before any opt; Stage: Param slot
  i64 amount;
  bool operator==(const Opt&) const = default;
};

using Plan = std::vector<Opt>;

std::string print(const Plan& plan);  // "VECTOR(1,32) UPCAST(0,8)"
Result<Plan> parse_plan(std::string_view text);

// The amount of `op` on `axis`, or 1.
inline i64 amount_of(const Plan& plan, OptOp op, i64 axis) {
  for (const Opt& o : plan) {
    if (o.op == op && o.axis == axis) return o.amount;
  }
  return 1;
}
// The first opt of the kind, or null.
inline const Opt* find_opt(const Plan& plan, OptOp op) {
  for (const Opt& o : plan) {
    if (o.op == op) return &o;
  }
  return nullptr;
}
inline bool has_opt(const Plan& plan, OptOp op) { return find_opt(plan, op) != nullptr; }

}  // namespace doorbell::codegen
