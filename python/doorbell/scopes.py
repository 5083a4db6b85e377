"""Scopes for `with`, and as decorators: training, and nothing to remember for backward()."""
from __future__ import annotations

import contextlib
from doorbell._doorbell import Context


class _Scope(contextlib.ContextDecorator):
    def __init__(self, **settings: int):
        self._settings = settings
        self._entered: list[Context] = []

    def __enter__(self) -> _Scope:
        self._entered.append(Context(**self._settings).__enter__())
        return self

    def __exit__(self, *exception: object) -> None:
        self._entered.pop().__exit__(*exception)


def no_grad() -> _Scope:
    """Within it nothing that is computed remembers how, for backward().

    >>> w = Tensor([1.0], requires_grad=True)
    >>> with doorbell.no_grad():
    ...     (w * 2).requires_grad
    False
    """
    return _Scope(NO_GRAD=1)


def train(on: bool = True) -> _Scope:
    """Within it dropout drops, and batch norm learns its statistics.

    >>> with doorbell.train():
    ...     doorbell.is_training()
    True
    """
    return _Scope(TRAINING=int(on))
