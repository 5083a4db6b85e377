// The split of long reductions, and of products whose results are few. The threshold and sizes of
// the former are tinygrad's (rangeify.py, split_reduceop): from 32768 elements per result, into at
// most 256 parts and 2^22 partial results.
#include <algorithm>
#include <array>
#include <bit>
#include <numeric>

#include "base/util/check.h"
#include "core/schedule/import.h"
#include "core/uop/graph.h"

namespace doorbell::core {

namespace {
constexpr i64 kMinRatio = 32768, kMaxParts = 256, kMinParts = 8, kMaxPartials = i64{1} << 22;
}

// A broadcast axis holds no data that a split could share out.
Importer::DataAxes Importer::axes_with_data(LazyId id) {
  std::array<UOp, kMaxRank> index;
  for (usize i = 0; i < graph_[id].rank; ++i) {
    const UOp size = graph_.shape(id)[i];
    index[i] = size.is_const(1) ? arena_.index(0)
                                : arena_.range(static_cast<i64>(i), AxisType::Loop, size);
  }
  u32 tuple = graph_.tuples.intern({index.data(), graph_[id].rank});
  while (is_movement(graph_[id].op)) {
    tuple = moves_.through(id, tuple).tuple;
    id = graph_.src(id);
  }
  DataAxes axes;
  for (UOp i : graph_.tuples[tuple]) {
    if (i.range_mask() != 0) axes.last = i.range_mask();
    axes.all |= i.range_mask();
  }
  return axes;
}

// A sum that only selects (an arange, a one-hot product) collapses and has no loop to split. Tries
// it: builds its kernel from the nodes nearby.
bool Importer::needs_loop(LazyId src, Op op, u32 axes) {
  for (LazyId id = static_cast<LazyId>(probe_storage_.size()); id < graph_.size(); ++id) {
    probe_storage_.emplace_back();
    if (graph_[id].op == Op::Buffer || graph_[id].forced) probe_storage_[id] = {id, ~u32{0}, 1};
  }
  LazyId whole = add_reduce(src, op, axes);
  probe_storage_.emplace_back();
  probe_stored_.resize(graph_.size(), Stored::No);
  BuiltValue built = probe_.build(whole, probe_storage_, probe_stored_);
  if (!built.fits) return true;
  std::vector<UOp> order = topological_order(arena_, {&built.value, 1});
  return std::ranges::any_of(order, [](UOp u) { return u.is(Op::Reduce); });
}

LazyId Importer::split_reduce(LazyId src, Op op, u32 axes) {
  usize rank = graph_[src].rank;
  i64 outputs = 1, inputs = 1;
  for (usize i = 0; i < rank; ++i) {
    UOp size = graph_.shape(src)[i];
    if (!size.is_const()) return kNoNode;
    inputs *= size.const_int();
    if (!(axes >> i & 1)) outputs *= size.const_int();
  }
  if (outputs >= options_.split_below || inputs / outputs < kMinRatio || rank == kMaxRank ||
      !needs_loop(src, op, axes)) {
    return kNoNode;
  }
  u64 candidates = axes & axes_with_data(src).all;
  i64 most = std::min(kMaxParts, kMaxPartials / outputs);
  for (usize axis = 0; axis < rank; ++axis) {
    if (!(candidates >> axis & 1)) continue;
    i64 length = graph_.shape(src)[axis].const_int(), parts = most;
    while (parts >= kMinParts && length % parts != 0) --parts;
    if (parts < kMinParts) continue;
    return reduce_parts(src, op, axes, axis, parts, false);
  }
  return kNoNode;
}

// [.., length, ..] -> [.., parts, length / parts, ..] -> parts first or last.
LazyId Importer::reduce_parts(LazyId src, Op op, u32 axes, usize axis, i64 parts, bool first) {
  const usize rank = graph_[src].rank;
  const i64 length = graph_.shape(src)[axis].const_int();
  std::array<UOp, kMaxRank> sizes;
  std::ranges::copy(graph_.shape(src), sizes.begin());
  UOp* at = sizes.data() + axis;
  UOp* end = sizes.data() + rank;
  std::copy_backward(at, end, end + 1);
  at[0] = arena_.index(parts);
  at[1] = arena_.index(length / parts);
  LazyId split = add_reshape(src, graph_.tuples.intern({sizes.data(), rank + 1}));
  std::array<i64, kMaxRank> order;
  std::iota(order.begin(), order.end(), 0);
  i64* moved_axis = order.data() + axis;
  if (first)
    std::rotate(order.data(), moved_axis, moved_axis + 1);
  else
    std::rotate(moved_axis, moved_axis + 1, order.data() + rank + 1);
  std::array<UOp, kMaxRank> moved_sizes;
  for (usize i = 0; i <= rank; ++i) moved_sizes[i] = sizes[static_cast<usize>(order[i])];
  u32 moved_shape = graph_.tuples.intern({moved_sizes.data(), rank + 1});
  LazyId moved = add(Op::Permute, graph_[src].dtype, graph_[src].device, moved_shape, {split});
  graph_.nodes[moved].first_arg = static_cast<u32>(graph_.numbers.size());
  graph_.numbers.insert(graph_.numbers.end(), order.begin(), order.begin() + rank + 1);
  LazyId partial = add_reduce(moved, op, first ? axes << 1 : axes);
  graph_.nodes[partial].forced = true;
  LazyId whole = add_reduce(partial, op, u32{1} << (first ? 0 : rank));
  std::ranges::copy(graph_.shape(src), sizes.begin());
  for (usize i = 0; i < rank; ++i) {
    if (axes >> i & 1) sizes[i] = arena_.index(1);
  }
  return add_reshape(whole, graph_.tuples.intern({sizes.data(), rank}));
}

// Of values that differ along rows, along columns, and along the one axis that is reduced.
std::optional<ProductShape> Importer::product_of(LazyId src, u32 axes) {
  ProductShape p;
  p.sum = graph_[src].dtype;
  LazyId product = src;
  while (graph_[product].op == Op::Cast) product = graph_.src(product);
  if (graph_[product].op != Op::Mul || !std::has_single_bit(axes)) return std::nullopt;
  DataAxes of[2];
  for (usize i = 0; i < 2; ++i) {
    LazyId factor = graph_.src(product, i);
    while (graph_[factor].op == Op::Cast) factor = graph_.src(factor);
    if (graph_[factor].rank != graph_[src].rank) return std::nullopt;
    if (i == 1 && graph_[factor].dtype != p.operand) return std::nullopt;
    p.operand = graph_[factor].dtype;
    of[i] = axes_with_data(factor);
  }
  if (!(of[0].all & of[1].all & axes)) return std::nullopt;
  p.rows_by_depth = of[0].last & axes, p.columns_by_depth = of[1].last & axes;
  for (usize i = 0; i < graph_[src].rank; ++i) {
    const UOp size = graph_.shape(src)[i];
    if (!size.is_const()) return std::nullopt;
    const bool x = of[0].all >> i & 1, y = of[1].all >> i & 1;
    i64& part = axes >> i & 1 ? p.depth : x == y ? p.batches : x ? p.rows : p.columns;
    part *= size.const_int();
  }
  return p;
}

LazyId Importer::split_product(LazyId src, Op op, u32 axes) {
  if (op != Op::Add || graph_[src].rank == kMaxRank) return kNoNode;
  const std::optional<ProductShape> product = product_of(src, axes);
  if (!product || product->rows == 1 || product->columns == 1) return kNoNode;
  const i64 parts = options_.depth_parts(*product);
  CHECK(product->depth % parts == 0, "a depth of {} in {} parts", product->depth, parts);
  if (parts < 2) return kNoNode;
  return reduce_parts(src, op, axes, static_cast<usize>(std::countr_zero(axes)), parts, true);
}

}  // namespace doorbell::core
