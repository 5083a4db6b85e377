// Placements over meshes as layouts: core/uop/layout.h.
#include "tensor/dist/mesh.h"

#include <algorithm>

#include "core/uop/placement.h"
#include "tensor/api/axes.h"
#include "tensor/api/sharding.h"
#include "tensor/engine/realize.h"

namespace doorbell::dist {

namespace {

using Kind = MeshPlacement::Kind;

void check_mesh(const Mesh& mesh, usize placements) {
  i64 count = 1;
  for (i64 size : mesh.shape) {
    if (size < 1 || size > core::kMaxMeshCount)
      throw fail(ErrorKind::Invalid, "a mesh axis of {} devices, expected 1 to {}", size,
                 core::kMaxMeshCount);
    count *= size;
  }
  if (mesh.shape.size() > core::kMaxMeshAxes)
    throw fail(ErrorKind::Unsupported, "a mesh of {} axes, expected at most {}", mesh.shape.size(),
               core::kMaxMeshAxes);
  if (count != static_cast<i64>(mesh.devices.names().size()))
    throw fail(ErrorKind::Invalid, "{} devices for a mesh of {}", mesh.devices.names().size(),
               count);
  if (placements != mesh.shape.size())
    throw fail(ErrorKind::Invalid, "{} placements for a mesh of {} axes", placements,
               mesh.shape.size());
}

// `partial`: the axis along which summands lie.
u16 placement_number(const Mesh& mesh, const MeshPlacements& placements, i64 ndim,
                     i64 partial = core::kReplicated) {
  check_mesh(mesh, placements.size());
  const u16 at = doorbell::detail::device_number_named(mesh.devices);
  if (!core::is_placement(at)) return at;
  core::MeshAxes axes;
  for (usize i = 0; i < placements.size(); ++i) {
    core::MeshAxis one{mesh.shape[i], core::kReplicated};
    if (placements[i].kind == Kind::Shard)
      one.axis = doorbell::detail::resolve_axis(placements[i].dim, ndim);
    if (placements[i].kind == Kind::Partial) one.axis = partial;
    axes.push_back(one);
  }
  return core::with_layout(at, core::layout_of(axes));
}

void refuse_partial(const MeshPlacements& placements) {
  if (std::ranges::any_of(placements, [](auto& one) { return one.kind == Kind::Partial; }))
    throw fail(ErrorKind::Invalid, "a whole tensor placed as summands: only from_local() has them");
}

}  // namespace

Tensor distribute_tensor(const Tensor& x, const Mesh& mesh, const MeshPlacements& placements) {
  refuse_partial(placements);
  const u16 at = placement_number(mesh, placements, static_cast<i64>(x.ndim()));
  return core::is_placement(at) ? doorbell::detail::moved_to(x, at) : x.to(mesh.devices);
}

void distribute_tensor_(Tensor& x, const Mesh& mesh, const MeshPlacements& placements) {
  doorbell::detail::move_(
      x, [&](const Tensor& value) { return distribute_tensor(value, mesh, placements); });
}

MeshPlacements placements_of(const Tensor& x, const Mesh& mesh) {
  check_mesh(mesh, mesh.shape.size());
  const u16 at = x.uop()->device();
  const u16 expected = doorbell::detail::device_number_named(mesh.devices);
  if (!core::is_placement(expected)) return MeshPlacements(mesh.shape.size());
  if (!core::is_placement(at) || !core::devices_compatible(at, expected))
    throw fail(ErrorKind::Invalid, "a tensor on {}, expected the mesh's devices {}", x.device(),
               engine::device_name(expected));
  const std::span<const core::MeshAxis> own = core::placement_of(at).axes;
  core::MeshAxes lies(own.begin(), own.end()), finer;
  for (i64 size : mesh.shape)
    if (size != 1) finer.push_back({size, core::kReplicated});
  MeshPlacements result;
  bool fits = core::refine(&lies, &finer);
  usize next = 0;
  for (usize i = 0; fits && i < mesh.shape.size(); ++i) {
    i64 axis = core::kReplicated;
    for (i64 covered = 1; covered < mesh.shape[i]; covered *= lies[next++].count) {
      fits &= covered == 1 || lies[next].axis == axis;
      axis = lies[next].axis;
    }
    result.push_back(axis == core::kReplicated ? Replicate() : Shard(axis));
  }
  if (!fits)
    throw fail(ErrorKind::Invalid, "a tensor on {} lies in parts{}, not along the mesh's axes",
               x.device(), engine::layout_name(at));
  return result;
}

Tensor from_local(const Tensor& x, const Mesh& mesh, const MeshPlacements& placements) {
  const bool is_sum =
      std::ranges::any_of(placements, [](auto& one) { return one.kind == Kind::Partial; });
  // Summands lie along a new first axis.
  const Tensor part = is_sum ? x.unsqueeze(0) : x;
  MeshPlacements shifted = placements;
  for (MeshPlacement& one : shifted)
    if (is_sum && one.kind == Kind::Shard && one.dim >= 0) ++one.dim;
  const u16 at = placement_number(mesh, shifted, static_cast<i64>(part.ndim()), 0);
  if (!core::is_placement(at)) return x.to(mesh.devices);
  const Tensor whole = detail::united_part(part, at);
  return is_sum ? whole.sum(0) : whole;
}

}  // namespace doorbell::dist
