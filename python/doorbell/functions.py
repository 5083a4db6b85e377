"""Functions as PyTorch's and NumPy's users type them: doorbell.zeros(2), doorbell.cat([a, b]), doorbell.where(c, a, b).
They are the methods of Tensor; the first argument is the tensor.
"""
from __future__ import annotations

import typing as _typing

from doorbell._doorbell import DType, Tensor

# Making tensors.
tensor = Tensor
arange, linspace, eye, full = Tensor.arange, Tensor.linspace, Tensor.eye, Tensor.full
zeros, ones, empty = Tensor.zeros, Tensor.ones, Tensor.empty
zeros_like, ones_like, empty_like, full_like = Tensor.zeros_like, Tensor.ones_like, Tensor.empty_like, Tensor.full_like
from_dlpack, from_file, from_numpy = Tensor.from_dlpack, Tensor.from_file, Tensor.from_numpy
manual_seed, rand, randn, randperm = Tensor.manual_seed, Tensor.rand, Tensor.randn, Tensor.randperm
rand_like, randn_like, randint_like = Tensor.rand_like, Tensor.randn_like, Tensor.randint_like
multinomial, normal = Tensor.multinomial, Tensor.normal

# One tensor.
abs, absolute, neg, negative, sign, square = (Tensor.abs, Tensor.absolute, Tensor.neg, Tensor.negative, Tensor.sign,
                                              Tensor.square)
sqrt, rsqrt, reciprocal, erf = Tensor.sqrt, Tensor.rsqrt, Tensor.reciprocal, Tensor.erf
exp, exp2, expm1 = Tensor.exp, Tensor.exp2, Tensor.expm1
log, log2, log10, log1p = Tensor.log, Tensor.log2, Tensor.log10, Tensor.log1p
sin, cos, tan, sinh, cosh, tanh = Tensor.sin, Tensor.cos, Tensor.tan, Tensor.sinh, Tensor.cosh, Tensor.tanh
asin, acos, atan, asinh, acosh, atanh = (Tensor.asin, Tensor.acos, Tensor.atan, Tensor.asinh, Tensor.acosh,
                                         Tensor.atanh)
arcsin, arccos, arctan, arcsinh, arccosh, arctanh = asin, acos, atan, asinh, acosh, atanh
floor, ceil, trunc, round = Tensor.floor, Tensor.ceil, Tensor.trunc, Tensor.round
isnan, isinf, isfinite, nan_to_num = Tensor.isnan, Tensor.isinf, Tensor.isfinite, Tensor.nan_to_num
logical_not, bitwise_not, clone, detach = Tensor.logical_not, Tensor.bitwise_not, Tensor.clone, Tensor.detach
clamp, clip, numel, is_floating_point, astype = (Tensor.clamp, Tensor.clip, Tensor.numel, Tensor.is_floating_point,
                                                 Tensor.astype)
relu, relu6, leaky_relu, elu, celu, selu = (Tensor.relu, Tensor.relu6, Tensor.leaky_relu, Tensor.elu, Tensor.celu,
                                            Tensor.selu)
gelu, silu, mish, sigmoid, logsigmoid = Tensor.gelu, Tensor.silu, Tensor.mish, Tensor.sigmoid, Tensor.logsigmoid
hardsigmoid, hardswish, hardtanh = Tensor.hardsigmoid, Tensor.hardswish, Tensor.hardtanh
softplus, softsign, softmax, log_softmax, softmin = (Tensor.softplus, Tensor.softsign, Tensor.softmax,
                                                     Tensor.log_softmax, Tensor.softmin)

# Two tensors and more.
add, sub, subtract, mul, multiply = Tensor.add, Tensor.sub, Tensor.subtract, Tensor.mul, Tensor.multiply
div, divide, true_divide, floor_divide = Tensor.div, Tensor.divide, Tensor.true_divide, Tensor.floor_divide
mod, remainder, fmod, pow = Tensor.mod, Tensor.remainder, Tensor.fmod, Tensor.pow
power = Tensor.pow
maximum, minimum, copysign, logaddexp = Tensor.maximum, Tensor.minimum, Tensor.copysign, Tensor.logaddexp
atan2, arctan2, hypot, nextafter, lerp = (Tensor.atan2, Tensor.arctan2, Tensor.hypot, Tensor.nextafter, Tensor.lerp)
eq, ne, lt, le, gt, ge = Tensor.eq, Tensor.ne, Tensor.lt, Tensor.le, Tensor.gt, Tensor.ge
equal, not_equal, less, less_equal = Tensor.eq, Tensor.not_equal, Tensor.less, Tensor.less_equal
greater, greater_equal = Tensor.greater, Tensor.greater_equal
logical_and, logical_or, logical_xor = Tensor.logical_and, Tensor.logical_or, Tensor.logical_xor
bitwise_and, bitwise_or, bitwise_xor = Tensor.bitwise_and, Tensor.bitwise_or, Tensor.bitwise_xor
bitwise_left_shift, bitwise_right_shift = Tensor.bitwise_left_shift, Tensor.bitwise_right_shift
isclose, allclose, isin, where, masked_fill = (Tensor.isclose, Tensor.allclose, Tensor.isin, Tensor.where,
                                               Tensor.masked_fill)
dot, matmul, mm, bmm, outer, einsum = (Tensor.dot, Tensor.matmul, Tensor.mm, Tensor.bmm, Tensor.outer, Tensor.einsum)
qr, svd, norm = Tensor.qr, Tensor.svd, Tensor.norm

# Along axes.
sum, prod, mean, max, min, amax, amin = (Tensor.sum, Tensor.prod, Tensor.mean, Tensor.max, Tensor.min, Tensor.amax,
                                         Tensor.amin)
any, all, var, std, var_mean, std_mean = (Tensor.any, Tensor.all, Tensor.var, Tensor.std, Tensor.var_mean,
                                          Tensor.std_mean)
median, logsumexp, argmax, argmin = Tensor.median, Tensor.logsumexp, Tensor.argmax, Tensor.argmin
cumsum, cumprod, logcumsumexp, cummax, cummin = (Tensor.cumsum, Tensor.cumprod, Tensor.logcumsumexp, Tensor.cummax,
                                                 Tensor.cummin)
diff, sort, argsort, topk, unique = Tensor.diff, Tensor.sort, Tensor.argsort, Tensor.topk, Tensor.unique
searchsorted, nonzero, masked_select = Tensor.searchsorted, Tensor.nonzero, Tensor.masked_select
gather, scatter, scatter_add, scatter_reduce = (Tensor.gather, Tensor.scatter, Tensor.scatter_add,
                                                Tensor.scatter_reduce)

# Shapes.
cat, concat, concatenate, stack = Tensor.cat, Tensor.concat, Tensor.concatenate, Tensor.stack
reshape, flatten, unflatten, squeeze, unsqueeze = (Tensor.reshape, Tensor.flatten, Tensor.unflatten, Tensor.squeeze,
                                                   Tensor.unsqueeze)
permute, transpose, swapaxes, swapdims, t = (Tensor.permute, Tensor.transpose, Tensor.swapaxes, Tensor.swapdims,
                                             Tensor.t)
movedim, moveaxis, flip, roll = Tensor.movedim, Tensor.moveaxis, Tensor.flip, Tensor.roll
broadcast_to, repeat_interleave, pad = Tensor.broadcast_to, Tensor.repeat_interleave, Tensor.pad
split, chunk, unbind, meshgrid = Tensor.split, Tensor.chunk, Tensor.unbind, Tensor.meshgrid
tril, triu, diag, diagonal = Tensor.tril, Tensor.triu, Tensor.diag, Tensor.diagonal
expand_dims = Tensor.unsqueeze


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

