// Shape inference of the tensor graph: the rank and dims of a node from its parts. The tensor API
// has already refused bad input with a message of its own; a mismatch here is our mistake.
#include "base/util/check.h"
#include "core/uop/graph.h"
#include "core/uop/placement.h"

namespace doorbell::core {

namespace {

Dim dim_of_arg(i64 arg, std::span<const UOp> srcs) {
  return is_dynamic_dim(arg) ? Dim(srcs[1 + dynamic_dim_index(arg)]) : Dim(arg);
}

usize broadcast_shape(std::span<const UOp> srcs, Dim* dims) {
  usize rank = 0;
  for (UOp s : srcs) rank = std::max(rank, s.ndim());
  for (usize i = 0; i < rank; ++i) dims[i] = 1;
  for (UOp s : srcs) {
    for (usize i = 0; i < s.ndim(); ++i) {
      Dim& d = dims[rank - s.ndim() + i];
      Dim e = s.dim(i);
      if (e == Dim(1) || e == d) continue;
      CHECK(d == Dim(1), "axis {}: {} against {}", i, d.max(), e.max());
      d = e;
    }
  }
  return rank;
}

usize copy_shape(UOp src, Dim* dims) {
  for (usize i = 0; i < src.ndim(); ++i) dims[i] = src.dim(i);
  return src.ndim();
}

usize movement_shape(Op op, std::span<const UOp> srcs, std::span<const i64> args, Dim* dims) {
  usize rank = srcs[0].ndim();
  switch (op) {
    case Op::Reshape:
    case Op::Expand:
      CHECK(args.size() <= kMaxRank, "rank {} is above {}", args.size(), kMaxRank);
      for (usize i = 0; i < args.size(); ++i) dims[i] = dim_of_arg(args[i], srcs);
      return args.size();
    case Op::Permute:
      CHECK_EQ(args.size(), rank);
      for (usize i = 0; i < rank; ++i) dims[i] = srcs[0].dim(static_cast<usize>(args[i]));
      return rank;
    case Op::Pad:
    case Op::Shrink:
      CHECK_EQ(args.size(), 2 * rank);
      for (usize i = 0; i < rank; ++i) dims[i] = dim_of_arg(args[2 * i + 1], srcs);
      return rank;
    default: return copy_shape(srcs[0], dims);  // Flip
  }
}

// From the shape of a part to that of the whole.
void multiply_by_parts(i64 layout, i64 devices, Dim* dims) {
  for (const MeshAxis& one : mesh_axes_of(layout, devices))
    if (one.is_split()) dims[one.axis] = dims[one.axis].value() * one.count;
}

}  // namespace

usize infer_shape(Op op, std::span<const UOp> srcs, std::span<const i64> args, Dim* dims) {
  if (is_movement(op)) return movement_shape(op, srcs, args, dims);
  if (is_elementwise(op)) return broadcast_shape(srcs, dims);
  switch (op) {
    case Op::Buffer:
      CHECK(args.size() >= 3 && args.size() - 3 <= kMaxRank, "buffer with {} args", args.size());
      for (usize i = 3; i < args.size(); ++i) dims[i - 3] = args[i];
      return args.size() - 3;
    case Op::Reduce: {
      usize rank = copy_shape(srcs[0], dims);
      for (usize i = 0; i < rank; ++i) {
        if (args[1] >> i & 1) dims[i] = 1;
      }
      return rank;
    }
    case Op::Multi: {
      usize rank = copy_shape(srcs[0], dims);
      multiply_by_parts(args[0], static_cast<i64>(srcs.size()), dims);
      return rank;
    }
    case Op::Shard: {
      usize rank = copy_shape(srcs[0], dims);
      if (args[0] >= kUnited && (args[0] & kUnited) != 0)
        multiply_by_parts(layout_in(args[0]), static_cast<i64>(args.size()) - 1, dims);
      return rank;
    }
    case Op::Copy:
      if (args.size() < kExchangeArgs) return copy_shape(srcs[0], dims);
      for (usize i = kExchangeArgs; i < args.size(); ++i) dims[i - kExchangeArgs] = args[i];
      return args.size() - kExchangeArgs;
    case Op::Contiguous:
    case Op::Detach:
    case Op::CustomGradient:
    case Op::Bind: return copy_shape(srcs[0], dims);
    case Op::Assign: return copy_shape(srcs[1], dims);
    case Op::Const:
    case Op::Variable: return 0;
    default: UNREACHABLE("{} has no shape", name_of(op));
  }
}

}  // namespace doorbell::core
