"""Dtypes: how they promote, in each function and operator, and what they hold."""
import operator

import numpy as np
import pytest

from doorbell import Tensor, array_api as xp
from drawing import ALL, FLOATS, INTS, NUMERIC

# The standard's tables; what is not in them (floats with integers, bool with numbers, uint64 with signed integers) is
# left to the library.
TABLES = """
       int8  int16 int32 int64 uint8 uint16 uint32
int8   int8  int16 int32 int64 int16 int32  int64
int16  int16 int16 int32 int64 int16 int32  int64
int32  int32 int32 int32 int64 int32 int32  int64
int64  int64 int64 int64 int64 int64 int64  int64

       uint8  uint16 uint32 uint64
uint8  uint8  uint16 uint32 uint64
uint16 uint16 uint16 uint32 uint64
uint32 uint32 uint32 uint32 uint64
uint64 uint64 uint64 uint64 uint64

        float32 float64
float32 float32 float64
float64 float64 float64

     bool
bool bool
"""


def promotions():
    found = {}
    for table in TABLES.strip("\n").split("\n\n"):
        columns, *rows = (line.split() for line in table.split("\n"))
        for row in rows:
            for column, result in zip(columns, row[1:]):
                found[row[0], column] = found[column, row[0]] = result
    return found


PROMOTIONS = promotions()
ARITHMETIC = "add subtract multiply maximum minimum".split()
FUNCTIONS = {name: NUMERIC for name in ARITHMETIC} | {
    name: FLOATS for name in "divide atan2 hypot copysign nextafter logaddexp".split()} | {
    name: INTS for name in "floor_divide remainder bitwise_left_shift bitwise_right_shift".split()} | {
    name: ("bool",) + INTS for name in "bitwise_and bitwise_or bitwise_xor".split()} | {
    "pow": NUMERIC, "matmul": NUMERIC}
COMPARISONS = "equal not_equal less less_equal greater greater_equal".split()
OPERATORS = {"+": (operator.add, NUMERIC), "-": (operator.sub, NUMERIC), "*": (operator.mul, NUMERIC),
             "/": (operator.truediv, FLOATS), "//": (operator.floordiv, NUMERIC), "%": (operator.mod, NUMERIC),
             "**": (operator.pow, NUMERIC), "&": (operator.and_, ("bool",) + INTS),
             "|": (operator.or_, ("bool",) + INTS), "^": (operator.xor, ("bool",) + INTS),
             "<<": (operator.lshift, INTS), ">>": (operator.rshift, INTS)}


def ones(dtype):
    return Tensor.ones(2, dtype=getattr(xp, dtype))


def pairs(kinds):
    return [(a, b, result) for (a, b), result in PROMOTIONS.items() if a in kinds and b in kinds]


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_functions_promote(name):
    for a, b, result in pairs(FUNCTIONS[name]):
        assert str(getattr(xp, name)(ones(a), ones(b)).dtype) == result, f"{name} of {a} and {b}"


@pytest.mark.parametrize("name", COMPARISONS)
def test_comparisons_give_bool(name):
    for a, b, _ in pairs(NUMERIC):
        assert getattr(xp, name)(ones(a), ones(b)).dtype == xp.bool


@pytest.mark.parametrize("name", sorted(OPERATORS))
def test_operators_promote(name):
    function, kinds = OPERATORS[name]
    for a, b, result in pairs(kinds):
        assert str(function(ones(a), ones(b)).dtype) == result, f"{a} {name} {b}"
    for dtype in kinds:  # a number of its kind, or an integer beside a float, takes the dtype
        number = {"b": True, "f": 2.0}.get(np.dtype(dtype).kind, 2)
        for mixed in {number, 2} if dtype in FLOATS else {number}:
            assert str(function(ones(dtype), mixed).dtype) == str(function(mixed, ones(dtype)).dtype) == dtype


@pytest.mark.parametrize("name", sorted(set(OPERATORS)))
def test_operators_in_place_keep_the_dtype(name):
    function, kinds = OPERATORS[name]
    in_place = getattr(operator, "i" + function.__name__.strip("_"))
    for a, b, result in pairs(kinds):
        if a == result:
            x = ones(a)
            assert str(in_place(x, ones(b)).dtype) == a


def test_result_type_and_can_cast():
    for (a, b), result in PROMOTIONS.items():
        assert str(xp.result_type(getattr(xp, a), ones(b))) == result
        assert xp.can_cast(getattr(xp, a), getattr(xp, b)) == (result == b)
    assert xp.result_type(xp.int8, 3) == xp.int8 and xp.result_type(2, ones("float64"), 1.5) == xp.float64
    with pytest.raises(ValueError, match="numbers alone"):
        xp.result_type(1, 2.0)


KINDS = ("bool", "signed integer", "unsigned integer", "integral", "real floating", "numeric", "complex floating")


@pytest.mark.parametrize("kind", KINDS)
def test_isdtype(kind):
    for dtype in ALL:
        assert xp.isdtype(getattr(xp, dtype), kind) == np.isdtype(np.dtype(dtype), kind)
        assert xp.isdtype(getattr(xp, dtype), (kind, getattr(xp, dtype)))
    with pytest.raises(ValueError, match="'float'"):
        xp.isdtype(xp.float32, "float")


@pytest.mark.parametrize("dtype", FLOATS)
def test_finfo(dtype):
    wanted = np.finfo(dtype)
    for got in (xp.finfo(getattr(xp, dtype)), xp.finfo(ones(dtype))):
        for name in ("bits", "eps", "max", "min", "smallest_normal"):
            assert getattr(got, name) == getattr(wanted, name)
            assert type(getattr(got, name)) is (int if name == "bits" else float)
        assert got.dtype == getattr(xp, dtype)


@pytest.mark.parametrize("dtype", INTS)
def test_iinfo(dtype):
    wanted = np.iinfo(dtype)
    for got in (xp.iinfo(getattr(xp, dtype)), xp.iinfo(ones(dtype))):
        assert (got.bits, got.min, got.max) == (wanted.bits, wanted.min, wanted.max)
        assert got.dtype == getattr(xp, dtype)


@pytest.mark.parametrize("dtype", ALL)
def test_astype(dtype):
    values = np.array([0, 1, 5, 100])
    for source in ALL:
        x = Tensor(values.astype(source))
        got = xp.astype(x, getattr(xp, dtype))
        np.testing.assert_array_equal(got.numpy(), values.astype(source).astype(dtype))
        assert str(got.dtype) == dtype and got is not x


@pytest.mark.parametrize("dtype", ALL)
def test_equality_of_dtypes(dtype):
    assert [getattr(xp, other) == getattr(xp, dtype) for other in ALL] == [other == dtype for other in ALL]
