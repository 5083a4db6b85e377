"""Functions over axes and along one."""
import numpy as np
import pytest

from doorbell import Tensor, array_api as xp
from drawing import ALL, DRAWS, FLOATS, NUMERIC, Draw, check, same

OVER = {"sum": NUMERIC, "prod": NUMERIC, "max": NUMERIC, "min": NUMERIC, "mean": FLOATS, "var": FLOATS, "std": FLOATS,
        "any": ALL, "all": ALL, "count_nonzero": ALL}
ALONG = ["argmax", "argmin", "sort", "argsort", "cumulative_sum", "cumulative_prod", "diff"]


def of(names):
    return [(name, dtype) for name, kinds in names.items() for dtype in kinds]


@pytest.mark.parametrize("name, dtype", of(OVER))
def test_over_axes(name, dtype):
    for number in range(DRAWS):
        draw = Draw(name + dtype, number)
        # Only sums, products and truth are told of nothing; products fit 32 bits.
        shape = draw.shape(smallest=int(name not in ("sum", "prod", "any", "all")))
        array = np.nan_to_num(draw.values(shape, dtype, *((-1, 3) if name == "prod" else ())),
                              nan=1, posinf=2, neginf=-2)
        keywords = {"axis": draw.axes(array.ndim), "keepdims": bool(draw.rng.integers(2))}
        if name in ("var", "std"):
            keywords["correction"] = [0.0, 0.5, 0][int(draw.rng.integers(3))]
        check(name, array, dtypes=name not in ("sum", "prod", "count_nonzero"), tolerance=2e-4, **keywords)
        if name in ("sum", "prod"):
            wanted = draw.dtype(("float32", "float64", "int64"))
            got = getattr(xp, name)(Tensor(array), dtype=getattr(xp, wanted))
            same(got, getattr(np, name)(array.astype(wanted), dtype=wanted), name, tolerance=2e-4)


@pytest.mark.parametrize("name, dtype", of({name: NUMERIC for name in ALONG}))
def test_along_an_axis(name, dtype):
    for number in range(DRAWS):
        draw = Draw(name + dtype, number)
        array = np.nan_to_num(draw.values(draw.shape(1, smallest=int(name.startswith("arg"))), dtype),
                              nan=1, posinf=2, neginf=-2)
        keywords = {"axis": draw.axis(array.ndim)}
        if name in ("argmax", "argmin"):
            keywords["keepdims"] = bool(draw.rng.integers(2))
        if name.startswith("cumulative"):
            keywords["include_initial"] = bool(draw.rng.integers(2))
        if name == "diff":
            keywords["n"] = int(draw.rng.integers(0, 3))
        if name in ("sort", "argsort"):
            keywords["stable"] = True
        check(name, array, dtypes=name in ("sort", "diff"), tolerance=2e-4, **keywords)
        if name == "diff" and array.size:
            ends = np.take(array, [0], keywords["axis"])
            check(name, array, prepend=ends, append=ends, **keywords)


@pytest.mark.parametrize("dtype", NUMERIC)
def test_descending_order_is_stable(dtype):
    x = Tensor([2, 3, 2, 1], dtype=getattr(xp, dtype))
    assert xp.sort(x, descending=True).tolist() == [3, 2, 2, 1]
    assert xp.argsort(x, descending=True).tolist() == [1, 0, 2, 3]


@pytest.mark.parametrize("name", ["sum", "prod", "cumulative_sum", "cumulative_prod"])
def test_sums_widen_to_the_default_integer(name):
    widened = {"int8": "int32", "int16": "int32", "uint8": "uint32", "uint16": "uint32"}
    for dtype in NUMERIC:
        assert str(getattr(xp, name)(Tensor.ones(3, dtype=getattr(xp, dtype))).dtype) == widened.get(dtype, dtype)
        assert getattr(xp, name)(Tensor.ones(3, dtype=getattr(xp, dtype)), dtype=xp.float64).dtype == xp.float64


@pytest.mark.parametrize("name", ["argmax", "argmin", "argsort", "count_nonzero", "nonzero"])
def test_places_are_of_the_index_dtype(name):
    wanted = xp.__array_namespace_info__().default_dtypes()["indexing"]
    got = getattr(xp, name)(Tensor([1.0, 0.0]))
    assert (got[0] if name == "nonzero" else got).dtype == wanted


def test_over_nothing():
    none = Tensor.zeros(0, 3)
    for name in ("max", "min", "argmax", "argmin"):
        with pytest.raises(ValueError):
            getattr(xp, name)(none)
        if name in ("max", "min"):
            assert getattr(xp, name)(none, axis=1).shape == (0,)
