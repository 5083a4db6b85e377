"""Models over several devices or processes: copies that share a batch, and layers that share their weights.

    everywhere = doorbell.distributed.devices()
    model = nn.parallel.DistributedDataParallel(Net(), everywhere)
    loss = loss_of(model(x), y.shard(everywhere, axis=0))

The gradients are those of the whole batch, because the loss is: there is nothing to synchronise.
"""
from __future__ import annotations

from typing import Any

from doorbell._doorbell import Linear, Tensor
from doorbell.nn import state

__all__ = ["ColumnParallelLinear", "DataParallel", "DistributedDataParallel", "RowParallelLinear", "replicate"]


def replicate(model: Any, devices: list[str]) -> Any:
    """A copy of all tensors of a model on each of the devices; gives the model."""
    for tensor in state.get_state_dict(model).values():
        tensor.to_(devices)
    return model


class DataParallel:
    """A model with a copy on each device, whose inputs are shared out along their first axis.

    >>> net = nn.parallel.DataParallel(nn.Linear(2, 3), ["CPU", "CPU:1"])
    >>> net(Tensor.ones(4, 2)).device
    'CPU,CPU:1'
    """

    def __init__(self, module: Any, devices: list[str]) -> None:
        self.module, self.devices = replicate(module, devices), list(devices)

    def _shared(self, value: Any) -> Any:
        if isinstance(value, Tensor) and value.ndim > 0 and list(value.devices) != self.devices:
            return value.shard(self.devices, axis=0)
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
    """A linear layer of which each device computes some outputs: its weight lies in parts along them.

    >>> layer = nn.parallel.ColumnParallelLinear(2, 4, ["CPU", "CPU:1"])
    >>> layer(Tensor.ones(3, 2)).shard_axis
    1
    """

    def __init__(self, in_features: int, out_features: int, devices: list[str], bias: bool = True) -> None:
        layer = Linear(in_features, out_features, bias=bias)
        self.devices = list(devices)
        self.weight, self.bias = layer.weight, layer.bias
        self.weight.shard_(self.devices, 0)
        if self.bias is not None:
            self.bias.shard_(self.devices, 0)

    def __call__(self, x: Tensor) -> Tensor:
        y = x.to(self.devices).matmul(self.weight.T)
        return y if self.bias is None else y + self.bias


class RowParallelLinear:
    """A linear layer of which each device has some inputs: what they give is summed over the devices.

    >>> layer = nn.parallel.RowParallelLinear(4, 2, ["CPU", "CPU:1"])
    >>> layer(Tensor.ones(3, 4)).shape
    (3, 2)
    """

    def __init__(self, in_features: int, out_features: int, devices: list[str], bias: bool = True) -> None:
        layer = Linear(in_features, out_features, bias=bias)
        self.devices = list(devices)
        self.weight, self.bias = layer.weight, layer.bias
        self.weight.shard_(self.devices, 1)
        if self.bias is not None:
            self.bias.to_(self.devices)

    def __call__(self, x: Tensor) -> Tensor:
        y = x.shard(self.devices, axis=-1).matmul(self.weight.T)
        return y if self.bias is None else y + self.bias
