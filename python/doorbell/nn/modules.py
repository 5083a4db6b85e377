"""Layers without weights, and layers one after the other, with PyTorch's names and arguments.

Each is a plain object that calls the tensor's method of that name: it prints, compares, copies and pickles as its
arguments. `inplace` is taken and means nothing: a tensor's operations give new ones.

>>> net = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))
>>> net(Tensor.ones(4, 2)).shape
(4, 1)
>>> list(net.state_dict())
['0.weight', '0.bias', '2.weight', '2.bias']
"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from doorbell._doorbell import Tensor
from doorbell.nn import state

Layer = Callable[..., Any]
Sizes = int | Sequence[int]


class Sequential:
    """Layers and functions, one after the other; of a dict with names of their own.

    >>> nn.Sequential(nn.Linear(2, 2), nn.ReLU())
    Sequential(
      (0): Linear(in_features=2, out_features=2, bias=True)
      (1): ReLU()
    )
    """

    def __init__(self, *layers: Layer | dict[str, Layer]) -> None:
        if len(layers) == 1 and isinstance(layers[0], dict):
            self.layers: dict[str, Layer] = dict(layers[0])
            return
        self.layers = {}
        for layer in layers:
            self.append(layer)  # type: ignore[arg-type]

    def append(self, layer: Layer) -> Sequential:
        """Adds one behind the others; gives itself."""
        if not callable(layer):
            raise TypeError(f"{layer!r} of Sequential is no layer and no function")
        self.layers[str(len(self.layers))] = layer
        return self

    def __call__(self, x: Any) -> Any:
        for layer in self.layers.values():
            x = layer(x)
        return x

    def __len__(self) -> int:
        return len(self.layers)

    def __iter__(self) -> Iterator[Layer]:
        return iter(self.layers.values())

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return Sequential(dict(list(self.layers.items())[index]))
        return list(self.layers.values())[index]

    def __repr__(self) -> str:
        lines = [f"({name}): {layer!r}".replace("\n", "\n  ") for name, layer in self.layers.items()]
        return "Sequential(" + "".join(f"\n  {line}" for line in lines) + ("\n)" if lines else ")")

    def _named_parts(self) -> list[tuple[str, Any]]:
        return list(self.layers.items())

    def state_dict(self) -> dict[str, Tensor]:
        """Its tensors by name, as nn.state.get_state_dict gives them."""
        return state.get_state_dict(self)

    def load_state_dict(self, state_dict: dict[str, Any], strict: bool = True) -> state.LoadResult:
        """As nn.state.load_state_dict: gives its tensors these values."""
        return state.load_state_dict(self, state_dict, strict)

    def parameters(self) -> list[Tensor]:
        """Its tensors that are marked requires_grad: what an optimizer changes."""
        return state.get_parameters(self)


@dataclass(repr=False)
class Plain:
    """Base of layers without weights: prints arguments that differ from the defaults."""

    def __call__(self, x: Tensor) -> Tensor:
        raise NotImplementedError

    def __repr__(self) -> str:
        fields = self.__dataclass_fields__.values()
        given = [f"{field.name}={getattr(self, field.name)!r}" for field in fields
                 if getattr(self, field.name) is not field.default and getattr(self, field.name) != field.default]
        return f"{type(self).__name__}({', '.join(given)})"


@dataclass(repr=False)
class Identity(Plain):
    """The tensor itself."""

    def __call__(self, x: Tensor) -> Tensor:
        return x


@dataclass(repr=False)
class ReLU(Plain):
    """Tensor.relu."""

    inplace: bool = False

    def __call__(self, x: Tensor) -> Tensor:
        return x.relu()


@dataclass(repr=False)
class ReLU6(Plain):
    """Tensor.relu6."""

    inplace: bool = False

    def __call__(self, x: Tensor) -> Tensor:
        return x.relu6()


@dataclass(repr=False)
class GELU(Plain):
    """Tensor.gelu: exact, or approximate="tanh"."""

    approximate: str = "none"

    def __call__(self, x: Tensor) -> Tensor:
        return x.gelu(approximate=self.approximate)


@dataclass(repr=False)
class SiLU(Plain):
    """Tensor.silu."""

    inplace: bool = False

    def __call__(self, x: Tensor) -> Tensor:
        return x.silu()


@dataclass(repr=False)
class Mish(Plain):
    """Tensor.mish."""

    inplace: bool = False

    def __call__(self, x: Tensor) -> Tensor:
        return x.mish()


@dataclass(repr=False)
class Tanh(Plain):
    """Tensor.tanh."""

    def __call__(self, x: Tensor) -> Tensor:
        return x.tanh()


@dataclass(repr=False)
class Sigmoid(Plain):
    """Tensor.sigmoid."""

    def __call__(self, x: Tensor) -> Tensor:
        return x.sigmoid()


@dataclass(repr=False)
class LogSigmoid(Plain):
    """Tensor.logsigmoid."""

    def __call__(self, x: Tensor) -> Tensor:
        return x.logsigmoid()


@dataclass(repr=False)
class Hardsigmoid(Plain):
    """Tensor.hardsigmoid."""

    inplace: bool = False

    def __call__(self, x: Tensor) -> Tensor:
        return x.hardsigmoid()


@dataclass(repr=False)
class Hardswish(Plain):
    """Tensor.hardswish."""

    inplace: bool = False

    def __call__(self, x: Tensor) -> Tensor:
        return x.hardswish()


@dataclass(repr=False)
class SELU(Plain):
    """Tensor.selu."""

    inplace: bool = False

    def __call__(self, x: Tensor) -> Tensor:
        return x.selu()


@dataclass(repr=False)
class Softsign(Plain):
    """Tensor.softsign."""

    def __call__(self, x: Tensor) -> Tensor:
        return x.softsign()


@dataclass(repr=False)
class LeakyReLU(Plain):
    """Tensor.leaky_relu."""

    negative_slope: float = 0.01
    inplace: bool = False

    def __call__(self, x: Tensor) -> Tensor:
        return x.leaky_relu(self.negative_slope)


@dataclass(repr=False)
class ELU(Plain):
    """Tensor.elu."""

    alpha: float = 1.0
    inplace: bool = False

    def __call__(self, x: Tensor) -> Tensor:
        return x.elu(self.alpha)


@dataclass(repr=False)
class CELU(Plain):
    """Tensor.celu."""

    alpha: float = 1.0
    inplace: bool = False

    def __call__(self, x: Tensor) -> Tensor:
        return x.celu(self.alpha)


@dataclass(repr=False)
class Softplus(Plain):
    """Tensor.softplus."""

    beta: float = 1.0

    def __call__(self, x: Tensor) -> Tensor:
        return x.softplus(self.beta)


@dataclass(repr=False)
class Hardtanh(Plain):
    """Tensor.hardtanh."""

    min_val: float = -1.0
    max_val: float = 1.0
    inplace: bool = False

    def __call__(self, x: Tensor) -> Tensor:
        return x.hardtanh(self.min_val, self.max_val)


@dataclass(repr=False)
class Softmax(Plain):
    """Tensor.softmax along an axis, the last one unless it is named."""

    dim: int = -1

    def __call__(self, x: Tensor) -> Tensor:
        return x.softmax(self.dim)


@dataclass(repr=False)
class LogSoftmax(Plain):
    """Tensor.log_softmax along an axis, the last one unless it is named."""

    dim: int = -1

    def __call__(self, x: Tensor) -> Tensor:
        return x.log_softmax(self.dim)


@dataclass(repr=False)
class Flatten(Plain):
    """The axes from start_dim to end_dim as one: all but the batch.

    >>> nn.Flatten()(Tensor.ones(2, 3, 4)).shape
    (2, 12)
    """

    start_dim: int = 1
    end_dim: int = -1

    def __call__(self, x: Tensor) -> Tensor:
        return x.flatten(self.start_dim, self.end_dim)


@dataclass(repr=False)
class Unflatten(Plain):
    """One axis as several.

    >>> nn.Unflatten(1, (3, 4))(Tensor.ones(2, 12)).shape
    (2, 3, 4)
    """

    dim: int
    unflattened_size: tuple[int, ...]

    def __call__(self, x: Tensor) -> Tensor:
        return x.unflatten(self.dim, self.unflattened_size)


def _sizes(value: Sizes, axes: int) -> tuple[int, ...]:
    """One number means all axes."""
    return (value,) * axes if isinstance(value, int) else tuple(value)


@dataclass(repr=False)
class MaxPool2d(Plain):
    """Tensor.max_pool2d over the last two axes.

    >>> nn.MaxPool2d(2)(Tensor.ones(1, 1, 4, 4)).shape
    (1, 1, 2, 2)
    """

    kernel_size: Sizes
    stride: Sizes | None = None
    padding: Sizes = 0
    dilation: Sizes = 1
    return_indices: bool = False
    ceil_mode: bool = False
    _axes = 2

    def __call__(self, x: Tensor) -> Any:
        return x.max_pool2d(_sizes(self.kernel_size, self._axes), stride=self.stride, padding=self.padding,
                            dilation=self.dilation, ceil_mode=self.ceil_mode, return_indices=self.return_indices)


class MaxPool1d(MaxPool2d):
    """Tensor.max_pool2d over the last axis."""

    _axes = 1


class MaxPool3d(MaxPool2d):
    """Tensor.max_pool2d over the last three axes."""

    _axes = 3


@dataclass(repr=False)
class AvgPool2d(Plain):
    """Tensor.avg_pool2d over the last two axes.

    >>> nn.AvgPool2d(2)(Tensor.ones(1, 1, 4, 4)).shape
    (1, 1, 2, 2)
    """

    kernel_size: Sizes
    stride: Sizes | None = None
    padding: Sizes = 0
    ceil_mode: bool = False
    count_include_pad: bool = True
    divisor_override: int | None = None
    _axes = 2

    def __call__(self, x: Tensor) -> Tensor:
        return x.avg_pool2d(_sizes(self.kernel_size, self._axes), stride=self.stride, padding=self.padding,
                            ceil_mode=self.ceil_mode, count_include_pad=self.count_include_pad,
                            divisor_override=self.divisor_override)


class AvgPool1d(AvgPool2d):
    """Tensor.avg_pool2d over the last axis."""

    _axes = 1


class AvgPool3d(AvgPool2d):
    """Tensor.avg_pool2d over the last three axes."""

    _axes = 3


@dataclass(repr=False)
class AdaptiveAvgPool2d(Plain):
    """Means of the last two axes, of windows that give this size.

    >>> nn.AdaptiveAvgPool2d(1)(Tensor.ones(2, 3, 5, 7)).shape
    (2, 3, 1, 1)
    """

    output_size: Sizes

    def __call__(self, x: Tensor) -> Tensor:
        return x.interpolate(_sizes(self.output_size, 2), mode="area")
