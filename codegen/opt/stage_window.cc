// Stager: tiles of operands that windows slide over.
//
// Where the tile's elements are read from global memory in pairs, each pair is aligned there, and
// is in the operand's padding as a whole or not at all. For that the tile may begin an element
// before the first window and end one behind the last.
#include <algorithm>

#include "codegen/opt/stage_tile.h"
#include "codegen/opt/windows.h"

namespace doorbell::codegen::detail {

using core::Op;
using core::UOp;

// Of operands of matrix instructions, whose addresses have no lanes of their own.
void Stager::merge_windows() {
  UOp index = load_.src(0).src(1), gate = load_.src(0).nsrc() > 2 ? load_.src(0).src(2) : UOp();
  const bool is_operand =
      std::ranges::any_of(dims_, [&](const Dim& d) { return d.reduced && parts(d).matrix > 1; });
  if (!is_operand || loops_.reads_local) return;
  for (usize tap = 0; tap < dims_.size();) {
    const Dim t = dims_[tap];
    auto along = std::ranges::find_if(dims_, [&](const Dim& d) {
      return !d.reduced && d.tap < 0 && size(d.axis) > 0 && size(d.axis) % d.block == 0 &&
             varies_with_sum(index, t.axis, d.axis) &&
             (!gate || varies_with_sum(gate, t.axis, d.axis));
    });
    if (!t.reduced || t.block != size(t.axis) || along == dims_.end()) {
      ++tap;
      continue;
    }
    along->extent += t.extent - 1;
    along->tap = t.axis;
    dims_.erase(dims_.begin() + static_cast<std::ptrdiff_t>(tap));
  }
}

namespace {

// Where a gate lets the sum of a window's ranges through: [low, high), as far as it bounds it.
struct Bounds {
  std::optional<i64> low, high;
};

// False if the gate is of another form.
bool find_bounds(UOp gate, const Window& w, Bounds* bounds) {
  const u64 both = u64{1} << w.tap | u64{1} << w.along;
  if (!(gate.range_mask() & both)) return true;
  if (gate.is(Op::And))
    return find_bounds(gate.src(0), w, bounds) && find_bounds(gate.src(1), w, bounds);
  if (!gate.is(Op::CmpLt) || !gate.src(0).dtype().is_index()) return false;
  const Affine left = to_affine(gate.src(0)), right = to_affine(gate.src(1));
  const bool is_upper = gate.src(0).range_mask() != 0;
  const Affine &sum = is_upper ? left : right, &limit = is_upper ? right : left;
  const bool is_sum = gate.range_mask() == both && sum.coefficient(w.tap) == 1 &&
                      sum.coefficient(w.along) == 1 && sum.others.empty();
  if (!is_sum || !limit.ranges.empty() || !limit.others.empty()) return false;
  const i64 bound = limit.constant - sum.constant;
  if (is_upper)
    bounds->high = std::min(bounds->high.value_or(bound), bound);
  else
    bounds->low = std::max(bounds->low.value_or(bound + 1), bound + 1);
  return true;
}

}  // namespace

// Of the dimension that is contiguous in global memory, if the tile is transposed.
void Stager::pair_window() {
  Dim& d = dims_[0];
  if (d.tap < 0 || d.stride != 1 || d.block % kWindowPair || loops_.reads_local) return;
  const bool transposes = std::ranges::any_of(
      dims_, [&](const Dim& other) { return other.reduced && parts(other).matrix > 1; });
  if (!transposes || load_.dtype().bytes() > 2) return;
  UOp tap = loops_.info.ranges[static_cast<usize>(d.tap)].range;
  const std::pair<UOp, UOp> at_first[] = {{tap, rw_.index(0)}};
  const UOp index = load_.src(0);
  Affine address = to_affine(rw_.substitute(index.src(1), at_first));
  const auto odd = [](i64 n) { return ((n % kWindowPair) + kWindowPair) % kWindowPair; };
  const i64 before = odd(address.constant), from = address.constant;
  address.constant = 0;
  if (!is_aligned(address, d.axis, kWindowPair)) return;
  Bounds inside;
  if (index.nsrc() > 2 && !find_bounds(index.src(2), {d.tap, d.axis}, &inside)) return;
  const auto cuts = [&](std::optional<i64> bound) { return bound && odd(from + *bound) != 0; };
  const i64 behind = odd(before + d.extent);
  if (cuts(inside.low) || cuts(inside.high)) return;
  if ((before > 0 && !inside.low) || (behind > 0 && !inside.high)) return;
  d.before = before;
  d.extent += before + behind;
  window_lanes_ = kWindowPair;
}

// One gate for both, that of the first.
UOp Stager::pair(UOp load, UOp lane) {
  const UOp index = load.src(0);
  if (index.nsrc() < 3) return load;
  const std::pair<UOp, UOp> at_first[] = {{lane, rw_.index(0)}};
  UOp gate = rw_.substitute(index.src(2), at_first);
  UOp place = rw_.make(Op::Index, index.dtype(), {index.src(0), index.src(1), gate});
  return rw_.make(Op::Load, load.dtype(), {place, load.src(1)});
}

}  // namespace doorbell::codegen::detail
