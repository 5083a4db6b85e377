"""What is given wrongly: arrays that no tensor holds, indices, axes, numbers; and what Python asks of numbers and
notebooks of objects.
"""
import numpy as np
import pytest

import doorbell
from doorbell import Tensor, dtypes

X = Tensor.arange(6).reshape(2, 3)
ARRAYS = {
    "big-endian": np.array([1, 2, 3], dtype=">i4"), "text (<U1)": np.array(["a", "b", "c"]),
    "text (|S1)": np.array([b"a", b"b", b"c"]), "Python objects": np.array([None, 1, {}]),
    "no complex numbers": np.array([1j, 2, 3]), "datetime64": np.array(["2026-01-01"] * 3, dtype="datetime64[D]"),
}


@pytest.mark.parametrize("what", ARRAYS)
def test_arrays_that_no_tensor_holds(what):
    array = ARRAYS[what]
    for use in (lambda: Tensor(array), lambda: X + array, lambda: X.mul(array), lambda: X == array,
                lambda: X.where(array, 1), lambda: Tensor.from_dlpack(array), lambda: X[array]):
        with pytest.raises(TypeError, match=what.replace("(", r"\(").replace("|", r"\|").replace(")", r"\)")):
            use()


def test_big_endian_arrays_as_the_message_says():
    array = ARRAYS["big-endian"]
    assert Tensor(array.astype(array.dtype.newbyteorder("="))).tolist() == [1, 2, 3]


@pytest.mark.parametrize("index", ["a", 1.5, 2**70, -2**70, 5, -3, (0, 3), (0, 0, 0), {}, b"a", (0, "a")], ids=repr)
def test_wrong_indices(index):
    with pytest.raises(IndexError):
        X[index]
    with pytest.raises(IndexError):
        X[index] = 1


def test_none_as_an_index():
    array = np.arange(6).reshape(2, 3)
    assert X[None].tolist() == array[None].tolist()
    assert X[None, ..., None].shape == array[None, ..., None].shape
    y = Tensor.zeros(2)
    y[None] = 1
    assert y.tolist() == [1.0, 1.0]


def test_rounding():
    assert round(Tensor([1.25, -0.5, 2.5])).tolist() == np.round([1.25, -0.5, 2.5]).tolist()
    assert round(Tensor([1.234, -5.678], dtype="float64"), 2).tolist() == np.round([1.234, -5.678], 2).tolist()
    assert round(Tensor([1234.0]), -2).tolist() == [1200.0]
    assert round(Tensor([3]), 1).tolist() == [3]


def test_notebooks():
    shown = X._repr_html_()
    assert shown.startswith("<pre>tensor([[0, 1, 2],") and "(2, 3), int32, on " in shown


def test_limits():
    for name in ("float16", "float32", "float64"):
        theirs = np.finfo(name)
        for ours in (doorbell.finfo(name), doorbell.finfo(np.dtype(name)), doorbell.finfo(Tensor([1.0], dtype=name))):
            assert ours.dtype == getattr(dtypes, name) and ours.bits == theirs.bits
            assert (ours.eps, ours.max, ours.min) == (float(theirs.eps), float(theirs.max), float(theirs.min))
            assert ours.smallest_normal == float(theirs.smallest_normal)
            assert ours.resolution == pytest.approx(float(theirs.resolution), rel=1e-3)
    for name in ("int8", "uint8", "int16", "int32", "int64"):
        theirs = np.iinfo(name)
        ours = doorbell.iinfo(name)
        assert (ours.bits, ours.min, ours.max) == (theirs.bits, theirs.min, theirs.max)
        assert ours.dtype == getattr(dtypes, name)
    for asked in (lambda: doorbell.finfo("float33"), lambda: doorbell.iinfo("int9"), lambda: dtypes.DType("float33"),
                  lambda: doorbell.promote_types("int8", "float33"), lambda: Tensor([1], dtype="float33")):
        with pytest.raises(TypeError, match="expected bool, int8"):
            asked()


def test_axes_moved():
    array = np.arange(24).reshape(2, 3, 4)
    x = Tensor(array)
    for source, destination in ((0, 2), (-1, 0), ((0, 1), (1, 0)), ((0, 1), (-1, -2)), ((2, 0), (0, 1)), ((), ())):
        assert x.movedim(source, destination).tolist() == np.moveaxis(array, source, destination).tolist()
    for source, destination in (((0, 0), (1, 2)), ((0, 1), (2, 2)), ((0, 1), (0,)), (3, 0), (0, -4)):
        with pytest.raises(ValueError):
            x.movedim(source, destination)
        with pytest.raises(ValueError):
            np.moveaxis(array, source, destination)


@pytest.mark.parametrize("mask", [True, False])
def test_masks_of_no_axes(mask):
    array = np.arange(24).reshape(2, 3, 4)
    x = Tensor(array)
    for ours, theirs in ((Tensor(mask), np.array(mask)), (mask, mask)):
        for index in (lambda m: m, lambda m: (m, 1), lambda m: (1, m), lambda m: (Ellipsis, m),
                      lambda m: (m, Ellipsis, 0), lambda m: (slice(1), m), lambda m: (None, m, 0)):
            expected = array[index(theirs)]
            got = x[index(ours)]
            assert got.shape == expected.shape and got.tolist() == expected.tolist()
    y, expected = Tensor(array), array.copy()
    y[Tensor(mask)] = 7
    expected[np.array(mask)] = 7
    assert y.tolist() == expected.tolist()
    y[1, Tensor(mask)], expected[1, np.array(mask)] = 9, 9
    assert y.tolist() == expected.tolist()
