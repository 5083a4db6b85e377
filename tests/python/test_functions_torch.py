"""Norms, order, losses of distances, functions of two floats and padding on each side against PyTorch, with gradients,
at ties, zeros, infinities and NaN too.
"""
import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from comparing import Batch, leaf, numbers, numpy_of
from doorbell import Tensor

torch.set_num_threads(1)
INF, NAN = math.inf, math.nan
EDGES = np.array([0.0, -0.0, 1.0, -1.0, 2.5, INF, -INF, NAN, 1e-30, 3e38], dtype=np.float32)
PAIRS = [np.repeat(EDGES, len(EDGES)), np.tile(EDGES, len(EDGES))]


def both(batch, what, ours, theirs, arrays, tolerance=(1e-5, 1e-6), gradients=True, masks=None):
    """Compares values, and gradients of a weighted sum with those inputs that are floats."""
    mine = [leaf(array) if array.dtype.kind == "f" else Tensor(array) for array in arrays]
    others = [torch.tensor(array, requires_grad=array.dtype.kind == "f") for array in arrays]
    got, expected = ours(*mine), theirs(*others)
    batch.add(got, numpy_of(expected), what, tolerance)
    if not gradients or not expected.requires_grad:
        return
    weight = np.random.default_rng(3).uniform(0.5, 2, tuple(expected.shape)).astype(numpy_of(expected).dtype)
    (got * Tensor(weight)).sum().backward()
    (expected * torch.tensor(weight)).sum().backward()
    for number, (own, other) in enumerate(zip(mine, others)):
        if other.requires_grad and other.grad is not None:
            batch.add(own.grad, numpy_of(other.grad), f"gradient {number} of {what}", (1e-4, 1e-5))


@pytest.mark.parametrize("name", ["atan2", "hypot", "nextafter"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_two_floats(name, dtype):
    rng = np.random.default_rng(1)
    batch = Batch()
    theirs = getattr(torch, name)
    if name != "nextafter" or dtype != "float16":  # PyTorch has no nextafter of float16
        expected = theirs(*(torch.tensor(array.astype(dtype)) for array in PAIRS)).numpy()
        got = getattr(Tensor(PAIRS[0].astype(dtype)), name)(Tensor(PAIRS[1].astype(dtype))).numpy()
        tolerance = {"float16": (2e-3, 1e-6), "float32": (1e-6, 0), "float64": (1e-14, 0)}[dtype]
        if name == "nextafter":
            np.testing.assert_array_equal(got, expected)
        else:
            np.testing.assert_allclose(got, expected, *tolerance)
        np.testing.assert_array_equal(np.signbit(got[expected == 0]), np.signbit(expected[expected == 0]))
    for shapes in [((7,), (7,)), ((2, 3), (3,)), ((2, 1), (1, 3)), ((), (4,))]:
        a, b = (numbers(rng, shape, dtype) for shape in shapes)
        if dtype != "float16":
            both(batch, f"{name} {shapes}", lambda x, y: getattr(x, name)(y), theirs, [a, b],
                 gradients=name != "nextafter")
    batch.check()


def test_gradient_of_atan2_at_the_edges():
    batch = Batch()
    points = np.array([[0, 0], [0, 1], [0, -1], [1, 0], [-1, 0], [1e20, 1e20], [1e-20, 1e-20]], dtype=np.float32)
    both(batch, "atan2", lambda y, x: y.atan2(x), torch.atan2, [points[:4, 0], points[:4, 1]])
    batch.check()


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "int64"])
def test_integer_powers_of_tensors(dtype):
    rng = np.random.default_rng(2)
    batch = Batch()
    base = rng.integers(0 if dtype == "uint8" else -7, 8, 60).astype(dtype)
    exponent = rng.integers(0, 12, 60).astype(dtype)
    batch.add(Tensor(base) ** Tensor(exponent), (torch.tensor(base) ** torch.tensor(exponent)).numpy(), "pow")
    batch.add(2 ** Tensor(exponent), (2 ** torch.tensor(exponent)).numpy(), "2 **")
    batch.add(Tensor(base) ** 70, (torch.tensor(base) ** 70).numpy(), "** 70")
    if dtype != "uint8":
        few = np.array([1, -1, 1, -1, 2, -3], dtype=dtype)
        down = np.array([-1, -1, -2, -2, -1, -3], dtype=dtype)
        batch.add(Tensor(few) ** Tensor(down), (torch.tensor(few) ** torch.tensor(down)).numpy(), "negative")
    batch.check(same_dtype=True)


def test_nan_to_num():
    for dtype in ("float16", "float32", "float64"):
        array = np.array([NAN, INF, -INF, 1.5, -0.0], dtype=dtype)
        for options in ({}, {"nan": 2.0}, {"posinf": 7.0}, {"neginf": -7.0, "nan": -1.0, "posinf": 3.0}):
            batch = Batch()
            both(batch, f"{dtype} {options}", lambda x: x.nan_to_num(**options),
                 lambda x: torch.nan_to_num(x, **options), [array])
            batch.check()
    assert Tensor([1, 2]).nan_to_num().tolist() == [1, 2]


ORDERS = [2, 1, 0, 3, 0.5, 1.5, INF, -INF, -1, -2.5]


@pytest.mark.parametrize("p", ORDERS, ids=str)
def test_norms(p):
    rng = np.random.default_rng(3)
    batch = Batch()
    for shape in ((6,), (3, 4), (2, 3, 4)):
        array = numbers(rng, shape, "float32") + np.float32(0.01)
        for axis in [None, 0, -1] + [(0, 1)] * (len(shape) > 1):
            for keepdim in (False, True):
                dim = axis if axis is not None else tuple(range(len(shape)))
                both(batch, f"norm {p} {shape} {axis}", lambda x: x.norm(p, axis, keepdim),
                     lambda x: torch.linalg.vector_norm(x, p, dim, keepdim), [array], (1e-4, 1e-5), gradients=p != 0)
    batch.check()


@pytest.mark.parametrize("p", [2, 1, 3, 1.5, 0.5], ids=str)
def test_norms_of_zeros(p):
    for array in (np.zeros(4, dtype=np.float32), np.array([[0, 0], [0, 3]], dtype=np.float32)):
        batch = Batch()
        axis = tuple(range(1, array.ndim)) or (0,)
        both(batch, f"norm {p} of {array.tolist()}", lambda x: x.norm(p, axis),
             lambda x: torch.linalg.vector_norm(x, p, axis), [array])
        batch.check()


def test_other_forms_of_norms():
    x = Tensor([[3.0, -4.0]])
    assert x.norm().item() == x.norm("fro").item() == x.norm(ord=2).item() == 5
    assert x.norm("inf", dim=1).tolist() == [4.0] and x.norm(p=1, axis=1, keepdims=True).tolist() == [[7.0]]
    assert str(x.norm(dtype="float64").dtype) == "float64"
    with pytest.raises(ValueError, match="expected one of: fro"):
        x.norm("nuc")


MEDIANS = [np.array([3.0, 1.0, 2.0]), np.array([3.0, 1.0, 2.0, 2.0]), np.array([1.0, NAN, 2.0]),
           np.array([INF, -INF, 0, 1]), np.array([5.0]),
           np.array([[2.0, 2.0, 2.0], [1.0, 3.0, 2.0]]), np.array([[NAN, NAN], [1.0, NAN]]),
           np.array([[3, 1, 2], [9, 8, 7]]), np.array(4.0)]


@pytest.mark.parametrize("array", MEDIANS, ids=lambda array: str(array.tolist()))
def test_medians(array):
    array = array.astype(np.float32) if array.dtype.kind == "f" else array.astype(np.int32)
    batch = Batch()
    both(batch, "median", lambda x: x.median(), torch.median, [array])
    for axis in range(-array.ndim, max(array.ndim, 1)):
        for keepdim in (False, True):
            both(batch, f"median {axis}", lambda x: x.median(axis, keepdim)[0],
                 lambda x: torch.median(x, axis, keepdim).values, [array])
            if not np.isnan(array.astype(float)).any() and len(np.unique(array)) == array.size:
                batch.add(Tensor(array).median(axis, keepdim).indices,
                          torch.median(torch.tensor(array), axis, keepdim).indices.numpy(), "indices")
    batch.check()
    with pytest.raises(ValueError, match="median of no elements"):
        Tensor.zeros(0).median()


@pytest.mark.parametrize("array", [np.array([3, 1, 3, 2, 1]), np.array([[1.5, -1.0], [1.5, 0.0]]), np.array([7]),
                                   np.zeros((0,)), np.array(3.0), np.array([True, False, True]),
                                   np.random.default_rng(4).integers(0, 9, (5, 7))], ids=lambda array: str(array.shape))
def test_unique(array):
    values, inverse, counts = Tensor(array).unique(return_inverse=True, return_counts=True)
    expected = torch.unique(torch.tensor(array), return_inverse=True, return_counts=True)
    for ours, theirs in zip((values, inverse, counts), expected):
        np.testing.assert_array_equal(ours.numpy(), theirs.numpy())
        assert ours.shape == tuple(theirs.shape)
    np.testing.assert_array_equal(Tensor(array).unique().numpy(), expected[0].numpy())
    np.testing.assert_array_equal(Tensor(array).unique(return_counts=True)[1].numpy(), expected[2].numpy())


def test_unique_along_an_axis():
    random = np.random.default_rng(3)
    for array in (random.integers(0, 2, (6, 3, 2)), random.integers(0, 2, (7, 2)).astype(np.float32),
                  random.integers(0, 2, (5, 3)).astype(bool), np.array([[1.0, np.nan], [1.0, np.nan], [0.0, 1.0]]),
                  np.zeros((0, 3), np.int32), np.array([3, 1, 3, 2], np.uint8)):
        for axis in range(array.ndim):
            if array.size == 0 and axis > 0:
                continue
            ours = Tensor(array).unique(return_inverse=True, return_counts=True, dim=axis)
            theirs = torch.unique(torch.tensor(array), return_inverse=True, return_counts=True, dim=axis)
            for a, b in zip(ours, theirs):
                np.testing.assert_array_equal(a.numpy(), b.numpy())
    assert Tensor([[2, 2], [1, 1]]).unique(axis=-1).tolist() == [[2], [1]]
    with pytest.raises(ValueError, match="unique parts along axis 1 of shape"):
        Tensor.zeros(0, 3).unique(dim=1)


DIVIDED = [0.0, -0.0, 1.0, -1.0, 2.5, -2.5, 7.0, -7.0, 0.5, -0.5, 6.0, 1e-30, -1e30, 3e38, np.inf, -np.inf, np.nan]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_floor_division_and_remainders_at_their_edges(dtype):
    """Zeros with their signs, too, but for those of % (NumPy's there). Not quotients that are far beyond what a float
    counts in ones."""
    a, b = (grid.flatten().astype(dtype) for grid in np.meshgrid(DIVIDED, DIVIDED))
    x, y, s, t = Tensor(a), Tensor(b), torch.tensor(a), torch.tensor(b)
    with np.errstate(all="ignore"):
        counted = ~(np.abs(a / b) > 2**20) | np.isinf(a) | (b == 0)
        divided = counted | np.isinf(a / b)
    for name, ours, theirs, where in (
            ("//", x // y, s // t, divided), ("%", x % y, s % t, counted),
            ("fmod", x.fmod(y), torch.fmod(s, t), counted),
            ("floor", x.div(y, rounding_mode="floor"), torch.div(s, t, rounding_mode="floor"), divided),
            ("trunc", x.div(y, rounding_mode="trunc"), torch.div(s, t, rounding_mode="trunc"), divided)):
        ours, theirs = ours.numpy(), theirs.numpy()
        alike = (np.signbit(ours) == np.signbit(theirs)) | (name == "%")
        bad = ~((ours == theirs) & alike | np.isnan(ours) & np.isnan(theirs)) & where
        assert not bad.any(), (name, [(p, q, u, v) for p, q, u, v in zip(a[bad], b[bad], ours[bad], theirs[bad])])


def test_randn_of_doubles_has_their_precision():
    Tensor.manual_seed(5)
    x = Tensor.randn(4096, dtype="float64").numpy()
    assert (x != x.astype(np.float32)).mean() > 0.99
    # The fractions of what a float32 source gives would have only zeros behind 2^-40.
    assert len(np.unique(np.floor(np.abs(x) * 2**46) % 64)) == 64
    assert abs(x.mean()) < 0.06 and abs(x.std() - 1) < 0.05
    assert np.abs(x).max() < 8.7  # sqrt(-2 log(2^-53))


@pytest.mark.parametrize("mode", ["nearest", "nearest-exact", "bilinear", "bicubic", "area"])
def test_interpolation_by_factors(mode):
    array = np.random.default_rng(1).normal(size=(2, 3, 6, 5)).astype(np.float32)
    for factor in (2.0, 0.5, 1.3, 1.05, 2.15, (1.7, 0.6), [2, 3]):
        for again in (None, False, True):
            given = tuple(factor) if isinstance(factor, (tuple, list)) else factor
            theirs = F.interpolate(torch.tensor(array), scale_factor=given, mode=mode, recompute_scale_factor=again)
            ours = Tensor(array).interpolate(scale_factor=factor, mode=mode, recompute_scale_factor=again)
            np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-4, atol=1e-5)
    assert Tensor(array).interpolate(4, mode=mode).shape == F.interpolate(torch.tensor(array), 4, mode=mode).shape
    for call in (lambda: Tensor(array).interpolate(), lambda: Tensor(array).interpolate(4, scale_factor=2.0)):
        with pytest.raises(ValueError, match="a size and a scale_factor, expected one"):
            call()


def test_batch_norm_over_several_axes():
    random = np.random.default_rng(2)
    x, w, b, m = (random.normal(size=size).astype(np.float32) for size in ((2, 3, 4, 5), (3, 5), (3, 5), (3, 5)))
    s = random.uniform(0.5, 2, (3, 5)).astype(np.float32)
    wide = [array[None, :, None, :] for array in (w, b, m, s)]
    expected = (x - wide[2]) * wide[3] * wide[0] + wide[1]
    ours = Tensor(x).batchnorm(Tensor(w), Tensor(b), Tensor(m), Tensor(s), axis=(1, 3))
    np.testing.assert_allclose(ours.numpy(), expected, rtol=1e-5, atol=1e-6)
    one = Tensor(x).batchnorm(None, None, Tensor(m), Tensor(s[:, None, :]), axis=(3, 1))  # broadcasts as it is
    np.testing.assert_allclose(one.numpy(), (x - wide[2]) * s[:, None, :], rtol=1e-5, atol=1e-6)
    last = Tensor(x).batchnorm(None, None, Tensor(m[0]), Tensor(s[0]), axis=-1)
    np.testing.assert_allclose(last.numpy(), (x - m[0]) * s[0], rtol=1e-5, atol=1e-6)


def test_searchsorted():
    rng = np.random.default_rng(5)
    for dtype in ("float32", "int32"):
        line = np.sort(numbers(rng, (9,), dtype))
        rows = np.sort(numbers(rng, (3, 7), dtype), 1)
        for values in (numbers(rng, (5,), dtype), line, numbers(rng, (2, 3), dtype), line[:0]):
            for right in (False, True):
                theirs = torch.searchsorted(torch.tensor(line), torch.tensor(values), right=right)
                np.testing.assert_array_equal(Tensor(line).searchsorted(Tensor(values), right).numpy(), theirs.numpy())
        values = numbers(rng, (3, 4), dtype)
        theirs = torch.searchsorted(torch.tensor(rows), torch.tensor(values), side="right")
        np.testing.assert_array_equal(Tensor(rows).searchsorted(Tensor(values), side="right").numpy(), theirs.numpy())
    edges = np.array([-INF, 0.0, INF, NAN], dtype=np.float32)
    for side in ("left", "right"):
        np.testing.assert_array_equal(Tensor(edges).searchsorted(Tensor(edges), side=side).numpy(),
                                      np.searchsorted(edges, edges, side))
    for length in (1, 2, 3, 4, 5, 31, 32, 33, 1000):
        line = np.sort(np.random.default_rng(length).integers(0, 40, length)).astype(np.float32)
        for side in ("left", "right"):
            wanted = np.arange(-1, 42, dtype=np.float32)
            found = Tensor(line).searchsorted(Tensor(wanted), side=side)
            assert found.tolist() == line.searchsorted(wanted, side).tolist()
    assert Tensor(np.zeros(0, np.float32)).searchsorted(Tensor([1.0, 2.0])).tolist() == [0, 0]
    assert Tensor([1, 3]).searchsorted(2).item() == 1
    with pytest.raises(ValueError, match="searchsorted of values of shape"):
        Tensor.zeros(2, 3).searchsorted(Tensor.zeros(3, 3))


def test_diff():
    rng = np.random.default_rng(6)
    batch = Batch()
    for shape in ((7,), (3, 4), (2, 3, 4)):
        array = numbers(rng, shape, "float32")
        for axis in range(-len(shape), len(shape)):
            for n in (0, 1, 2, 3):
                if array.shape[axis] > n:
                    both(batch, f"diff {n} {axis}", lambda x: x.diff(n, axis), lambda x: torch.diff(x, n, axis),
                         [array])
        both(batch, "diff between", lambda x: x.diff(prepend=x, append=x), lambda x: torch.diff(x, prepend=x, append=x),
             [array])
    batch.add(Tensor([True, False, False]).diff(), torch.diff(torch.tensor([True, False, False])).numpy(), "bools")
    batch.add(Tensor([1, 2]).diff(5), np.diff([1, 2], 5).astype(np.int32), "too often")
    batch.check()


def test_outer():
    batch = Batch()
    rng = np.random.default_rng(7)
    both(batch, "outer", lambda a, b: a.outer(b), torch.outer,
         [numbers(rng, (3,), "float32"), numbers(rng, (4,), "float32")])
    batch.check()
    with pytest.raises(ValueError, match="expected vectors"):
        Tensor.zeros(2, 2).outer(Tensor.zeros(2))


LOSSES = {
    "mse_loss": [{}], "l1_loss": [{}], "smooth_l1_loss": [{}, {"beta": 0.5}, {"beta": 0.0}],
    "huber_loss": [{}, {"delta": 2.0}], "kl_div": [{}, {"log_target": True}, {"reduction": "batchmean"}],
}


@pytest.mark.parametrize("name", LOSSES)
def test_losses_of_distances(name):
    rng = np.random.default_rng(8)
    batch = Batch()
    for options in LOSSES[name]:
        for reduction in ("mean", "sum", "none"):
            for shape in ((5,), (3, 4)):
                keywords = {"reduction": reduction, **options}
                a, b = numbers(rng, shape, "float32"), numbers(rng, shape, "float32")
                b[..., :2] = a[..., :2]  # ties
                a.flat[-1], b.flat[-1] = 2.0, 3.0  # on the corner of delta
                if name == "kl_div" and not options.get("log_target"):
                    b = np.abs(b)
                both(batch, f"{name} {keywords}", lambda x, y: getattr(x, name)(y, **keywords),
                     lambda x, y: getattr(F, name)(x, y, **keywords), [a, b])
    batch.check()


def test_divergence_where_nothing_is_expected():
    a, b = np.array([-1.0, -2.0], dtype=np.float32), np.array([0.0, 0.5], dtype=np.float32)
    ours, theirs = leaf(a), torch.tensor(a, requires_grad=True)
    loss, expected = ours.kl_div(Tensor(b), "sum"), F.kl_div(theirs, torch.tensor(b), reduction="sum")
    loss.backward()
    expected.backward()
    assert loss.item() == pytest.approx(expected.item()) and ours.grad.tolist() == theirs.grad.tolist()


def test_correction():
    rng = np.random.default_rng(9)
    batch = Batch()
    array = numbers(rng, (4, 5), "float32")
    for correction in (0, 1, 0.5, 1.75, 2):
        for name in ("var", "std"):
            theirs = getattr(np, name)(array, axis=1, correction=correction)
            batch.add(getattr(Tensor(array), name)(1, correction=correction), theirs, f"{name} {correction}",
                      (1e-5, 1e-6))
            both(batch, f"{name} {correction}", lambda x: getattr(x, name)(1, ddof=correction),
                 lambda x: getattr(torch, name)(x, 1, correction=correction), [array], (1e-5, 1e-6))
    batch.check()


def test_rounding_to_decimals():
    array = np.array([1.2345, -9.8765, 0.5, 1234.5], dtype=np.float64)
    for decimals in (0, 1, 3, -2):
        np.testing.assert_allclose(Tensor(array).round(decimals=decimals).numpy(),
                                   torch.round(torch.tensor(array), decimals=decimals).numpy())


@pytest.mark.parametrize("padding", [(1, 2), (0, 3), (-1, 1), (2, -1), (-1, -1)], ids=str)
def test_padding_of_each_side_of_conv1d(padding):
    rng = np.random.default_rng(10)
    batch = Batch()
    arrays = [numbers(rng, (2, 3, 8), "float32"), numbers(rng, (4, 3, 3), "float32"), numbers(rng, (4,), "float32")]
    for options in ({}, {"stride": 2}, {"dilation": 2}):
        both(batch, f"{padding} {options}", lambda x, w, b: x.conv1d(w, b, padding=padding, **options),
             lambda x, w, b: F.conv1d(F.pad(x, padding), w, b, **options), arrays, (1e-4, 1e-4))
    both(batch, "even", lambda x, w, b: x.conv1d(w, b, 2, 1), lambda x, w, b: F.conv1d(x, w, b, 2, 1), arrays,
         (1e-4, 1e-4))
    batch.check()


@pytest.mark.parametrize("padding", [(1, 2, 0, 3), (0, 0, 1, 0), (-1, 1, 0, 2), (-1, -1, -1, -1), (2, 2, 1, 1)],
                         ids=str)
def test_padding_of_each_side_of_conv2d(padding):
    rng = np.random.default_rng(11)
    batch = Batch()
    arrays = [numbers(rng, (2, 2, 6, 7), "float32"), numbers(rng, (4, 1, 3, 2), "float32")]
    for options in ({"groups": 2}, {"groups": 2, "stride": (2, 1)}):
        both(batch, f"{padding} {options}", lambda x, w: x.conv2d(w, padding=padding, **options),
             lambda x, w: F.conv2d(F.pad(x, padding), w, **options), arrays, (1e-4, 1e-4))
    both(batch, "one negative number", lambda x, w: x.conv2d(w, padding=-1, groups=2),
         lambda x, w: F.conv2d(F.pad(x, (-1, -1, -1, -1)), w, groups=2), arrays, (1e-4, 1e-4))
    batch.check()


@pytest.mark.parametrize("padding", [(1, 0, 0, 1), (0, 1, 1, 0), (1, 1, 0, 0)], ids=str)
def test_padding_of_each_side_of_pooling(padding):
    rng = np.random.default_rng(12)
    batch = Batch()
    array = numbers(rng, (2, 3, 5, 6), "float32")
    for stride in (1, 2):
        both(batch, f"max {padding} {stride}", lambda x: x.max_pool2d(2, stride, padding=padding),
             lambda x: F.max_pool2d(F.pad(x, padding, value=-INF), 2, stride), [array])
        both(batch, f"avg {padding} {stride}", lambda x: x.avg_pool2d(2, stride, padding=padding),
             lambda x: F.avg_pool2d(F.pad(x, padding), 2, stride), [array])
    batch.check()
    with pytest.raises(ValueError, match="padding of -1 and 0"):
        Tensor(array).max_pool2d(2, padding=(-1, 0, 0, 0))


@pytest.mark.parametrize("mode", ["reflect", "replicate", "circular"])
def test_negative_padding(mode):
    batch = Batch()
    array = np.arange(30, dtype=np.float32).reshape(1, 1, 5, 6)
    for padding in ((-1, 2), (2, -1), (-2, -1), (1, 1, -1, 2), (-3, 2, 2, -1), (-1, -1, -1, -1)):
        both(batch, f"{mode} {padding}", lambda x: x.pad(padding, mode=mode),
             lambda x: F.pad(x.reshape(1, 5, 6) if len(padding) == 2 else x, padding, mode=mode).reshape(
                 [1, 1, -1, 6 + padding[0] + padding[1]]), [array])
    batch.check()
