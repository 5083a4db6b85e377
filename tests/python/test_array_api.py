"""doorbell.array_api beside NumPy, which follows the same standard: the same calls with drawn shapes, dtypes, axes and
values give the same. ARRAY_API_DRAWS says how many draws of each function (default 4; a thorough run takes 100).
"""
import inspect
import math
import os
import zlib

import numpy as np
import pytest

from doorbell import Tensor, array_api as xp

DRAWS = int(os.environ.get("ARRAY_API_DRAWS", "4"))
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


def theirs(name):
    return getattr(np, name)


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
        expected = theirs(name)(*arguments, **keywords)
    got = getattr(xp, name)(*ours(arguments), **{key: ours(value) for key, value in keywords.items()})
    same(got, expected, f"{name}{arguments}{keywords}", dtypes, tolerance)


UNARY = {name: FLOATS for name in (
    "acos acosh asin asinh atan atanh cos cosh exp expm1 log log1p log2 log10 reciprocal sin sinh sqrt tan "
    "tanh").split()}
UNARY |= {name: NUMERIC for name in "ceil floor round trunc isfinite isinf isnan positive sign square".split()}
UNARY |= {"abs": NUMERIC, "negative": SIGNED, "bitwise_invert": ("bool",) + INTS, "logical_not": ("bool",),
          "signbit": FLOATS}
BINARY = {name: NUMERIC for name in (
    "add subtract multiply maximum minimum less less_equal greater greater_equal").split()}
BINARY |= {name: FLOATS for name in "atan2 hypot copysign nextafter logaddexp divide pow".split()}
BINARY |= {"equal": ALL, "not_equal": ALL, "bitwise_and": ("bool",) + INTS, "bitwise_or": ("bool",) + INTS,
           "bitwise_xor": ("bool",) + INTS, "logical_and": ("bool",), "logical_or": ("bool",), "logical_xor": ("bool",)}


@pytest.mark.parametrize("name", sorted(UNARY))
def test_functions_of_one(name):
    for number in range(DRAWS):
        draw = Draw(name, number)
        array = draw.array(UNARY[name])
        if name in ("acos", "asin", "atanh"):
            array = array / 10
        check(name, array.astype(draw.dtype(UNARY[name])) if name in ("acos", "asin", "atanh") else array)


@pytest.mark.parametrize("name", sorted(BINARY))
def test_functions_of_two(name):
    for number in range(DRAWS):
        a, b = Draw(name, number).pair(BINARY[name])
        if name == "pow":
            a = np.abs(a)
        check(name, a, b)
        if a.dtype.kind == "f" and name not in ("nextafter",):
            check(name, a, 2.0)
            check(name, 0.5, b)


@pytest.mark.parametrize("name", ["floor_divide", "remainder"])
def test_division_of_integers(name):
    for number in range(DRAWS):
        a, b = Draw(name, number).pair(INTS)
        check(name, a, np.where(b == 0, 3, b).astype(b.dtype))


@pytest.mark.parametrize("name", ["pow", "bitwise_left_shift", "bitwise_right_shift"])
def test_powers_and_shifts_of_integers(name):
    for number in range(DRAWS):
        a, b = Draw(name, number).pair(INTS)
        check(name, a, np.abs(b) % 7)


def test_clip_and_where():
    for number in range(DRAWS):
        draw = Draw("clip", number)
        x = draw.array()
        low, high = draw.values((), str(x.dtype), -4, 2), draw.values((), str(x.dtype), 2, 5)
        for bounds in ({"min": low, "max": high}, {"min": low}, {"max": high}):
            if not any(np.isnan(bound).any() for bound in bounds.values()):
                check("clip", x, **bounds)
        a, b = draw.pair(ALL)
        check("where", draw.values(np.broadcast_shapes(a.shape, b.shape), "bool"), a, b)


@pytest.mark.parametrize("name", ["sum", "prod", "max", "min", "mean", "var", "std", "any", "all", "count_nonzero"])
def test_over_axes(name):
    for number in range(DRAWS):
        draw = Draw(name, number)
        kinds = {"mean": FLOATS, "var": FLOATS, "std": FLOATS, "any": ALL, "all": ALL}.get(name, NUMERIC)
        array = draw.finite(kinds, least=0, smallest=1)
        keywords = {"axis": draw.axes(array.ndim), "keepdims": bool(draw.rng.integers(2))}
        if name in ("var", "std"):
            keywords["correction"] = [0.0, 0.5, 0][int(draw.rng.integers(3))]
        check(name, array, dtypes=name not in ("sum", "prod", "count_nonzero"), tolerance=2e-4, **keywords)
        if name in ("sum", "prod"):
            wanted = draw.dtype(("float32", "float64", "int64"))
            got = getattr(xp, name)(Tensor(array), dtype=getattr(xp, wanted))
            same(got, getattr(np, name)(array.astype(wanted), dtype=wanted), name, tolerance=2e-4)


@pytest.mark.parametrize("name", ["argmax", "argmin", "sort", "argsort", "cumulative_sum", "cumulative_prod", "diff"])
def test_along_an_axis(name):
    for number in range(DRAWS):
        draw = Draw(name, number)
        array = draw.finite(NUMERIC, least=1, smallest=1)
        axis = draw.axis(array.ndim)
        keywords = {"axis": axis}
        if name in ("argmax", "argmin"):
            keywords["keepdims"] = bool(draw.rng.integers(2))
        if name.startswith("cumulative"):
            keywords["include_initial"] = bool(draw.rng.integers(2))
        if name == "diff":
            keywords["n"] = int(draw.rng.integers(0, 3))
        if name in ("sort", "argsort"):
            keywords["stable"] = True
        check(name, array, dtypes=name in ("sort", "diff"), tolerance=2e-4, **keywords)
    if name in ("sort", "argsort"):
        order = getattr(xp, name)(Tensor([2, 3, 2, 1]), descending=True).tolist()
        assert order == ([3, 2, 2, 1] if name == "sort" else [1, 0, 2, 3])


def test_picking():
    for number in range(DRAWS):
        draw = Draw("take", number)
        array = draw.array(ALL, least=1, smallest=1)
        axis = draw.axis(array.ndim)
        places = draw.rng.integers(-array.shape[axis], array.shape[axis], int(draw.rng.integers(1, 5)))
        check("take", array, places, axis=axis)
        along = np.argsort(draw.rng.random(array.shape), axis)
        check("take_along_axis", array, along, axis=axis)
        check("nonzero", array, dtypes=False)
        line = np.sort(draw.finite(NUMERIC, least=1, most=1, smallest=1))
        values = draw.values(draw.shape(), str(line.dtype))
        values = np.nan_to_num(values) if values.dtype.kind == "f" else values
        for side in ("left", "right"):
            check("searchsorted", line, values, side=side, dtypes=False)


def test_sets():
    for number in range(DRAWS):
        draw = Draw("sets", number)
        array = draw.finite(ALL)
        same(xp.unique_values(Tensor(array)), np.unique(array), "unique_values")
        for name in ("unique_all", "unique_counts", "unique_inverse"):
            expected = getattr(np, name)(array)
            got = getattr(xp, name)(Tensor(array))
            assert got._fields == expected._fields
            for field in got._fields:
                same(getattr(got, field), getattr(expected, field), f"{name} {array} {field}", dtypes=field == "values")


SHAPES = {
    "broadcast_to": lambda d, x: ((d.shape(0, 1) + x.shape,), {}),
    "expand_dims": lambda d, x: ((), {"axis": int(d.rng.integers(-x.ndim - 1, x.ndim + 1))}),
    "flip": lambda d, x: ((), {"axis": d.axes(x.ndim)}),
    "permute_dims": lambda d, x: ((tuple(int(n) for n in d.rng.permutation(x.ndim)),), {}),
    "moveaxis": lambda d, x: ((tuple(range(x.ndim)), tuple(int(n) for n in d.rng.permutation(x.ndim))), {}),
    "reshape": lambda d, x: (((int(math.prod(x.shape)),),), {}),
    "roll": lambda d, x: ((int(d.rng.integers(-7, 7)),), {"axis": d.axes(x.ndim)}),
    "repeat": lambda d, x: ((int(d.rng.integers(0, 4)),), {"axis": d.axis(x.ndim) if x.ndim else None}),
    "tile": lambda d, x: ((tuple(int(n) for n in d.rng.integers(0, 3, d.rng.integers(0, 4))),), {}),
    "unstack": lambda d, x: ((), {"axis": d.axis(x.ndim)}),
    "tril": lambda d, x: ((), {"k": int(d.rng.integers(-3, 4))}),
    "triu": lambda d, x: ((), {"k": int(d.rng.integers(-3, 4))}), "matrix_transpose": lambda d, x: ((), {}),
    "squeeze": lambda d, x: ((0,), {}),
}


@pytest.mark.parametrize("name", sorted(SHAPES))
def test_shapes(name):
    for number in range(DRAWS):
        draw = Draw(name, number)
        least = 2 if name in ("tril", "triu", "matrix_transpose") else 1 if name == "unstack" else 0
        array = draw.array(ALL, least=least)
        if name == "squeeze":
            array = array[None]
        arguments, keywords = SHAPES[name](draw, array)
        if name in ("tril", "triu", "unstack", "matrix_transpose", "permute_dims") or name in dir(np):
            check(name, array, *arguments, **keywords)


def test_joining():
    for number in range(DRAWS):
        draw = Draw("join", number)
        array = draw.array(ALL, least=1)
        axis = draw.axis(array.ndim)
        check("concat", [array, array, array[:0] if axis in (0, -array.ndim) else array], axis=axis)
        check("concat", [array, array], axis=None)
        check("stack", [array, array], axis=int(draw.rng.integers(-array.ndim - 1, array.ndim + 1)))
        check("meshgrid", np.arange(3), np.arange(2), indexing=("xy", "ij")[number % 2])
        a, b = draw.pair(ALL)
        check("broadcast_arrays", a, b)


def test_creation():
    for number in range(DRAWS):
        draw = Draw("creation", number)
        shape, dtype = draw.shape(), draw.dtype(ALL)
        for name in ("zeros", "ones"):
            same(getattr(xp, name)(shape, dtype=getattr(xp, dtype)), getattr(np, name)(shape, dtype=dtype), name)
        same(xp.full(shape, 3, dtype=getattr(xp, dtype)), np.full(shape, 3, dtype=dtype), "full")
        array = draw.array(ALL)
        for name in ("zeros_like", "ones_like"):
            check(name, array)
        check("full_like", array, 1)
        assert xp.empty_like(Tensor(array)).shape == xp.empty(array.shape).shape == array.shape
        start, stop, step = (int(n) for n in draw.rng.integers([-9, -9, 1], [9, 9, 4]))
        for arguments in ((stop,), (start, stop), (start, stop, step), (stop, start, -step)):
            check("arange", *arguments, dtypes=False)
        count = int(draw.rng.integers(0, 6))
        for endpoint in (True, False):
            check("linspace", start, stop, count, endpoint=endpoint, dtypes=False)
        rows, columns, k = (int(n) for n in draw.rng.integers([0, 0, -3], [4, 4, 4]))
        same(xp.eye(rows, columns, k=k), np.eye(rows, columns, k=k), "eye", dtypes=False)
    assert xp.asarray([1.5]).dtype == xp.float32 and xp.asarray([1]).dtype == xp.int32
    with pytest.raises(ValueError):
        xp.asarray([1, 2], copy=False)


@pytest.mark.parametrize("name", ["matmul", "vecdot", "tensordot"])
def test_products(name):
    for number in range(DRAWS):
        draw = Draw(name, number)
        dtype = draw.dtype(NUMERIC)
        m, n, k = (int(size) for size in draw.rng.integers(1, 5, 3))
        shapes = {"matmul": ((2, m, k), (k, n)), "vecdot": ((m, k), (k,)), "tensordot": ((m, n, k), (n, k, 2))}[name]
        arrays = [draw.rng.integers(0, 4, shape).astype(dtype) for shape in shapes]
        check(name, *arrays)
    check("tensordot", np.ones((2, 3)), np.ones((4, 2)), axes=((0,), (1,)))
    check("tensordot", np.ones((2, 3)), np.ones((4,)), axes=0)


def test_dtypes():
    kinds = ("bool", "signed integer", "unsigned integer", "integral", "real floating", "numeric", "complex floating")
    for a in ALL:
        for kind in kinds:
            assert xp.isdtype(getattr(xp, a), kind) == np.isdtype(np.dtype(a), kind)
        for b in ALL:
            mixed = {np.dtype(a).kind, np.dtype(b).kind}
            if a != b and ("b" in mixed or len(mixed & {"f"}) == 1 or {a, b} & {"uint64"} and mixed != {"u"}):
                continue  # the standard leaves these to the library
            assert str(xp.result_type(getattr(xp, a), getattr(xp, b))) == str(np.result_type(a, b))
            assert xp.can_cast(getattr(xp, a), getattr(xp, b)) == np.can_cast(a, b)
    assert xp.finfo(xp.float64).dtype == xp.float64 and xp.iinfo(xp.int8).dtype == xp.int8
    info = xp.__array_namespace_info__()
    assert info.default_dtypes()["integral"] == xp.int32 and info.default_device() in info.devices()
    assert set(info.dtypes(kind="unsigned integer")) == {"uint8", "uint16", "uint32", "uint64"}


def test_the_namespace_of_a_tensor():
    x = Tensor([1.0])
    assert x.__array_namespace__() is xp and x.__array_namespace__(api_version="2024.12") is xp
    assert x.to_device(x.device).tolist() == [1.0]


# What NumPy's info says of the standard's names, without complex numbers.
NAMES = """
__array_api_version__ __array_namespace_info__ abs acos acosh add all any arange argmax argmin argsort asarray asin
asinh astype atan atan2 atanh bitwise_and bitwise_invert bitwise_left_shift bitwise_or bitwise_right_shift
bitwise_xor bool broadcast_arrays broadcast_to can_cast ceil clip concat copysign cos cosh count_nonzero
cumulative_prod cumulative_sum diff divide e empty empty_like equal exp expand_dims expm1 eye finfo flip float32
float64 floor floor_divide from_dlpack full full_like greater greater_equal hypot iinfo inf int16 int32 int64 int8
isdtype isfinite isinf isnan less less_equal linspace log log10 log1p log2 logaddexp logical_and logical_not
logical_or logical_xor matmul matrix_transpose max maximum mean meshgrid min minimum moveaxis multiply nan negative
newaxis nextafter nonzero not_equal ones ones_like permute_dims pi positive pow prod reciprocal remainder repeat
reshape result_type roll round searchsorted sign signbit sin sinh sort sqrt square squeeze stack std subtract sum
take take_along_axis tan tanh tensordot tile tril triu trunc uint16 uint32 uint64 uint8 unique_all unique_counts
unique_inverse unique_values unstack var vecdot where zeros zeros_like
"""


@pytest.mark.parametrize("name", NAMES.split())
def test_names(name):
    found = getattr(xp, name)
    if callable(found) and not inspect.isclass(found):
        inspect.signature(found)
