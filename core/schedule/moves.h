// Moves: movement ops as functions on index expressions. Given how a node's elements are indexed,
// it says which element of the source that is, and where there is one. There are no views as
// objects: a view is such an expression. core/rewrite simplifies the expressions.
#pragma once

#include <absl/container/flat_hash_map.h>

#include "core/rewrite/rewriter.h"
#include "core/schedule/lazy_graph.h"

namespace doorbell::core {

class Moves {
 public:
  Moves(Arena& arena, Rewriter& rewriter, LazyGraph& graph)
      : arena_(arena), rewriter_(rewriter), graph_(graph) {}

  struct Step {
    u32 tuple;  // indexes the source
    UOp valid;  // Bool; null where every element of the node is one of the source
  };
  // Through the movement op `node`, from its elements to those of its source. Remembered.
  Step through(LazyId node, u32 tuple);

  // From the elements of an elementwise node of shape `to` to those of a source of shape `from`.
  u32 broadcast(u32 tuple, u32 to, u32 from);

  // The place in row-major memory of the element at `tuple` of a value of shape `shape`; axes whose
  // bit in `live` is clear are not stored.
  UOp flat(u32 tuple, u32 shape, u32 live = ~u32{0});

  UOp both(UOp a, UOp b);    // of validities: a && b
  UOp either(UOp a, UOp b);  // a || b

 private:
  Step compute(LazyId node, u32 tuple);
  Step pad(LazyId node, std::span<UOp> index);
  void reshape(std::span<const UOp> out_index, std::span<const UOp> out_shape,
               std::span<const UOp> in_shape, UOp* in_index);
  void regroup(std::span<const UOp> out_index, std::span<const UOp> out_shape,
               std::span<const UOp> in_shape, UOp* in_index);

  Arena& arena_;
  Rewriter& rewriter_;
  LazyGraph& graph_;
  absl::flat_hash_map<u64, Step> steps_;  // node << 32 | tuple; looked up, never iterated
};

}  // namespace doorbell::core
