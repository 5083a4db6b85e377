"""Devices in rows and columns with names, and tensors over them, with the names of torch.distributed.tensor:

    mesh = init_device_mesh("CPU", (2, 2), ("data", "model"))
    x = distribute_tensor(x, mesh, [Shard(0), Replicate()])    # rows over "data", copies over "model"
    w = distribute_tensor(w, mesh, [Replicate(), Shard(1)])    # columns over "model"
    x @ w                                                      # [Shard(0), Shard(1)]

Operations find out by themselves how their results lie, and what is to be summed over which devices.
"""
from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from doorbell import _doorbell
from doorbell._doorbell import Tensor


@dataclass(frozen=True)
class Shard:
    """Over a mesh axis: equal parts along an axis of the tensor."""

    dim: int


@dataclass(frozen=True)
class Replicate:
    """Over a mesh axis: copies."""


@dataclass(frozen=True)
class Partial:
    """Over a mesh axis: summands, of from_local() alone; the tensor is their sum."""


Placement = Shard | Replicate | Partial


def _names(placements: Sequence[Placement]) -> list[str]:
    """As the module takes them."""
    return [str(one.dim) if isinstance(one, Shard) else "P" if isinstance(one, Partial) else "R" for one in placements]


class DeviceMesh:
    """All processes, in order of their ranks, as an array with named axes; or the devices of a list. Of a mesh
    {"data": 2, "model": 3}, devices("model") are those three of this process's row: a tensor sharded over them is a
    value of that row, and each row has its own. A tensor over the whole mesh is placed by distribute_tensor()."""

    def __init__(self, device_type: str | Sequence[str], shape: Sequence[int], names: Sequence[str]) -> None:
        self._all = list(_doorbell._dist_devices(device_type) if isinstance(device_type, str) else device_type)
        if math.prod(shape) != len(self._all):
            what = "processes" if isinstance(device_type, str) else "devices"
            raise ValueError(f"a mesh of shape {tuple(shape)} needs {math.prod(shape)} {what}, there are "
                             f"{len(self._all)}")
        if len(names) != len(shape) or len(set(names)) != len(names):
            raise ValueError(f"names {tuple(names)} for the axes of a mesh of {tuple(shape)}")
        self.shape, self.mesh_dim_names = tuple(shape), tuple(names)
        self.device_type = device_type if isinstance(device_type, str) else device_type[0].partition(":")[0]

    def get_coordinate(self, rank: int | None = None) -> list[int]:
        """Where a process is along each axis; this one for None."""
        rest = _doorbell._dist_rank() if rank is None else rank
        place = []
        for size in reversed(self.shape):
            place.append(rest % size)
            rest //= size
        return place[::-1]

    def devices(self, name: str | None = None) -> list[str]:
        """Those of this process's row along an axis, in order; all for None."""
        if name is None:
            return list(self._all)
        axis, own = self.axis(name), self.get_coordinate()

        def is_mine(rank: int) -> bool:
            place = self.get_coordinate(rank)
            return place[:axis] + place[axis + 1:] == own[:axis] + own[axis + 1:]

        return [device for rank, device in enumerate(self._all) if is_mine(rank)]

    def axis(self, name: str) -> int:
        """The number of an axis by its name."""
        if name not in self.mesh_dim_names:
            raise ValueError(f"axis {name!r} of a mesh with axes {self.mesh_dim_names}")
        return self.mesh_dim_names.index(name)

    def size(self, name: str | None = None) -> int:
        """How many processes there are along an axis, or at all."""
        return len(self._all) if name is None else self.shape[self.axis(name)]

    def __repr__(self) -> str:
        axes = ", ".join(f"{name}={size}" for name, size in zip(self.mesh_dim_names, self.shape))
        return f"DeviceMesh({self.device_type!r}, {axes})"


def distribute_tensor(tensor: Tensor, device_mesh: DeviceMesh, placements: Sequence[Placement]) -> Tensor:
    """The same value over a mesh, from wherever it is: a placement for each axis of the mesh. Lazy, with gradients."""
    return _doorbell._dist_distribute(tensor, device_mesh.devices(), list(device_mesh.shape), _names(placements))


def distribute_tensor_(tensor: Tensor, device_mesh: DeviceMesh, placements: Sequence[Placement]) -> Tensor:
    """The same in place: for weights, which stay what the optimizer knows."""
    _doorbell._dist_distribute_(tensor, device_mesh.devices(), list(device_mesh.shape), _names(placements))
    return tensor


def placements_of(tensor: Tensor, device_mesh: DeviceMesh) -> list[Placement]:
    """How a tensor lies over each axis of its mesh."""
    names = _doorbell._dist_placements(tensor, device_mesh.devices(), list(device_mesh.shape))
    return [Replicate() if name == "R" else Shard(int(name)) for name in names]


def redistribute(tensor: Tensor, device_mesh: DeviceMesh, placements: Sequence[Placement]) -> Tensor:
    """A tensor of the mesh, otherwise placed."""
    return distribute_tensor(tensor, device_mesh, placements)


def init_device_mesh(device_type: str, mesh_shape: Sequence[int],
                     mesh_dim_names: Sequence[str] | None = None) -> DeviceMesh:
    """A mesh of all processes; without names its axes are "0", "1", ..."""
    return DeviceMesh(device_type.upper(), mesh_shape, mesh_dim_names or [str(i) for i in range(len(mesh_shape))])
