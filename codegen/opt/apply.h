// Carries out a plan: splits the ranges of a kernel and gives each part its axis type and its place
// in the loop nest. For choosing the plan see heuristic.h; for unrolling marked ranges expand.h.
#pragma once

#include "codegen/caps.h"
#include "codegen/opt/kernel_info.h"
#include "codegen/opt/opt.h"
#include "codegen/opt/rebuild.h"
#include "core/rewrite/rewriter.h"

namespace doorbell::codegen {

struct Applied {
  core::UOp sink;
  i64 threads = 1;            // extent of Special ThreadId
  i64 groups[3] = {1, 1, 1};  // extents of Special GroupId
  i64 items[3] = {1, 1, 1};   // and of LocalId
};

// Needs: a plan whose amounts divide the sizes, but for Vector, whose last vectors may be masked
// (where caps.masked_access), and for contractions with Tile on their reduced axis (tile.cc).
// Guarantees: range ids are the nesting order, a lower id is an outer loop; every node varies with
// at most one Vector range; ThreadId replaces the Thread part. Tiles over a reduced axis accumulate
// in private memory (tile.cc).
Applied apply(core::Rewriter& rewriter, const KernelInfo& info, core::UOp sink, const Plan& plan);

// The same for targets with work groups (caps.has_local). An output axis stays a loop only with a
// Tile larger than its items and registers cover, or if its size is unbounded. Amounts need not
// divide: accesses past the end are gated.
Applied apply_groups(core::Rewriter& rewriter, const KernelInfo& info, const Caps& caps,
                     core::UOp sink, const Plan& plan);

namespace detail {

// Hands out ranges in nesting order.
class RangeMaker {
 public:
  explicit RangeMaker(core::Rewriter& rewriter) : rewriter_(rewriter) {}
  // A new Range, or the constant 0 if the size is 1. Null if the size is 1 and a Range to close is
  // needed: see RangeImage.
  core::UOp operator()(core::AxisType type, core::UOp size);
  core::UOp operator()(core::AxisType type, i64 size);
  i64 used() const { return next_; }

 private:
  core::Rewriter& rewriter_;
  i64 next_ = 0;
};

// value = value * size + part; remembers the part when it is a Range.
void append_part(core::Rewriter& rewriter, RangeImage& image, core::UOp part, i64 size);

// The thread part of an axis: Special ThreadId of `amount` values.
core::UOp thread_part(core::Rewriter& rewriter, i64 amount);

// A contraction with Tile on its reduced axis (tile.cc).
Applied apply_tiled(core::Rewriter& rewriter, const KernelInfo& info, core::UOp sink,
                    const Plan& plan);

}  // namespace detail

}  // namespace doorbell::codegen
