"""Sizes that are bound at run time: slices, indices and padding are NumPy's for every value that they can have."""
import numpy as np
import pytest

from doorbell import Tensor, Variable

LINE = np.arange(6, dtype=np.int32)


@pytest.mark.parametrize("start,stop", [
    (lambda n: None, lambda n: n), (lambda n: n, lambda n: None), (lambda n: n, lambda n: n + 2),
    (lambda n: n - 2, lambda n: None), (lambda n: -3, lambda n: n), (lambda n: n - 8, lambda n: n - 3),
    (lambda n: 0 - n, lambda n: -1), (lambda n: 2 * n, lambda n: 9 - n), (lambda n: None, lambda n: n - 4)])
def test_slices_are_numpys(start, stop):
    n = Variable("n", 0, 9)
    for value in range(10):
        size = n.bind(value)
        expected = LINE[start(value):stop(value)]
        assert Tensor(LINE)[start(size):stop(size)].tolist() == expected.tolist(), value
        changed, plain = Tensor(LINE), LINE.copy()
        changed[start(size):stop(size)] = 50
        plain[start(value):stop(value)] = 50
        assert changed.tolist() == plain.tolist(), value


def test_slices_of_symbolic_sizes_are_numpys():
    n = Variable("n", 0, 6)
    for value in range(7):
        part, plain = Tensor(LINE)[:n.bind(value)], LINE[:value]
        for place in (slice(2, None), slice(None, -1), slice(-2, None), slice(1, 9), slice(None, None, -1),
                      slice(-9, 3)):
            assert part[place].tolist() == plain[place].tolist(), (value, place)
        for place in range(-7, 7):
            if -value <= place < value:
                assert part[place].item() == plain[place]
            else:
                with pytest.raises(IndexError, match="index"):
                    part[place]


def test_indices_are_checked_by_what_is_bound():
    n = Variable("n", 0, 9)
    assert Tensor(LINE)[n.bind(5)].item() == 5
    assert Tensor(LINE)[n.bind(5) - 6].item() == 5
    with pytest.raises(IndexError, match=r"index n of axis 0 of shape \(6\): n \(6 now\) is more than 5"):
        Tensor(LINE)[n.bind(6)]
    with pytest.raises(ValueError, match=r"window 0:n of axis 0 of shape \(6\): n \(7 now\) is more than 6"):
        Tensor(LINE).shrink(((0, n.bind(7)),))


def test_padding_is_numpys():
    n = Variable("n", 0, 9)
    for value in range(10):
        size = n.bind(value)
        x = Tensor(LINE.reshape(2, 3))
        expected = np.pad(LINE.reshape(2, 3), ((value, 0), (1, value)), constant_values=7)
        assert x.pad(((size, 0), (1, size)), value=7).tolist() == expected.tolist()
        assert x.pad((1, size, size, 0), value=7).tolist() == expected.tolist()
        part = Tensor(LINE)[:size]
        assert part.pad(((0, 9 - size),)).tolist() == np.pad(LINE[:value], (0, 9 - len(LINE[:value])))[:max(
            9 - value + len(LINE[:value]), 0)].tolist()
        assert part.pad_to(8).tolist() == np.pad(LINE[:value], (0, 8 - len(LINE[:value]))).tolist()
    with pytest.raises(ValueError, match="padding of .* at axis 0"):
        Tensor(LINE).pad(((n.bind(1) - 2, 0),))


def test_sizes_compare_with_numbers_and_each_other():
    n, m = Variable("n", 1, 8).bind(3), Variable("m", 1, 8).bind(3)
    assert n == 3 and 3 == n and n == m and n != 4 and hash(n) == hash(3) and {3: "x"}[n] == "x"
    assert n < 4 and n <= 3 and n >= m and n <= m and not n < m and n + 1 > m and sorted([n + 1, n])[0] == 3
