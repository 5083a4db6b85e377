// Rebuilding a kernel's graph over new ranges: every node again, with each old Range replaced by an
// expression and each End and Reduce closing the new ranges instead. The caller chooses the ranges.
#pragma once

#include <absl/container/inlined_vector.h>

#include <vector>

#include "core/rewrite/rewriter.h"

namespace doorbell::codegen {

using RangeList = absl::InlinedVector<core::UOp, 4>;

// The replacement of one old range.
struct RangeImage {
  core::UOp value;   // Index expression; null: the range stays
  RangeList ranges;  // the new Ranges in it, closed where the old one was closed
  // Set if the new ranges run past the old one: Bool, whether `value` is inside. It gates accesses
  // that vary with the old range; reductions over it skip values outside.
  core::UOp gate;
};

class Rebuilder {
 public:
  explicit Rebuilder(core::Rewriter& rewriter) : rewriter_(rewriter) {}

  // By old range id.
  void set(i64 range_id, RangeImage image);
  // From now on `from` is replaced by `to`, which is not rebuilt itself.
  void replace(core::UOp from, core::UOp to);

  core::UOp operator()(core::UOp root);

 private:
  core::UOp rebuild(core::UOp node);
  core::UOp rebuild_index(core::UOp node);
  core::UOp gate_of(u64 range_mask);
  core::UOp& slot(core::UOp node);

  core::Rewriter& rewriter_;
  std::vector<RangeImage> images_;
  std::vector<core::UOp> map_;  // by node id; null: not rebuilt yet
};

}  // namespace doorbell::codegen
