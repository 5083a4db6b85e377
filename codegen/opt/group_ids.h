// The numbers of a work group as numbers of the parts that axes were split into: any count of
// parts over at most three grid axes, each within the target's limit. For the parts see
// apply_groups.cc.
#pragma once

#include <span>
#include <vector>

#include "core/rewrite/rewriter.h"

namespace doorbell::codegen {

struct GroupIds {
  std::vector<core::UOp> values;  // by part, an Index expression below its extent
  core::UOp gate;                 // null, or Bool: false in surplus groups of the grid
  i64 size[3] = {1, 1, 1};        // groups by grid axis
};

// `extents` from the outermost part to the innermost, which gets grid axis 0 (neighbours in it run
// at the same time, so they should be neighbours in memory). A limit of 0 means no limit.
GroupIds make_group_ids(core::Rewriter& rewriter, std::span<const i64> extents,
                        const i64 (&limits)[3]);

// The numbers of the parts of one group among all of them, which `number` says.
std::vector<core::UOp> split_group_number(core::Rewriter& rewriter, core::UOp number,
                                          std::span<const i64> extents);

}  // namespace doorbell::codegen
