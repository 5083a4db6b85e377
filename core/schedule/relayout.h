// Relayout: parts on a mesh of devices become other parts on the same mesh, one mesh axis after
// another. Along a mesh axis the devices form lines; a line moves its parts as a value of its own,
// by an exchange where its devices are one of each process, else by copies.
#pragma once

#include "core/schedule/shard_builder.h"

namespace doorbell::core {

// Numbers of devices whose coordinates differ along the chosen axes of the mesh only, each set in
// order. Bit i of `along` is mesh axis i.
std::vector<std::vector<usize>> lines_of(std::span<const MeshAxis> mesh, u32 along);

// The part that a device has, cut out of the whole value.
UOp part_of_whole(ShardBuilder& builder, UOp whole, std::span<const MeshAxis> axes, usize part);

// `is_constant`: whether the value has a constant shape, which exchanges need.
Parts relayout(ShardBuilder& builder, const Parts& parts, const Placement& from,
               const Placement& to, bool is_constant);

// The parts of each line of `mesh` combined, on each of its devices.
Parts combine(ShardBuilder& builder, Op op, const Parts& parts, std::span<const u16> devices,
              std::span<const MeshAxis> mesh, u32 along, bool is_constant);
// Those of each line along one mesh axis combined, of which each device gets its part along an axis
// of the value; none where a line cannot exchange.
Parts combine_parts(ShardBuilder& builder, Op op, const Parts& parts, std::span<const u16> devices,
                    std::span<const MeshAxis> mesh, usize mesh_axis, i64 axis);

}  // namespace doorbell::core
