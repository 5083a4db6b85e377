"""Processes in rows and columns with names: which of them hold the parts of a tensor."""
from __future__ import annotations

from collections.abc import Sequence

from doorbell import _doorbell


class DeviceMesh:
    """All processes, in order of their ranks, as an array with named axes. Of a mesh {"data": 2, "model": 3},
    devices("model") are those three of this process's row: a tensor sharded over them is a value of that row, and each
    row has its own."""

    def __init__(self, device_type: str, shape: Sequence[int], names: Sequence[str]) -> None:
        count = 1
        for size in shape:
            count *= size
        if count != _doorbell._dist_world_size():
            raise ValueError(f"a mesh of {tuple(shape)} for {_doorbell._dist_world_size()} processes")
        if len(names) != len(shape) or len(set(names)) != len(names):
            raise ValueError(f"names {tuple(names)} for the axes of a mesh of {tuple(shape)}")
        self.shape, self.mesh_dim_names, self.device_type = tuple(shape), tuple(names), device_type

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
        everyone = list(_doorbell._dist_devices(self.device_type))
        if name is None:
            return everyone
        if name not in self.mesh_dim_names:
            raise ValueError(f"axis {name!r} of a mesh with axes {self.mesh_dim_names}")
        axis, own = self.mesh_dim_names.index(name), self.get_coordinate()

        def is_mine(rank: int) -> bool:
            place = self.get_coordinate(rank)
            return place[:axis] + place[axis + 1:] == own[:axis] + own[axis + 1:]

        return [device for rank, device in enumerate(everyone) if is_mine(rank)]

    def size(self, name: str | None = None) -> int:
        """How many processes there are along an axis, or at all."""
        return len(self.devices(name))

    def __repr__(self) -> str:
        axes = ", ".join(f"{name}={size}" for name, size in zip(self.mesh_dim_names, self.shape))
        return f"DeviceMesh({self.device_type!r}, {axes})"


def init_device_mesh(device_type: str, mesh_shape: Sequence[int],
                     mesh_dim_names: Sequence[str] | None = None) -> DeviceMesh:
    """A mesh of all processes; without names its axes are "0", "1", ..."""
    return DeviceMesh(device_type.upper(), mesh_shape, mesh_dim_names or [str(i) for i in range(len(mesh_shape))])
