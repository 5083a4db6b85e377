"""Picking, searching and sets."""
import numpy as np
import pytest

from doorbell import Tensor, array_api as xp
from drawing import ALL, DRAWS, INTS, NUMERIC, Draw, check, same


@pytest.mark.parametrize("dtype", ALL)
def test_take(dtype):
    for number in range(DRAWS):
        draw = Draw("take " + dtype, number)
        array = draw.values(draw.shape(1, 3, 1), dtype)
        axis = draw.axis(array.ndim)
        places = draw.rng.integers(-array.shape[axis], array.shape[axis], int(draw.rng.integers(5)))
        check("take", array, places, axis=axis)
        along = np.argsort(draw.rng.random(array.shape), axis)
        check("take_along_axis", array, along, axis=axis)
        check("take_along_axis", array, along[tuple(slice(1) if at != axis % array.ndim else slice(None)
                                                    for at in range(array.ndim))], axis=axis)
    check("take", np.arange(4), np.array([3, 0]))
    with pytest.raises(ValueError, match="without an axis"):
        xp.take(Tensor([[1]]), Tensor([0]))


@pytest.mark.parametrize("dtype", INTS)
def test_indices_of_any_integer(dtype):
    places = np.array([2, 0, 1], dtype)
    for name in ("take", "take_along_axis"):
        check(name, np.arange(4.0), places, axis=0)


@pytest.mark.parametrize("dtype", ALL)
def test_places(dtype):
    for number in range(DRAWS):
        draw = Draw("nonzero " + dtype, number)
        array = draw.values(draw.shape(1), dtype)
        check("nonzero", array, dtypes=False)
        axis = draw.axis(array.ndim)
        check("count_nonzero", array, axis=axis, keepdims=bool(number % 2), dtypes=False)
        other = draw.values(array.shape[1:], dtype)
        check("where", draw.values(array.shape, "bool"), array, other)
    check("count_nonzero", np.array(3), dtypes=False)
    with pytest.raises(ValueError, match="scalar"):
        xp.nonzero(Tensor(1))


@pytest.mark.parametrize("dtype", NUMERIC)
def test_searchsorted(dtype):
    for number in range(DRAWS):
        draw = Draw("searchsorted " + dtype, number)
        line = np.sort(np.nan_to_num(draw.values(draw.shape(1, 1), dtype)))
        values = np.nan_to_num(draw.values(draw.shape(), dtype))
        mixed = draw.rng.permutation(line.size)
        for side in ("left", "right"):
            check("searchsorted", line, values, side=side, dtypes=False)
            check("searchsorted", line[np.argsort(mixed)], values, side=side, sorter=mixed, dtypes=False)


@pytest.mark.parametrize("dtype", ALL)
@pytest.mark.parametrize("name", ["unique_all", "unique_counts", "unique_inverse", "unique_values"])
def test_sets(name, dtype):
    for number in range(DRAWS):
        draw = Draw("sets " + dtype, number)
        array = np.nan_to_num(draw.values(draw.shape(), dtype))
        got = getattr(xp, name)(Tensor(array))
        if name == "unique_values":
            same(got, np.unique(array), f"{array}")
            continue
        wanted = getattr(np, name)(array)
        assert got._fields == wanted._fields
        for field in got._fields:
            same(getattr(got, field), getattr(wanted, field), f"{name} {array} {field}", dtypes=field == "values")


def test_each_nan_is_apart_in_sets():
    found = xp.unique_all(Tensor([np.nan, 1.0, np.nan, -0.0, 0.0]))
    assert found.counts.tolist() == [2, 1, 1, 1]
    assert found.inverse_indices.tolist() in ([2, 1, 3, 0, 0], [3, 1, 2, 0, 0])
    assert xp.unique_values(Tensor([np.nan, np.nan])).shape == (2,)
