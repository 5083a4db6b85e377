// Layout: how a value lies over a list of devices, as one number, which is what ops have in their
// args. The devices are a mesh of one axis or more, in row-major order. Over each axis of the mesh
// the value is in equal parts along one of its own axes, or copies.
//
//   one mesh axis:      the axis of the value (0 to 63), or kReplicated
//   several mesh axes:  kMeshLayout, and 17 bits for each from bit 8 on: the number of devices
//                       along it (12 bits), and the axis of the value plus one (5 bits)
//
// Bit 6 is free for others (kUnited, core/uop/placement.h). Neighbouring mesh axes over which a
// value lies alike are one mesh axis, so that one layout has one number.
//
// An axis of the value may be in parts over several mesh axes: those over the first are divided
// again over the next.
#pragma once

#include <absl/container/inlined_vector.h>

#include <span>
#include <vector>

#include "base/util/types.h"

namespace doorbell::core {

inline constexpr i64 kReplicated = -1;
inline constexpr i64 kMeshLayout = 128;
inline constexpr usize kMaxMeshAxes = 3;
inline constexpr i64 kMaxMeshCount = 4095;

struct MeshAxis {
  i64 count;  // of devices along it
  i64 axis;   // of the value; kReplicated: copies

  bool is_split() const { return axis != kReplicated; }
  bool operator==(const MeshAxis&) const = default;
};
using MeshAxes = absl::InlinedVector<MeshAxis, kMaxMeshAxes>;

// Where there would be more than kMaxMeshAxes, the value lies in copies over the last ones.
i64 layout_of(std::span<const MeshAxis> axes);
MeshAxes mesh_axes_of(i64 layout, i64 devices);
// Into how many parts an axis of the value is divided.
i64 parts_along(std::span<const MeshAxis> axes, i64 axis);
// Divides mesh axes of both until they have the same counts. False where no division does, as of
// 2 x 3 and 3 x 2 devices.
bool refine(MeshAxes* a, MeshAxes* b);
// Where device number `part` of the mesh is along one of its axes.
i64 coordinate(std::span<const MeshAxis> axes, usize mesh_axis, i64 part);

// What a part has of a value of these sizes: elements first..first+size of each axis.
struct PartWindow {
  std::vector<i64> first, size;
  bool operator==(const PartWindow&) const = default;
};
PartWindow window_of_part(std::span<const i64> sizes, std::span<const MeshAxis> axes, i64 part);

}  // namespace doorbell::core
