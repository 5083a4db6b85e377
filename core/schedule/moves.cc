// Movement ops on index tuples. A reshape is done group by group: a run of axes is matched with the
// run of the other shape that holds as many elements, so that untouched axes pass through and the
// expressions that remain are small.
#include "core/schedule/moves.h"

#include <algorithm>
#include <array>

#include "base/util/check.h"
#include "core/uop/graph.h"

namespace doorbell::core {

namespace {
using Index = std::array<UOp, kMaxRank>;

Index copy_of(std::span<const UOp> items) {
  Index copy;
  std::ranges::copy(items, copy.begin());
  return copy;
}
}  // namespace

UOp Moves::both(UOp a, UOp b) {
  if (!a || a == b) return b;
  if (!b) return a;
  UOp result = rewriter_.land(a, b);
  return result.is_const(1) ? UOp() : result;
}

UOp Moves::either(UOp a, UOp b) {
  if (!a || !b) return UOp();
  if (a == b) return a;
  UOp result = rewriter_.lor(a, b);
  return result.is_const(1) ? UOp() : result;
}

Moves::Step Moves::through(LazyId node, u32 tuple) {
  auto [it, fresh] = steps_.try_emplace(u64{node} << 32 | tuple);
  if (fresh) it->second = compute(node, tuple);
  return it->second;
}

Moves::Step Moves::compute(LazyId id, u32 tuple) {
  const LazyNode& node = graph_[id];
  Index out = copy_of(graph_.tuples[tuple]), in;
  std::span<const UOp> out_shape = graph_.shape(id), in_shape = graph_.shape(graph_.src(id));
  usize in_rank = in_shape.size();
  switch (node.op) {
    case Op::Reshape: reshape({out.data(), node.rank}, out_shape, in_shape, in.data()); break;
    case Op::Permute:
      for (usize i = 0; i < in_rank; ++i) in[static_cast<usize>(graph_.number(id, i))] = out[i];
      break;
    case Op::Expand:
      for (usize i = 0, skip = node.rank - in_rank; i < in_rank; ++i) {
        in[i] = in_shape[i].is_const(1) ? arena_.index(0) : out[i + skip];
      }
      break;
    case Op::Shrink:
      for (usize i = 0; i < in_rank; ++i) in[i] = rewriter_.add(out[i], graph_.offset(id, i));
      break;
    case Op::Flip:
      for (usize i = 0; i < in_rank; ++i) {
        bool flipped = graph_.number(id, 0) >> i & 1;
        in[i] = out[i];
        if (!flipped) continue;
        UOp last = rewriter_.add(in_shape[i], arena_.index(-1));
        UOp negated = rewriter_.mul(out[i], arena_.index(-1));
        in[i] = rewriter_.add(last, negated);
      }
      break;
    case Op::Pad: return pad(id, {out.data(), in_rank});
    default: UNREACHABLE("{} does not move elements", name_of(node.op));
  }
  return {graph_.tuples.intern({in.data(), in_rank}), UOp()};
}

Moves::Step Moves::pad(LazyId id, std::span<UOp> index) {
  UOp valid;
  std::span<const UOp> out_shape = graph_.shape(id), in_shape = graph_.shape(graph_.src(id));
  for (usize i = 0; i < index.size(); ++i) {
    UOp before = graph_.offset(id, i), size = in_shape[i];
    if (out_shape[i] == size) continue;
    UOp at = index[i], end = rewriter_.add(before, size);
    if (!before.is_const(0)) {
      UOp first = rewriter_.add(before, arena_.index(-1));
      UOp above = rewriter_.lt(first, at);
      valid = both(valid, above);
    }
    if (end != out_shape[i]) {
      UOp below = rewriter_.lt(at, end);
      valid = both(valid, below);
    }
    UOp negated = rewriter_.mul(before, arena_.index(-1));
    index[i] = size.is_const(1) ? arena_.index(0) : rewriter_.add(at, negated);
  }
  return {graph_.tuples.intern(index), valid && valid.is_const(1) ? UOp() : valid};
}

// Splits the flat position of `out_index` into `in_index`. The outermost index needs no modulo: the
// position is inside, or the access is gated off.
void Moves::regroup(std::span<const UOp> out_index, std::span<const UOp> out_shape,
                    std::span<const UOp> in_shape, UOp* in_index) {
  UOp at = arena_.index(0), stride = arena_.index(1);
  for (usize i = out_index.size(); i-- > 0;) {
    UOp term = rewriter_.mul(out_index[i], stride);
    at = rewriter_.add(term, at);
    stride = rewriter_.mul(stride, out_shape[i]);
  }
  for (usize i = in_shape.size(); i-- > 0;) {
    in_index[i] = i == 0 ? at : rewriter_.floormod(at, in_shape[i]);
    if (i > 0) at = rewriter_.floordiv(at, in_shape[i]);
  }
}

void Moves::reshape(std::span<const UOp> out_index, std::span<const UOp> out_shape,
                    std::span<const UOp> in_shape, UOp* in_index) {
  // Axes of size one hold no information.
  Index out, out_sizes, in, in_sizes;
  std::array<usize, kMaxRank> in_axis;
  usize outs = 0, ins = 0;
  for (usize i = 0; i < out_shape.size(); ++i) {
    if (out_shape[i].is_const(1)) continue;
    out[outs] = out_index[i];
    out_sizes[outs++] = out_shape[i];
  }
  for (usize i = 0; i < in_shape.size(); ++i) {
    in_index[i] = arena_.index(0);
    if (in_shape[i].is_const(1)) continue;
    in_axis[ins] = i;
    in_sizes[ins++] = in_shape[i];
  }
  for (usize i = 0, j = 0; j < ins;) {
    usize i_end = i, j_end = j;
    if (i < outs && out_sizes[i] == in_sizes[j]) {
      in[j] = out[i];
      ++i_end, ++j_end;
    } else {
      i64 out_count = 1, in_count = 1;
      bool constant = true;
      do {
        bool take_out = i_end < outs && (out_count <= in_count || j_end == ins);
        UOp size = take_out ? out_sizes[i_end++] : in_sizes[j_end++];
        constant = constant && size.is_const();
        (take_out ? out_count : in_count) *= size.vmax();
      } while (constant && (out_count != in_count || i_end == i || j_end == j) &&
               (i_end < outs || j_end < ins));
      // A size that is not constant: the remaining axes are one group.
      if (!constant) i_end = outs, j_end = ins;
      regroup({out.data() + i, i_end - i}, {out_sizes.data() + i, i_end - i},
              {in_sizes.data() + j, j_end - j}, in.data() + j);
    }
    i = i_end;
    j = j_end;
  }
  for (usize j = 0; j < ins; ++j) in_index[in_axis[j]] = in[j];
}

u32 Moves::broadcast(u32 tuple, u32 to, u32 from) {
  if (to == from) return tuple;
  Index out = copy_of(graph_.tuples[tuple]), in;
  std::span<const UOp> in_shape = graph_.tuples[from];
  usize skip = graph_.tuples[to].size() - in_shape.size();
  for (usize i = 0; i < in_shape.size(); ++i) {
    in[i] = in_shape[i].is_const(1) ? arena_.index(0) : out[i + skip];
  }
  return graph_.tuples.intern({in.data(), in_shape.size()});
}

UOp Moves::flat(u32 tuple, u32 shape, u32 live) {
  std::span<const UOp> index = graph_.tuples[tuple], sizes = graph_.tuples[shape];
  UOp at = arena_.index(0), stride = arena_.index(1);
  for (usize i = sizes.size(); i-- > 0;) {
    if (!(live >> i & 1)) continue;
    UOp term = rewriter_.mul(index[i], stride);
    at = rewriter_.add(term, at);
    stride = rewriter_.mul(stride, sizes[i]);
  }
  return at;
}

}  // namespace doorbell::core
