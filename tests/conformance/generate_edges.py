"""Gradients at the edges of every differentiable function, computed by PyTorch in float64.

usage: generate_edges.py OUTPUT      needs PyTorch and NumPy; writes conformance/data/edges.gz, in generate.py's format

Edges are kinks and bounds, ties, zeros, infinities and NaN, sizes 0 and 1, empty selections, operands that are used
twice, broadcast, dropped, integers or of another float dtype, and vectors whose last lanes are masked: of 3, 5, 7, 9
and 17 elements, which stand between zeros before and after the function. What an element of an output is multiplied by
before all are added up is never 0, so that no gradient hides.

Where we mean to differ from PyTorch the case names our value (`differs`): docs/conformance.md says why.

Long because it is one table: a function's cases are a line or two each.
"""

import math
import sys

import torch
import torch.nn.functional as F

import generate
from generate import integers, pack, positives, reals, wholes

INF, NAN = math.inf, math.nan
# 17 of them, so that a vector of 16 lanes has a rest of one.
SPECIALS = [-INF, -7.0, -6.0, -3.0, -2.0, -1.0, -0.5, -0.0, 0.0, 0.5, 1.0, 2.0, 3.0, 6.0, 7.0, INF, NAN]
LANES = (3, 5, 7, 9, 17)
cases = []


def numbers(*values):
    return torch.tensor(values, dtype=torch.float64)


def rows(*lists):
    return torch.tensor(lists, dtype=torch.float64)


def upstream_of(output):
    """1/2, 1, -3/2, 2, -1/2, ...: whole halves that every float dtype has; none is 0."""
    place = torch.arange(output.numel(), dtype=torch.float64)
    return ((place % 4 + 1) / 2 * torch.where(place % 3 == 2, -1.0, 1.0)).reshape(output.shape)


def case(name, op, inputs, function, gradients=(0,), wide=False, depth=16, differs=None, out=0, pad_in=None,
         pad_out=None, repeat=None, **args):
    """`out`: which output is differentiated. `pad_in`, `pad_out`: zeros around the last axis of the first input, of
    the output. `repeat`: the first input is so many operands. `differs`: our gradients, by input and element."""
    inputs = [tensor.clone() for tensor in inputs]
    for i in gradients:
        inputs[i].requires_grad_()
    operands = list(inputs)
    if pad_in:
        operands[0] = F.pad(operands[0], pad_in)
    if repeat:
        operands = [operands[0]] * repeat
    outputs = function(*operands)
    outputs = list(outputs) if isinstance(outputs, (tuple, list)) else [outputs]
    output = F.pad(outputs[out], pad_out) if pad_out else outputs[out]
    upstream = upstream_of(output)
    targets = [inputs[i] for i in gradients]
    if output.requires_grad:
        slopes = torch.autograd.grad(output, targets, upstream, allow_unused=True, materialize_grads=True)
    else:  # all of the operands' floats were dropped
        slopes = [torch.zeros_like(target) for target in targets]
    slopes = [slope.clone() for slope in slopes]
    for i, element, value in differs or ():
        slopes[list(gradients).index(i)].view(-1)[element] = value
    extra = {"pad_in": pad_in, "pad_out": pad_out, "repeat": repeat}
    args |= {key: value for key, value in extra.items() if value}
    cases.append({
        "name": name, "op": op, "args": args, "moved": False, "wide": wide, "depth": depth, "out": out,
        "inputs": [pack(tensor) for tensor in inputs], "outputs": [], "upstream": pack(upstream),
        "gradients": [{"input": i, **pack(slope)} for i, slope in zip(gradients, slopes)],
    })


def infinities(values):
    """Where they are, and their signs."""
    return [(place, math.copysign(1, value)) for place, value in enumerate(values) if math.isinf(value)]


# ---- functions of one element

def unary(name, op, function, values=SPECIALS, differs=None, **args):
    x = numbers(*values)
    case(f"{name}", op, [x], function, differs=differs, depth=32, **args)
    case(f"{name}_empty", op, [x[:0]], function, **args)
    case(f"{name}_empty_rows", op, [x[:0].reshape(3, 0)], function, **args)
    case(f"{name}_one", op, [x[10:11]], function, depth=32, **args)
    case(f"{name}_scalar", op, [x[10]], function, depth=32, **args)
    finite = numbers(*[value for value in values if math.isfinite(value)] * 2)
    for lanes in LANES:
        case(f"{name}_lanes_{lanes}", op, [finite[3:3 + lanes]], function, pad_in=(1, 2), pad_out=(2, 1), depth=32,
             **args)


def without(*dropped):
    return [value for value in SPECIALS if not any(value == one and math.copysign(1, value) == math.copysign(1, one)
                                                   for one in dropped)]


def hardsigmoid(x):
    """PyTorch's, whose sixth is a float32 in float64 too."""
    return torch.where((x > -3) & (x < 3), (x + 3) / 6, (x >= 3).double())


def elementwise():
    plain = {
        "neg": torch.neg, "abs": torch.abs, "square": torch.square, "sqrt": torch.sqrt, "rsqrt": torch.rsqrt,
        "reciprocal": torch.reciprocal, "sign": torch.sign, "exp": torch.exp, "exp2": torch.exp2,
        "expm1": torch.expm1, "log": torch.log, "log2": torch.log2, "log10": torch.log10, "log1p": torch.log1p,
        "sin": torch.sin, "cos": torch.cos, "tan": torch.tan, "asin": torch.asin, "acos": torch.acos,
        "atan": torch.atan, "sinh": torch.sinh, "cosh": torch.cosh, "tanh": torch.tanh, "asinh": torch.asinh,
        "acosh": torch.acosh, "atanh": torch.atanh, "erf": torch.erf, "floor": torch.floor, "ceil": torch.ceil,
        "trunc": torch.trunc, "round": torch.round, "relu": torch.relu, "relu6": F.relu6, "selu": F.selu,
        "gelu": F.gelu, "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
        "quick_gelu": lambda x: x * torch.sigmoid(1.702 * x), "silu": F.silu, "mish": F.mish,
        "sigmoid": torch.sigmoid, "logsigmoid": F.logsigmoid, "hardsigmoid": hardsigmoid,
        "hardswish": F.hardswish, "softsign": F.softsign, "contiguous": lambda x: x.contiguous(),
        "clone": torch.clone, "dropout_off": lambda x: F.dropout(x, 0.5, training=False),
        "cast_back": lambda x: x.to(torch.float32).to(x.dtype),
    }
    for name, function in plain.items():
        unary(name, name, function)
    for slope in (0.01, 0.25, 0.0):
        unary(f"leaky_relu_{slope}", "leaky_relu", lambda x: F.leaky_relu(x, slope), slope=slope)
    for alpha in (1.0, 1.5):
        unary(f"elu_{alpha}", "elu", lambda x: F.elu(x, alpha), alpha=alpha)
        unary(f"celu_{alpha}", "celu", lambda x: F.celu(x, alpha), alpha=alpha)
    for low, high in ((-1.0, 1.0), (-2.0, 3.0)):
        unary(f"hardtanh_{low}_{high}", "hardtanh", lambda x: F.hardtanh(x, low, high), low=low, high=high)
        unary(f"clamp_{low}_{high}", "clamp", lambda x: x.clamp(low, high), low=low, high=high)
    unary("clamp_low", "clamp", lambda x: x.clamp(min=0.0), low=0.0)
    unary("clamp_high", "clamp", lambda x: x.clamp(max=2.0), high=2.0)
    unary("clamp_equal", "clamp", lambda x: x.clamp(1.0, 1.0), low=1.0, high=1.0)
    for beta in (1.0, 2.0):
        unary(f"softplus_{beta}", "softplus", lambda x: F.softplus(x, beta), beta=beta)


    unary("nan_to_num", "nan_to_num", torch.nan_to_num)


def powers():
    for exponent in (0, 1, 2, 3, -1, -2, -3, 0.5, -0.5, 2.5, 0.3, -0.3):
        unary(f"power_{exponent}", "power", lambda x: x ** exponent, exponent=exponent)
    unary("power_1.5", "power", lambda x: x ** 1.5, without(-INF), exponent=1.5)
    for base in (0.0, 1.0, 2.0, 0.5, -2.0):
        unary(f"number_power_{base}", "number_power", lambda x: base ** x, base=base)


def with_numbers():
    table = {
        "add": lambda x, n: x + n, "sub": lambda x, n: x - n, "mul": lambda x, n: x * n, "div": lambda x, n: x / n,
        "div_floor": lambda x, n: torch.div(x, n, rounding_mode="floor"),
        "div_trunc": lambda x, n: torch.div(x, n, rounding_mode="trunc"),
        "mod": torch.remainder, "fmod": torch.fmod,
        "maximum": lambda x, n: torch.maximum(x, torch.tensor(n, dtype=x.dtype)),
        "minimum": lambda x, n: torch.minimum(x, torch.tensor(n, dtype=x.dtype)),
        "logaddexp": lambda x, n: torch.logaddexp(x, torch.tensor(n, dtype=x.dtype)),
    }
    for name, function in table.items():
        for number in (0.0, 2.0):
            if number == 0.0 and name in ("div_floor", "div_trunc", "mod", "fmod"):
                continue
            unary(f"{name}_{number}", f"{name}_number", lambda x: function(x, number), number=number)
    for number in (1.0, -1.0):
        # PyTorch divides the result by x, which is NaN for infinities.
        weights = upstream_of(numbers(*SPECIALS))
        ends = [(0, place, weights[place] * sign * number) for place, sign in infinities(SPECIALS)]
        unary(f"copysign_{number}", "copysign_number", lambda x: torch.copysign(x, torch.tensor(number)), number=number,
              differs=ends)


# ---- functions of two elements

PAIRED = [-INF, -2.0, -1.0, -0.0, 0.0, 0.5, 1.0, 2.0, INF, NAN]
BINARY = {
    "add": torch.add, "sub": torch.sub, "mul": torch.mul, "div": torch.div,
    "div_floor": lambda x, y: torch.div(x, y, rounding_mode="floor"),
    "div_trunc": lambda x, y: torch.div(x, y, rounding_mode="trunc"),
    "mod": torch.remainder, "fmod": torch.fmod, "pow": torch.pow, "maximum": torch.maximum,
    "minimum": torch.minimum, "copysign": torch.copysign, "logaddexp": torch.logaddexp,
    "atan2": torch.atan2, "hypot": lambda x, y: torch.hypot(x.double(), y.double()),
    "where_less": lambda x, y: torch.where(x < y, x * 2, y),
    "lerp_quarter": lambda x, y: torch.lerp(x.double(), y.double(), 0.25),
    "lerp_most": lambda x, y: torch.lerp(x.double(), y.double(), 0.75),
}


def pair_differences(name, x, y):
    """What we give where PyTorch's formula has 0 / 0 or infinity / infinity."""
    weights = upstream_of(x)
    found = []
    for place, (a, b) in enumerate(zip(x.tolist(), y.tolist())):
        weight = weights[place].item()
        if name == "copysign" and math.isinf(a):
            found.append((0, place, weight * math.copysign(1, a) * math.copysign(1, b)))
        if name == "logaddexp" and math.isinf(a) and a == b:
            found += [(0, place, weight / 2), (1, place, weight / 2)]
    return found


def binary():
    x = numbers(*[a for a in PAIRED for b in PAIRED])
    y = numbers(*[b for a in PAIRED for b in PAIRED])
    small, row = numbers(0.5, -1.5, 2.0, 0.0, 1.0), numbers(2.0, 0.5, -1.0, 1.0, 2.0)
    column = rows([1.0], [0.0], [-0.5])
    for name, function in BINARY.items():
        case(f"{name}_pairs", name, [x, y], function, (0, 1), depth=32, differs=pair_differences(name, x, y))
        if name != "where_less":
            finite = numbers(*[value for value in SPECIALS if math.isfinite(value)])
            weights = upstream_of(numbers(*SPECIALS)).tolist()
            ends = [(0, place, weights[place]) for place, _ in infinities(SPECIALS)]
            case(f"{name}_twice", name, [numbers(*SPECIALS)], function, repeat=2, depth=32,
                 differs=ends if name in ("copysign", "logaddexp") else None)
            case(f"{name}_twice_lanes", name, [finite[2:9]], function, repeat=2, depth=32, pad_out=(1, 2))
        case(f"{name}_broadcast", name, [small.abs(), column], function, (0, 1), depth=32)
        case(f"{name}_broadcast_scalar", name, [small.abs(), numbers(2.0)[0]], function, (0, 1), depth=32)
        case(f"{name}_broadcast_one", name, [numbers(0.5), row], function, (0, 1), depth=32)
        case(f"{name}_empty", name, [row[:0], row[:0]], function, (0, 1))
        case(f"{name}_empty_broadcast", name, [reals(0, 5), row], function, (0, 1))
        case(f"{name}_integers", name, [small.abs(), torch.tensor([2, 1, 0, 1, 3])], function, (0,), depth=32)
        case(f"{name}_of_integers", name, [torch.tensor([2, 1, 0, 1, 3]), small.abs()], function, (1,), depth=32)
        for lanes in LANES:
            case(f"{name}_lanes_{lanes}", name, [reals(lanes).abs() + 0.5, reals(lanes + 3)],
                 function, (0, 1), pad_in=(1, 2), pad_out=(2, 1), depth=64)


# ---- along axes

TIES = [[1.0, 3.0, 3.0, 2.0, 3.0], [2.0, 2.0, 2.0, 2.0, 2.0], [-1.0, -3.0, 0.0, -0.0, -3.0]]
ZEROS = [[2.0, 0.0, 3.0, 1.5], [0.0, 0.0, 3.0, 2.0], [0.0, 0.0, 0.0, 0.0]]
LOW = [[-INF, 0.0, 1.0], [-INF, -INF, 0.5], [0.0, -INF, -INF]]
ALL_LOW = [[-INF, -INF, -INF]]
HIGH = [[INF, 0.0, 1.0], [0.5, INF, 2.0]]
HIGHEST = [[INF, INF, 1.0], [-INF, INF, INF]]
MISSING = [[1.0, NAN, 2.0], [NAN, NAN, 0.0]]
# Products: where infinity or NaN meets 0 we divide by each factor, and PyTorch multiplies the others.
HIGH_ALONE = [[INF, 2.0, 1.0], [-0.5, -INF, 2.0]]
MISSING_ALONE = [[1.0, NAN, 2.0], [NAN, NAN, 0.5]]


def along(name, op, function, wide=False, specials=("low", "all_low", "high", "highest", "missing"), empties=True,
          depth=64, **args):
    """`function` of a tensor and an axis."""
    named = {"ties": TIES, "zeros": ZEROS, "low": LOW, "all_low": ALL_LOW, "high": HIGH, "highest": HIGHEST,
             "missing": MISSING, "high_alone": HIGH_ALONE, "missing_alone": MISSING_ALONE}
    chosen = {tag: values for tag, values in named.items() if tag in ("ties", "zeros") or tag in specials}

    def one(tag, x, axis, **more):
        axes = {"axes": [axis]} if op in REDUCTIONS else {"axis": axis}
        case(f"{name}_{tag}", op, [x], lambda t: function(t, axis), depth=depth, wide=wide, **axes, **more, **args)

    for tag, values in chosen.items():
        one(tag, rows(*values), 1)
    one("columns", rows(*TIES), 0)
    one("one", reals(1, 1), 1)
    one("one_wide", reals(3, 1), 1)
    if empties:
        one("empty_axis", reals(2, 0), 1)
    one("empty_other", reals(0, 3), 1)
    for lanes in LANES:
        one(f"lanes_{lanes}", reals(2, lanes), 1, pad_out=(1, 2))
        one(f"lanes_down_{lanes}", reals(3, lanes), 0, pad_in=(1, 2), pad_out=(2, 1))


REDUCTIONS = ("norm", "sum", "prod", "max", "min", "mean", "var", "std", "logsumexp", "var_mean", "std_mean")


def reductions():
    along("sum", "sum", lambda t, a: t.sum(a))
    along("mean", "mean", lambda t, a: t.mean(a))
    along("max", "max", lambda t, a: t.amax(a), empties=False)
    along("min", "min", lambda t, a: t.amin(a), empties=False)
    along("prod", "prod", lambda t, a: t.prod(a), depth=128, specials=("missing_alone", "high_alone"))
    along("logsumexp", "logsumexp", lambda t, a: t.logsumexp(a))
    for correction in (0, 1, 3):
        along(f"var_{correction}", "var", lambda t, a: t.var(a, correction=correction), correction=correction,
              wide=True)
        along(f"std_{correction}", "std", lambda t, a: t.std(a, correction=correction), correction=correction,
              wide=True)
    along("var_mean", "var_mean", lambda t, a: torch.var_mean(t, a), wide=True)
    along("std_mean", "std_mean", lambda t, a: torch.std_mean(t, a), wide=True)
    along("mean_of_two", "var_mean", lambda t, a: torch.var_mean(t, a), out=1)
    for name, function in (("softmax", torch.softmax), ("log_softmax", torch.log_softmax), ("softmin", F.softmin)):
        along(name, name, function)
    along("cumsum", "cumsum", torch.cumsum)
    along("cumprod", "cumprod", torch.cumprod, depth=128, specials=("missing_alone", "high_alone"))
    along("logcumsumexp", "logcumsumexp", torch.logcumsumexp)
    along("cummax", "cummax", lambda t, a: t.cummax(a).values)
    along("cummin", "cummin", lambda t, a: t.cummin(a).values)
    for p in (0.0, 0.5, 1.0, 1.5, 2.0, 3.0):
        along(f"normalize_{p}", "normalize", lambda t, a: F.normalize(t, p, a), p=p, wide=True, specials=("missing",),
              depth=256)
    for p in (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, INF, -INF):
        # JSON has no infinity.
        along(f"norm_{p}", "norm", lambda t, a: torch.linalg.vector_norm(t, p, a), p=str(p), wide=True,
              specials=("missing",) if math.isfinite(p) else (), depth=256, empties=p >= 0 and p != INF)
    along("median", "median", lambda t, a: t.median(a).values, specials=("low", "high", "missing"), empties=False)
    for tag, x in (("ties", numbers(2, 1, 2, 3, 2)), ("even", numbers(1, 2, 3, 4)), ("missing", numbers(1, NAN, NAN)),
                   ("one", numbers(2))):
        case(f"median_all_{tag}", "median_all", [x], torch.median)
    for times in (0, 1, 2, 9):
        case(f"diff_{times}", "diff", [reals(3, 5)], lambda t: t.diff(times), times=times, axis=-1)
    for tag, x in (("ties", rows(*TIES)), ("empty", reals(0, 3)), ("one", reals(1, 1)),
                   ("scalar", numbers(0.5)[0])):
        case(f"sum_all_{tag}", "sum", [x], torch.sum, axes=list(range(x.ndim)), depth=64)
        if x.numel():
            case(f"max_all_{tag}", "max", [x], torch.max, axes=list(range(x.ndim)))
            case(f"min_all_{tag}", "min", [x], torch.min, axes=list(range(x.ndim)))
            case(f"prod_all_{tag}", "prod", [x], torch.prod, axes=list(range(x.ndim)), depth=64)
    for lanes in LANES:  # a quotient in partly filled vectors, between zeros
        case(f"share_lanes_{lanes}", "share", [reals(lanes).abs() + 0.25], lambda t: t / t.sum(), pad_out=(0, 1),
             depth=64)
        case(f"softmax_pad_{lanes}", "softmax", [reals(2, lanes)], lambda t: t.softmax(1), pad_in=(2, 1),
             pad_out=(1, 1), axis=1, depth=64)


# ---- movement

def movements():
    x, none = reals(2, 3, 4), reals(2, 0, 4)
    moves = [
        ("reshape", "reshape", [x], lambda t: t.reshape(4, 6), {"shape": [4, 6]}),
        ("reshape_empty", "reshape", [none], lambda t: t.reshape(0, 8), {"shape": [0, 8]}),
        ("permute", "permute", [x], lambda t: t.permute(2, 0, 1), {"axes": [2, 0, 1]}),
        ("expand", "expand", [reals(3, 1)], lambda t: t.expand(2, 3, 4), {"shape": [2, 3, 4]}),
        ("expand_to_none", "expand", [reals(3, 1)], lambda t: t.expand(3, 0), {"shape": [3, 0]}),
        ("flip", "flip", [x], lambda t: t.flip(0, 2), {"axes": [0, 2]}),
        ("flip_empty", "flip", [none], lambda t: t.flip(1), {"axes": [1]}),
        ("roll", "roll", [x], lambda t: t.roll(-3, 2), {"shift": -3, "axis": 2}),
        ("roll_empty", "roll", [none], lambda t: t.roll(1, 1), {"shift": 1, "axis": 1}),
        ("repeat", "repeat", [x], lambda t: t.repeat(2, 1, 3), {"counts": [2, 1, 3]}),
        ("repeat_none", "repeat", [x], lambda t: t.repeat(2, 0, 3), {"counts": [2, 0, 3]}),
        ("repeat_interleave", "repeat_interleave", [x], lambda t: t.repeat_interleave(3, 1), {"count": 3, "axis": 1}),
        ("repeat_interleave_none", "repeat_interleave", [x], lambda t: t.repeat_interleave(0, 1),
         {"count": 0, "axis": 1}),
        ("repeat_each", "repeat_each", [reals(3, 4)], lambda t: t.repeat_interleave(torch.tensor([2, 0, 3]), 0),
         {"counts": [2, 0, 3], "axis": 0}),
        ("unfold", "unfold", [reals(9)], lambda t: t.unfold(0, 3, 2), {"axis": 0, "size": 3, "step": 2}),
        ("unfold_overlap", "unfold", [reals(2, 7)], lambda t: t.unfold(1, 3, 1), {"axis": 1, "size": 3, "step": 1}),
        ("diagonal", "diagonal_of", [reals(3, 4, 5)], lambda t: t.diagonal(1, 0, 2), {"offset": 1, "axes": [0, 2]}),
        ("diagonal_none", "diagonal_of", [reals(2, 2)], lambda t: t.diagonal(2, 0, 1), {"offset": 2, "axes": [0, 1]}),
        ("diag", "diag", [reals(4)], lambda t: t.diag(-1), {"diagonal": -1}),
        ("diag_of", "diag", [reals(4, 3)], lambda t: t.diag(1), {"diagonal": 1}),
        ("flatten", "flatten", [x], lambda t: t.flatten(1), {"first": 1}),
        ("flatten_scalar", "flatten", [numbers(1.5)[0]], lambda t: t.flatten(), {"first": 0}),
        ("unflatten", "unflatten", [reals(3, 8)], lambda t: t.unflatten(1, (2, 4)), {"axis": 1, "shape": [2, -1]}),
        ("rearrange", "rearrange", [reals(4, 6)], lambda t: t.reshape(2, 2, 6).permute(2, 0, 1).reshape(12, 2),
         {"formula": "(a b) c -> (c a) b", "a": 2}),
        ("chain", "chain", [reals(4, 6)],
         lambda t: F.pad(t.t().flip(0).reshape(3, 8)[1:, ::3], (1, 0, 0, 2)).unsqueeze(1).expand(4, 2, 4), {}),
        ("pad_cut", "pad", [reals(4, 5)], lambda t: F.pad(t, (-1, 2, 1, -2)),
         {"amounts": [[1, -2], [-1, 2]], "mode": "constant"}),
        ("pad_cut_all", "pad", [reals(4, 5)], lambda t: F.pad(t, (-2, -3)),
         {"amounts": [[0, 0], [-2, -3]], "mode": "constant"}),
        ("squeeze", "squeeze", [reals(3, 1, 1)], lambda t: t.squeeze(), {}),
        ("unsqueeze", "unsqueeze", [reals(3)], lambda t: t.unsqueeze(0), {"axis": 0}),
        ("transpose", "transpose", [x], lambda t: t.transpose(0, -1), {"axes": [0, -1]}),
        ("shrink_to", "shrink_to", [reals(4, 5)], lambda t: t[:2, :0], {"shape": [2, 0]}),
        ("pad_to", "pad_to", [reals(2, 0)], lambda t: F.pad(t, (0, 3, 0, 1)), {"shape": [3, 3]}),
    ]
    for mode in ("reflect", "replicate", "circular"):
        moves.append((f"pad_{mode}", "pad", [reals(1, 2, 5, 4)], lambda t, m=mode: F.pad(t, (1, 2, 2, 1), mode=m),
                      {"amounts": [[0, 0], [0, 0], [2, 1], [1, 2]], "mode": mode}))
    for diagonal in (-1, 0, 2, 9):
        moves.append((f"tril_{diagonal}", "tril", [reals(4, 5)], lambda t, d=diagonal: t.tril(d),
                      {"diagonal": diagonal}))
        moves.append((f"triu_{diagonal}", "triu", [reals(4, 5)], lambda t, d=diagonal: t.triu(d),
                      {"diagonal": diagonal}))
    for start, stop, step in ((1, 9, 3), (8, 0, -2), (-4, 10, 1), (0, 0, 1), (5, 2, 1), (9, 10, 1)):
        places = torch.arange(10)[[*range(10)[start:stop:step]]]
        moves.append((f"slice_{start}_{stop}_{step}", "slice", [reals(3, 10)], lambda t, p=places: t[:, p],
                      {"start": start, "stop": stop, "step": step}))
    moves.append(("movedim", "movedim", [x], lambda t: t.movedim((0, 2), (2, 0)), {"axes": [0, 2], "places": [2, 0]}))
    for name, op, inputs, function, args in moves:
        case(f"move_{name}", op, inputs, function, depth=4, **args)
    for out in (0, 2):
        case(f"move_split_{out}", "split", [reals(7, 3)], lambda t: t.split(3), out=out, size=3, axis=0)
        case(f"move_chunk_{out}", "chunk", [reals(7, 3)], lambda t: t.chunk(3), out=out, count=3, axis=0)
    y = reals(2, 5, 4)
    case("move_cat", "cat", [x, y, reals(2, 0, 4)], lambda *t: torch.cat(t, 1), (0, 1, 2), axis=1)
    case("move_cat_twice", "cat", [x], lambda *t: torch.cat(t, 1), repeat=2, axis=1, depth=4)
    case("move_cat_one", "cat", [x], lambda *t: torch.cat(t, 1), axis=1)
    case("move_cat_integers", "cat", [x, integers(9, 2, 1, 4)], lambda *t: torch.cat(t, 1), axis=1)
    case("move_stack_twice", "stack", [x], lambda *t: torch.stack(t, -1), repeat=3, axis=-1, depth=4)
    case("move_stack_empty", "stack", [none], lambda *t: torch.stack(t, 0), repeat=2, axis=0)
    case("move_usum", "usum", [reals(3, 1), reals(4), reals(3, 4)], lambda a, b, c: a + b + c, (0, 1, 2))
    case("move_uprod", "uprod", [reals(3, 1), reals(4), reals(3, 4)], lambda a, b, c: a * b * c, (0, 1, 2), depth=64)
    case("move_uprod_twice", "uprod", [reals(5)], lambda a, b, c: a * b * c, repeat=3, depth=64)
    case("move_masked_fill", "masked_fill", [reals(2, 4), numbers(1, 0, 0, 1) > 0], lambda t, m: t.masked_fill(m, NAN))
    case("move_where_guard", "where_guard", [numbers(0, 1, -1, 4, 0)],
         lambda t: torch.where(t > 0, torch.where(t > 0, t, 1).log(), 0),
         depth=64)


def products():
    def square(n):
        return reals(n, n)

    for n in (1, *LANES):
        case(f"matmul_twice_{n}", "matmul", [square(n)], torch.matmul, repeat=2, depth=128)
        case(f"matmul_vector_{n}", "matmul", [reals(n)], torch.matmul, repeat=2, depth=128)
        case(f"matmul_lanes_{n}", "matmul", [reals(3, n), reals(n + 3, 2)], torch.matmul, (0, 1), pad_in=(1, 2),
             pad_out=(2, 1), depth=128)
    for a, b in (((2, 0), (0, 3)), ((0, 2), (2, 3)), ((2, 3), (3, 0)), ((0,), (0,)), ((1, 1), (1, 1)),
                 ((4, 1, 2, 3), (3, 2)), ((2, 3), (5, 3, 2)), ((3,), (4, 3, 2)), ((1, 2, 3), (4, 3, 2))):
        tag = "_".join("x".join(map(str, shape)) for shape in (a, b))
        case(f"matmul_{tag}", "matmul", [reals(*a), reals(*b)], torch.matmul, (0, 1), depth=64)
    case("outer", "outer", [reals(3), reals(5)], torch.outer, (0, 1))
    case("outer_twice", "outer", [reals(5)], torch.outer, repeat=2, depth=64)
    case("outer_empty", "outer", [reals(0), reals(5)], torch.outer, (0, 1))
    case("matmul_integers", "matmul", [reals(2, 3), integers(5, 3, 2)], lambda a, b: a @ b.double(), depth=64)
    case("matmul_infinite", "matmul", [rows([1, INF], [0, 2]), rows([2, 1], [0.5, -1])], torch.matmul, (0, 1))
    case("linear", "linear", [reals(0, 3), reals(3, 5), reals(5)], lambda x, w, b: x @ w + b, (0, 1, 2))
    for formula in ("ij,ij->", "ij,ij->ij", "ij,kj->ik", "ij,ik->jk", "ij,ij->i"):
        case(f"einsum_twice_{formula}", "einsum", [reals(3, 5)], lambda *t: torch.einsum(formula, *t), repeat=2,
             depth=128,
             formula=formula)
    for formula, shapes in (("ii->i", ((4, 4),)), ("ii->", ((3, 3),)), ("ij->", ((3, 0),)),
                            ("ij,jk->ik", ((2, 0), (0, 3))),
                            ("i,j->ij", ((3,), (4,))), ("bij,bj->bi", ((2, 3, 5), (2, 5)))):
        inputs = [reals(*shape) for shape in shapes]
        case(f"einsum_{formula}", "einsum", inputs, lambda *t: torch.einsum(formula, *t), range(len(inputs)), depth=64,
             formula=formula)
    for rows_, columns in ((4, 4), (5, 3)):
        x = torch.eye(rows_, columns, dtype=torch.float64) * 2 + reals(rows_, columns) / 8
        case(f"qr_r_{rows_}x{columns}", "qr_r", [x], lambda t: torch.linalg.qr(t).R, wide=True, depth=2048)
        case(f"qr_q_{rows_}x{columns}", "qr_q", [x], lambda t: torch.linalg.qr(t).Q, wide=True, depth=2048)


def indexing():
    y, places = reals(4, 5), integers(4, 6, 5)
    case("index_gather", "gather", [y, places], lambda t, i: t.gather(0, i), axis=0, depth=32)
    case("index_gather_none", "gather", [y, places[:0]], lambda t, i: t.gather(0, i), axis=0)
    case("index_rows", "rows", [y, integers(4, 9)], lambda t, i: t[i], depth=32)
    case("index_rows_none", "rows", [y, integers(4, 0)], lambda t, i: t[i])
    case("index_rows_negative", "rows", [y, torch.tensor([-1, 0, -4])], lambda t, i: t[i])
    case("index_pairs", "pairs", [y, integers(4, 7), integers(5, 7)], lambda t, i, j: t[i, j], depth=32)
    case("index_masked_select", "masked_select", [y, integers(2, 4, 5).bool()], lambda t, m: F.pad(t[m], (0, 30))[:30],
         size=30)
    case("index_masked_none", "masked_select", [y, torch.zeros(4, 5).bool()], lambda t, m: F.pad(t[m], (0, 3)), size=3)
    case("index_scatter", "scatter", [y, torch.tensor([[0, 1, 2, 3, 1]]), reals(1, 5)], lambda t, i,
         s: t.scatter(0, i, s),
         (0, 2), axis=0)
    case("index_scatter_none", "scatter", [y, torch.zeros(0, 5).long(), reals(0, 5)], lambda t, i,
         s: t.scatter(0, i, s), (0, 2),
         axis=0)
    # Of several that meet we give the gradient to the last, which stays; PyTorch gives it to all.
    case("index_scatter_meeting", "scatter", [reals(3), torch.tensor([1, 1, 0]), reals(3)], lambda t, i,
         s: t.scatter(0, i, s),
         (0, 2), axis=0, differs=[(2, 0, 0.0)])
    case("index_scatter_add", "scatter_add", [y, places, reals(6, 5)], lambda t, i, s: t.scatter_add(0, i, s), (0, 2),
         axis=0,
         depth=32)
    target, index, source = numbers(2, 0, 5, 2, 1), torch.tensor([0, 0, 1, 3, 3]), numbers(2, 2, 0, 1, 0.5)
    for ours, theirs in (("sum", "sum"), ("product", "prod"), ("mean", "mean"), ("max", "amax"), ("min", "amin")):
        for include in (True, False):
            # PyTorch takes off a share for this element though it does not take part.
            shares = [(2, 0, 0.25), (2, 1, 0.25), (2, 2, 1.0)] if ours in ("max", "min") and not include else None
            case(f"index_scatter_{ours}_{include}", "scatter_reduce", [target, index, source],
                 lambda t, i, s: t.scatter_reduce(0, i, s, theirs, include_self=include), (0, 2), axis=0, combine=ours,
                 include_self=include, differs=shares)
            case(f"index_scatter_{ours}_{include}_none", "scatter_reduce", [target, index[:0], source[:0]],
                 lambda t, i, s: t.scatter_reduce(0, i, s, theirs, include_self=include), (0, 2), axis=0, combine=ours,
                 include_self=include)
    case("index_set", "set", [reals(5, 6), reals(5, 2)], lambda t,
         v: torch.cat([t[:, :1], v[:, :1], t[:, 2:4], v[:, 1:], t[:, 5:]], 1),
         (0, 1))
    for tag, values in (("ties", numbers(2, 1, 2, 1, 3, 2, 1)), ("specials", numbers(*SPECIALS)), ("one", numbers(2)),
                        ("empty", numbers()), ("columns", rows(*TIES))):
        for down in (False, True):
            if tag == "specials" and down:
                continue
            case(f"sort_{tag}_{down}", "sort_values", [values],
                 lambda t: t.sort(dim=0, stable=True, descending=down).values,
                 axis=0, descending=down)
    for largest in (True, False):
        case(f"topk_{largest}", "topk", [wholes(3, 11)], lambda t: t.topk(4, 1, largest=largest).values, count=4,
             axis=1,
             largest=largest)
    case("topk_none", "topk", [wholes(3, 11)], lambda t: t.topk(0, 1).values, count=0, axis=1, largest=True)


def layers():
    ones = torch.ones(1, 1, 5, 5, dtype=torch.float64)
    ramp = torch.arange(25, dtype=torch.float64).reshape(1, 1, 5, 5)
    low = torch.full((1, 1, 4, 4), -INF, dtype=torch.float64)
    holes = ramp.clone()
    holes.view(-1)[[6, 12, 13]] = NAN
    for tag, x in (("ties", ones), ("ramp", ramp), ("stairs", (ramp / 3).floor()), ("low", low), ("missing", holes),
                   ("one", ones[:, :, :2, :2]), ("empty", reals(0, 1, 5, 5)),
                   ("relu", reals(2, 2, 7, 7).clamp(min=0)), ("odd", reals(1, 3, 9, 9))):
        for name, kernel, options in (("", (2, 2), {}), ("_overlap", (3, 3), {"stride": 1, "padding": 1}),
                                      ("_ceil", (2, 2), {"ceil_mode": True}),
                                      ("_apart", (2, 2), {"stride": 1, "dilation": 2})):
            if x.shape[-1] < 3 and name == "_apart":
                continue
            case(f"max_pool{name}_{tag}", "max_pool", [x], lambda t: F.max_pool2d(t, kernel, **options), kernel=kernel,
                 **options)
            if name != "_apart" and tag != "low":
                case(f"avg_pool{name}_{tag}", "avg_pool", [x], lambda t: F.avg_pool2d(t, kernel, **options),
                     kernel=kernel, depth=32,
                     **options)
    case("max_pool_places", "max_pool_places", [ones], lambda t: F.max_pool2d(t, 2, return_indices=True), kernel=(2, 2))
    case("max_unpool", "max_unpool", [ramp[:, :, :4, :4]],
         lambda t: F.max_unpool2d(*F.max_pool2d(t, 2, return_indices=True), 2), kernel=(2, 2))
    for tag, x, w, options in (("one", (1, 1, 1, 1), (1, 1, 1, 1), {}),
                               ("odd", (2, 3, 5, 7), (4, 3, 3, 3), {"padding": 1}),
                               ("strided", (1, 2, 7, 9), (3, 2, 2, 3), {"stride": 2}),
                               ("empty", (0, 2, 5, 5), (3, 2, 3, 3), {}),
                               ("whole", (2, 1, 3, 3), (5, 1, 3, 3), {})):
        case(f"conv_{tag}", "conv", [reals(*x), reals(*w), reals(w[0])], lambda t, k, b: F.conv2d(t, k, b, **options),
             (0, 1, 2),
             depth=128, **options)
    case("conv_transpose", "conv_transpose", [reals(1, 2, 3, 5), reals(2, 3, 3, 3), reals(3)],
         lambda t, k, b: F.conv_transpose2d(t, k, b, stride=2), (0, 1, 2), depth=128, stride=2)
    case("conv1d", "conv1d", [reals(2, 3, 9), reals(4, 3, 3), reals(4)], F.conv1d, (0, 1, 2), depth=128)
    for mode, align in (("nearest", None), ("nearest-exact", None), ("bilinear", False), ("bilinear", True),
                        ("bicubic", False),
                        ("bicubic", True), ("area", None)):
        for sizes in ((1, 1), (5, 7), (9, 3), (17, 17)):
            case(f"interpolate_{mode}_{align}_{sizes[0]}", "interpolate", [reals(1, 2, 5, 7)],
                 lambda t: F.interpolate(t, sizes, mode=mode, align_corners=align), depth=256, sizes=sizes, mode=mode,
                 align=bool(align))
        case(f"interpolate_{mode}_{align}_one", "interpolate", [reals(1, 2, 1, 1)],
             lambda t: F.interpolate(t, (3, 2), mode=mode, align_corners=align), depth=64, sizes=(3, 2), mode=mode,
             align=bool(align))
    for tag, x in (("ties", rows(*TIES)), ("equal", torch.full((3, 5), 2.0, dtype=torch.float64)), ("one", reals(3, 1)),
                   ("empty", reals(0, 5)), *((f"lanes_{n}", reals(2, n)) for n in LANES)):
        case(f"layernorm_{tag}", "layernorm", [x], lambda t: F.layer_norm(t, t.shape[-1:]), axes=[-1], depth=512)
    case("batchnorm", "batchnorm", [reals(0, 3, 2), reals(3), reals(3), reals(3), reals(3).abs() + 1],
         lambda t, w, b, m, s: (t - m[:, None]) * s[:, None] * w[:, None] + b[:, None], (0, 1, 2, 3, 4))
    case("batchnorm_odd", "batchnorm", [reals(3, 5, 7), reals(5), reals(5), reals(5), reals(5).abs() + 1],
         lambda t, w, b, m, s: (t - m[:, None]) * s[:, None] * w[:, None] + b[:, None], (0, 1, 2, 3, 4), depth=256)

    def newton_schulz(t):
        t = t / torch.linalg.matrix_norm(t, keepdim=True).clamp_min(1e-7)
        for _ in range(2):
            square = t @ t.mT
            t = 2 * t + square @ (-1.5 * t + square @ (0.5 * t))
        return t
    for tag, x in (("plain", reals(3, 5) / 4), ("zeros", torch.zeros(3, 5, dtype=torch.float64)), ("one", reals(1, 1))):
        case(f"newton_schulz_{tag}", "newton_schulz", [x], newton_schulz, wide=True, depth=4096)
    attend = F.scaled_dot_product_attention
    q, k, v = reals(1, 2, 3, 5), reals(1, 2, 7, 5), reals(1, 2, 7, 3)
    keep = integers(2, 3, 7).bool()
    keep[1] = False
    case("attention_none_kept", "attention", [q, k, v, keep], attend, (0, 1, 2), depth=64)
    case("attention_mask", "attention", [q, k, v, torch.where(keep, 0.0, -INF).double()], attend, (0, 1, 2), depth=64)
    case("attention_twice", "attention", [reals(1, 2, 5, 5)], attend, repeat=3, depth=256)
    case("attention_causal", "attention", [q, k[:, :, :3], v[:, :, :3]], lambda *t: attend(*t, is_causal=True),
         (0, 1, 2), depth=64,
         causal=True)


def losses():
    x, labels = reals(4, 5), integers(5, 4)
    low = x.clone()
    low[0, 1] = low[2, 3] = -INF
    labels[0], labels[1] = 1, 2
    some = labels.clone()
    some[1] = -100
    for tag, logits, classes in (("plain", x, labels), ("equal", torch.zeros(4, 5, dtype=torch.float64), labels),
                                 ("low", low, labels),
                                 ("ignored", x, some), ("all_ignored", x, torch.full_like(labels, -100)),
                                 ("one", reals(1, 1), torch.zeros(1).long()), ("empty", reals(0, 5), labels[:0])):
        for reduction in ("mean", "sum", "none"):
            case(f"cross_entropy_{tag}_{reduction}", "cross_entropy", [logits, classes],
                 lambda t, y: F.cross_entropy(t, y, reduction=reduction), depth=32, reduction=reduction)
            case(f"nll_{tag}_{reduction}", "nll_loss", [logits, classes], lambda t,
                 y: F.nll_loss(t, y, reduction=reduction),
                 depth=32, reduction=reduction)
        case(f"sparse_{tag}", "sparse_cross_entropy", [logits, classes], F.cross_entropy, depth=32)
        case(f"cross_entropy_{tag}_smooth", "cross_entropy", [logits, classes],
             lambda t, y: F.cross_entropy(t, y, label_smoothing=0.2), depth=32, label_smoothing=0.2)
    case("cross_entropy_probabilities", "cross_entropy", [x, reals(4, 5).softmax(1)], F.cross_entropy, (0, 1), depth=64)
    p, truth = numbers(0, 0, 1, 1, 0.5, 0.25, 0.75), numbers(0, 1, 0, 1, 0.5, 1, 0)
    logits = numbers(0, 0, 1, -INF, INF, INF, NAN, -2, 7)
    goals = numbers(0, 1, 0, 1, 0.25, 1, 1, 0.5, 0)
    for reduction in ("mean", "sum", "none"):
        case(f"bce_{reduction}", "bce", [p, truth], lambda t, y: F.binary_cross_entropy(t, y, reduction=reduction),
             (0, 1),
             wide=True, depth=64, reduction=reduction)
        case(f"bce_logits_{reduction}", "bce_logits", [logits, goals],
             lambda t, y: F.binary_cross_entropy_with_logits(t, y, reduction=reduction), (0, 1), depth=64,
             reduction=reduction)
    a, b = numbers(0, 1, -1, 2, 0.5, -3, INF, NAN), numbers(0, 0, 0, 1, 1, 1, 0, 0)
    distances = {"mse_loss": F.mse_loss, "l1_loss": F.l1_loss, "huber_loss": F.huber_loss,
                 "smooth_l1_loss": F.smooth_l1_loss}
    for name, function in distances.items():
        for reduction in ("mean", "sum", "none"):
            case(f"{name}_{reduction}", name, [a, b], lambda t, y: function(t, y, reduction=reduction), (0, 1),
                 depth=32,
                 reduction=reduction)
            case(f"{name}_{reduction}_empty", name, [a[:0], b[:0]], lambda t, y: function(t, y, reduction=reduction),
                 (0, 1),
                 reduction=reduction)
        case(f"{name}_twice", name, [reals(5)], lambda t, y: function(t, y, reduction="sum"), repeat=2, reduction="sum")
    likely, shares = numbers(-1, -2, 0, -INF, -3), numbers(0.5, 0, 0.25, 0.25, 0)
    for reduction in ("mean", "sum", "none"):
        case(f"kl_div_{reduction}", "kl_div", [likely, shares], lambda t, y: F.kl_div(t, y, reduction=reduction),
             depth=32,
             reduction=reduction)
    case("kl_div_both", "kl_div", [reals(5), positives(5)], lambda t, y: F.kl_div(t, y, reduction="sum"), (0, 1),
         depth=64,
         reduction="sum")
    case("bce_logits_weighted", "bce_logits_weighted", [logits, goals, numbers(2), numbers(3)],
         lambda t, y, w, q: F.binary_cross_entropy_with_logits(t, y, w, pos_weight=q), (0, 1), depth=64)
    case("bce_inside", "bce", [reals(3, 5).abs() / 8 + 0.25, reals(3, 5).abs() / 8], F.binary_cross_entropy, (0, 1),
         depth=128)
    case("bce_empty", "bce", [p[:0], truth[:0]], lambda t, y: F.binary_cross_entropy(t, y, reduction="sum"), (0, 1),
         reduction="sum")


def main():
    torch.manual_seed(20261122)
    for part in (elementwise, powers, with_numbers, binary, reductions, movements, products, indexing, layers, losses):
        part()
    generate.write(sys.argv[1], cases)


if __name__ == "__main__":
    main()
