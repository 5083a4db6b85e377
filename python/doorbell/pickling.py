"""Functions that pickles refer to, in Python, because compiled functions cannot be pickled."""
from __future__ import annotations

import importlib
from typing import Any

from doorbell._doorbell import Jit, Tensor, _shared_tensor, _skip_initial_values


def tensor(cls: type[Tensor], shared: Any) -> Tensor:
    """A handle of a tensor that other handles in the same pickle share."""
    return _shared_tensor(cls, shared)


def layer(cls: Any, arguments: dict[str, Any], tensors: dict[str, Tensor]) -> Any:
    """A layer that was made with these arguments, with its tensors. Draws no random numbers."""
    base = next(each for each in cls.__mro__ if each.__module__ == Tensor.__module__)
    made = cls.__new__(cls)
    _skip_initial_values(lambda: base.__init__(made, **arguments))
    made._set_tensors(tensors)
    return made


def named(module: str, name: str) -> Any:
    """The object of a module with a dotted name."""
    found: Any = importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    return found


def reduce_jit(function: Jit, check: bool, name: str, max_graphs: int) -> tuple[Any, ...]:
    """A jitted function as its function, which is captured anew; by its name where a module has it."""
    inner = function.function
    try:
        where = inner.__module__, inner.__qualname__
        if named(*where) is function:
            return named, where
    except (AttributeError, ImportError):
        pass
    return Jit, (inner, check, name, max_graphs)
