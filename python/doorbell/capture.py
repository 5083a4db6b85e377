"""jit: functions of tensors that are recorded once and then replayed."""
from __future__ import annotations

import functools
from typing import Any, Callable, overload

from doorbell._doorbell import Jit


@overload
def jit(function: Callable[..., Any]) -> Jit: ...
@overload
def jit(*, check: bool = False, name: str = "", max_graphs: int = 16) -> Callable[[Callable[..., Any]], Jit]: ...


def jit(function: Callable[..., Any] | None = None, *, check: bool = False, name: str = "",
        max_graphs: int = 16) -> Any:
    """A function that is recorded at its second call; later calls replay that, and do not run its Python.

    Tensors, bound sizes, and lists, tuples and dicts of them are its arguments and results. Other shapes, dtypes and
    devices, of a shorter last batch say, are recorded by themselves at their second call, max_graphs of them; one more
    is a ValueError. What else it is given has to stay the same: ValueError. check=True runs it every time and raises
    ValueError where it did something else.

    >>> @jit
    ... def double(x):
    ...     return x * 2
    >>> [double(Tensor([i])).item() for i in range(4)]
    [0, 2, 4, 6]
    >>> double.is_captured
    True
    """
    if function is None:
        return functools.partial(Jit, check=check, name=name, max_graphs=max_graphs)
    return Jit(function, check, name, max_graphs)


TinyJit = jit
