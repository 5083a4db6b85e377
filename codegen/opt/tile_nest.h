// The parts of a blocked contraction (tile.cc): its axes, its operands, and the loops around their
// tiles. For how tiles are filled see tile_stage.cc.
#pragma once

#include <absl/functional/function_ref.h>

#include <optional>
#include <vector>

#include "codegen/opt/apply.h"
#include "codegen/opt/window_tile.h"

namespace doorbell::codegen::detail {

inline constexpr i64 kTileLineBytes = 64;

// The factor of the product that varies with i and k, or with j and k.
struct Operand {
  core::UOp value;  // what is staged; a Load
  const Access* access = nullptr;
  bool staged = false;
  bool along_k = false;              // memory is contiguous along k
  i64 pitch = 0;                     // of rows in the tile
  bool is_raised = false;            // signed bytes of A as unsigned ones, 128 more
  std::optional<WindowTile> window;  // of A only
};

// A register tile, and a register in it. `tj` is of two loops: groups of panels that are packed
// together, and the panels of a group.
struct Registers {
  core::UOp ti, ui, tj, vj;
  core::UOp group, panel;
};

struct Tiled {
  Tiled(core::Rewriter& r, const KernelInfo& kernel, core::UOp root, const Plan& opts)
      : rw(r), info(kernel), sink(root), plan(opts), range(r) {}

  core::Rewriter& rw;
  const KernelInfo& info;
  core::UOp sink;
  const Plan& plan;
  RangeMaker range;

  core::UOp reduce;
  JoinedAxis i, j, k;          // i: none if A is a single row
  i64 mt = 1, nt = 1, kc = 1;  // block sizes
  i64 upcast = 1, lanes = 1, unroll = 1, threads = 1;
  i64 panels = 1;                 // of B that are packed together
  i64 parts = 1;                  // neighbours along k in a word (linear/dot.h); 1: no words
  std::vector<RangeImage> outer;  // by range id: the part outside the blocks
  RangeList outer_loops;
  core::UOp ko;     // the loop over blocks of k
  core::UOp depth;  // of the block, where its loops end with the axis; null: they run past it
  Operand a, b;     // a has no value without i
  i64 next_private = 0;

  void find_axes();
  void make_outer();
  Operand find_operand(const JoinedAxis& axis, const JoinedAxis& other) const;
  bool light_epilogue() const;
  bool ends_with_axis() const;
  bool transposes() const;
  core::UOp define(core::DType t, i64 count);
  core::UOp after(core::UOp memory, std::initializer_list<core::UOp> effects, bool outer_too);
  core::UOp mul_add(core::UOp x, i64 y, core::UOp z) { return rw.add(rw.mul(x, rw.index(y)), z); }
  core::UOp place(core::UOp memory, core::UOp at) {
    return rw.make(core::Op::Index, memory.dtype(), {memory, at});
  }
  RangeImage image(i64 size, core::UOp block_number, i64 block, core::UOp inside);
  RangeImage depth_image(core::UOp in_k);
  RangeImage row_image(core::UOp in_i);
  void set(Rebuilder& rebuild, const JoinedAxis& axis, RangeImage one);
  std::vector<core::UOp> numbers(const JoinedAxis& axis, core::UOp all);
  std::vector<core::UOp> numbers_in_block(const JoinedAxis& axis, i64 block, core::UOp inside);
  core::UOp walk_depth(core::AxisType innermost, i64 most);
  core::UOp word_of(absl::FunctionRef<core::UOp(i64)> part);
  core::UOp sum_over_words(core::UOp b_tile, core::UOp panel, core::UOp in_j,
                           absl::FunctionRef<core::UOp(core::UOp, core::UOp)> dot);
  core::UOp blocks_of(const JoinedAxis& axis, i64 in_block, i64 size);
  core::UOp count_to(core::UOp left, i64 most);
  core::UOp row_tiles();
  core::UOp stage_surplus(core::UOp b_tile, const Registers& r);
  core::UOp partial_dots(core::UOp a_tile, core::UOp b_tile, core::UOp surplus, const Registers& r);
  core::UOp walk_width(const Operand& from, const JoinedAxis& axis, i64 width);
  Rebuilder mapping(core::UOp in_i, core::UOp in_j, core::UOp in_k);
  core::UOp value_or_zero(const Operand& from, Rebuilder& rebuild, core::UOp in_k);
  core::UOp stage_rows(core::UOp tile);
  core::UOp stage_window(core::UOp tile);
  core::UOp window_at(core::UOp in_i, core::UOp in_k);
  core::UOp reduce_depth(RangeList* over);
  core::UOp stage_panel(const Operand& from, core::UOp tile, core::UOp number, i64 width);
  core::UOp stage_a();
  core::UOp stage_b(core::UOp group);
  core::UOp clear(core::UOp memory, i64 count);
  core::UOp product(core::UOp in_i, core::UOp in_j, core::UOp in_k, core::UOp a_element,
                    core::UOp b_element);
  core::UOp row(const Registers& r) { return mul_add(r.ti, upcast, r.ui); }
  core::UOp column(const Registers& r) { return mul_add(r.tj, lanes, r.vj); }
  core::UOp partial_sums(core::UOp a_tile, core::UOp b_tile, const Registers& r);
  core::UOp sum_at(core::UOp acc, const Registers& r);
  core::UOp accumulate(const Registers& r, core::UOp acc, core::UOp cleared, core::UOp sums);
  core::UOp run();
};

// Ends the loops over the ranges in `values`.
core::UOp close(core::Rewriter& rw, core::UOp effect, std::initializer_list<core::UOp> values);

}  // namespace doorbell::codegen::detail
