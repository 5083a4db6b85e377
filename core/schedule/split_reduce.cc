// The split of long reductions. The threshold and sizes are tinygrad's (rangeify.py,
// split_reduceop): from 32768 elements per result, into at most 256 parts and 2^22 partial results.
#include <algorithm>
#include <array>
#include <bit>

#include "core/schedule/import.h"
#include "core/uop/graph.h"

namespace doorbell::core {

namespace {
constexpr i64 kMinRatio = 32768, kMaxParts = 256, kMinParts = 8, kMaxPartials = i64{1} << 22;
}

// The axes along which the memory that `id` is a view of differs; a broadcast axis holds no data
// that a split could share out.
u64 Importer::axes_with_data(LazyId id) {
  std::array<UOp, kMaxRank> index;
  for (usize i = 0; i < graph_[id].rank; ++i) {
    index[i] = arena_.range(static_cast<i64>(i), AxisType::Loop, graph_.shape(id)[i]);
  }
  u32 tuple = graph_.tuples.intern({index.data(), graph_[id].rank});
  while (is_movement(graph_[id].op)) {
    tuple = moves_.through(id, tuple).tuple;
    id = graph_.src(id);
  }
  u64 axes = 0;
  for (UOp i : graph_.tuples[tuple]) axes |= i.range_mask();
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
  u64 candidates = axes & axes_with_data(src);
  i64 most = std::min(kMaxParts, kMaxPartials / outputs);
  for (usize axis = 0; axis < rank; ++axis) {
    if (!(candidates >> axis & 1)) continue;
    i64 length = graph_.shape(src)[axis].const_int(), parts = most;
    while (parts >= kMinParts && length % parts != 0) --parts;
    if (parts < kMinParts) continue;
    // [.., length, ..] -> [.., parts, length / parts, ..] -> parts last; that axis is reduced last.
    std::array<UOp, kMaxRank> sizes;
    std::ranges::copy(graph_.shape(src), sizes.begin());
    UOp* at = sizes.data() + axis;
    UOp* end = sizes.data() + rank;
    std::copy_backward(at, end, end + 1);
    at[0] = arena_.index(parts);
    at[1] = arena_.index(length / parts);
    LazyId split = add_reshape(src, graph_.tuples.intern({sizes.data(), rank + 1}));
    std::rotate(at, at + 1, end + 1);
    u32 moved_shape = graph_.tuples.intern({sizes.data(), rank + 1});
    LazyId moved = add(Op::Permute, graph_[src].dtype, graph_[src].device, moved_shape, {split});
    graph_.nodes[moved].first_arg = static_cast<u32>(graph_.numbers.size());
    for (usize i = 0; i < rank; ++i) {
      graph_.numbers.push_back(static_cast<i64>(i < axis ? i : i + 1));
    }
    graph_.numbers.push_back(static_cast<i64>(axis));
    LazyId partial = add_reduce(moved, op, axes);
    graph_.nodes[partial].forced = true;
    LazyId whole = add_reduce(partial, op, u32{1} << rank);
    std::ranges::copy(graph_.shape(src), sizes.begin());
    for (usize i = 0; i < rank; ++i) {
      if (axes >> i & 1) sizes[i] = arena_.index(1);
    }
    return add_reshape(whole, graph_.tuples.intern({sizes.data(), rank}));
  }
  return kNoNode;
}

}  // namespace doorbell::core
