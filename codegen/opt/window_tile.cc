// Windows are found by comparing coefficients of addresses and gates.
#include "codegen/opt/window_tile.h"

#include <algorithm>
#include <cstdlib>

namespace doorbell::codegen::detail {

using core::UOp;

namespace {

constexpr i64 kLineBytes = 64;

// Whether all of `u` varies with the ranges only by step * along + tap.
bool slides(UOp u, i64 along, i64 tap, i64 step) {
  const u64 both = u64{1} << along | u64{1} << tap;
  if (!(u.range_mask() & both)) return true;
  if (u.dtype().is_index()) {
    const Affine affine = to_affine(u);
    const auto of_along = affine.coefficient(along), of_tap = affine.coefficient(tap);
    return of_along && of_tap && *of_along == step * *of_tap;
  }
  return u.nsrc() > 0 &&
         std::ranges::all_of(u.srcs(), [&](UOp s) { return slides(s, along, tap, step); });
}

struct Extent {
  i64 id, size, extent, coefficient;
  bool used = false;
};

}  // namespace

std::optional<std::vector<i64>> block_extents(const KernelInfo& info, const JoinedAxis& axis,
                                              i64 block) {
  std::vector<i64> extents(axis.ids.size(), 1);
  for (usize n = axis.ids.size(); n-- > 0 && block > 1;) {
    const i64 size = info.size(axis.ids[n]);
    if (n == 0 || block < size) {
      if (n > 0 && size % block != 0) return std::nullopt;
      extents[n] = block;
      break;
    }
    if (block % size != 0) return std::nullopt;
    extents[n] = size;
    block /= size;
  }
  return extents;
}

std::optional<WindowTile> window_tile(const KernelInfo& info, UOp value, const Access& access,
                                      const JoinedAxis& own, i64 own_block, const JoinedAxis& depth,
                                      i64 depth_block) {
  std::vector<Extent> axes;
  for (const auto& [axis, block] : {std::pair(&own, own_block), std::pair(&depth, depth_block)}) {
    const auto extents = block_extents(info, *axis, block);
    if (!extents) return std::nullopt;
    for (usize n = 0; n < extents->size(); ++n) {
      const i64 id = axis->ids[n], coefficient = access.affine.coefficient(id).value_or(0);
      if (coefficient <= 0) return std::nullopt;
      axes.push_back({id, info.size(id), (*extents)[n], coefficient});
    }
  }
  WindowTile tile;
  for (Extent& along : axes) {
    for (Extent& tap : axes) {
      const i64 step = along.coefficient / tap.coefficient;
      const bool joins =
          own.mask >> along.id & 1 ? depth.mask >> tap.id & 1 : own.mask >> tap.id & 1;
      if (along.used || tap.used || !joins || tap.extent != tap.size || along.size < tap.size)
        continue;
      if (step < 1 || step >= tap.size || !slides(value, along.id, tap.id, step)) continue;
      along.used = tap.used = true;
      tile.dims.push_back(
          {along.id, tap.id, step, step * (along.extent - 1) + tap.extent, 1, tap.coefficient});
    }
  }
  if (tile.dims.empty()) return std::nullopt;
  for (const Extent& one : axes)
    if (!one.used) tile.dims.push_back({-1, one.id, 1, one.extent, 1, one.coefficient});
  std::ranges::stable_sort(tile.dims, {}, &WindowTile::Dim::in_operand);
  // Whole vectors are stored.
  const i64 line = kLineBytes / access.bytes;
  tile.count = 1;
  for (WindowTile::Dim& dim : tile.dims) {
    dim.pitch = tile.count;
    tile.count *= tile.count == 1 ? (dim.extent + line - 1) / line * line : dim.extent;
  }
  return tile;
}

}  // namespace doorbell::codegen::detail
