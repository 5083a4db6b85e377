// Finds runs of ranges, each run closed by the same End or Reduce, whose strides nest.
#include "codegen/opt/merge_ranges.h"

#include <algorithm>

#include "codegen/opt/rebuild.h"

namespace doorbell::codegen {

using core::Op;
using core::Rewriter;
using core::UOp;

namespace {

// Ranges used outside of addresses: they keep their own loop.
u64 pinned_ranges(const KernelInfo& info) {
  u64 pinned = 0;
  for (UOp u : info.order) {
    if (u.dtype().is_index() && !u.is(Op::Range)) continue;
    for (usize i = 0; i < u.nsrc(); ++i) {
      UOp s = u.src(i);
      bool closed = (u.is(Op::End) || u.is(Op::Reduce)) && i > 0;
      if (!s.dtype().is_index() || closed || (u.is(Op::Index) && i == 1)) continue;
      pinned |= s.range_mask();
    }
  }
  for (const Access& a : info.accesses) pinned |= a.affine.nonlinear_mask | a.gate_mask;
  return pinned;
}

// The number of effects that close each range; a range closed twice is left alone. Reductions over
// the same ranges count as one: they are in the same loops.
std::vector<int> closers(const KernelInfo& info) {
  std::vector<int> n(info.ranges.size(), 0);
  std::vector<UOp> seen;
  for (UOp u : info.order) {
    if (!u.is(Op::End) && !u.is(Op::Reduce)) continue;
    const auto closed = u.srcs().subspan(1);
    const bool again = u.is(Op::Reduce) && std::ranges::any_of(seen, [&](UOp other) {
                         return std::ranges::equal(closed, other.srcs().subspan(1));
                       });
    if (again) continue;
    if (u.is(Op::Reduce)) seen.push_back(u);
    for (UOp r : closed) ++n[static_cast<usize>(r.range_id())];
  }
  return n;
}

// Whether every access steps through (outer, inner) as through one range of the product's size.
bool walks_as_one(const KernelInfo& info, UOp outer, UOp inner, i64 inner_size) {
  for (const Access& a : info.accesses) {
    i64 c_outer = *a.affine.coefficient(outer.range_id());
    i64 c_inner = *a.affine.coefficient(inner.range_id());
    if (c_outer != c_inner * inner_size) return false;
  }
  return true;
}

}  // namespace

UOp merge_ranges(Rewriter& rewriter, UOp sink) {
  KernelInfo info = analyse(rewriter.arena(), sink);
  u64 pinned = pinned_ranges(info);
  std::vector<int> closed_by = closers(info);
  std::vector<RangeImage> images(info.ranges.size());
  i64 next_id = 0;
  auto mergeable = [&](UOp r) {
    usize id = static_cast<usize>(r.range_id());
    return info.ranges[id].size > 0 && !(pinned >> id & 1) && closed_by[id] == 1;
  };
  // One run: ranges [begin, end) of `closer` become one.
  auto merge_run = [&](UOp closer, usize begin, usize end) {
    i64 total = 1;
    for (usize i = begin; i < end; ++i)
      total *= std::max<i64>(1, info.size(closer.src(i).range_id()));
    UOp first = closer.src(begin);
    UOp size = end - begin == 1 ? first.src(0) : rewriter.index(total);
    UOp merged = rewriter.arena().range(next_id++, first.axis_type(), size);
    i64 inner = total;
    for (usize i = begin; i < end; ++i) {
      UOp r = closer.src(i);
      RangeImage& image = images[static_cast<usize>(r.range_id())];
      if (end - begin == 1) {
        image.value = merged;
      } else {
        i64 n = info.size(r.range_id());
        inner /= n;
        UOp part = rewriter.floordiv(merged, rewriter.index(inner));
        image.value = i == begin ? part : rewriter.floormod(part, rewriter.index(n));
      }
      if (i == begin) image.ranges.push_back(merged);
    }
  };
  auto merge_all = [&](UOp closer) {
    for (usize begin = 1; begin < closer.nsrc();) {
      usize end = begin + 1;
      if (images[static_cast<usize>(closer.src(begin).range_id())].value) {
        ++begin;  // closed by an earlier effect too, and already placed
        continue;
      }
      while (end < closer.nsrc() && mergeable(closer.src(end - 1)) && mergeable(closer.src(end)) &&
             walks_as_one(info, closer.src(end - 1), closer.src(end),
                          info.size(closer.src(end).range_id()))) {
        ++end;
      }
      merge_run(closer, begin, end);
      begin = end;
    }
  };
  // Ids are the nesting order: output ranges, then an outer reduction's before an inner one's.
  for (Op kind : {Op::End, Op::Reduce}) {
    for (auto u = info.order.rbegin(); u != info.order.rend(); ++u) {
      if (u->is(kind)) merge_all(*u);
    }
  }
  Rebuilder rebuild(rewriter);
  for (usize i = 0; i < images.size(); ++i) {
    if (images[i].value) rebuild.set(static_cast<i64>(i), images[i]);
  }
  return rebuild(sink);
}

}  // namespace doorbell::codegen
