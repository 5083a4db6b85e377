// Nodes of a sharded graph, and pieces cut out, copied and joined.
#include "core/schedule/shard_builder.h"

#include <algorithm>

#include "base/util/check.h"

namespace doorbell::core {

namespace {

// {start or before, size} of every axis as it is; symbolic sizes follow as sources.
struct Windows {
  std::vector<i64> args;
  std::vector<UOp> srcs;
};

Windows whole(UOp x) {
  Windows all{{}, {x}};
  for (usize i = 0; i < x.ndim(); ++i) {
    const Dim size = x.dim(i);
    all.args.push_back(0);
    all.args.push_back(size.is_const() ? size.value()
                                       : kDynamicDim + static_cast<i64>(all.srcs.size()) - 1);
    if (!size.is_const()) all.srcs.push_back(size.expr());
  }
  return all;
}

i64 size_at(UOp x, i64 axis) { return x.dim(static_cast<usize>(axis)).value(); }

// Words of the same bits, where `or` is the join.
DType bits_of(DType dtype) {
  if (!dtype.is_float()) return dtype;
  switch (dtype.bytes()) {
    case 1: return dtypes::u8;
    case 2: return dtypes::u16;
    case 4: return dtypes::u32;
    default: return dtypes::u64;
  }
}

}  // namespace

void ShardBuilder::keep(const WalkNode& entry) {
  if (kept_.insert(entry.node.node()).second) graph_.key.order.push_back(entry);
}

UOp ShardBuilder::make(Op op, DType dtype, std::span<const UOp> srcs, std::span<const i64> args) {
  UOpRef made = TensorGraph::make(op, dtype, srcs, args);
  const UOp node = *made;
  if (!kept_.insert(node.node()).second) return node;
  graph_.key.order.push_back({node, -1, -1});
  graph_.made.push_back(std::move(made));
  return node;
}

UOp ShardBuilder::with(UOp node, std::span<const UOp> srcs, std::span<const i64> args) {
  return make(node.op(), node.dtype(), srcs, args);
}

UOp ShardBuilder::binary(Op op, UOp a, UOp b) {
  const UOp srcs[] = {a, b};
  return make(op, a.dtype(), srcs, {});
}

UOp ShardBuilder::reshape(UOp x, std::span<const i64> sizes) {
  return unary(Op::Reshape, x, sizes);
}

UOp ShardBuilder::window(UOp x, i64 axis, i64 start, i64 size) {
  if (start == 0 && size_at(x, axis) == size) return x;
  Windows all = whole(x);
  all.args[2 * static_cast<usize>(axis)] = start;
  all.args[2 * static_cast<usize>(axis) + 1] = size;
  return make(Op::Shrink, x.dtype(), all.srcs, all.args);
}

UOp ShardBuilder::surround(UOp x, i64 axis, i64 before, i64 size) {
  if (before == 0 && size_at(x, axis) == size) return x;
  Windows all = whole(x);
  all.args[2 * static_cast<usize>(axis)] = before;
  all.args[2 * static_cast<usize>(axis) + 1] = size;
  return make(Op::Pad, x.dtype(), all.srcs, all.args);
}

UOp ShardBuilder::zeros(UOp like, i64 axis, i64 size, u16 device) {
  const i64 zero = 0;
  const UOp constant = make(Op::Const, like.dtype(), {}, {&zero, 1});
  Windows all = whole(like);
  std::vector<i64> sizes;
  for (usize i = 0; i < like.ndim(); ++i) sizes.push_back(all.args[2 * i + 1]);
  sizes[static_cast<usize>(axis)] = size;
  all.srcs[0] = copy(constant, device);
  return make(Op::Expand, like.dtype(), all.srcs, sizes);
}

UOp ShardBuilder::copy(UOp x, u16 device) {
  if (x.device() == device + 1) return x;
  const i64 to = device;
  return unary(Op::Copy, x, {&to, 1});
}

UOp ShardBuilder::join(std::span<const UOp> pieces, i64 axis) {
  CHECK(!pieces.empty(), "nothing to join");
  i64 size = 0;
  for (UOp piece : pieces) size += size_at(piece, axis);
  if (pieces.size() == 1) return pieces[0];
  const DType dtype = pieces[0].dtype(), bits = bits_of(dtype);
  UOp joined;
  i64 before = 0;
  for (UOp piece : pieces) {
    const i64 own = size_at(piece, axis);
    const UOp words = bits == dtype ? piece : make(Op::Bitcast, bits, {&piece, 1}, {});
    const UOp placed = surround(words, axis, before, size);
    joined = joined ? binary(Op::Or, joined, placed) : placed;
    before += own;
  }
  return bits == dtype ? joined : make(Op::Bitcast, dtype, {&joined, 1}, {});
}

UOp ShardBuilder::window_of(const Parts& parts, const Line& line, i64 start, i64 size, u16 device) {
  const i64 axis = line.axis, length = size_at(parts[0], axis);
  std::vector<UOp> pieces;
  for (usize i = 0; i < parts.size(); ++i) {
    const i64 first = static_cast<i64>(i) * length;
    const i64 from = std::max(start, first), to = std::min(start + size, first + length);
    if (from >= to) continue;
    pieces.push_back(copy(window(parts[i], axis, from - first, to - from), device));
  }
  return pieces.empty() ? zeros(parts[0], axis, size, device) : join(pieces, axis);
}

}  // namespace doorbell::core
