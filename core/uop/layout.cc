// Layouts as numbers, and meshes made alike.
#include "core/uop/layout.h"

#include <algorithm>

#include "base/util/check.h"

namespace doorbell::core {

namespace {

constexpr i64 kFirstBit = 8, kCountBits = 12, kAxisBits = 5, kBits = kCountBits + kAxisBits;

i64 mask(i64 bits) { return (i64{1} << bits) - 1; }

MeshAxes merged(std::span<const MeshAxis> axes) {
  MeshAxes result;
  for (const MeshAxis& next : axes) {
    if (!result.empty() && result.back().axis == next.axis)
      result.back().count *= next.count;
    else if (next.count != 1)
      result.push_back(next);
  }
  return result;
}

}  // namespace

i64 layout_of(std::span<const MeshAxis> axes) {
  MeshAxes mesh = merged(axes);
  while (mesh.size() > kMaxMeshAxes) {
    for (usize i = kMaxMeshAxes - 1; i < mesh.size(); ++i) mesh[i].axis = kReplicated;
    mesh = merged(mesh);
  }
  if (mesh.empty()) return kReplicated;
  if (mesh.size() == 1) return mesh[0].axis;
  i64 layout = kMeshLayout;
  for (usize i = 0; i < mesh.size(); ++i) {
    CHECK(mesh[i].count <= kMaxMeshCount && mesh[i].axis + 1 <= mask(kAxisBits),
          "{} devices along a mesh axis, for axis {}", mesh[i].count, mesh[i].axis);
    const i64 field = mesh[i].count | (mesh[i].axis + 1) << kCountBits;
    layout |= field << (kFirstBit + static_cast<i64>(i) * kBits);
  }
  return layout;
}

MeshAxes mesh_axes_of(i64 layout, i64 devices) {
  if (layout < kMeshLayout) return {{devices, layout}};
  MeshAxes axes;
  for (i64 rest = layout >> kFirstBit; rest != 0; rest >>= kBits)
    axes.push_back({rest & mask(kCountBits), (rest >> kCountBits & mask(kAxisBits)) - 1});
  return axes;
}

i64 parts_along(std::span<const MeshAxis> axes, i64 axis) {
  i64 parts = 1;
  for (const MeshAxis& one : axes)
    if (one.axis == axis) parts *= one.count;
  return parts;
}

bool refine(MeshAxes* a, MeshAxes* b) {
  MeshAxes x = *a, y = *b;
  for (usize i = 0; i < x.size() && i < y.size(); ++i) {
    if (x[i].count == y[i].count) continue;
    MeshAxes& longer = x[i].count > y[i].count ? x : y;
    const i64 inner = std::min(x[i].count, y[i].count);
    if (longer[i].count % inner != 0) return false;
    const MeshAxis rest{longer[i].count / inner, longer[i].axis};
    longer[i].count = inner;
    longer.insert(longer.begin() + static_cast<i64>(i) + 1, rest);
  }
  if (x.size() != y.size()) return false;
  *a = x, *b = y;
  return true;
}

i64 coordinate(std::span<const MeshAxis> axes, usize mesh_axis, i64 part) {
  for (usize i = axes.size(); --i > mesh_axis;) part /= axes[i].count;
  return part % axes[mesh_axis].count;
}

PartWindow window_of_part(std::span<const i64> sizes, std::span<const MeshAxis> axes, i64 part) {
  PartWindow window{std::vector<i64>(sizes.size(), 0), {sizes.begin(), sizes.end()}};
  for (usize i = 0; i < axes.size(); ++i) {
    if (!axes[i].is_split()) continue;
    const usize axis = static_cast<usize>(axes[i].axis);
    window.size[axis] /= axes[i].count;
    window.first[axis] += coordinate(axes, i, part) * window.size[axis];
  }
  return window;
}

}  // namespace doorbell::core
