"""Optimizers whose state is shared out: each process keeps and updates a part."""
from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from doorbell import _doorbell
from doorbell._doorbell import Tensor

__all__ = ["ZeroRedundancyOptimizer"]


class ZeroRedundancyOptimizer:
    """Any optimizer of nn.optim over parameters that every process has a copy of. It updates parts of them along the
    first axis: a process sums and keeps the gradients and the state of its part only, and the new parts are gathered.
    Parameters whose first axis cannot be shared evenly are updated by everyone.

        optimizer = ZeroRedundancyOptimizer(model.parameters(), nn.optim.Adam, lr=1e-3)
    """

    def __init__(self, params: Iterable[Tensor], optimizer_class: Any, **defaults: Any) -> None:
        self.params = list(params)
        self.parts: list[Tensor] = []
        self.on: list[list[str] | None] = []
        for param in self.params:
            on = list(param.devices)
            if len(on) > 1 and param.shard_axis is None and param.ndim > 0 and param.shape[0] % len(on) == 0:
                part = param.detach().shard(on, axis=0).contiguous().realize()
                part.requires_grad = True
                self.parts.append(part)
                self.on.append(on)
            else:
                self.parts.append(param)
                self.on.append(None)
        self.optim = optimizer_class(self.parts, **defaults)

    def gather_from_parameters(self) -> None:
        """Takes the parts from the parameters anew, which were given other values: by a checkpoint, say."""
        for param, part, on in zip(self.params, self.parts, self.on):
            if on is not None:
                with _doorbell.Context(NO_GRAD=1):
                    part.assign(param.detach().shard(on, axis=0)).realize()

    def zero_grad(self) -> None:
        """Forgets the gradients."""
        for param in self.params + self.parts:
            param.zero_grad()

    def step(self) -> None:
        """Updates this process's parts, and gathers all parameters."""
        for param, part, on in zip(self.params, self.parts, self.on):
            if on is not None and param.grad is not None:
                part.grad = param.grad.shard(on, axis=0)
        self.optim.step()
        for param, part, on in zip(self.params, self.parts, self.on):
            if on is not None:
                with _doorbell.Context(NO_GRAD=1):
                    param.assign(part.detach().shard(on))
        Tensor.realize(*self.params)
