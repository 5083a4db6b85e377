// The tile of an operand that windows slide over, as images in convolutions: each element once,
// with the padding, where rows of all windows would hold it as often as there are taps. For CPUs;
// for tiles in local memory see stage_tile.h.
#pragma once

#include <optional>
#include <vector>

#include "codegen/opt/contraction.h"

namespace doorbell::codegen::detail {

struct WindowTile {
  // Positions step * along + tap; without `along`, those of one axis, which is `tap`.
  struct Dim {
    i64 along, tap, step;
    i64 extent;      // in the tile
    i64 pitch;       // elements
    i64 in_operand;  // elements between neighbours in memory
  };
  std::vector<Dim> dims;  // the innermost first
  i64 count = 0;          // elements
};

// How many values each axis of a joined one takes within a block. None where blocks do not begin at
// a multiple of the inner axes.
std::optional<std::vector<i64>> block_extents(const KernelInfo& info, const JoinedAxis& axis,
                                              i64 block);

// The tile of `value`, whose accesses are `access`, for blocks of `own` and `depth`. None where no
// window slides: an axis of one must meet one of the other only in a sum.
std::optional<WindowTile> window_tile(const KernelInfo& info, core::UOp value, const Access& access,
                                      const JoinedAxis& own, i64 own_block, const JoinedAxis& depth,
                                      i64 depth_block);

}  // namespace doorbell::codegen::detail
