"""The surface against PyTorch: functions of one and two tensors, reductions, shapes, over shapes and dtypes, with
gradients. For layers and losses see test_networks_torch.py.
"""
import numpy as np
import pytest
import torch
import torch.nn.functional as F

from comparing import SHAPES, Batch, leaf, numbers, numpy_of
from doorbell import Tensor

torch.set_num_threads(1)

# name: (PyTorch's function, range of inputs, dtypes)
FLOATS = ("float32", "float64")
ALL = ("float32", "float64", "int32", "int8", "uint8", "bool")
SIGNED = ("float32", "float64", "int32", "int8")
UNARY = {
    "neg": (torch.neg, -3, 3, SIGNED), "abs": (torch.abs, -3, 3, SIGNED), "sign": (torch.sign, -3, 3, SIGNED),
    "square": (torch.square, -3, 3, SIGNED), "logical_not": (torch.logical_not, -1, 1, ALL),
    "bitwise_not": (torch.bitwise_not, -3, 3, ("int32", "int8", "uint8", "bool")),
    "reciprocal": (torch.reciprocal, 0.5, 3, FLOATS), "sqrt": (torch.sqrt, 0.1, 5, ALL[:-1]),
    "rsqrt": (torch.rsqrt, 0.1, 5, FLOATS), "exp": (torch.exp, -3, 3, ALL), "exp2": (torch.exp2, -3, 3, ALL),
    "expm1": (torch.expm1, -3, 3, FLOATS), "log": (torch.log, 0.1, 5, FLOATS), "log2": (torch.log2, 0.1, 5, FLOATS),
    "log10": (torch.log10, 0.1, 5, FLOATS), "log1p": (torch.log1p, -0.5, 5, FLOATS), "sin": (torch.sin, -9, 9, ALL),
    "cos": (torch.cos, -9, 9, ALL), "tan": (torch.tan, -1.2, 1.2, FLOATS), "asin": (torch.asin, -0.9, 0.9, FLOATS),
    "acos": (torch.acos, -0.9, 0.9, FLOATS), "atan": (torch.atan, -5, 5, FLOATS), "sinh": (torch.sinh, -3, 3, FLOATS),
    "cosh": (torch.cosh, -3, 3, FLOATS), "tanh": (torch.tanh, -3, 3, ALL), "asinh": (torch.asinh, -3, 3, FLOATS),
    "acosh": (torch.acosh, 1.1, 5, FLOATS), "atanh": (torch.atanh, -0.9, 0.9, FLOATS),
    "erf": (torch.erf, -3, 3, FLOATS),
    "floor": (torch.floor, -3, 3, SIGNED), "ceil": (torch.ceil, -3, 3, SIGNED), "trunc": (torch.trunc, -3, 3, SIGNED),
    "round": (torch.round, -3, 3, SIGNED), "isnan": (torch.isnan, -3, 3, ALL), "isinf": (torch.isinf, -3, 3, ALL),
    "isfinite": (torch.isfinite, -3, 3, ALL), "relu": (torch.relu, -3, 3, SIGNED), "relu6": (F.relu6, -3, 9, FLOATS),
    "leaky_relu": (F.leaky_relu, -3, 3, FLOATS), "elu": (F.elu, -3, 3, FLOATS), "celu": (F.celu, -3, 3, FLOATS),
    "selu": (F.selu, -3, 3, FLOATS), "gelu": (F.gelu, -3, 3, FLOATS), "silu": (F.silu, -3, 3, FLOATS),
    "swish": (F.silu, -3, 3, FLOATS), "mish": (F.mish, -3, 3, FLOATS), "sigmoid": (torch.sigmoid, -9, 9, ALL),
    "logsigmoid": (F.logsigmoid, -9, 9, FLOATS), "hardsigmoid": (F.hardsigmoid, -5, 5, FLOATS),
    "hardswish": (F.hardswish, -5, 5, FLOATS), "hardtanh": (F.hardtanh, -3, 3, FLOATS),
    "softplus": (F.softplus, -9, 9, FLOATS), "softsign": (F.softsign, -3, 3, FLOATS),
    "quick_gelu": (lambda x: x * torch.sigmoid(1.702 * x), -3, 3, FLOATS),
}
STEPS = ("sign", "floor", "ceil", "trunc", "round", "logical_not", "bitwise_not", "isnan", "isinf", "isfinite")


@pytest.mark.parametrize("name", UNARY)
def test_one_tensor(name):
    theirs, low, high, dtypes = UNARY[name]
    rng = np.random.default_rng(len(name))
    batch = Batch()
    for dtype in dtypes:
        for shape in SHAPES:
            array = numbers(rng, shape, dtype, low, high)
            batch.add(getattr(Tensor(array), name)(), theirs(torch.tensor(array)).numpy(), f"{name} {dtype} {shape}",
                      (1e-4, 1e-5) if dtype == "float32" else None)
    batch.check()


@pytest.mark.parametrize("name", [name for name in UNARY if name not in STEPS])
def test_gradient_of_one_tensor(name):
    theirs, low, high, _ = UNARY[name]
    rng = np.random.default_rng(1 + len(name))
    batch = Batch()
    for shape in [(7,), (2, 3), (2, 1, 4)]:
        array, weight = numbers(rng, shape, "float32", low, high), numbers(rng, shape, "float32")
        x, y = leaf(array), torch.tensor(array, requires_grad=True)
        (getattr(x, name)() * Tensor(weight)).sum().backward()
        (theirs(y) * torch.tensor(weight)).sum().backward()
        batch.add(x.grad, numpy_of(y.grad), f"gradient of {name} {shape}", (1e-4, 1e-5))
    batch.check()


PAIRS = [((), ()), ((3,), ()), ((), (4,)), ((2, 3), (3,)), ((2, 1), (1, 3)), ((4, 1, 5), (3, 5)),
         ((2, 3, 4), (2, 1, 4)), ((0, 3), (3,)), ((17,), (17,))]
NUMBERS = ("float32", "float64", "int32", "int8")
INTS = ("int32", "int8", "uint8")
BINARY = {
    "add": (torch.add, NUMBERS + ("uint8",)), "sub": (torch.sub, NUMBERS), "mul": (torch.mul, NUMBERS + ("bool",)),
    "div": (torch.div, ("float32", "float64", "int32")), "mod": (torch.remainder, NUMBERS),
    "fmod": (torch.fmod, NUMBERS), "pow": (torch.pow, FLOATS), "maximum": (torch.maximum, NUMBERS + ("bool",)),
    "minimum": (torch.minimum, NUMBERS + ("uint8",)), "copysign": (torch.copysign, FLOATS),
    "logaddexp": (torch.logaddexp, FLOATS), "eq": (torch.eq, NUMBERS + ("bool",)), "ne": (torch.ne, NUMBERS),
    "lt": (torch.lt, NUMBERS), "le": (torch.le, NUMBERS), "gt": (torch.gt, NUMBERS), "ge": (torch.ge, NUMBERS),
    "isclose": (torch.isclose, FLOATS), "bitwise_and": (torch.bitwise_and, INTS + ("bool",)),
    "bitwise_or": (torch.bitwise_or, INTS + ("bool",)), "bitwise_xor": (torch.bitwise_xor, INTS + ("bool",)),
    "lshift": (torch.bitwise_left_shift, ("int32",)), "rshift": (torch.bitwise_right_shift, ("int32",)),
}


def operands(rng, name, shapes, dtype):
    low, high = (0.5, 3.0) if name == "pow" else (-3.0, 3.0)
    a, b = (numbers(rng, shape, dtype, low, high) for shape in shapes)
    if name in ("mod", "fmod", "div"):
        b = np.where(np.abs(b) < 0.25, np.ones((), b.dtype), b).astype(dtype)
    if "shift" in name:
        b = np.abs(b).astype(dtype)
    return a, b


@pytest.mark.parametrize("name", BINARY)
def test_two_tensors(name):
    theirs, dtypes = BINARY[name]
    rng = np.random.default_rng(10 + len(name))
    batch = Batch()
    for dtype in dtypes:
        for shapes in PAIRS:
            a, b = operands(rng, name, shapes, dtype)
            batch.add(getattr(Tensor(a), name)(Tensor(b)), theirs(torch.tensor(a), torch.tensor(b)).numpy(),
                      f"{name} {dtype} {shapes}", (1e-4, 1e-5) if dtype == "float32" else None)
    batch.check()


@pytest.mark.parametrize("name", ["add", "sub", "mul", "div", "pow", "maximum", "minimum", "logaddexp", "copysign"])
def test_gradient_of_two_tensors(name):
    theirs = BINARY[name][0]
    rng = np.random.default_rng(20 + len(name))
    batch = Batch()
    for shapes in PAIRS[1:-2]:
        a, b = operands(rng, name, shapes, "float32")
        ours, others = (leaf(a), leaf(b)), [torch.tensor(x, requires_grad=True) for x in (a, b)]
        getattr(ours[0], name)(ours[1]).square().sum().backward()
        theirs(*others).square().sum().backward()
        for x, y in zip(ours, others):
            expected = torch.zeros_like(y) if y.grad is None else y.grad
            got = Tensor.zeros_like(x) if x.grad is None else x.grad
            batch.add(got, numpy_of(expected), f"gradient of {name} {shapes}", (2e-4, 2e-4))
    batch.check()


OPERATORS = {
    "+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b, "/": lambda a, b: a / b,
    "//": lambda a, b: a // b, "%": lambda a, b: a % b, "<": lambda a, b: a < b, ">=": lambda a, b: a >= b,
    "==": lambda a, b: a == b, "!=": lambda a, b: a != b,
}


@pytest.mark.parametrize("sign", OPERATORS)
def test_operators_with_numbers_on_either_side(sign):
    apply = OPERATORS[sign]
    rng = np.random.default_rng(30)
    batch = Batch()
    for dtype in ("float32", "float64", "int32"):
        for shape in [(), (5,), (2, 3)]:
            array = numbers(rng, shape, dtype, 1, 5)
            for number in (2, 3) if dtype == "int32" else (2, -3, 0.5, 1.25):
                batch.add(apply(Tensor(array), number), apply(torch.tensor(array), number).numpy(),
                          f"{dtype} {shape} {sign} {number}")
                batch.add(apply(number, Tensor(array)), apply(number, torch.tensor(array)).numpy(),
                          f"{number} {sign} {dtype} {shape}")
    batch.check()


def axes_of(shape):
    """All, each axis from either end, and pairs."""
    found = [None] + list(range(-len(shape), len(shape)))
    return found + [(0, -1)] * (len(shape) > 1) + [(1, 2)] * (len(shape) > 2)


def over(function):
    """PyTorch's functions take no axis as an argument left out."""
    def apply(x, axis, keepdim):
        if axis is None:
            axis = tuple(range(x.ndim))
        return function(x, dim=axis, keepdim=keepdim)
    return apply


def one_after_another(function):
    """Those that take one axis only."""
    def apply(x, axis, keepdim):
        axes = range(x.ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
        for dim in sorted((dim % x.ndim for dim in axes), reverse=True):
            x = function(x, dim=dim, keepdim=keepdim)
        return x
    return apply


REDUCTIONS = {
    "sum": over(torch.sum), "mean": over(torch.mean), "max": over(torch.amax), "min": over(torch.amin),
    "prod": one_after_another(torch.prod), "any": one_after_another(torch.any), "all": one_after_another(torch.all),
    "var": over(torch.var), "std": over(torch.std), "logsumexp": over(torch.logsumexp),
    "count_nonzero": lambda x, axis, keepdim: torch.count_nonzero(x, axis).reshape(x.sum(axis, keepdim).shape),
}


@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions(name):
    rng = np.random.default_rng(40 + len(name))
    batch = Batch()
    whole = name in ("sum", "prod", "max", "min", "any", "all", "count_nonzero")
    for dtype in ("float32", "float64") + (("int32",) if whole else ()):
        for shape in [(7,), (2, 3), (4, 5, 3), (2, 3, 2, 2)]:
            array = numbers(rng, shape, dtype, -2, 2)
            if name in ("var", "std") and 1 in shape:
                continue
            for axis in axes_of(shape):
                for keepdim in (False, True):
                    expected = REDUCTIONS[name](torch.tensor(array), axis, keepdim).numpy()
                    keywords = {"axis" if keepdim else "dim": axis, "keepdim": keepdim}
                    batch.add(getattr(Tensor(array), name)(**keywords), expected, f"{name} {dtype} {shape} {keywords}",
                              (1e-4, 1e-5) if dtype == "float32" else None)
    batch.check()


@pytest.mark.parametrize("name", ["sum", "mean", "max", "var", "std", "logsumexp", "prod"])
def test_gradient_of_reductions(name):
    rng = np.random.default_rng(50)
    batch = Batch()
    for shape, axis in (((6,), None), ((3, 4), 0), ((3, 4), 1), ((2, 3, 4), (0, 2))):
        array = rng.permutation(np.arange(1, np.prod(shape) + 1)).reshape(shape).astype(np.float32) / 5
        x, y = leaf(array), torch.tensor(array, requires_grad=True)
        getattr(x, name)(axis).square().sum().backward()
        REDUCTIONS[name](y, axis, False).square().sum().backward()
        batch.add(x.grad, numpy_of(y.grad), f"gradient of {name} {shape} {axis}", (1e-3, 1e-3))
    batch.check()


SCANS = {
    "softmax": torch.softmax, "log_softmax": torch.log_softmax, "softmin": F.softmin, "cumsum": torch.cumsum,
    "cumprod": torch.cumprod, "logcumsumexp": torch.logcumsumexp,
    "argmax": torch.argmax, "argmin": torch.argmin, "argsort": lambda x, dim: torch.argsort(x, dim=dim, stable=True),
    "sort.values": lambda x, dim: torch.sort(x, dim=dim).values,
    "sort.indices": lambda x, dim: torch.sort(x, dim=dim)[1],
    "cummax.values": lambda x, dim: torch.cummax(x, dim=dim).values,
    "cummax.indices": lambda x, dim: torch.cummax(x, dim=dim).indices,
    "cummin.values": lambda x, dim: torch.cummin(x, dim=dim).values,
    "var_mean.1": lambda x, dim: torch.var_mean(x, dim=dim)[1],
    "std_mean.0": lambda x, dim: torch.std_mean(x, dim=dim)[0],
}


@pytest.mark.parametrize("name", SCANS)
def test_along_an_axis(name):
    rng = np.random.default_rng(60)
    batch = Batch()
    method, _, part = name.partition(".")
    for dtype in FLOATS:
        for shape in [(7,), (2, 5), (4, 3, 3)]:
            array = rng.permutation(np.arange(np.prod(shape))).reshape(shape).astype(dtype) / 7 - 1
            for dim in range(-len(shape), len(shape)):
                got = getattr(Tensor(array), method)(dim=dim)
                got = got[int(part)] if part.isdigit() else getattr(got, part) if part else got
                expected = SCANS[name](torch.tensor(array), dim=dim).numpy()
                batch.add(got, expected, f"{name} {dtype} {shape} {dim}", (1e-4, 1e-5) if dtype == "float32" else None)
    batch.check()


MOVES = {
    "reshape": (lambda x: x.reshape(3, -1), lambda x: x.reshape((3, -1))),
    "view": (lambda x: x.view(-1), lambda x: x.view([24])),
    "permute": (lambda x: x.permute(2, 0, 1), lambda x: x.permute((2, 0, 1))),
    "transpose": (lambda x: x.transpose(0, 2), lambda x: x.transpose(dim0=0, dim1=2)),
    "unsqueeze": (lambda x: x.unsqueeze(1), lambda x: x.unsqueeze(dim=1)),
    "squeeze": (lambda x: x[:, :1].squeeze(1), lambda x: x[:, :1].squeeze(dim=1)),
    "squeeze all": (lambda x: x[:1, :1].squeeze(), None),
    "flatten": (lambda x: x.flatten(1), lambda x: x.flatten(start_dim=1, end_dim=-1)),
    "unflatten": (lambda x: x.unflatten(2, (2, 2)), lambda x: x.unflatten(dim=2, sizes=(2, 2))),
    "expand": (lambda x: x[:, :1].expand(2, 3, 4), lambda x: x[:, :1].expand((5, -1, 3, -1))),
    "flip": (lambda x: x.flip(0), lambda x: x.flip((0, 2))),
    "repeat": (lambda x: x.repeat(2, 1, 3), lambda x: x.repeat((1, 2, 1, 2))),
    "repeat_interleave": (lambda x: x.repeat_interleave(2), lambda x: x.repeat_interleave(3, dim=1)),
    "roll": (lambda x: x.roll(2), lambda x: x.roll(shifts=(1, -1), dims=(0, 2))),
    "tril": (lambda x: x.tril(), lambda x: x.tril(diagonal=1)),
    "triu": (lambda x: x.triu(), lambda x: x.triu(diagonal=-1)),
    "diagonal": (lambda x: x.diagonal(), lambda x: x.diagonal(offset=1, dim1=1, dim2=2)),
    "unfold": (lambda x: x.unfold(2, 2, 1), lambda x: x.unfold(1, 2, 1)),
    "movedim": (lambda x: x.movedim(0, -1), lambda x: x.movedim(-1, 0)),
    "split": (lambda x: x.split(2, dim=2)[1], lambda x: x.split([1, 2], dim=1)[1]),
    "chunk": (lambda x: x.chunk(3, dim=2)[0], lambda x: x.chunk(chunks=2, dim=1)[1]),
    "unbind": (lambda x: x.unbind()[1], lambda x: x.unbind(dim=2)[3]),
    "T": (lambda x: x[0].T, lambda x: x.mT),
    "t": (lambda x: x[1].t(), None),
}


@pytest.mark.parametrize("name", MOVES)
def test_shapes(name):
    rng = np.random.default_rng(70)
    batch = Batch()
    for dtype in ("float32", "int32", "bool"):
        array = numbers(rng, (2, 3, 4), dtype)
        for move in MOVES[name]:
            if move is not None:
                batch.add(move(Tensor(array)), move(torch.tensor(array)).numpy(), f"{name} {dtype}")
    for move in MOVES[name]:
        if move is None:
            continue
        x, y = leaf(array.astype(np.float32)), torch.tensor(array.astype(np.float32), requires_grad=True)
        move(x).square().sum().backward()
        move(y).square().sum().backward()
        batch.add(x.grad, numpy_of(y.grad), f"gradient of {name}")
    batch.check(same_dtype=True)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int16", "int32", "int64", "float16", "float32", "float64"])
def test_casts(dtype):
    rng = np.random.default_rng(80)
    batch = Batch()
    array = numbers(rng, (50,), dtype, 0, 100)
    for other in ("bool", "int8", "uint8", "int16", "int32", "int64", "float16", "float32", "float64"):
        expected = torch.tensor(array).to(getattr(torch, other)).numpy()
        batch.add(Tensor(array).cast(other), expected, f"{dtype} to {other}")
        batch.add(Tensor(array).to(getattr(torch, other)), expected, f"{dtype} to {other}")
    assert batch.check(same_dtype=True) == 18


def test_products():
    rng = np.random.default_rng(90)
    batch = Batch()
    for a, b in (((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 4)), ((2, 3), (3, 4)), ((5, 2, 3), (3, 4)),
                 ((5, 2, 3), (5, 3, 4)), ((2, 1, 2, 3), (4, 3, 2)), ((33, 17), (17, 65))):
        x, y = numbers(rng, a, "float32"), numbers(rng, b, "float32")
        ours, others = (leaf(x), leaf(y)), [torch.tensor(array, requires_grad=True) for array in (x, y)]
        mine, theirs = ours[0] @ ours[1], others[0] @ others[1]
        batch.add(mine, numpy_of(theirs), f"{a} @ {b}", (1e-4, 1e-4))
        mine.square().sum().backward()
        theirs.square().sum().backward()
        for own, other in zip(ours, others):
            batch.add(own.grad, numpy_of(other.grad), f"gradient of {a} @ {b}", (1e-3, 1e-3))
    for formula, shapes in (("ij,jk->ik", ((2, 3), (3, 4))), ("bij,bjk->bik", ((2, 2, 3), (2, 3, 4))),
                            ("ii->i", ((3, 3),)), ("ij->", ((2, 3),)), ("i,j", ((2,), (3,))),
                            ("...ij,...jk", ((2, 2, 3), (3, 4))), ("bhqd,bhkd->bhqk", ((1, 2, 3, 4), (1, 2, 5, 4)))):
        arrays = [numbers(rng, shape, "float32") for shape in shapes]
        batch.add(Tensor.einsum(formula, *map(Tensor, arrays)),
                  torch.einsum(formula, *map(torch.tensor, arrays)).numpy(), formula, (1e-4, 1e-4))
    batch.check()


def test_picking_and_placing():
    rng = np.random.default_rng(91)
    batch = Batch()
    for _ in range(10):
        array = numbers(rng, (3, 4, 2), "float32")
        for dim in range(3):
            # No place twice along the axis, so that the order of writing does not matter.
            shape = [2 if axis == dim else (2, 3, 2)[axis] for axis in range(3)]
            index = np.argsort(rng.random([array.shape[dim] if axis == dim else shape[axis] for axis in range(3)]), dim)
            index = index.take([0, 1], axis=dim)
            source = numbers(rng, index.shape, "float32")
            x, i, s = Tensor(array), Tensor(index), Tensor(source)
            tx, ti, ts = map(torch.tensor, (array, index, source))
            batch.add(x.gather(dim, i), tx.gather(dim, ti).numpy(), f"gather {dim}")
            batch.add(x.scatter_add(dim, i, s), tx.scatter_add(dim, ti, ts).numpy(), f"scatter_add {dim}")
            for reduce in ("sum", "prod", "mean", "amax", "amin"):
                for include in (True, False):
                    batch.add(x.scatter_reduce(dim, i, s, reduce, include_self=include),
                              tx.scatter_reduce(dim, ti, ts, reduce, include_self=include).numpy(),
                              f"scatter_reduce {dim} {reduce} {include}")
            batch.add(x.masked_fill(Tensor(array > 0), -1.0), tx.masked_fill(tx > 0, -1.0).numpy(), "masked_fill")
            batch.add(Tensor(array > 0).where(x, 2.0), torch.where(tx > 0, tx, 2.0).numpy(), "where")
            batch.add(x.topk(2, dim=dim).values, tx.topk(2, dim=dim).values.numpy(), f"topk {dim}")
            batch.add(x.clamp(-1.0, 1.0), tx.clamp(-1.0, 1.0).numpy(), "clamp")
            batch.add(x.clamp(max=0.5), tx.clamp(max=0.5).numpy(), "clamp")
            batch.add(x.lerp(x * 2, 0.25), tx.lerp(tx * 2, 0.25).numpy(), "lerp")
        batch.add(Tensor(array > 1).nonzero(), torch.nonzero(torch.tensor(array > 1)).numpy(), "nonzero")
        batch.add(Tensor(array).masked_select(Tensor(array > 1)), array[array > 1], "masked_select")
    batch.add(Tensor([0, 2, 1]).one_hot(4), F.one_hot(torch.tensor([0, 2, 1]), 4).numpy(), "one_hot")
    batch.check()


def test_creation():
    batch = Batch()
    for arguments in ((5,), (2, 7), (0, 10, 3), (1.0, 0.0, -0.25), (5, 0, -1)):
        batch.add(Tensor.arange(*arguments), torch.arange(*arguments).numpy(), f"arange{arguments}")
    batch.add(Tensor.linspace(0, 1, 7), torch.linspace(0, 1, 7).numpy(), "linspace")
    batch.add(Tensor.eye(3, 5), torch.eye(3, 5).numpy(), "eye")
    batch.add(Tensor.full((2, 3), 4.5), torch.full((2, 3), 4.5).numpy(), "full")
    batch.add(Tensor.stack([Tensor([1, 2]), Tensor([3, 4])], dim=1), np.array([[1, 3], [2, 4]]), "stack")
    a, b = Tensor.arange(2), Tensor.arange(3)
    for indexing in ("ij", "xy"):
        for own, other in zip(a.meshgrid(b, indexing=indexing),
                              torch.meshgrid(torch.arange(2), torch.arange(3), indexing=indexing)):
            batch.add(own, other.numpy(), f"meshgrid {indexing}")
    x = np.arange(24, dtype=np.float32).reshape(1, 2, 3, 4)
    for mode in ("constant", "reflect", "replicate", "circular"):
        batch.add(Tensor(x).pad((1, 2, 2, 1), mode=mode), F.pad(torch.tensor(x), (1, 2, 2, 1), mode=mode).numpy(), mode)
    batch.check()
