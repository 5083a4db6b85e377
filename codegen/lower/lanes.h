// Vector values from index expressions and by lane: the helpers of expand.h.
#pragma once

#include <span>
#include <vector>

#include "codegen/caps.h"
#include "core/rewrite/rewriter.h"

namespace doorbell::codegen {

class Lanes {
 public:
  Lanes(core::Rewriter& rewriter, const Caps& caps) : rw_(rewriter), caps_(caps) {}

  // `value` with `lanes` lanes: itself, or a Splat of the scalar.
  core::UOp splat(core::UOp value, u16 lanes);
  // Lane `i` of a value, or the scalar itself.
  core::UOp lane(core::UOp value, u16 i);
  // Lane `v` of a vector value, as a scalar that varies with the Vector range. Only at_lane and
  // vectorize, which end the range, understand it.
  core::UOp lane_of(core::UOp value, core::UOp v);
  core::UOp vec(std::span<const core::UOp> scalars);
  // The elementwise op over sources of any lanes, splatting scalars.
  core::UOp elementwise(core::Op op, core::DType element, std::span<const core::UOp> srcs);

  // An index-domain expression as a vector over the Vector range `v` (a scalar if it is free of v).
  core::UOp vectorize(core::UOp expr, core::UOp v);
  // The expression at lane `i` of the Vector range.
  core::UOp at_lane(core::UOp expr, core::UOp v, i64 i);

  // Loads and stores over lanes of `v` (null: scalar). `gate` may be null. `transposes`: with
  // kTransposing (linear/program.h).
  core::UOp load(core::UOp memory, core::DType element, core::UOp index, core::UOp gate,
                 core::UOp alt, core::UOp v, bool transposes = false);
  core::UOp store(core::UOp memory, core::UOp index, core::UOp gate, core::UOp value, core::UOp v);
  // op over all lanes of `value`.
  core::UOp horizontal(core::Op op, core::UOp value);

 private:
  // All lanes of `v`, in runs of as many neighbours in memory, which are gated alike.
  using Run = std::vector<u16>;
  std::vector<Run> runs_of(core::UOp index, core::UOp gate, core::UOp v);
  core::UOp access(core::UOp memory, core::UOp index, core::UOp gate);
  // Simplifies with ops that the target has only: reductions are not decomposed yet, and rules do
  // not know the target.
  core::UOp scalar(core::Op op, core::DType element, std::span<const core::UOp> srcs);

  core::Rewriter& rw_;
  const Caps& caps_;
  std::vector<core::UOp> lanes_of_;  // every node that lane_of made
};

}  // namespace doorbell::codegen
