// The tile of an operand as boxes that the target copies by itself: one of all runs of rows of 128
// bytes, or one for each run, in parts of as many rows as a box may have.
#include <algorithm>

#include "codegen/linear/tensor_copy.h"
#include "codegen/opt/stage_tile.h"

namespace doorbell::codegen::detail {

using core::Op;
using core::UOp;

std::optional<TensorMapFit> Stager::fit_boxes() const {
  const UOp place = load_.src(0);
  const bool is_plain = loops_.caps.tensor_copies && loops_.reads_local && place.nsrc() == 2;
  if (!is_plain || !place.src(0).is(Op::Param)) return std::nullopt;
  const Affine address = to_affine(place.src(1));
  return fit_tensor_map(loops_.info,
                        {address, place.src(0).arg(0), load_.dtype().bytes(), dims_[0].axis,
                         dims_[1].axis, dims_[1].extent, dims_[0].extent / row_elements()});
}

// The first coordinate of the tile along an axis.
UOp Stager::tile_start(i64 axis, LoopValues loops) {
  UOp start;
  for (const Dim& d : dims_)
    if (d.axis == axis) start = rw_.mul(parts(d).outer, d.block);
  if (!start) start = loops_.images[static_cast<usize>(axis)].value;
  if (loops.empty()) return start;
  // Where the loops may be at what a persistent group computes next, both starts are computed
  // outside of the loops over tiles.
  std::vector<std::pair<UOp, UOp>> now(loops.begin(), loops.end());
  const auto walk = std::ranges::find(now, loops_.walk, &std::pair<UOp, UOp>::first);
  if (walk == now.end() || !walk->second.is(Op::Where)) return rw_.substitute(start, now);
  const UOp steps = walk->second;
  walk->second = steps.src(2);
  UOp same = rw_.substitute(start, now);
  walk->second = steps.src(1);
  UOp next = rw_.substitute(start, now);
  return same == next ? same : rw_.where(steps.src(0), next, same);
}

void Stager::copy_boxes(UOp memory, UOp base, const BoxPhase& phase, LoopValues loops, UOp gate,
                        std::vector<UOp>* copies) {
  const TensorMapFit fit = *fit_boxes();
  const i64 row = fit.map.dimensions[0].box, rows = fit.map.dimensions[1].box;
  const i64 runs = fit.has_runs ? 1 : dims_[0].extent / row;
  UOp barrier = rw_.make(Op::Index, core::dtypes::u64, {phase.mbarriers, phase.number});
  for (i64 run = 0; run < runs; ++run) {
    for (i64 first = 0; first < dims_[1].extent; first += rows) {
      UOp at = rw_.add(base, (run * dims_[1].extent + first) * row);
      absl::InlinedVector<UOp, 8> srcs{rw_.make(Op::Index, memory.dtype(), {memory, at, gate}),
                                       barrier};
      const i64 inside[] = {run * row, first};
      for (usize i = 0; i < fit.axes.size(); ++i) {
        UOp start = tile_start(fit.axes[i], loops);
        srcs.push_back(i < std::size(inside) ? rw_.add(start, inside[i]) : start);
      }
      if (fit.has_runs) {
        srcs.back() = rw_.floordiv(srcs.back(), row);
        srcs[kCoordinates] = rw_.index(0);
      }
      const std::vector<i64> args = tensor_copy_args(fit.map, copies->empty() ? phase.bytes : 0);
      copies->push_back(rw_.make(Op::Store, core::dtypes::void_, srcs, args));
    }
  }
}

}  // namespace doorbell::codegen::detail
