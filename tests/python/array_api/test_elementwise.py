"""Elementwise functions, beside NumPy's."""
import numpy as np
import pytest

from drawing import ALL, DRAWS, FLOATS, INTS, NUMERIC, SIGNED, Draw, check


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
