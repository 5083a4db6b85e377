"""Numbers of 2^63 and more, sizes beyond 2^31, and the values of ranges: NumPy's or an error at the call."""
import numpy as np
import pytest

from doorbell import Tensor, dtypes

LARGE = 0xFEDCBA9876543210


def test_unsigned_integers_are_exact():
    for x in [Tensor([LARGE]), Tensor([LARGE], dtype="uint64"), Tensor.full((1,), LARGE), Tensor(LARGE).reshape(1),
              Tensor([np.uint64(LARGE)]), Tensor(np.array([LARGE])), Tensor([1, LARGE])[1:]]:
        assert x.dtype == dtypes.uint64
        assert x.tolist() == [LARGE]
        assert str(x) == f"tensor([{LARGE}], dtype=uint64)"
    assert Tensor([2**63]).numpy().dtype == np.array([2**63]).dtype == np.uint64
    x = Tensor([1, 2], dtype="uint64")
    n = np.array([1, 2], dtype=np.uint64)
    for operation in [lambda a: a + 2**63, lambda a: 2**63 - a, lambda a: a * 3 + (2**64 - 10), lambda a: a | 2**63,
                      lambda a: (2**64 - 1) // (a + 4), lambda a: (a + 2**63) % 10, lambda a: a ^ (2**64 - 1)]:
        assert operation(x).dtype == dtypes.uint64
        assert operation(x).tolist() == operation(n).tolist()
    for operation in [lambda a: a < 2**63, lambda a: a + 2**63 == 2**63 + 1, lambda a: a >= 2**64 - 1]:
        assert operation(x).tolist() == operation(n).tolist()
    x[0] = 2**64 - 1
    assert x.tolist() == [2**64 - 1, 2]
    assert x.assign(2**63).tolist() == [2**63, 2**63]
    assert Tensor([1.0]).add(2**63).tolist() == [float(np.float32(2**63))]
    assert Tensor.arange(2**63 - 1, 2**63 + 2).tolist() == list(range(2**63 - 1, 2**63 + 2))


@pytest.mark.parametrize("call", [
    lambda: Tensor([2**64]), lambda: Tensor(2**64), lambda: Tensor([-2**63 - 1]), lambda: Tensor([1]) + 2**64,
    lambda: 2**64 * Tensor([1.0]), lambda: Tensor.full((2,), 10**30), lambda: Tensor([1]).assign(2**70),
    lambda: Tensor([2**63], dtype="int64"), lambda: Tensor([1]) + 2**63,
    lambda: Tensor.full((2,), 2**63, dtype="int64"),
    lambda: Tensor([2**63, -1]), lambda: Tensor([1, 2], dtype="int64") == 2**63, lambda: Tensor.zeros(2**63),
    lambda: Tensor.zeros((2, 2**64)), lambda: Tensor([1]).expand(2**64), lambda: Tensor.zeros(2**40, 2**40),
    lambda: Tensor.ones(10**12, 10**12), lambda: Tensor.ones(2**61).nbytes, lambda: Tensor.arange(2**64),
    lambda: Tensor.randint(3, low=0, high=2**40, dtype="int32"), lambda: Tensor([1, 2]).repeat(2**62),
])
def test_what_does_not_fit_is_an_overflow_error(call):
    with pytest.raises(OverflowError, match="does not fit|beyond integers of 64 bits"):
        call()


def test_large_indices_are_index_errors():
    with pytest.raises(IndexError, match="18446744073709551616, beyond integers of 64 bits"):
        Tensor([1])[2**64]
    with pytest.raises(IndexError, match="out of range"):
        Tensor([1])[2**40]


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "int32"])
@pytest.mark.parametrize("ends", [(0.1, 1, 2), (0.1, 1, 7), (-1e15, 1e15, 11), (0, 16777217, 2), (3, -16777221, 9)])
def test_linspace_is_numpys(ends, dtype):
    if dtype == "int32" and abs(ends[0]) > 2**31:
        return
    expected = np.linspace(*ends)
    expected = np.trunc(expected).astype(dtype) if "int" in dtype else expected.astype(dtype)
    actual = Tensor.linspace(*ends, dtype=dtype).numpy()
    assert actual.dtype == expected.dtype
    if "int" in dtype:  # PyTorch counts from the nearer end, NumPy from the first: they may round apart
        assert np.abs(actual - expected).max() <= 1
    else:
        eps = np.finfo(dtype).eps
        np.testing.assert_allclose(actual, expected, rtol=2 * eps, atol=2 * eps * max(map(abs, ends[:2])))
    assert actual[0] == expected[0] and actual[-1] == expected[-1]


@pytest.mark.parametrize("arguments", [(0.1, 1, 0.3), (0, 3, 0.1), (5, -5, -0.7), (16777216.5, 16777225),
                                       (1e9, 1e9 + 5)])
def test_arange_of_doubles_is_numpys(arguments):
    actual = Tensor.arange(*arguments, dtype="float64").numpy()
    expected = np.arange(*arguments, dtype=np.float64)  # by repeated steps of one rounding
    np.testing.assert_allclose(actual, expected, rtol=0, atol=len(expected) * np.spacing(np.abs(expected).max()))
    whole = Tensor.arange(*(float(x) for x in arguments), dtype="int64").numpy()
    assert whole.tolist() == [int(x) for x in actual]


def test_random_integers_hold_their_range():
    Tensor.manual_seed(1)
    x = Tensor.randint(1000, low=0, high=2**40)
    assert x.dtype == dtypes.int64
    values = x.numpy()
    assert values.min() >= 0 and 2**39 < values.max() < 2**40


def test_repr_reads_only_what_it_shows():
    assert repr(Tensor.ones(200_000_000)) == "tensor([1., 1., 1., ..., 1., 1., 1.])"
    assert repr(Tensor([1]).expand(2**31 + 3)) == "tensor([1, 1, 1, ..., 1, 1, 1])"
    assert repr(Tensor.arange(2**40)).startswith("tensor([            0,             1,             2, ...")
