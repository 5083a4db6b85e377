"""The standard's special cases: what is not a number, infinite, zero of either sign, or at the edge of a domain."""
import math
import operator

import numpy as np
import pytest

from doorbell import Tensor, array_api as xp
from drawing import FLOATS

NAN, INF, PI = math.nan, math.inf, math.pi
# Of one argument: pairs of the argument and the result.
ODD = [(NAN, NAN), (0.0, 0.0), (-0.0, -0.0)]
SAME = ODD + [(INF, INF), (-INF, -INF)]
UNARY = {
    "abs": [(NAN, NAN), (-0.0, 0.0), (0.0, 0.0), (-INF, INF), (INF, INF)],
    "acos": [(NAN, NAN), (1.5, NAN), (-1.5, NAN), (INF, NAN), (-INF, NAN), (1.0, 0.0), (-1.0, PI), (-0.0, PI / 2)],
    "acosh": [(NAN, NAN), (0.5, NAN), (-0.0, NAN), (-2.0, NAN), (-1e30, NAN), (-INF, NAN), (1.0, 0.0), (INF, INF)],
    "asin": ODD + [(1.5, NAN), (-1.5, NAN), (INF, NAN), (1.0, PI / 2), (-1.0, -PI / 2)],
    "asinh": SAME, "atan": ODD + [(INF, PI / 2), (-INF, -PI / 2)],
    "atanh": ODD + [(-1.5, NAN), (1.5, NAN), (INF, NAN), (-1.0, -INF), (1.0, INF)],
    "ceil": SAME + [(3.0, 3.0), (-0.5, -0.0), (0.5, 1.0), (-3.5, -3.0)],
    "conj": SAME, "cos": [(NAN, NAN), (0.0, 1.0), (-0.0, 1.0), (INF, NAN), (-INF, NAN)],
    "cosh": [(NAN, NAN), (0.0, 1.0), (-0.0, 1.0), (INF, INF), (-INF, INF)],
    "exp": [(NAN, NAN), (0.0, 1.0), (-0.0, 1.0), (INF, INF), (-INF, 0.0)], "expm1": ODD + [(INF, INF), (-INF, -1.0)],
    "floor": SAME + [(3.0, 3.0), (0.5, 0.0), (-0.5, -1.0), (-3.5, -4.0)],
    "log": [(NAN, NAN), (-1.0, NAN), (-INF, NAN), (0.0, -INF), (-0.0, -INF), (1.0, 0.0), (INF, INF)],
    "log1p": ODD + [(-1.5, NAN), (-INF, NAN), (-1.0, -INF), (INF, INF)],
    "negative": [(NAN, NAN), (0.0, -0.0), (-0.0, 0.0), (INF, -INF), (-INF, INF)], "positive": SAME, "real": SAME,
    "reciprocal": [(NAN, NAN), (0.0, INF), (-0.0, -INF), (INF, 0.0), (-INF, -0.0)],
    "round": SAME + [(0.5, 0.0), (-0.5, -0.0), (1.5, 2.0), (2.5, 2.0), (-2.5, -2.0), (0.4, 0.0), (-0.4, -0.0)],
    "sign": [(NAN, NAN), (-3.0, -1.0), (3.0, 1.0), (INF, 1.0), (-INF, -1.0), (0.0, 0.0), (-0.0, 0.0)],
    "sin": ODD + [(INF, NAN), (-INF, NAN)], "sinh": SAME, "square": [(NAN, NAN), (-0.0, 0.0), (-INF, INF), (INF, INF)],
    "sqrt": ODD + [(-1.0, NAN), (-INF, NAN), (INF, INF)], "tan": ODD + [(INF, NAN), (-INF, NAN)],
    "tanh": ODD + [(INF, 1.0), (-INF, -1.0)], "trunc": SAME + [(3.0, 3.0), (-0.5, -0.0), (0.5, 0.0), (-3.5, -3.0)],
}
UNARY["log2"] = UNARY["log10"] = UNARY["log"]
TRUTH = {
    "isnan": [(NAN, True), (INF, False), (0.0, False)],
    "isinf": [(NAN, False), (INF, True), (-INF, True), (1.0, False)],
    "isfinite": [(NAN, False), (INF, False), (-INF, False), (-0.0, True), (1.0, True)],
    "signbit": [(0.0, False), (-0.0, True), (INF, False), (-INF, True), (2.0, False), (-2.0, True), (NAN, False),
                (-NAN, True)],
}
# Of two: triples of the arguments and the result.
NANS = [(NAN, 1.0, NAN), (1.0, NAN, NAN), (NAN, NAN, NAN), (NAN, INF, NAN), (-INF, NAN, NAN)]
QUOTIENTS = NANS + [
    (INF, INF, NAN), (INF, -INF, NAN), (-INF, INF, NAN), (-INF, -INF, NAN), (0.0, 0.0, NAN), (-0.0, 0.0, NAN),
    (0.0, -0.0, NAN), (-0.0, -0.0, NAN), (0.0, 2.0, 0.0), (-0.0, 2.0, -0.0), (0.0, -2.0, -0.0), (-0.0, -2.0, 0.0),
    (3.0, 0.0, INF), (3.0, -0.0, -INF), (-3.0, 0.0, -INF), (-3.0, -0.0, INF), (INF, 2.0, INF), (INF, -2.0, -INF),
    (-INF, 2.0, -INF), (-INF, -2.0, INF), (3.0, INF, 0.0), (3.0, -INF, -0.0), (-3.0, INF, -0.0), (-3.0, -INF, 0.0)]
# Of infinities NumPy's, PyTorch's and Python's own, which the standard leaves to the library.
FLOORED = {(INF, 2.0): NAN, (INF, -2.0): NAN, (-INF, 2.0): NAN, (-INF, -2.0): NAN, (3.0, -INF): -1.0, (-3.0, INF): -1.0}
BINARY = {
    "add": NANS + [
        (INF, -INF, NAN), (-INF, INF, NAN), (INF, INF, INF), (-INF, -INF, -INF), (INF, 1.0, INF), (-INF, 1.0, -INF),
        (1.0, INF, INF), (1.0, -INF, -INF), (-0.0, -0.0, -0.0), (-0.0, 0.0, 0.0), (0.0, -0.0, 0.0), (0.0, 0.0, 0.0),
        (0.0, 2.0, 2.0), (-0.0, 2.0, 2.0), (2.0, -0.0, 2.0), (2.0, -2.0, 0.0)],
    "subtract": NANS + [
        (INF, INF, NAN), (-INF, -INF, NAN), (INF, -INF, INF), (-0.0, 0.0, -0.0), (-0.0, -0.0, 0.0), (2.0, 2.0, 0.0)],
    "atan2": NANS + [
        (1.0, 0.0, PI / 2), (1.0, -0.0, PI / 2), (0.0, 1.0, 0.0), (0.0, 0.0, 0.0), (0.0, -0.0, PI), (0.0, -1.0, PI),
        (-0.0, 1.0, -0.0), (-0.0, 0.0, -0.0), (-0.0, -0.0, -PI), (-0.0, -1.0, -PI), (-1.0, 0.0, -PI / 2),
        (-1.0, -0.0, -PI / 2), (1.0, INF, 0.0), (1.0, -INF, PI), (-1.0, INF, -0.0), (-1.0, -INF, -PI),
        (INF, 1.0, PI / 2), (-INF, 1.0, -PI / 2), (INF, INF, PI / 4), (INF, -INF, 3 * PI / 4), (-INF, INF, -PI / 4),
        (-INF, -INF, -3 * PI / 4)],
    "copysign": [
        (2.0, -3.0, -2.0), (2.0, -0.0, -2.0), (-2.0, 0.0, 2.0), (-2.0, 3.0, 2.0), (2.0, -NAN, -2.0), (-2.0, NAN, 2.0),
        (NAN, -1.0, NAN), (0.0, -INF, -0.0), (-INF, 1.0, INF)],
    "divide": QUOTIENTS, "floor_divide": [(a, b, FLOORED.get((a, b), wanted)) for a, b, wanted in QUOTIENTS] + [
        (7.0, 2.0, 3.0), (-7.0, 2.0, -4.0), (1.0, -3.0, -1.0)],
    "hypot": [(INF, NAN, INF), (NAN, -INF, INF), (-INF, 1.0, INF), (NAN, 1.0, NAN), (0.0, -0.0, 0.0), (-3.0, 4.0, 5.0)],
    "logaddexp": [(NAN, 1.0, NAN), (1.0, NAN, NAN), (INF, 1.0, INF), (INF, -INF, INF), (1.0, INF, INF),
                  (-INF, -INF, -INF), (-INF, 1.0, 1.0)],
    "maximum": NANS + [(INF, 1.0, INF), (-INF, 1.0, 1.0)], "minimum": NANS + [(INF, 1.0, 1.0), (-INF, 1.0, -INF)],
    "multiply": NANS + [
        (INF, 0.0, NAN), (-INF, 0.0, NAN), (0.0, INF, NAN), (-0.0, -INF, NAN), (INF, INF, INF), (INF, -INF, -INF),
        (INF, -2.0, -INF), (-2.0, -INF, INF), (0.0, -2.0, -0.0), (-0.0, -2.0, 0.0), (-0.0, 0.0, -0.0)],
    "nextafter": NANS + [(-0.0, 0.0, 0.0), (0.0, -0.0, -0.0), (1.0, 1.0, 1.0), (INF, INF, INF)],
    "pow": [
        (2.0, NAN, NAN), (NAN, 0.0, 1.0), (NAN, -0.0, 1.0), (INF, 0.0, 1.0), (0.0, -0.0, 1.0), (NAN, 2.0, NAN),
        (1.0, NAN, 1.0), (2.0, INF, INF), (-2.0, INF, INF), (2.0, -INF, 0.0), (-2.0, -INF, 0.0), (1.0, INF, 1.0),
        (-1.0, INF, 1.0), (1.0, -INF, 1.0), (-1.0, -INF, 1.0), (0.5, INF, 0.0), (-0.5, INF, 0.0), (0.5, -INF, INF),
        (INF, 2.0, INF), (INF, 0.5, INF), (INF, -1.0, 0.0), (-INF, 3.0, -INF), (-INF, 2.0, INF), (-INF, 2.5, INF),
        (-INF, -3.0, -0.0), (-INF, -2.0, 0.0), (0.0, 2.0, 0.0), (0.0, -2.0, INF), (-0.0, 3.0, -0.0), (-0.0, 2.0, 0.0),
        (-0.0, 2.5, 0.0), (-0.0, -3.0, -INF), (-0.0, -2.0, INF), (-0.0, -2.5, INF), (-2.0, 0.5, NAN),
        (-2.0, 3.0, -8.0)],
    "remainder": NANS + [
        (INF, INF, NAN), (-INF, -INF, NAN), (0.0, 0.0, NAN), (-0.0, 0.0, NAN), (0.0, 2.0, 0.0), (-0.0, 2.0, 0.0),
        (0.0, -2.0, -0.0), (-0.0, -2.0, -0.0), (3.0, 0.0, NAN), (-3.0, -0.0, NAN), (INF, 2.0, NAN), (-INF, -2.0, NAN),
        (3.0, INF, 3.0), (3.0, -INF, -INF), (-3.0, INF, INF), (-3.0, -INF, -3.0), (4.0, 2.0, 0.0), (4.0, -2.0, -0.0),
        (-4.0, 2.0, 0.0), (-5.5, 2.0, 0.5), (5.5, -2.0, -0.5)],
}
OPERATORS = {"add": operator.add, "subtract": operator.sub, "multiply": operator.mul, "divide": operator.truediv,
             "floor_divide": operator.floordiv, "remainder": operator.mod, "pow": operator.pow}
IN_PLACE = {name: getattr(operator, "i" + function.__name__) for name, function in OPERATORS.items()}


def expect(got, wanted, dtype, what):
    wanted = np.array(wanted, dtype)
    assert str(got.dtype) == dtype
    values = got.numpy()
    np.testing.assert_allclose(values, wanted, rtol=1e-6 if dtype == "float32" else 1e-15, atol=0, err_msg=what)
    signs = np.isnan(wanted) | (np.signbit(values) == np.signbit(wanted))
    assert signs.all(), f"{what}: {values}, expected {wanted}"


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", sorted(UNARY))
def test_of_one(name, dtype):
    given, wanted = zip(*UNARY[name])
    function = getattr(xp, name)
    expect(function(Tensor(np.array(given, dtype))), wanted, dtype, f"{name} of {given}")
    for argument, result in UNARY[name][:3]:  # without an axis
        expect(function(Tensor(np.array(argument, dtype))), result, dtype, f"{name} of {argument}")


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", sorted(TRUTH))
def test_truth(name, dtype):
    given, wanted = zip(*TRUTH[name])
    assert getattr(xp, name)(Tensor(np.array(given, dtype))).tolist() == list(wanted)


KNOWN = (("function", vars(xp)), ("operator", OPERATORS), ("in place", IN_PLACE))
WAYS = [(name, way, known[name]) for way, known in KNOWN for name in sorted(BINARY) if name in known]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name, way, function", WAYS, ids=[f"{name}-{way}" for name, way, _ in WAYS])
def test_of_two(name, way, function, dtype):
    left, right, wanted = zip(*BINARY[name])
    got = function(Tensor(np.array(left, dtype)), Tensor(np.array(right, dtype)))
    expect(got, wanted, dtype, f"{name} ({way}) of {left} and {right}")


@pytest.mark.parametrize("name", sorted(BINARY))
def test_of_an_array_and_a_number(name):
    for left, right, wanted in BINARY[name][::4]:
        for arguments in ((Tensor([left]), right), (left, Tensor([right]))):
            got = getattr(xp, name)(*arguments)
            np.testing.assert_allclose(got.numpy(), np.array([wanted], "float32"), 1e-6, err_msg=f"{name}{arguments}")


@pytest.mark.parametrize("dtype", FLOATS)
def test_sums_and_means(dtype):
    def of(values):
        return Tensor(np.array(values, dtype))
    for values, total, product in (([], 0, 1), ([INF, 1], INF, INF), ([INF, -INF], NAN, -INF), ([NAN, 1], NAN, NAN)):
        expect(xp.sum(of(values)), total, dtype, "sum")
        expect(xp.prod(of(values)), product, dtype, "prod")
    for name in ("max", "min", "mean", "std", "var"):
        expect(getattr(xp, name)(of([1.0, NAN, 3.0])), NAN, dtype, name)
    for name in ("mean", "std", "var"):
        expect(getattr(xp, name)(of([])), NAN, dtype, f"{name} of nothing")
    expect(xp.var(of([2.0]), correction=1), NAN, dtype, "var of one value, corrected")
    assert not xp.any(of([])) and xp.all(of([])) and xp.any(of([NAN])) and xp.all(of([INF, NAN]))


@pytest.mark.parametrize("dtype", FLOATS)
def test_clip(dtype):
    def of(values):
        return Tensor(np.array(values, dtype))
    x = [NAN, 1.0, -INF, INF, -0.5]
    expect(xp.clip(of(x), -1.0, 2.0), [NAN, 1.0, -1.0, 2.0, -0.5], dtype, "clip")
    expect(xp.clip(of(x), of([0.0, NAN, 0.0, 0.0, 0.0])), [NAN, NAN, 0.0, INF, 0.0], dtype, "clip from NaN")
    expect(xp.clip(of(x), None, of([0.0, NAN, 0.0, 0.0, 0.0])), [NAN, NAN, -INF, 0.0, -0.5], dtype, "clip to NaN")
    expect(xp.clip(of(x)), x, dtype, "clip without bounds")


def test_numbers_of_python():
    def of(value):
        return Tensor(np.float32(value))
    assert bool(of(NAN)) and bool(of(-INF)) and not bool(of(-0.0)) and int(of(-0.0)) == 0 and int(of(-2.7)) == -2
    assert math.isnan(float(of(NAN))) and float(of(-INF)) == -INF and complex(of(-INF)) == complex(-INF, 0)
    assert float(Tensor(True)) == int(Tensor(True)) == complex(Tensor(True)) == 1
    with pytest.raises(OverflowError):
        int(of(INF))
    with pytest.raises(ValueError, match="NaN"):
        int(of(NAN))
    with pytest.raises(TypeError, match="float32"):
        operator.index(of(1.0))
