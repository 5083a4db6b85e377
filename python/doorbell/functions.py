"""Functions as PyTorch's and NumPy's users type them: doorbell.zeros(2), doorbell.cat([a, b]), doorbell.where(c, a, b).
They are the methods of Tensor; the first argument is the tensor. Which methods are functions too: see python/surface.
"""
from __future__ import annotations

import typing as _typing

from doorbell._doorbell import DType, Tensor
from doorbell._functions import *  # noqa: F401, F403

# Names that the methods do not have, or that stand for one of an entry's names only.
tensor = Tensor
power, equal, expand_dims = Tensor.pow, Tensor.eq, Tensor.unsqueeze
astype, broadcast_to = Tensor.astype, Tensor.broadcast_to
bitwise_left_shift, bitwise_right_shift = Tensor.bitwise_left_shift, Tensor.bitwise_right_shift


def asarray(data: object, dtype: DType | str | type | None = None, device: str | None = None,
            copy: bool | None = None) -> Tensor:
    """A tensor of numbers, lists or an array; a tensor that has the dtype and device already stays itself unless
    copy=True.

    >>> doorbell.asarray([1, 2]).sum().item()
    3
    """
    if not isinstance(data, Tensor):
        return Tensor(data, dtype=dtype, device=device)
    moved = data if dtype is None else data.cast(dtype)
    moved = moved if device is None else moved.to(device)
    return moved.clone() if copy and moved is data else moved


as_tensor = asarray
array = Tensor


def randint(low: int, high: int | tuple[int, ...] | None = None, size: tuple[int, ...] | None = None,
            **options: _typing.Any) -> Tensor:
    """Integers from low to high - 1, or from 0 to low - 1, as torch.randint has them.

    >>> doorbell.randint(3, 4, (2, 2)).tolist()
    [[3, 3], [3, 3]]
    """
    if isinstance(high, (tuple, list)):
        return randint(0, low, tuple(high), **options)
    first, last = (0, low) if high is None else (low, high)
    return Tensor.randint(() if size is None else size, low=first, high=last, **options)

