// A kernel's ranges as apply_groups.cc has split them between work groups, work items, loops,
// registers and lanes; and what work items do together through local memory: for combining a
// reduction see group_reduce.cc, for staging operands stage_local.cc.
#pragma once

#include <vector>

#include "codegen/opt/apply.h"

namespace doorbell::codegen::detail {

// The value of an axis is, from the outermost part to the innermost,
//   output axis    group, loop, item, registers, lanes
//   reduced axis   loop, [loop within a Tile,] item, registers, lanes
// so that neighbouring items read neighbouring memory. On an axis with Rows, Columns or Depth,
// items stand for waves, and the last part belongs to a matrix instruction.
struct GroupParts {
  i64 group = 1;
  core::UOp loop;     // its size; null: no loop
  i64 tile_loop = 1;  // reduced, with a Tile: iterations inside a tile
  i64 items = 1, item_axis = -1;
  i64 unrolled = 1, lanes = 1;
  i64 matrix = 1;       // rows, columns or depth of the instruction
  i64 rest = 1;         // product of the parts not yet appended
  bool padded = false;  // the parts run past the end of the axis, and are not gated yet
  // The values in a tile of the axis; value = outer * block + inner. For Rows and Columns: in
  // the layout of operands.
  i64 block = 1;
  core::UOp outer, inner;
};

struct GroupLoops {
  GroupLoops(core::Rewriter& rewriter, const KernelInfo& kernel, const Caps& target)
      : rw(rewriter), info(kernel), caps(target), make_range(rewriter) {}

  core::Rewriter& rw;
  const KernelInfo& info;
  const Caps& caps;
  RangeMaker make_range;
  std::vector<GroupParts> parts;   // by range id
  std::vector<RangeImage> images;  // the same
  RangeList ranges;                // all new ranges
  core::UOp walk;                  // over what a persistent group computes, or null
  i64 item_count[3] = {1, 1, 1};
  i64 next_local = 0, local_bytes = 0, next_private = 0;
  // Axes, with TensorCore::loads_matrices or reads_local.
  i64 matrix_rows = -1, matrix_columns = -1;
  bool reads_local = false;
  bool overlaps_products = false;  // of one tile and of the next, if there are buffers for it

  bool is_matrix_axis(i64 axis) const { return axis == matrix_rows || axis == matrix_columns; }
  core::UOp range(core::AxisType type, core::UOp size);
  core::UOp range(core::AxisType type, i64 size) { return range(type, rw.index(size)); }
  core::UOp item(i64 axis);
  i64 all_items() const { return item_count[0] * item_count[1] * item_count[2]; }
  // The number of a work item in its group, leaving out the axis `but`: 0 .. all_items / items of
  // `but` - 1.
  core::UOp item_number(i64 but = -1);
  // The number of an item's wave.
  core::UOp wave();
  // Aligned to 64 bytes, or to more.
  core::UOp define_local(core::DType t, i64 count, i64 alignment = 0);
  // Barriers of phases of copies (linear/tensor_copy.h).
  core::UOp define_mbarriers(i64 count);
  core::UOp after(core::UOp memory, std::initializer_list<core::UOp> effects);
  // Where `pending` is not negative: also waits for asynchronous stores, but for as many batches.
  core::UOp barrier(std::span<const core::UOp> after, i64 pending = -1);
  core::UOp mul_add(core::UOp a, i64 b, core::UOp c) { return rw.add(rw.mul(a, b), c); }

 private:
  core::UOp add_local(core::DType t, std::span<const i64> args);
};

// Combines `partial` over all items of item axis `axis`; every item gets the result. Takes one
// round through local memory, or two for many items.
core::UOp combine_items(GroupLoops& loops, core::UOp reduce, core::UOp partial, i64 axis);

// Makes `rebuild` read the operands at the Param slots from tiles in local memory, which all items
// of a group fill together at each iteration of the loops over the tiles of `reduce`. With more
// than one of the buffers, the next tile is loaded while one is used, where the loops allow it.
void stage_operands(GroupLoops& loops, Rebuilder& rebuild, const ReduceInfo& reduce,
                    std::span<const i64> slots, i64 buffers);

}  // namespace doorbell::codegen::detail
