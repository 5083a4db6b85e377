// Tensors over a mesh of devices, with the names of torch.distributed.tensor: for each axis of the
// mesh a tensor says whether it lies in parts along one of its own axes, or in copies.
//
//   const Mesh mesh{dist::devices("CPU"), {2, 2}};  // data x model
//   Tensor x = distribute_tensor(batch, mesh, {Shard(0), Replicate()});
//   Tensor w = distribute_tensor(weight, mesh, {Replicate(), Shard(1)});
//   x.matmul(w);                                    // {Shard(0), Shard(1)}
//
// Operations on tensors over one list of devices find out for each mesh axis how the result lies;
// a sum along an axis in parts is a sum over the devices along that mesh axis, and no others.
#pragma once

#include <vector>

#include "tensor/api/tensor.h"

namespace doorbell::dist {

struct Mesh {
  Devices devices;  // in row-major order
  std::vector<i64> shape;
};

struct MeshPlacement {
  enum class Kind { Replicate, Shard, Partial };
  Kind kind = Kind::Replicate;
  i64 dim = 0;  // of Shard; from the end where negative

  bool operator==(const MeshPlacement&) const = default;
};
inline MeshPlacement Shard(i64 dim) { return {MeshPlacement::Kind::Shard, dim}; }
inline MeshPlacement Replicate() { return {}; }
// Of from_local() alone: what the devices have is to be summed.
inline MeshPlacement Partial() { return {MeshPlacement::Kind::Partial}; }
using MeshPlacements = std::vector<MeshPlacement>;

// The same value over the mesh, from wherever it is. Lazy, with gradients.
Tensor distribute_tensor(const Tensor& x, const Mesh& mesh, const MeshPlacements& placements);
// In place, for weights: a leaf stays one.
void distribute_tensor_(Tensor& x, const Mesh& mesh, const MeshPlacements& placements);
// How a tensor lies over the mesh. Throws where it lies over other devices, or along other axes of
// theirs than the mesh's.
MeshPlacements placements_of(const Tensor& x, const Mesh& mesh);
// One value of each process as a part, copy or summand of one. Those that are copies must be equal.
Tensor from_local(const Tensor& x, const Mesh& mesh, const MeshPlacements& placements);

namespace detail {
// Not for users: the value of which this process's part is x; `at` is a placement's number.
Tensor united_part(const Tensor& x, u16 at);
}  // namespace detail

}  // namespace doorbell::dist
