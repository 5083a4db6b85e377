"""Shapes, joining and broadcasting."""
import math

import numpy as np
import pytest

from doorbell import Tensor, array_api as xp
from drawing import ALL, DRAWS, Draw, check


def cut(rng, count):
    """Sizes whose product is count, with some ones and maybe a -1."""
    sizes = [1] * int(rng.integers(3))
    while count > 1:
        part = min(n for n in range(2, count + 1) if count % n == 0) if rng.random() < 0.7 else count
        sizes.append(part)
        count //= part
    sizes = [int(n) for n in rng.permutation(sizes)] + ([0] if count == 0 else [])
    if sizes and count and rng.random() < 0.3:
        sizes[int(rng.integers(len(sizes)))] = -1
    return tuple(sizes)


def rolled(d, x):
    axes = d.axes(x.ndim)
    return (tuple(int(n) for n in d.rng.integers(-7, 7, len(axes))) if isinstance(axes, tuple)
            else int(d.rng.integers(-7, 7)),), {"axis": axes}


def repeated(d, x):
    axis = d.axis(x.ndim) if x.ndim and d.rng.random() < 0.7 else None
    size = x.size if axis is None else x.shape[axis]
    return (d.rng.integers(0, 4, size) if d.rng.random() < 0.5 and size else int(d.rng.integers(0, 4)),), {"axis": axis}


SHAPES = {
    "broadcast_to": lambda d, x: ((d.shape(0, 1) + x.shape,), {}),
    "expand_dims": lambda d, x: ((), {"axis": int(d.rng.integers(-x.ndim - 1, x.ndim + 1))}),
    "flip": lambda d, x: ((), {"axis": d.axes(x.ndim)}),
    "permute_dims": lambda d, x: ((tuple(int(n) for n in d.rng.permutation(x.ndim)),), {}),
    "moveaxis": lambda d, x: (tuple(tuple(int(n) for n in d.rng.permutation(x.ndim)[:x.ndim // 2 + 1])
                                    for _ in range(2)), {}),
    "reshape": lambda d, x: ((cut(d.rng, math.prod(x.shape)),), {"copy": (None, True)[d.rng.integers(2)]}),
    "roll": rolled, "repeat": repeated,
    "tile": lambda d, x: ((tuple(int(n) for n in d.rng.integers(0, 3, d.rng.integers(0, 4))),), {}),
    "unstack": lambda d, x: ((), {"axis": d.axis(x.ndim)}), "matrix_transpose": lambda d, x: ((), {}),
    "squeeze": lambda d, x: ((tuple(at for at, n in enumerate(x.shape) if n == 1 and d.rng.random() < 0.7),), {}),
}


@pytest.mark.parametrize("dtype", ALL)
@pytest.mark.parametrize("name", sorted(SHAPES))
def test_shapes(name, dtype):
    for number in range(DRAWS):
        draw = Draw(name + dtype, number)
        array = draw.values(draw.shape({"matrix_transpose": 2, "unstack": 1}.get(name, 0)), dtype)
        if name == "squeeze":
            array = np.expand_dims(array, tuple(range(0, 2 * array.ndim + 1, 2)))
        arguments, keywords = SHAPES[name](draw, array)
        check(name, array, *arguments, **keywords)


@pytest.mark.parametrize("dtype", ALL)
def test_joining(dtype):
    for number in range(DRAWS):
        draw = Draw("join" + dtype, number)
        array = draw.values(draw.shape(1), dtype)
        axis = draw.axis(array.ndim)
        others = [np.take(array, range(int(draw.rng.integers(array.shape[axis] + 1))), axis) for _ in range(2)]
        check("concat", [array, *others], axis=axis)
        check("concat", [array, others[0], np.asarray(True, dtype)], axis=None)
        for count in (1, 3):
            check("stack", [array] * count, axis=int(draw.rng.integers(-array.ndim - 1, array.ndim + 1)))
        a, b = draw.pair((dtype,))
        check("broadcast_arrays", a, b)
    check("broadcast_arrays")


def test_joining_promotes():
    for name in ("concat", "stack"):
        assert getattr(xp, name)([Tensor.ones(2, dtype=xp.int8), Tensor.ones(2, dtype=xp.uint8)]).dtype == xp.int16


def test_what_is_refused():
    x = Tensor([[1, 2], [3, 4]])
    for call in (lambda: xp.reshape(x, (3,)), lambda: xp.squeeze(x, 0), lambda: xp.broadcast_to(x, (3, 2)),
                 lambda: xp.concat([x, Tensor([1])]), lambda: xp.stack([x, Tensor([1])]),
                 lambda: xp.permute_dims(x, (0,)), lambda: xp.permute_dims(x, (0, 0)),
                 lambda: xp.expand_dims(x, axis=4), lambda: xp.flip(x, axis=2),
                 lambda: xp.matrix_transpose(x[0]), lambda: xp.broadcast_arrays(x, Tensor([1, 2, 3]))):
        with pytest.raises((ValueError, IndexError)):
            call()


def test_reshape_shares_or_says_that_it_cannot():
    x = Tensor([[1, 2], [3, 4]])
    shared, copied = xp.reshape(x, (4,), copy=False), xp.reshape(x, (4,), copy=True)
    x[0, 0] = 9
    assert shared.tolist() == [9, 2, 3, 4] and copied.tolist() == [1, 2, 3, 4]
    with pytest.raises(ValueError, match="row-major"):
        xp.reshape(x.T, (4,), copy=False)
