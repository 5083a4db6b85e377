// The pass of expand.h: its table of instances, and what it makes of each op. A node that varies
// with unrolled ranges becomes one instance for each combination of their values, in mixed radix of
// the ranges it varies with, so the number of new nodes is the number of distinct values and
// nothing is made twice. expand_reduce.cc has the reductions.
#pragma once

#include <absl/container/inlined_vector.h>

#include <span>
#include <utility>
#include <vector>

#include "codegen/caps.h"
#include "codegen/lower/lanes.h"
#include "codegen/lower/transpose.h"
#include "core/rewrite/rewriter.h"

namespace doorbell::codegen {

class Expander {
 public:
  using UOps = absl::InlinedVector<core::UOp, 8>;

  Expander(core::Rewriter& rw, const Caps& caps)
      : rw_(rw), arena_(rw.arena()), lanes_(rw, caps), transposer_(rw, caps, lanes_) {}
  core::UOp run(core::UOp sink);

 private:
  struct Instances {
    UOps values;         // one for each combination of the unrolled ranges in `mask`
    u64 mask = 0;        // unrolled ranges the node varies with
    bool index = false;  // index domain: scalar over the Vector range
  };

  void collect_ranges(std::span<const core::UOp> order);
  i64 count(u64 mask) const;
  // The position among the instances of `to` of combination `n` of `from`; to is a subset of from.
  i64 project(i64 n, u64 from, u64 to) const;
  const Instances& of(core::UOp u) const { return table_[slots_[u.id()]]; }
  core::UOp at(core::UOp u, i64 n, u64 from) const {
    const Instances& x = of(u);
    return x.values[static_cast<usize>(project(n, from, x.mask))];
  }
  core::UOp vector_range(u64 mask) const;
  core::UOp value(core::UOp u, i64 n, u64 from);
  core::UOp symbolic(core::UOp u, i64 n, u64 from);
  bool decide_domain(core::UOp u) const;
  u64 unrolled(u64 mask) const { return mask & unrolled_mask_; }

  Instances expand_node(core::UOp u);
  std::vector<LaneAccess> accesses(core::UOp u, u64 mask);
  Instances expand_load(core::UOp u);
  core::UOp load_matrix(core::UOp memory, core::DType element, core::UOp index, i64 how,
                        core::UOp v);
  Instances expand_store(core::UOp u);
  core::UOp make_async(core::UOp store);
  core::UOp indexed(core::UOp place, i64 n, u64 from);
  Instances expand_tensor_copy(core::UOp u);
  Instances expand_end(core::UOp u);
  Instances expand_order(core::UOp u);
  // One of the reductions that share a nest of loops.
  struct Accumulation {
    core::UOp reduce;
    u64 closed, mask;         // ranges that it closes; unrolled ranges of its value
    std::vector<UOps> parts;  // for each instance what one iteration adds to it
    UOps registers;           // for each instance
  };
  Accumulation begin_reduce(core::UOp u);
  void accumulate(std::span<const core::UOp> around, std::span<const core::UOp> loops,
                  Accumulation* a, UOps* updates);
  void expand_reduces(std::span<const core::UOp> reduces);
  void add(core::UOp u, Instances x) {
    slots_[u.id()] = static_cast<u32>(table_.size());
    table_.push_back(std::move(x));
  }
  Instances expand_elementwise(core::UOp u);
  Instances expand_wmma(core::UOp u);
  UOps closed_values(core::UOp reduce, i64 n, u64 mask, u64 closed);
  core::UOp chain_product(core::UOp product, core::UOp start, bool ends);
  core::UOp combine(core::UOp reduce, core::UOp start, const UOps& values, bool ends);

  core::Rewriter& rw_;
  core::Arena& arena_;
  Lanes lanes_;
  Transposer transposer_;
  u64 unrolled_mask_ = 0, vector_mask_ = 0;
  i64 sizes_[64] = {};
  core::UOp ranges_[64];
  std::vector<u32> slots_;        // by node id: index into table_
  std::vector<Instances> table_;  // in topological order
  i64 next_register_ = 0;
};

}  // namespace doorbell::codegen
