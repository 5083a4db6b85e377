"""Making arrays."""
import numpy as np
import pytest

from doorbell import Tensor, array_api as xp
from drawing import ALL, DRAWS, FLOATS, NUMERIC, Draw, check, same


@pytest.mark.parametrize("dtype", ALL)
@pytest.mark.parametrize("name", ["zeros", "ones", "full", "empty"])
def test_of_a_shape(name, dtype):
    own = getattr(xp, dtype)
    for shape in ((), 3, (0,), (2, 0, 3), (2, 3), (1, 2, 3, 4)):
        value = (3 if dtype != "bool" else True,) if name == "full" else ()
        got = getattr(xp, name)(shape, *value, dtype=own)
        wanted = getattr(np, name)(shape, *value, dtype=dtype)
        if name == "empty":
            assert got.shape == wanted.shape and got.dtype == own
        else:
            same(got, wanted, name)
        like = getattr(xp, name + "_like")(Tensor(wanted), *value)
        assert like.shape == wanted.shape and like.dtype == own
        assert getattr(xp, name + "_like")(Tensor(wanted), *value, dtype=xp.float64).dtype == xp.float64


def test_default_dtypes():
    assert xp.zeros(2).dtype == xp.ones(2).dtype == xp.empty(2).dtype == xp.eye(2).dtype == xp.float32
    assert xp.full(2, 1.5).dtype == xp.linspace(0, 1, 3).dtype == xp.arange(3.0).dtype == xp.float32
    assert xp.full(2, 3).dtype == xp.arange(3).dtype == xp.int32 and xp.full(2, True).dtype == xp.bool


@pytest.mark.parametrize("dtype", NUMERIC)
def test_arange(dtype):
    for number in range(DRAWS):
        draw = Draw("arange " + dtype, number)
        low = 0 if dtype[0] == "u" else -9
        start, stop, step = (int(n) for n in draw.rng.integers([low, low, 1], [9, 9, 4]))
        falling = [(stop, start, -step)] if low else []
        for arguments in [(stop,), (start, stop), (start, stop, step)] + falling:
            same(xp.arange(*arguments, dtype=getattr(xp, dtype)), np.arange(*arguments, dtype=dtype), f"{arguments}")
        check("arange", start, stop + 0.5, step / 4, dtypes=False)


@pytest.mark.parametrize("dtype", FLOATS)
def test_linspace(dtype):
    for number in range(DRAWS):
        draw = Draw("linspace " + dtype, number)
        start, stop = (float(n) for n in draw.rng.uniform(-9, 9, 2))
        for count in (0, 1, 2, int(draw.rng.integers(3, 9))):
            for endpoint in (True, False):
                same(xp.linspace(start, stop, count, dtype=getattr(xp, dtype), endpoint=endpoint),
                     np.linspace(start, stop, count, dtype=dtype, endpoint=endpoint), f"{start} {stop} {count}")
    assert xp.linspace(-7.5, 3.25, 7)[-1] == 3.25


@pytest.mark.parametrize("dtype", ALL)
def test_eye(dtype):
    for number in range(DRAWS):
        draw = Draw("eye " + dtype, number)
        rows, columns = (int(n) for n in draw.rng.integers(0, 5, 2))
        for k in (0, 1, -1, int(draw.rng.integers(-9, 9)), 2 ** 70, -2 ** 70):
            near = min(max(k, -9), 9)
            got = xp.eye(rows, columns, k=k, dtype=getattr(xp, dtype))
            same(got, np.eye(rows, columns, k=near, dtype=dtype), f"eye {k}")
    same(xp.eye(3, dtype=getattr(xp, dtype)), np.eye(3, dtype=dtype), "eye of one size")


@pytest.mark.parametrize("dtype", ALL)
def test_triangles(dtype):
    for number in range(DRAWS):
        draw = Draw("triangles " + dtype, number)
        x = draw.values(draw.shape(2, 4), dtype)
        for name in ("tril", "triu"):
            check(name, x, k=int(draw.rng.integers(-5, 6)))


@pytest.mark.parametrize("indexing", ["xy", "ij"])
def test_meshgrid(indexing):
    for number in range(DRAWS):
        draw = Draw("meshgrid", number)
        dtype = draw.dtype(NUMERIC)
        lines = [draw.values(draw.shape(1, 1), dtype) for _ in range(int(draw.rng.integers(1, 4)))]
        got = xp.meshgrid(*(Tensor(line) for line in lines), indexing=indexing)
        assert type(got) is list
        same(got, list(np.meshgrid(*lines, indexing=indexing)), f"{lines}")
    assert xp.meshgrid() == []


@pytest.mark.parametrize("dtype", ALL)
def test_asarray(dtype):
    own = getattr(xp, dtype)
    for shape in ((), (0,), (2, 3)):
        values = Draw("asarray " + dtype, len(shape)).values(shape, dtype)
        same(xp.asarray(values.tolist(), dtype=own), values, "of lists")
        same(xp.asarray(values), values, "of an array of NumPy")
        x = Tensor(values)
        same(xp.asarray(x, dtype=xp.float64), values.astype("float64"), "of another dtype")
        copied, shared = xp.asarray(x, copy=True), xp.asarray(x, copy=False)
        if shape == (2, 3):
            x[0, 0] = not values[0, 0]
            assert shared[0, 0] == (not values[0, 0])
            same(copied, values, "a copy")


def test_asarray_of_numbers():
    assert [xp.asarray(value).dtype for value in (True, 1, 1.5, 2 ** 40)] == [xp.bool, xp.int32, xp.float32, xp.int64]
    assert all(str(xp.asarray(np.dtype(dtype).type(1)).dtype) == dtype for dtype in ALL)
    assert xp.asarray([1, 2.5]).dtype == xp.asarray([]).dtype == xp.float32
    with pytest.raises(OverflowError):
        xp.asarray(2 ** 64)
    with pytest.raises(ValueError, match="copy=False"):
        xp.asarray([1, 2], copy=False)
    with pytest.raises(ValueError, match="copy=False"):
        xp.asarray(Tensor([1]), dtype=xp.float32, copy=False)
    with pytest.raises(ValueError, match="copy=False"):
        xp.asarray(np.array([1]), dtype=xp.float32, copy=False)
