"""The array object: its attributes, operators, indices, assignment, and exchange with other libraries."""
import operator

import numpy as np
import pytest

from doorbell import Tensor, array_api as xp
from drawing import ALL, DRAWS, FLOATS, INTS, NUMERIC, Draw, ours, same

OPERATORS = {"add": NUMERIC, "sub": NUMERIC, "mul": NUMERIC, "truediv": FLOATS, "and_": ("bool",) + INTS,
             "or_": ("bool",) + INTS, "xor": ("bool",) + INTS, "eq": ALL, "ne": ALL, "lt": NUMERIC, "le": NUMERIC,
             "gt": NUMERIC, "ge": NUMERIC}


@pytest.mark.parametrize("name", sorted(OPERATORS))
def test_operators(name):
    function = getattr(operator, name)
    for number in range(DRAWS):
        draw = Draw(name, number)
        a, b = draw.pair(OPERATORS[name])
        scalar = draw.values((), str(a.dtype)).item()
        with np.errstate(all="ignore"):
            cases = (a, b), (a, scalar), (scalar, a)
            wanted = [function(*pair) for pair in cases]
        for pair, expected in zip(cases, wanted):
            same(function(*(ours(part) for part in pair)), expected, f"{name} {pair}")


@pytest.mark.parametrize("name", ["add", "sub", "mul", "and_", "or_", "xor"])
def test_operators_in_place(name):
    function, in_place = getattr(operator, name), getattr(operator, "i" + name.strip("_"))
    for number in range(DRAWS):
        draw = Draw("i" + name, number)
        a = draw.array(OPERATORS[name])
        b = draw.values(a.shape[1:], str(a.dtype))
        x = y = Tensor(a)
        with np.errstate(all="ignore"):
            y = in_place(y, Tensor(b))
            same(y, function(a, b), name)
        assert y is x


@pytest.mark.parametrize("dtype", ALL)
def test_attributes(dtype):
    for shape in ((), (0,), (3, 0, 2), (2, 3), (2, 3, 4)):
        x = xp.ones(shape, dtype=getattr(xp, dtype))
        assert x.shape == shape and x.ndim == len(shape) and str(x.dtype) == dtype
        assert x.device in xp.__array_namespace_info__().devices() and x.to_device(x.device).shape == shape
        if len(shape) == 2:
            assert x.T.shape == shape[::-1]
        if len(shape) >= 2:
            assert x.mT.shape == shape[:-2] + (shape[-1], shape[-2])


@pytest.mark.parametrize("dtype", ALL)
def test_numbers_of_one_element(dtype):
    for value in (0, 1):
        x = xp.asarray(value, dtype=getattr(xp, dtype))
        assert bool(x) is bool(value) and int(x) == value and float(x) == value and complex(x) == value
        assert (type(int(x)), type(float(x)), type(complex(x))) == (int, float, complex)
        if dtype in INTS:
            assert operator.index(x) == value and ["a", "b"][x] == "ab"[value]


def drawn_index(draw, shape):
    """Integers, slices, an Ellipsis and None."""
    parts, newaxis = [], draw.rng.random() < 0.3
    for size in shape:
        kind = draw.rng.integers(3 if size else 2)
        if kind == 2:
            parts.append(int(draw.rng.integers(-size, size)))
        elif kind == 1:
            ends = [int(n) if draw.rng.random() < 0.7 else None for n in draw.rng.integers(-size - 1, size + 1, 2)]
            parts.append(slice(*ends, (None, 1, 2, -1, -2)[draw.rng.integers(5)]))
        else:
            parts.append(slice(None))
    while parts and parts[-1] == slice(None) and draw.rng.random() < 0.5:
        parts.pop()
    if draw.rng.random() < 0.4:
        at = int(draw.rng.integers(len(parts) + 1))
        gone = int(draw.rng.integers(len(parts) - at + 1)) if len(parts) == len(shape) else 0
        parts[at:at + gone] = [...]
    if newaxis:
        parts.insert(int(draw.rng.integers(len(parts) + 1)), None)
    return tuple(parts)


@pytest.mark.parametrize("dtype", ALL)
def test_indices(dtype):
    for number in range(4 * DRAWS):
        draw = Draw("index " + dtype, number)
        x = draw.values(draw.shape(), dtype)
        key = drawn_index(draw, x.shape)
        if sum(part is ... for part in key) + sum(part is not None and part is not ... for part in key) > x.ndim + 1:
            continue
        try:
            wanted = x[key]
        except IndexError:
            with pytest.raises(IndexError):
                Tensor(x)[key].tolist()
            continue
        same(Tensor(x)[key], wanted, f"{x.shape}[{key}]")
        values = draw.values(wanted.shape, dtype)
        got = Tensor(x)
        one = values.flat[0].item() if values.size else 0
        got[key], x[key] = (Tensor(values), values) if number % 2 else (one, one)
        same(got, x, f"{x.shape}[{key}] = {values}")


@pytest.mark.parametrize("dtype", ALL)
def test_masks(dtype):
    for number in range(2 * DRAWS):
        draw = Draw("mask " + dtype, number)
        x = draw.values(draw.shape(), dtype)
        for shape in {x.shape, (), x.shape[:1], tuple(n if draw.rng.integers(2) else 0 for n in x.shape)}:
            mask = draw.values(shape, "bool")
            same(Tensor(x)[Tensor(mask)], x[mask], f"{x.shape}[mask of {shape}]")
            got, wanted, value = Tensor(x), x.copy(), draw.values((), dtype)
            got[Tensor(mask)], wanted[mask] = Tensor(value), value
            same(got, wanted, f"{x.shape}[mask of {shape}] = {value}")
        if x.ndim:
            with pytest.raises(IndexError):
                Tensor(x)[Tensor(np.ones(x.shape[0] + 1, bool))].tolist()


def test_index_arrays():
    for number in range(4 * DRAWS):
        draw = Draw("index arrays", number)
        x = draw.array(ALL, least=1, smallest=1)
        shape = draw.shape(1, 2, 1)
        key = tuple(draw.rng.integers(-n, n, shape) if draw.rng.random() < 0.6 else int(draw.rng.integers(-n, n))
                    for n in x.shape[:int(draw.rng.integers(1, x.ndim + 1))])
        same(Tensor(x)[ours(key)], x[key], f"{x.shape}[{key}]")


def test_indices_beyond_are_refused():
    x = Tensor([[1, 2, 3]])
    for key in (1, -2, (0, 3), (0, 0, 0), (..., ...)):
        with pytest.raises(IndexError):
            x[key].tolist()


@pytest.mark.parametrize("dtype", ALL)
def test_dlpack(dtype):
    for shape in ((), (0,), (2, 3)):
        values = Draw("dlpack", len(shape)).values(shape, dtype)
        x = Tensor(values)
        assert x.__dlpack_device__() == (1, 0)
        for keywords in ({}, {"copy": True}, {"max_version": (1, 0)}, {"dl_device": (1, 0)}):
            x.__dlpack__(**keywords)
        np.testing.assert_array_equal(np.from_dlpack(x), values)
        for keywords in ({}, {"copy": True}, {"copy": None}, {"device": x.device}):
            same(xp.from_dlpack(np.array(values), **keywords), values, "from_dlpack")
