// ShardBuilder: makes the nodes of a sharded graph and keeps them in order, sources before users;
// and the compositions of ops that move elements between devices. shard.h and allreduce.h decide
// what is moved where.
#pragma once

#include <absl/container/flat_hash_set.h>

#include "core/schedule/shard.h"
#include "core/uop/placement.h"

namespace doorbell::core {

// By device, in the order of the placement.
using Parts = std::vector<UOp>;

class ShardBuilder {
 public:
  explicit ShardBuilder(ShardedGraph& graph) : graph_(graph) {}

  // A node of the graph before, as it is.
  void keep(const WalkNode& entry);
  UOp make(Op op, DType dtype, std::span<const UOp> srcs, std::span<const i64> args);
  // The same op with other sources (and args).
  UOp with(UOp node, std::span<const UOp> srcs) { return with(node, srcs, node.args()); }
  UOp with(UOp node, std::span<const UOp> srcs, std::span<const i64> args);

  UOp unary(Op op, UOp x, std::span<const i64> args) { return make(op, x.dtype(), {&x, 1}, args); }
  UOp binary(Op op, UOp a, UOp b);
  UOp reshape(UOp x, std::span<const i64> sizes);
  // Elements start..start+size of an axis.
  UOp window(UOp x, i64 axis, i64 start, i64 size);
  // Zeros around an axis: x begins at `before` of `size`.
  UOp surround(UOp x, i64 axis, i64 before, i64 size);
  UOp zeros(UOp like, i64 axis, i64 size, u16 device);
  // x on a device (its number); x itself where it is there.
  UOp copy(UOp x, u16 device);
  // One after another along an axis, bit for bit. All are on one device.
  UOp join(std::span<const UOp> pieces, i64 axis);

  // Elements start..start+size along the split axis of a value made of `parts`, on a device.
  UOp window_of(const Parts& parts, const Line& line, i64 start, i64 size, u16 device);

 private:
  ShardedGraph& graph_;
  absl::flat_hash_set<const Node*> kept_;  // looked up, never iterated
};

}  // namespace doorbell::core
