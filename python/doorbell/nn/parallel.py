"""Models over several devices or processes: copies that share a batch, and layers that share their weights.

    everywhere = doorbell.distributed.devices()
    model = nn.parallel.DistributedDataParallel(Net(), everywhere)
    loss = loss_of(model(x), y.shard(everywhere, axis=0))

The gradients are those of the whole batch, because the loss is: there is nothing to synchronise.
"""
from __future__ import annotations

from typing import Any

from doorbell._doorbell import Linear, Tensor
from doorbell.distributed.mesh import (DeviceMesh, Placement, Replicate, Shard, distribute_tensor, distribute_tensor_,
                                       placements_of)
from doorbell.nn import state

__all__ = ["ColumnParallelLinear", "DataParallel", "DistributedDataParallel", "RowParallelLinear", "replicate"]


class _Over:
    """The devices over which a value is shared out: those of a list, or those along an axis of a mesh, where it keeps
    what it is over the other axes."""

    def __init__(self, devices: list[str] | DeviceMesh, mesh_dim: str) -> None:
        self.mesh = devices if isinstance(devices, DeviceMesh) else DeviceMesh(devices, (len(devices),), (mesh_dim,))
        self.at, self.devices = self.mesh.axis(mesh_dim), self.mesh.devices()

    def _others(self, tensor: Tensor) -> list[Placement]:
        if list(tensor.devices) != self.devices:
            return [Replicate() for _ in self.mesh.shape]
        return placements_of(tensor, self.mesh)

    def place(self, tensor: Tensor, placement: Placement) -> Tensor:
        placements = self._others(tensor)
        placements[self.at] = placement
        return distribute_tensor(tensor, self.mesh, placements)

    def split(self, tensor: Tensor, dim: int) -> Tensor:
        return self.place(tensor, Shard(dim % tensor.ndim))

    def copied(self, tensor: Tensor) -> Tensor:
        return self.place(tensor, Replicate())

    def split_(self, tensor: Tensor, dim: int) -> None:
        placements = self._others(tensor)
        placements[self.at] = Shard(dim)
        distribute_tensor_(tensor, self.mesh, placements)


def replicate(model: Any, devices: list[str]) -> Any:
    """A copy of all tensors of a model on each of the devices, but for those that lie on these already; gives the
    model."""
    for tensor in state.get_state_dict(model).values():
        if list(tensor.devices) != list(devices):
            tensor.to_(devices)
    return model


class DataParallel:
    """A model with a copy on each device, whose inputs are shared out along their first axis. Over a mesh the inputs
    are shared out over one of its axes; layers that lie in parts over the others stay so.

    >>> net = nn.parallel.DataParallel(nn.Linear(2, 3), ["CPU", "CPU:1"])
    >>> net(Tensor.ones(4, 2)).device
    'CPU,CPU:1'
    """

    def __init__(self, module: Any, devices: list[str] | DeviceMesh, mesh_dim: str = "data") -> None:
        self.over = _Over(devices, mesh_dim)
        self.module, self.devices = replicate(module, self.over.devices), self.over.devices

    def _shared(self, value: Any) -> Any:
        if isinstance(value, Tensor) and value.ndim > 0 and list(value.devices) != self.devices:
            return self.over.split(value, 0)
        return value

    def __call__(self, *inputs: Any, **named: Any) -> Any:
        return self.module(*map(self._shared, inputs), **{name: self._shared(value) for name, value in named.items()})

    def _named_parts(self) -> list[tuple[str, Any]]:
        return [("module", self.module)]

    def parameters(self) -> list[Tensor]:
        """The module's tensors that are marked requires_grad."""
        return state.get_parameters(self.module)

    def state_dict(self) -> dict[str, Tensor]:
        """The module's tensors by name, with "module." before each as in PyTorch."""
        return state.get_state_dict(self)


DistributedDataParallel = DataParallel


class ColumnParallelLinear:
    """A linear layer of which each device computes some outputs: its weight lies in parts along them. Of a mesh, the
    devices along one of its axes share it, and the others have copies.

    >>> layer = nn.parallel.ColumnParallelLinear(2, 4, ["CPU", "CPU:1"])
    >>> layer(Tensor.ones(3, 2)).shard_axis
    1
    """

    def __init__(self, in_features: int, out_features: int, devices: list[str] | DeviceMesh, bias: bool = True,
                 mesh_dim: str = "model") -> None:
        layer = Linear(in_features, out_features, bias=bias)
        self._over = _Over(devices, mesh_dim)
        self.weight, self.bias = layer.weight, layer.bias
        self._over.split_(self.weight, 0)
        if self.bias is not None:
            self._over.split_(self.bias, 0)

    def __call__(self, x: Tensor) -> Tensor:
        y = self._over.copied(x).matmul(self.weight.T)
        return y if self.bias is None else y + self.bias


class RowParallelLinear:
    """A linear layer of which each device has some inputs: what they give is summed over the devices.

    >>> layer = nn.parallel.RowParallelLinear(4, 2, ["CPU", "CPU:1"])
    >>> layer(Tensor.ones(3, 4)).shape
    (3, 2)
    """

    def __init__(self, in_features: int, out_features: int, devices: list[str] | DeviceMesh, bias: bool = True,
                 mesh_dim: str = "model") -> None:
        layer = Linear(in_features, out_features, bias=bias)
        self._over = _Over(devices, mesh_dim)
        self.weight, self.bias = layer.weight, layer.bias
        self._over.split_(self.weight, 1)
        if self.bias is not None:
            self.bias.to_(self._over.devices)

    def __call__(self, x: Tensor) -> Tensor:
        y = self._over.split(x, -1).matmul(self.weight.T)
        return y if self.bias is None else y + self.bias
