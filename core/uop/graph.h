// TensorGraph: the shared graph of lazy tensors. Nodes are counted and hash-consed in a sharded
// weak table, know their shape and device, and are freed iteratively when the last UOpRef goes.
// For the ops' shapes see shape.h; scheduling imports the part below its roots into an Arena.
//
// Thread safety: all functions may be called from any thread.
#pragma once

#include <initializer_list>
#include <span>

#include "core/uop/uop.h"
#include "core/util/ref.h"

namespace doorbell::core {

class TensorGraph {
 public:
  // The node with these parts; its shape, dtype and device are inferred by infer_shape. Callers
  // (the tensor API) have checked the arguments; a mistake here is a failed CHECK.
  static UOpRef make(Op op, DType dtype, std::span<const UOp> srcs, std::span<const i64> args = {},
                     Payload* payload = nullptr);
  static UOpRef make(Op op, DType dtype, std::initializer_list<UOp> srcs,
                     std::initializer_list<i64> args = {}) {
    return make(op, dtype, std::span(srcs.begin(), srcs.size()),
                std::span(args.begin(), args.size()));
  }

  // A Buffer node that owns `memory`; no other node has the id in its args.
  static UOpRef make_buffer(DType dtype, std::span<const i64> args, Ref<Payload> memory);

  // Buffer, or the Multi of several.
  static bool is_stored(UOp node) { return node.is(Op::Buffer) || node.is(Op::Multi); }
  // Records that the Buffer or Multi node `buffer` now holds `value`: later schedules read it
  // there. The first call wins; returns the node that holds the value.
  static UOp set_realized(UOp value, UOp buffer);
  // The Buffer or Multi that holds `value`, or a null handle. `value` itself when it is one.
  static UOp realized(UOp value) {
    if (is_stored(value)) return value;
    return UOp(value.node()->realized.load(std::memory_order_acquire));
  }

  // Live nodes, for tests and the memory report.
  static i64 live_nodes();
  // All nodes that were ever made, for benchmarks.
  static i64 made_nodes();
};

inline constexpr usize kMaxRank = 16;

// The shape of a node from its parts. Writes at most kMaxRank dims, returns the rank. CHECKs what
// the API should have refused.
usize infer_shape(Op op, std::span<const UOp> srcs, std::span<const i64> args, Dim* dims);

}  // namespace doorbell::core
