"""Weights in parts that are gathered where they are needed (ZeRO 3), with the name of torch.distributed.fsdp:

    for layer in model.layers:
        fully_shard(layer)
    fully_shard(model)                                  # the weights that no layer has

Each process keeps its part of every weight, of its gradient and of the optimizer's state. A module gathers its weights
when it is called and computes its results at once, after which the whole weights are gone; going backward gathers them
again, computes again what is between a module's inputs and results, and leaves each process its part of the gradients.
"""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeVar

from doorbell import _doorbell
from doorbell._doorbell import Tensor

__all__ = ["fully_shard"]

Module = TypeVar("Module")


def _tensors_in(value: Any) -> list[Tensor]:
    """Of a module's results: in lists, tuples and dicts."""
    if isinstance(value, Tensor):
        return [value]
    if isinstance(value, (list, tuple)):
        return [tensor for item in value for tensor in _tensors_in(item)]
    if isinstance(value, dict):
        return [tensor for item in value.values() for tensor in _tensors_in(item)]
    return []


def _set(owner: Any, name: Any, value: Tensor) -> None:
    if isinstance(owner, (dict, list)):
        owner[name] = value
    else:
        setattr(owner, name, value)


def _slots(owner: Any) -> Iterator[tuple[Any, Any, Tensor]]:
    """Where a module has weights, but for those of parts that gather their own: (owner, name, tensor)."""
    if isinstance(owner, dict):
        items = list(owner.items())
    elif isinstance(owner, (list, tuple)):
        items = list(enumerate(owner))
    else:
        layer = list(owner._tensors()) if hasattr(owner, "_tensors") else []
        items = layer + list(getattr(owner, "__dict__", {}).items())
    for name, value in items:
        if isinstance(value, Tensor):
            if value.requires_grad:
                yield owner, name, value
        elif isinstance(value, type) or isinstance(value, _FullySharded):
            continue
        elif isinstance(value, (dict, list, tuple)) or hasattr(value, "__dict__") or hasattr(value, "_tensors"):
            yield from _slots(value)


class _FullySharded:
    """Comes before a module's own class."""

    def __call__(self, *args: Any, **named: Any) -> Any:
        slots = list(_slots(self))
        try:
            for owner, name, part in slots:
                _set(owner, name, part.to(list(part.devices)))
            result = super().__call__(*args, **named)  # type: ignore[misc]
        finally:
            for owner, name, part in slots:
                _set(owner, name, part)
        Tensor.realize(*_tensors_in(result))
        return result


def _shared_axis(tensor: Tensor, count: int) -> int | None:
    """The first axis that so many devices can share evenly."""
    return next((axis for axis, size in enumerate(tensor.shape) if size % count == 0), None)


def fully_shard(module: Module, devices: list[str] | None = None) -> Module:
    """Divides a module's weights among the devices, one of each process for None, along the first axis that they can
    share evenly; weights without one are copied to all. The module is changed in place, and gathers its weights when
    it is called. It must be of a class of Python's; layers are parts of one."""
    on = list(devices or _doorbell._dist_devices(""))
    if isinstance(module, _FullySharded):
        raise ValueError("the module is fully sharded already")
    kind = type(module)
    try:
        module.__class__ = type(f"FullySharded{kind.__name__}", (_FullySharded, kind), {})
    except TypeError as error:
        raise TypeError(f"a {kind.__name__} cannot gather its own weights: it must be a part of a class of Python's, "
                        "whose objects are fully sharded") from error
    for _, _, tensor in _slots(module):
        if len(on) > 1:
            tensor.shard_(on, _shared_axis(tensor, len(on)))
            tensor.realize()
    return module
