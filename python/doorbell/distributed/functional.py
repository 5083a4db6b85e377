"""Collectives that give new tensors: lazy as all operations are, captured by jit, and passed by gradients."""
from __future__ import annotations

from doorbell import _doorbell
from doorbell._doorbell import Tensor

__all__ = ["all_gather", "all_reduce", "all_to_all", "broadcast", "reduce_scatter"]


def all_reduce(tensor: Tensor, op: str = "sum") -> Tensor:
    """All processes' tensors combined."""
    return _doorbell._dist_all_reduce(tensor, op)


def all_gather(tensor: Tensor) -> Tensor:
    """All processes' tensors, along a new first axis."""
    return _doorbell._dist_all_gather(tensor)


def reduce_scatter(tensor: Tensor, op: str = "sum") -> Tensor:
    """This process's part of the first axis of all combined."""
    return _doorbell._dist_reduce_scatter(tensor, op)


def all_to_all(tensor: Tensor) -> Tensor:
    """Row i goes to process i; what comes from process i is row i."""
    return _doorbell._dist_all_to_all(tensor)


def broadcast(tensor: Tensor, src: int = 0) -> Tensor:
    """Process src's tensor."""
    return _doorbell._dist_broadcast(tensor, src)
