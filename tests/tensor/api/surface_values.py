#!/usr/bin/env python3
"""Writes surface_values.inc: what PyTorch gives for the cases of surface_test.cc, which names them.

Needs PyTorch and NumPy; tests do not. usage: surface_values.py > surface_values.inc
"""
import math

import torch
import torch.nn.functional as F


def numbers(*shape):
    """The numbers that surface_test.cc makes too: no two alike, none a whole number."""
    count = math.prod(shape)
    values = [((i * 37) % 101 - 50) / 16 + 0.03125 for i in range(count)]
    return torch.tensor(values, dtype=torch.float64).reshape(shape)


def whole(*shape):
    return torch.tensor([(i * 7) % 13 - 6 for i in range(math.prod(shape))]).reshape(shape)


INPUTS = {
    "x": numbers(3, 4),
    "c": numbers(2, 3, 4),
    "v": numbers(6),
    "q": numbers(4, 4),
    "s": numbers(1)[0],  # a scalar
    "p": numbers(3, 4).abs() + 0.25,
    "u": numbers(3, 4) / 4,
    "g": numbers(3, 4) / 4 + 2,  # above 1
    "t": torch.tensor([1e-6, -1e-4, 0.01, -0.3, 20.0, -30.0, 80.0, -100.0], dtype=torch.float64),
    "i": whole(3, 4),
    "j": whole(3, 4).abs() + 1,
    "b": whole(3, 4) % 3 == 0,
    "e": numbers(0, 3),
    "o": numbers(1, 1),
    "f": torch.tensor([math.nan, 1, 3, math.nan, -math.inf, 3, math.inf], dtype=torch.float64),
}
Y = numbers(4) + 0.5
IDX = torch.tensor([2, 0, -1])
MASK = whole(3, 4) % 2 == 0
ROWS = torch.tensor([True, False, True])


def assigned(x, place, value):
    y = x.clone()
    y[place] = value
    return y


def interleave(x):
    return torch.repeat_interleave(x, torch.tensor([2, 0, 1]), dim=0)


# name, input, function; a name that ends in "!" has no gradient
CASES = [
    # ---- movement
    ("shrink_to", "x", lambda x: x[:2, :3]),
    ("pad_to", "x", lambda x: F.pad(x, (0, 1, 0, 2), value=7)),
    ("rearrange", "c", lambda x: x.permute(2, 0, 1).reshape(4, 6)),
    ("rearrange split", "x", lambda x: x.reshape(3, 2, 2).permute(1, 0, 2).reshape(2, 6, 1)),
    ("repeat_interleave", "x", lambda x: torch.repeat_interleave(x, 2, dim=1)),
    ("repeat_interleave flat", "x", lambda x: torch.repeat_interleave(x, 2)),
    ("repeat_interleave counts", "x", interleave),
    ("roll axes", "x", lambda x: torch.roll(x, (1, -2), (0, 1))),
    ("roll flat", "x", lambda x: torch.roll(x, 5)),
    ("diagonal", "c", lambda x: torch.diagonal(x, 0)),
    ("diagonal offset", "c", lambda x: torch.diagonal(x, 1, 1, 2)),
    ("diagonal below", "c", lambda x: torch.diagonal(x, -1, -1, 0)),
    ("diagonal beyond!", "x", lambda x: torch.diagonal(x, 9)),
    ("diag of vector", "v", lambda x: torch.diag(x)),
    ("diag above", "v", lambda x: torch.diag(x, 2)),
    ("diag below", "v", lambda x: torch.diag(x, -1)),
    ("diag of matrix", "x", lambda x: torch.diag(x, 1)),
    ("T", "x", lambda x: x.T),
    ("t", "x", lambda x: x.t()),
    ("meshgrid xy", "v", lambda x: torch.meshgrid(x, Y, indexing="xy")[0]),
    ("meshgrid xy second", "v", lambda x: torch.meshgrid(Y, x, indexing="xy")[1]),
    ("squeeze axes", "v", lambda x: x.reshape(1, 6, 1, 1).squeeze((0, 1, -1))),
    ("unfold", "x", lambda x: x.unfold(1, 2, 1)),
    # ---- elementwise
    ("exp2", "x", torch.exp2), ("expm1", "t", torch.expm1), ("log1p", "p", torch.log1p),
    ("log1p small", "t", lambda x: torch.log1p(x.abs())),
    ("log10", "p", torch.log10), ("cos", "t", torch.cos), ("tan", "u", torch.tan),
    ("asin", "u", torch.asin), ("asin small", "t", lambda x: torch.asin(x / 200)),
    ("acos", "u", torch.acos), ("acos small", "t", lambda x: torch.acos(x / 200)),
    ("atan", "x", torch.atan), ("atan all", "t", torch.atan),
    ("sinh", "x", torch.sinh), ("sinh small", "t", lambda x: torch.sinh(x / 100)),
    ("cosh", "x", torch.cosh), ("tanh", "x", torch.tanh), ("tanh all", "t", torch.tanh),
    ("asinh", "x", torch.asinh), ("asinh all", "t", lambda x: torch.asinh(x * 1e3)),
    ("acosh", "g", torch.acosh), ("acosh far", "g", lambda x: torch.acosh(x * 1e6)),
    ("atanh", "u", torch.atanh), ("atanh small", "t", lambda x: torch.atanh(x / 200)),
    ("erf", "x", torch.erf), ("erf all", "t", torch.erf),
    ("sigmoid", "t", torch.sigmoid), ("logsigmoid", "t", F.logsigmoid),
    ("softplus", "t", lambda x: F.softplus(x, threshold=100)),
    ("softplus beta", "x", lambda x: F.softplus(x, beta=3)),
    ("elu", "t", F.elu), ("celu", "x", lambda x: F.celu(x, 0.7)), ("selu", "t", F.selu),
    ("gelu", "x", F.gelu), ("gelu tanh", "x", lambda x: F.gelu(x, approximate="tanh")),
    ("quick_gelu", "x", lambda x: x * torch.sigmoid(1.702 * x)), ("swish", "x", F.silu),
    ("silu far", "t", F.silu), ("mish", "t", F.mish), ("hardswish", "x", F.hardswish),
    ("hardsigmoid", "x", F.hardsigmoid), ("hardtanh", "x", lambda x: F.hardtanh(x, -2, 0.5)),
    ("relu6", "x", lambda x: F.relu6(x * 4)), ("softsign", "x", F.softsign),
    ("isinf up!", "f", lambda x: torch.isposinf(x)), ("isinf down!", "f", lambda x: torch.isneginf(x)),
    # ---- two and three operands
    ("div trunc!", "x", lambda x: torch.div(x, Y, rounding_mode="trunc")),
    ("div floor ints!", "i", lambda x: torch.div(x, 4, rounding_mode="floor")),
    ("mod", "x", lambda x: torch.remainder(x, Y)), ("fmod", "x", lambda x: torch.fmod(x, Y)),
    ("mod of infinity!", "v", lambda x: torch.remainder(x, -math.inf)),
    ("fmod of infinity!", "v", lambda x: torch.fmod(x, math.inf)),
    ("mod ints!", "i", lambda x: torch.remainder(x, -4)), ("fmod ints!", "i", lambda x: torch.fmod(x, 4)),
    ("bitwise_and!", "i", lambda x: x & 5), ("bitwise_or!", "i", lambda x: x | 5),
    ("bitwise_xor!", "i", lambda x: x ^ 5), ("lshift!", "i", lambda x: x << 2),
    ("rshift!", "i", lambda x: x >> 1), ("reflected shift!", "j", lambda x: 1 << x),
    ("eq!", "i", lambda x: x == 1), ("ne!", "i", lambda x: x != 1), ("lt!", "x", lambda x: x < Y),
    ("le!", "f", lambda x: x <= 3), ("gt!", "f", lambda x: x > 3), ("ge!", "x", lambda x: x >= Y),
    ("copysign", "x", lambda x: torch.copysign(x, -Y)),
    ("logaddexp", "t", lambda x: torch.logaddexp(x, x.detach().flip(0) + 1)),
    ("logaddexp equal", "x", lambda x: torch.logaddexp(x, x)),
    ("lerp", "x", lambda x: torch.lerp(x, Y.expand(3, 4), 0.75)),
    ("clip", "x", lambda x: torch.clip(x, -1, 2)), ("clamp min", "x", lambda x: torch.clamp(x, min=0.5)),
    ("masked_fill", "x", lambda x: x.masked_fill(MASK, 3)),
    ("usum", "x", lambda x: x + Y + 2 + x), ("uprod", "x", lambda x: x * Y * 2 * x),
    ("pow reflected", "x", lambda x: 2 ** x),
    ("pow of ints!", "i", lambda x: x ** (x % 4)), ("pow negative!", "i", lambda x: (x % 3 - 1) ** x),
    ("atan2", "x", lambda x: torch.atan2(x, Y)), ("atan2 of y", "x", lambda x: torch.atan2(Y, x)),
    ("atan2 of infinity!", "f", lambda x: torch.atan2(x, torch.tensor(-math.inf, dtype=x.dtype))),
    ("hypot", "x", lambda x: torch.hypot(x, Y)), ("hypot of infinity!", "f", lambda x: torch.hypot(x, x.flip(0))),
    ("nan_to_num!", "f", lambda x: torch.nan_to_num(x, 1.0, 2.0, -3.0)),
    ("outer", "v", lambda x: torch.outer(x, x)),
    ("mse_loss", "x", lambda x: F.mse_loss(x, Y.expand(3, 4))),
    ("l1_loss", "x", lambda x: F.l1_loss(x, x.detach().flip(0), reduction="none")),
    ("huber_loss", "x", lambda x: F.huber_loss(x, x.detach().flip(0), delta=0.75, reduction="none")),
    ("smooth_l1_loss", "x", lambda x: F.smooth_l1_loss(x, x.detach().flip(0), beta=0.75, reduction="sum")),
    ("kl_div", "x", lambda x: F.kl_div(x, Y.abs().expand(3, 4), reduction="none")),
    ("kl_div of logarithms", "x", lambda x: F.kl_div(x, Y.expand(3, 4), reduction="sum", log_target=True)),
    # ---- reductions and scans
    ("var_mean", "c", lambda x: torch.var_mean(x, (0, 2))[0]),
    ("var_mean mean", "c", lambda x: torch.var_mean(x, (0, 2))[1]),
    ("std_mean", "x", lambda x: torch.std_mean(x, 1, correction=0, keepdim=True)[0]),
    ("softmin", "x", lambda x: F.softmin(x, 0)), ("normalize", "x", lambda x: F.normalize(x)),
    ("normalize p", "x", lambda x: F.normalize(x, p=3, dim=0)),
    ("cumsum", "c", lambda x: torch.cumsum(x, 1)), ("cumprod", "c", lambda x: torch.cumprod(x, 2)),
    ("cummax", "x", lambda x: torch.cummax(x, 1)[0]), ("cummin", "x", lambda x: torch.cummin(x, 0)[0]),
    ("cummax places!", "i", lambda x: torch.cummax(x, 1)[1]),
    ("cummin places!", "i", lambda x: torch.cummin(x, 1)[1]),
    ("cummax of nan!", "f", lambda x: torch.cummax(x, 0)[0]),
    ("cummax places of nan!", "f", lambda x: torch.cummax(x, 0)[1]),
    ("cummin ints!", "i", lambda x: torch.cummin(x, 1)[0]),
    ("logcumsumexp", "x", lambda x: torch.logcumsumexp(x, 1)),
    ("logcumsumexp far", "t", lambda x: torch.logcumsumexp(x, 0)),
    ("scalar cumsum", "s", lambda x: torch.cumsum(x, 0)),
    # ---- choosing
    ("scatter add!", "x", lambda x: x.scatter(1, torch.tensor([[0, 0, 3]]), 2.0, reduce="add")),
    ("scatter multiply!", "x", lambda x: x.scatter(1, torch.tensor([[0, 1, 3]]), 2.0, reduce="multiply")),
    ("one_hot!", "j", lambda x: F.one_hot(x)),
    ("masked_select", "x", lambda x: torch.masked_select(x, MASK)),
    ("masked_select rows", "x", lambda x: torch.masked_select(x, ROWS[:, None])),
    ("nonzero!", "i", lambda x: torch.nonzero(x)),
    ("nonzero bool!", "b", lambda x: torch.nonzero(x)),
    ("norm", "x", lambda x: torch.linalg.vector_norm(x, 2, 1)),
    ("norm 3", "x", lambda x: torch.linalg.vector_norm(x, 3, 0, keepdim=True)),
    ("norm 1", "c", lambda x: torch.linalg.vector_norm(x, 1, (0, 2))),
    ("norm infinity", "x", lambda x: torch.linalg.vector_norm(x, math.inf, 1)),
    ("norm 0!", "i", lambda x: torch.linalg.vector_norm(x.double(), 0, 1)),
    ("norm of zeros", "x", lambda x: torch.linalg.vector_norm(x * 0, 2, 1)),
    ("median", "v", lambda x: x.median()), ("median of nan!", "f", lambda x: x.median()),
    ("median axis", "c", lambda x: x.median(1).values), ("median place!", "x", lambda x: x.median(0).indices),
    ("median of equals", "x", lambda x: (x * 0).median()),
    ("unique!", "i", lambda x: x.unique()), ("unique places!", "i", lambda x: x.unique(return_inverse=True)[1]),
    ("unique counts!", "i", lambda x: x.unique(return_counts=True)[1]),
    ("searchsorted!", "v",
     lambda x: torch.searchsorted(x.sort().values, torch.tensor([[0.5, -9.0], [9.0, 1.0]]).double())),
    ("searchsorted right!", "i", lambda x: torch.searchsorted(x.flatten().sort().values, x, right=True)),
    ("searchsorted rows!", "x", lambda x: torch.searchsorted(x.sort(1).values, x.flip(1).contiguous())),
    ("diff", "c", lambda x: x.diff(n=2, dim=1)), ("diff of bools!", "b", lambda x: x.diff(dim=0)),
    ("var of a half", "x", lambda x: x.var(1, correction=0.5)), ("movedim", "c", lambda x: x.movedim((0, 2), (1, 0))),
    ("isin!", "i", lambda x: torch.isin(x, torch.tensor([1, -3, 6]))),
    ("isin inverted!", "i", lambda x: torch.isin(x, torch.tensor([1, -3, 6]), invert=True)),
    ("argsort!", "x", lambda x: torch.argsort(x, 1, descending=True)),
    ("topk", "x", lambda x: torch.topk(x, 2, dim=1)[0]),
    ("topk smallest!", "x", lambda x: torch.topk(x, 2, dim=0, largest=False)[1]),
    # ---- indexing
    ("read list", "x", lambda x: x[[2, 0, -1]]),
    ("read list beside slice", "c", lambda x: x[:, [2, 0], 1:3]),
    ("read lists apart", "c", lambda x: x[[1, 0, 1], :, [3, 0, -1]]),
    ("read lists broadcast", "c", lambda x: x[[[1], [0]], [2, 0]]),
    ("read steps", "c", lambda x: x.flip(1)[1, ::2, 1::2]),
    ("read mask", "x", lambda x: x[MASK]),
    ("read row mask", "x", lambda x: x[ROWS]),
    ("read mask beside slice", "c", lambda x: x[:, ROWS, 1:]),
    ("read mask beside int", "c", lambda x: x[1, MASK]),
    ("read mask beside list", "c", lambda x: x[[0, 1], ROWS]),
    ("read no rows!", "x", lambda x: x[torch.tensor([False, False, False])]),
    ("write slice", "x", lambda x: assigned(x, (slice(1, None), slice(None, None, 2)), Y[:2])),
    ("write none", "x", lambda x: assigned(x, (None, 1), Y)),
    ("write list", "x", lambda x: assigned(x, IDX[:2], Y)),
    ("write list beside slice", "c", lambda x: assigned(x, (slice(None), [2, 0], slice(1, 3)), Y[:2])),
    ("write list beside int", "c", lambda x: assigned(x, (1, [2, 0]), Y)),
    ("write lists", "c", lambda x: assigned(x, ([1, 0], [2, 0]), Y)),
    ("write lists apart", "c", lambda x: assigned(x, ([1, 0], slice(None, 2), [3, 0]), Y[:2])),
    ("write list beside step", "c", lambda x: assigned(x, (slice(1), slice(None, None, 2), [3, 0]), 5.0)),
    ("write mask", "x", lambda x: assigned(x, MASK, 9.0)),
    ("write mask values", "x", lambda x: assigned(x, MASK, numbers(6)[: int(MASK.sum())])),
    ("write row mask", "x", lambda x: assigned(x, ROWS, Y)),
    ("write row mask values", "x", lambda x: assigned(x, ROWS, numbers(2, 4))),
    ("write mask beside slice", "c", lambda x: assigned(x, (slice(None), ROWS, slice(1, 3)), Y[:2])),
    ("write mask beside int", "c", lambda x: assigned(x, (1, MASK), 9.0)),
    ("write mask beside list", "c", lambda x: assigned(x, ([0, 1], ROWS), Y)),
    ("empty cumsum!", "e", lambda x: torch.cumsum(x, 0)), ("empty sort!", "e", lambda x: torch.sort(x, 1)[0]),
    ("empty rows sort!", "e", lambda x: torch.sort(x, 0)[1]), ("empty roll!", "e", lambda x: torch.roll(x, 1, 0)),
    ("empty sum!", "e", lambda x: x.sum()), ("empty sum of rows!", "e", lambda x: x.sum(0)),
    ("empty prod!", "e", lambda x: x.prod(0)), ("empty any!", "e", lambda x: x.any()),
    ("empty all!", "e", lambda x: x.all(1)), ("empty mean!", "e", lambda x: x.mean(0)),
    ("empty argmax!", "e", lambda x: x.argmax(1)), ("empty softmax!", "e", lambda x: x.softmax(0)),
    ("empty cat!", "e", lambda x: torch.cat([x, x])), ("empty nonzero!", "e", lambda x: torch.nonzero(x)),
    ("empty masked_select!", "e", lambda x: torch.masked_select(x, x > 0)),
    ("empty repeat_interleave!", "e", lambda x: torch.repeat_interleave(x, 3, dim=1)),
    ("empty diag!", "e", lambda x: torch.diag(x[:, 0])), ("empty diagonal!", "e", lambda x: torch.diagonal(x, 1)),
    ("empty pad!", "e", lambda x: F.pad(x, (0, 0, 1, 1), value=2)), ("empty read!", "e", lambda x: x[:, [2, 0]]),
    ("empty write!", "e", lambda x: assigned(x, (slice(None), [2, 0]), 1.0)),
    ("empty logsumexp!", "e", lambda x: torch.logsumexp(x, 0)), ("empty flip!", "e", lambda x: x.flip(0)),
    ("empty cummax!", "e", lambda x: torch.cummax(x, 0)[0]), ("empty isin!", "e", lambda x: torch.isin(x, x)),
    ("one var!", "o", lambda x: x.var()), ("one var of all", "o", lambda x: x.var(correction=0)),
    ("one std of rows", "o", lambda x: torch.cat([x, x + 1]).std(0)), ("one softmax", "o", lambda x: x.softmax(0)),
    ("one topk", "o", lambda x: torch.topk(x, 1)[0]), ("one unfold", "o", lambda x: x.unfold(0, 1, 1)),
    ("one roll", "o", lambda x: torch.roll(x, 3, 0)), ("one diagonal", "o", lambda x: x.diagonal()),
    ("one logcumsumexp", "o", lambda x: torch.logcumsumexp(x, 0)), ("one squeeze", "o", lambda x: x.squeeze()),
    ("scalar softmax", "s", lambda x: x.softmax(0)), ("scalar sum", "s", lambda x: x.sum(0)),
    ("scalar max", "s", lambda x: x.max()), ("scalar var!", "s", lambda x: x.var()),
    ("scalar cummax", "s", lambda x: torch.cummax(x, 0)[0]), ("scalar sort", "s", lambda x: torch.sort(x)[0]),
    ("scalar logsumexp", "s", lambda x: torch.logsumexp(x, 0)), ("scalar flatten", "s", lambda x: x.flatten()),
    ("scalar logcumsumexp", "s", lambda x: torch.logcumsumexp(x, 0)), ("scalar argmax!", "s", lambda x: x.argmax()),
    ("scalar none", "s", lambda x: x[None]), ("scalar where", "s", lambda x: torch.where(x > 0, x, Y)),
    ("scalar broadcast", "s", lambda x: x * Y), ("scalar T", "s", lambda x: x.t()),
    ("write ellipsis", "c", lambda x: assigned(x, (Ellipsis, 2), Y[:3])),
]


def weights(result):
    count = result.numel()
    values = [((i * 3) % 5 - 2) / 2 + 0.25 for i in range(count)]
    return torch.tensor(values, dtype=torch.float64).reshape(result.shape)


def text(values):
    def one(value):
        value = float(value)
        if math.isnan(value):
            return "kNan"
        if math.isinf(value):
            return "kInf" if value > 0 else "-kInf"
        return f"{value:.9g}"
    return "{" + ", ".join(one(v) for v in values.reshape(-1).tolist()) + "}"


def main():
    print("// Generated by surface_values.py with PyTorch " + torch.__version__.split("+")[0] +
          ": {case, shape, values, gradient of the\n"
          "// values weighted by -0.75, 0.75, -0.25, 1.25, 0.25, ...}.")
    print("// clang-format off")
    for name, source, function in CASES:
        x = INPUTS[source].clone()
        has_gradient = not name.endswith("!")
        if has_gradient:
            x.requires_grad_()
        result = function(x)
        gradient = "{}"
        if has_gradient:
            (result * weights(result)).sum().backward()
            gradient = text(x.grad)
        shape = list(result.shape)
        shape_text = "(" + ", ".join(str(n) for n in shape) + ")"
        line = f'{{"{name}", "{shape_text}", {text(result.detach())}, {gradient}}},'
        while len(line) > 100:
            cut = line.rfind(" ", 0, 100)
            print(line[:cut])
            line = "    " + line[cut + 1:]
        print(line)
    print("// clang-format on")


main()
