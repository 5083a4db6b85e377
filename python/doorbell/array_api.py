"""The namespace of data-apis' array API standard (2024.12), over Tensor: without complex numbers and the extensions.

>>> from doorbell import array_api as xp
>>> xp.sum(xp.asarray([[1, 2], [3, 4]]), axis=1)
tensor([3, 7])
"""
from __future__ import annotations

import builtins
import itertools
import math
from typing import Any, NamedTuple

from doorbell._doorbell import DType, Tensor, finfo, iinfo  # noqa: F401
from doorbell.array_types import VERSION as __array_api_version__, Info, can_cast, isdtype, result_type  # noqa: F401
from doorbell.dtypes import (bool, float32, float64, int8, int16, int32, int64, uint8, uint16, uint32,  # noqa: F401
                             uint64)

e, inf, nan, pi, newaxis = math.e, math.inf, math.nan, math.pi, None


def __array_namespace_info__() -> Info:
    return Info()


# ---- making arrays

def asarray(obj: Any, /, *, dtype: Any = None, device: Any = None, copy: builtins.bool | None = None) -> Tensor:
    if not isinstance(obj, Tensor):
        if copy is False and not hasattr(obj, "__dlpack__"):
            raise ValueError("copy=False of what is no array")
        if copy is False:
            return asarray(Tensor.from_dlpack(obj), dtype=dtype, device=device, copy=False)
        return Tensor(obj, dtype=dtype, device=device)
    changes = (dtype is not None and obj.dtype != DType(dtype)) or (device is not None and obj.device != device)
    if changes and copy is False:
        raise ValueError(f"copy=False of a tensor of {obj.dtype} on {obj.device}, asked for {dtype} on {device}")
    moved = obj.cast(dtype or obj.dtype).to(device or obj.device)
    return moved.clone() if copy and not changes else moved


def from_dlpack(x: Any, /, *, device: Any = None, copy: builtins.bool | None = None) -> Tensor:
    made = Tensor.from_dlpack(x)
    return made.clone() if copy else made if device is None else made.to(device)


def arange(start: float, /, stop: float | None = None, step: float = 1, *, dtype: Any = None,
           device: Any = None) -> Tensor:
    first, last = (0, start) if stop is None else (start, stop)
    if (last - first) / step <= 0:
        whole = builtins.all(isinstance(part, int) for part in (first, last, step))
        return Tensor.zeros(0, dtype=dtype or (int32 if whole else float32), device=device)
    return Tensor.arange(first, last, step, dtype=dtype, device=device)


def linspace(start: float, stop: float, /, num: int, *, dtype: Any = None, device: Any = None,
             endpoint: builtins.bool = True) -> Tensor:
    if endpoint or num == 0:
        return Tensor.linspace(start, stop, num, dtype=dtype, device=device)
    return Tensor.linspace(start, stop, num + 1, dtype=dtype, device=device)[:-1]


def eye(n_rows: int, n_cols: int | None = None, /, *, k: int = 0, dtype: Any = None, device: Any = None) -> Tensor:
    width = n_rows if n_cols is None else n_cols
    diagonal = builtins.max(-n_rows, builtins.min(k, width))  # beyond is as empty, and may not fit an integer
    rows = Tensor.arange(n_rows, device=device).reshape(n_rows, 1)
    return (rows + diagonal == Tensor.arange(width, device=device)).cast(dtype or float32)


def full(shape: Any, fill_value: Any, *, dtype: Any = None, device: Any = None) -> Tensor:
    return Tensor.full(shape, fill_value, dtype=dtype, device=device)


def zeros(shape: Any, *, dtype: Any = None, device: Any = None) -> Tensor:
    return Tensor.zeros(shape, dtype=dtype, device=device)


def ones(shape: Any, *, dtype: Any = None, device: Any = None) -> Tensor:
    return Tensor.ones(shape, dtype=dtype, device=device)


def empty(shape: Any, *, dtype: Any = None, device: Any = None) -> Tensor:
    return Tensor.empty(shape, dtype=dtype, device=device)


def full_like(x: Tensor, /, fill_value: Any, *, dtype: Any = None, device: Any = None) -> Tensor:
    return x.full_like(fill_value, dtype=dtype, device=device)


def zeros_like(x: Tensor, /, *, dtype: Any = None, device: Any = None) -> Tensor:
    return x.zeros_like(dtype=dtype, device=device)


def ones_like(x: Tensor, /, *, dtype: Any = None, device: Any = None) -> Tensor:
    return x.ones_like(dtype=dtype, device=device)


def empty_like(x: Tensor, /, *, dtype: Any = None, device: Any = None) -> Tensor:
    return x.empty_like(dtype=dtype, device=device)


def tril(x: Tensor, /, *, k: int = 0) -> Tensor:
    return x.tril(k)


def triu(x: Tensor, /, *, k: int = 0) -> Tensor:
    return x.triu(k)


def meshgrid(*arrays: Tensor, indexing: str = "xy") -> list[Tensor]:
    return list(arrays[0].meshgrid(*arrays[1:], indexing=indexing)) if arrays else []


# ---- dtypes

def astype(x: Tensor, dtype: Any, /, *, copy: builtins.bool = True, device: Any = None) -> Tensor:
    return asarray(x, dtype=dtype, device=device, copy=copy or None)


def broadcast_shapes(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    result = []
    for sizes in itertools.zip_longest(*(shape[::-1] for shape in shapes), fillvalue=1):
        apart = {size for size in sizes if size != 1}
        if len(apart) > 1:
            raise ValueError(f"shapes {shapes} do not broadcast")
        result.append(apart.pop() if apart else 1)
    return tuple(result[::-1])


def broadcast_arrays(*arrays: Tensor) -> list[Tensor]:
    shape = broadcast_shapes(*(array.shape for array in arrays))
    return [array.expand(shape) for array in arrays]


def broadcast_to(x: Tensor, /, shape: tuple[int, ...]) -> Tensor:
    return x.expand(shape)


# ---- elementwise: by place only, as the standard has them

abs, acos, acosh, asin, asinh, atan, atanh = (Tensor.abs, Tensor.acos, Tensor.acosh, Tensor.asin, Tensor.asinh,
                                              Tensor.atan, Tensor.atanh)
ceil, cos, cosh, exp, expm1, floor = Tensor.ceil, Tensor.cos, Tensor.cosh, Tensor.exp, Tensor.expm1, Tensor.floor
bitwise_invert, logical_not = Tensor.bitwise_not, Tensor.logical_not
isfinite, isinf, isnan = Tensor.isfinite, Tensor.isinf, Tensor.isnan
log, log1p, log2, log10 = Tensor.log, Tensor.log1p, Tensor.log2, Tensor.log10
negative, reciprocal, round, sign, sin, sinh = (Tensor.neg, Tensor.reciprocal, Tensor.round, Tensor.sign, Tensor.sin,
                                                Tensor.sinh)
sqrt, square, tan, tanh, trunc = Tensor.sqrt, Tensor.square, Tensor.tan, Tensor.tanh, Tensor.trunc


def positive(x: Tensor, /) -> Tensor:
    return x


def conj(x: Tensor, /) -> Tensor:
    return x  # no complex numbers


def real(x: Tensor, /) -> Tensor:
    return x


def signbit(x: Tensor, /) -> Tensor:
    if not x.is_floating_point():
        return x < 0
    return x.bitcast({2: int16, 4: int32, 8: int64}[x.itemsize]) < 0


def _binary(name: str) -> Any:
    method = getattr(Tensor, name)

    def function(x1: Any, x2: Any, /) -> Tensor:
        if not isinstance(x1, Tensor):
            if not isinstance(x2, Tensor):
                raise TypeError(f"{name} of {x1!r} and {x2!r}, expected a tensor among them")
            x1 = x2.full_like(x1, dtype=result_type(x2, x1))
        return method(x1, x2)  # type: ignore[no-any-return]

    function.__name__ = function.__qualname__ = name
    function.__doc__ = method.__doc__
    return function


add, subtract, multiply, divide = _binary("add"), _binary("sub"), _binary("mul"), _binary("div")
floor_divide, remainder, pow = _binary("floor_divide"), _binary("mod"), _binary("pow")
atan2, hypot, copysign, nextafter = _binary("atan2"), _binary("hypot"), _binary("copysign"), _binary("nextafter")
logaddexp, maximum, minimum = _binary("logaddexp"), _binary("maximum"), _binary("minimum")
bitwise_and, bitwise_or, bitwise_xor = _binary("bitwise_and"), _binary("bitwise_or"), _binary("bitwise_xor")
bitwise_left_shift, bitwise_right_shift = _binary("lshift"), _binary("rshift")
logical_and, logical_or, logical_xor = _binary("logical_and"), _binary("logical_or"), _binary("logical_xor")
equal, not_equal, less, less_equal = _binary("eq"), _binary("ne"), _binary("lt"), _binary("le")
greater, greater_equal = _binary("gt"), _binary("ge")


def clip(x: Tensor, /, min: Any = None, max: Any = None) -> Tensor:
    if min is not None:
        x = x.maximum(min.cast(x.dtype) if isinstance(min, Tensor) else min)
    if max is not None:
        x = x.minimum(max.cast(x.dtype) if isinstance(max, Tensor) else max)
    return x


def where(condition: Tensor, x1: Any, x2: Any, /) -> Tensor:
    return condition.where(x1, x2)


# ---- shapes

def concat(arrays: Any, /, *, axis: int | None = 0) -> Tensor:
    parts = [array.flatten() for array in arrays] if axis is None else list(arrays)
    return Tensor.cat(*parts, axis=axis or 0)


def stack(arrays: Any, /, *, axis: int = 0) -> Tensor:
    return Tensor.stack(*arrays, axis=axis)


def unstack(x: Tensor, /, *, axis: int = 0) -> tuple[Tensor, ...]:
    return x.unbind(axis)


def expand_dims(x: Tensor, /, axis: int = 0) -> Tensor:
    return x.unsqueeze(axis)


def squeeze(x: Tensor, /, axis: Any) -> Tensor:
    axes = (axis,) if isinstance(axis, int) else axis
    if builtins.any(x.shape[one] != 1 for one in axes):
        raise ValueError(f"squeeze of axis {axis} of shape {x.shape}")
    return x.squeeze(axis)


def flip(x: Tensor, /, *, axis: Any = None) -> Tensor:
    return x.flip(tuple(range(x.ndim)) if axis is None else axis) if x.ndim else x


def permute_dims(x: Tensor, /, axes: tuple[int, ...]) -> Tensor:
    return x.permute(axes)


def moveaxis(x: Tensor, source: Any, destination: Any, /) -> Tensor:
    return x.movedim(source, destination)


def reshape(x: Tensor, /, shape: tuple[int, ...], *, copy: builtins.bool | None = None) -> Tensor:
    if copy is False and not x.is_contiguous():
        raise ValueError(f"copy=False of a reshape of {x.shape} to {shape}: the elements are not in row-major order")
    return x.clone().reshape(shape) if copy else x.reshape(shape)


def roll(x: Tensor, /, shift: Any, *, axis: Any = None) -> Tensor:
    if axis is None:
        return x.flatten().roll(shift).reshape(x.shape)
    axes = (axis,) if isinstance(axis, int) else axis
    shifts = (shift,) * len(axes) if isinstance(shift, int) else shift
    for by, along in zip(shifts, axes):
        x = x.roll(by, along)
    return x


def repeat(x: Tensor, repeats: Any, /, *, axis: int | None = None) -> Tensor:
    counts = repeats if isinstance(repeats, int) else repeats.tolist()
    if isinstance(counts, list) and len(counts) == 1:
        counts = counts[0]
    return x.repeat_interleave(counts, axis)


def tile(x: Tensor, repetitions: tuple[int, ...], /) -> Tensor:
    x = x.reshape((1,) * (len(repetitions) - x.ndim) + x.shape)
    return x.repeat((1,) * (x.ndim - len(repetitions)) + tuple(repetitions)) if x.ndim else x


def matrix_transpose(x: Tensor, /) -> Tensor:
    return x.mT


# ---- picking and order

def take(x: Tensor, indices: Tensor, /, *, axis: int | None = None) -> Tensor:
    if axis is None and x.ndim != 1:
        raise ValueError(f"take of shape {x.shape} without an axis")
    return x[(slice(None),) * ((axis or 0) % x.ndim) + (indices,)]


def take_along_axis(x: Tensor, indices: Tensor, /, *, axis: int = -1) -> Tensor:
    at = axis % x.ndim
    shape = broadcast_shapes(*(array.shape[:at] + (1,) + array.shape[at + 1:] for array in (x, indices)))
    whole = tuple(shape[:at] + (array.shape[at],) + shape[at + 1:] for array in (x, indices))
    places = (indices < 0).where(indices + x.shape[at], indices)
    return x.expand(whole[0]).gather(at, places.expand(whole[1]))


def argmax(x: Tensor, /, *, axis: int | None = None, keepdims: builtins.bool = False) -> Tensor:
    return x.argmax(axis, keepdims)


def argmin(x: Tensor, /, *, axis: int | None = None, keepdims: builtins.bool = False) -> Tensor:
    return x.argmin(axis, keepdims)


def count_nonzero(x: Tensor, /, *, axis: Any = None, keepdims: builtins.bool = False) -> Tensor:
    return (x != 0).sum(axis, keepdims, dtype=int32)


def nonzero(x: Tensor, /) -> tuple[Tensor, ...]:
    if x.ndim == 0:
        raise ValueError("nonzero of a scalar")
    places = x.nonzero(as_tuple=True)
    return places if isinstance(places, tuple) else (places,)


def searchsorted(x1: Tensor, x2: Any, /, *, side: str = "left", sorter: Tensor | None = None) -> Tensor:
    return (x1 if sorter is None else x1[sorter]).searchsorted(x2, side=side)


def sort(x: Tensor, /, *, axis: int = -1, descending: builtins.bool = False, stable: builtins.bool = True) -> Tensor:
    return x.sort(axis, descending).values


def argsort(x: Tensor, /, *, axis: int = -1, descending: builtins.bool = False,
            stable: builtins.bool = True) -> Tensor:
    return x.argsort(axis, descending)


class UniqueAll(NamedTuple):
    values: Tensor
    indices: Tensor
    inverse_indices: Tensor
    counts: Tensor


class UniqueCounts(NamedTuple):
    values: Tensor
    counts: Tensor


class UniqueInverse(NamedTuple):
    values: Tensor
    inverse_indices: Tensor


def unique_all(x: Tensor, /) -> UniqueAll:
    values, inverse, counts = x.unique(return_inverse=True, return_counts=True)
    if x.numel() == 0:
        return UniqueAll(values, counts, inverse, counts)
    return UniqueAll(values, x.flatten().argsort()[counts.cumsum() - counts], inverse, counts)


def unique_counts(x: Tensor, /) -> UniqueCounts:
    return UniqueCounts(*x.unique(return_counts=True))


def unique_inverse(x: Tensor, /) -> UniqueInverse:
    return UniqueInverse(*x.unique(return_inverse=True))


def unique_values(x: Tensor, /) -> Tensor:
    values = x.unique()
    return values if isinstance(values, Tensor) else values[0]


# ---- along axes

def sum(x: Tensor, /, *, axis: Any = None, dtype: Any = None, keepdims: builtins.bool = False) -> Tensor:
    return x.sum(axis, keepdims, dtype)


def prod(x: Tensor, /, *, axis: Any = None, dtype: Any = None, keepdims: builtins.bool = False) -> Tensor:
    return x.prod(axis, keepdims, dtype)


def max(x: Tensor, /, *, axis: Any = None, keepdims: builtins.bool = False) -> Tensor:
    return x.max(axis, keepdims)


def min(x: Tensor, /, *, axis: Any = None, keepdims: builtins.bool = False) -> Tensor:
    return x.min(axis, keepdims)


def mean(x: Tensor, /, *, axis: Any = None, keepdims: builtins.bool = False) -> Tensor:
    return x.mean(axis, keepdims)


def std(x: Tensor, /, *, axis: Any = None, correction: float = 0.0, keepdims: builtins.bool = False) -> Tensor:
    return x.std(axis, keepdims, correction)


def var(x: Tensor, /, *, axis: Any = None, correction: float = 0.0, keepdims: builtins.bool = False) -> Tensor:
    return x.var(axis, keepdims, correction)


def all(x: Tensor, /, *, axis: Any = None, keepdims: builtins.bool = False) -> Tensor:
    return x.all(axis, keepdims)


def any(x: Tensor, /, *, axis: Any = None, keepdims: builtins.bool = False) -> Tensor:
    return x.any(axis, keepdims)


def _running(x: Tensor, first: int, scan: Any, axis: int | None, dtype: Any, include_initial: builtins.bool) -> Tensor:
    if axis is None and x.ndim != 1:
        raise ValueError(f"a running result of shape {x.shape} without an axis")
    at = (axis or 0) % x.ndim
    result: Tensor = scan(x, at, dtype)
    if not include_initial:
        return result
    start = Tensor.full(x.shape[:at] + (1,) + x.shape[at + 1:], first, dtype=result.dtype)
    return Tensor.cat(start, result, axis=at)


def cumulative_sum(x: Tensor, /, *, axis: int | None = None, dtype: Any = None,
                   include_initial: builtins.bool = False) -> Tensor:
    return _running(x, 0, Tensor.cumsum, axis, dtype, include_initial)


def cumulative_prod(x: Tensor, /, *, axis: int | None = None, dtype: Any = None,
                    include_initial: builtins.bool = False) -> Tensor:
    return _running(x, 1, Tensor.cumprod, axis, dtype, include_initial)


def diff(x: Tensor, /, *, axis: int = -1, n: int = 1, prepend: Tensor | None = None,
         append: Tensor | None = None) -> Tensor:
    return x.diff(n, axis, prepend, append)


# ---- products

def matmul(x1: Tensor, x2: Tensor, /) -> Tensor:
    return x1.matmul(x2)


def vecdot(x1: Tensor, x2: Tensor, /, *, axis: int = -1) -> Tensor:
    if x1.shape[axis] != x2.shape[axis]:
        raise ValueError(f"vecdot of shapes {x1.shape} and {x2.shape} along axis {axis}")
    return (x1 * x2).sum(axis, dtype=result_type(x1, x2))


def tensordot(x1: Tensor, x2: Tensor, /, *, axes: Any = 2) -> Tensor:
    if isinstance(axes, int):
        left, right = tuple(range(x1.ndim - axes, x1.ndim)), tuple(range(axes))
    else:
        left, right = (tuple(axis % x.ndim for axis in one) for x, one in zip((x1, x2), axes))
    kept = [[axis for axis in range(x.ndim) if axis not in used] for x, used in ((x1, left), (x2, right))]
    sizes = [tuple(x.shape[axis] for axis in axes) for x, axes in zip((x1, x2), kept)]
    length = math.prod(x1.shape[axis] for axis in left)
    if length != math.prod(x2.shape[axis] for axis in right):
        raise ValueError(f"tensordot of shapes {x1.shape} and {x2.shape} along axes {axes}")
    if not length:
        return Tensor.zeros(sizes[0] + sizes[1], dtype=result_type(x1, x2))
    a = x1.permute((*kept[0], *left)) if x1.ndim else x1
    b = x2.permute((*right, *kept[1])) if x2.ndim else x2
    product = a.reshape(math.prod(sizes[0]), length).matmul(b.reshape(length, math.prod(sizes[1])))
    return product.reshape(sizes[0] + sizes[1])
