"""What the tests of the array API share: random arguments, and one call compared with NumPy's, which follows the same
standard. ARRAY_API_DRAWS says how many draws of each function (default 3; a thorough run takes 60).
"""
import os
import zlib

import numpy as np

from doorbell import Tensor, array_api as xp

DRAWS = int(os.environ.get("ARRAY_API_DRAWS", "3"))
INTS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOATS = ("float32", "float64")
NUMERIC = INTS + FLOATS
ALL = ("bool",) + NUMERIC
SIGNED = INTS[:4] + FLOATS


class Draw:
    """Random arguments of one call."""

    def __init__(self, name, number):
        self.rng = np.random.default_rng([zlib.crc32(name.encode()), number])

    def dtype(self, kinds):
        return kinds[self.rng.integers(len(kinds))]

    def shape(self, least=0, most=3, smallest=0):
        return tuple(int(n) for n in self.rng.integers(smallest, 5, self.rng.integers(least, most + 1)))

    def values(self, shape, dtype, low=-9, high=9):
        if dtype == "bool":
            return self.rng.integers(0, 2, shape).astype(bool)
        if dtype in INTS:
            return self.rng.integers(max(low, 0) if dtype[0] == "u" else low, high, shape).astype(dtype)
        found = np.asarray(self.rng.uniform(low, high, shape), dtype=dtype)
        special = self.rng.random(shape) < 0.15
        return np.where(special, self.rng.choice([0.0, -0.0, 1.0, np.inf, -np.inf, np.nan], shape),
                        found).astype(dtype)

    def array(self, kinds=NUMERIC, **options):
        return self.values(self.shape(**options), self.dtype(kinds))

    def finite(self, kinds=NUMERIC, **options):
        return np.nan_to_num(self.array(kinds, **options), nan=1.0, posinf=2.0, neginf=-2.0)

    def pair(self, kinds):
        """Two arrays of one dtype whose shapes broadcast."""
        shape, dtype = self.shape(), self.dtype(kinds)
        other = tuple(1 if self.rng.random() < 0.3 else n for n in shape)[self.rng.integers(len(shape) + 1):]
        arrays = [self.values(shape, dtype), self.values(other, dtype)]
        return arrays if self.rng.random() < 0.5 else arrays[::-1]

    def axis(self, ndim):
        return int(self.rng.integers(-ndim, ndim))

    def axes(self, ndim):
        """None, one or several."""
        kind = self.rng.integers(3)
        if kind == 0 or ndim == 0:
            return None
        if kind == 1:
            return self.axis(ndim)
        return tuple(int(n) for n in self.rng.permutation(ndim)[:self.rng.integers(1, ndim + 1)])


def ours(value):
    if isinstance(value, (np.ndarray, np.generic)):
        return Tensor(np.asarray(value))
    if isinstance(value, (list, tuple)):
        return type(value)(ours(part) for part in value)
    return value


def same(got, expected, what, dtypes=True, tolerance=None):
    if isinstance(expected, (list, tuple)):
        assert len(got) == len(expected), what
        for one, other in zip(got, expected):
            same(one, other, what, dtypes, tolerance)
        return
    if not isinstance(got, Tensor):
        assert got == expected, what
        return
    expected = np.asarray(expected)
    assert got.shape == expected.shape, f"{what}: {got.shape}, expected {expected.shape}"
    if dtypes:
        assert str(got.dtype) == str(expected.dtype), f"{what}: {got.dtype}, expected {expected.dtype}"
    rtol = tolerance or {"float32": 3e-5, "float64": 1e-11}.get(str(got.dtype), 0)
    np.testing.assert_allclose(got.numpy().astype(expected.dtype), expected, rtol=rtol, atol=rtol, err_msg=what)


def check(name, *arguments, dtypes=True, tolerance=None, **keywords):
    with np.errstate(all="ignore"):
        expected = getattr(np, name)(*arguments, **keywords)
    got = getattr(xp, name)(*ours(arguments), **{key: ours(value) for key, value in keywords.items()})
    same(got, expected, f"{name}{arguments}{keywords}", dtypes, tolerance)
