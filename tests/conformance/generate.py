"""Expected values of the conformance suite, computed by PyTorch in float64.

usage: generate.py OUTPUT      needs PyTorch and NumPy; writes conformance/data/expected.gz: the
                               length of a JSON text in 8 bytes, the text, and the elements it refers to, compressed

A case names an operation of conformance/operations.cc, its arguments, inputs, outputs, and for inputs that have one the
gradient of sum(output * weight), where the weight of the element i of an output is (i * 7 % 5 - 2) / 2.

Inputs are numbers that bfloat16 holds, so that one set of values serves every float dtype. Inputs of `moved` cases are
small whole numbers: what such a case does commutes with any map of the elements, so they serve every dtype there is.
"""

import gzip
import json
import sys

import numpy
import torch
import torch.nn.functional as F

torch.manual_seed(20261120)
torch.set_num_threads(1)
cases = []
blob = bytearray()


def reals(*shape, scale=1 / 64, low=-255):
    """Distinct multiples of `scale` as far as there are enough of them."""
    count = int(numpy.prod(shape))
    pool = torch.arange(low, 256, dtype=torch.float64)
    rounds = [pool[torch.randperm(len(pool))] for _ in range(count // len(pool) + 1)]
    return (torch.cat(rounds)[:count] * scale).reshape(shape)


def positives(*shape):
    return reals(*shape, low=1)


def wholes(*shape):
    """0, 1, 2, ... in any order."""
    count = int(numpy.prod(shape))
    return torch.randperm(count).to(torch.float64).reshape(shape) % 120


def integers(high, *shape):
    return torch.randint(0, high, shape)


def bools(*shape):
    return torch.randint(0, 2, shape).bool()


def pack(tensor):
    """dtype, shape and bytes."""
    array = tensor.detach().contiguous().numpy()
    name = {"float64": "f64", "int64": "i64", "bool": "bool"}[str(array.dtype)]
    if name == "f64" and (array.astype("float32").astype("float64") == array).all():
        name, array = "f32", array.astype("float32")
    if name == "i64":
        name, array = "i32", array.astype("int32")
    at = blob.find(array.tobytes())
    if at < 0:
        at = len(blob)
        blob.extend(array.tobytes())
    return {"dtype": name, "shape": list(array.shape), "at": at}


def case(name, op, inputs, function, gradients=(), moved=False, wide=False, depth=16, **args):
    """`gradients`: which inputs get one. `depth`: how many roundings may add up. `wide`: not for half floats."""
    inputs = [tensor.clone() for tensor in inputs]
    for i in gradients:
        inputs[i].requires_grad_()
    outputs = function(*inputs)
    outputs = list(outputs) if isinstance(outputs, (tuple, list)) else [outputs]
    total = 0
    for output in outputs:
        if output.requires_grad:
            weight = (torch.arange(output.numel(), dtype=torch.float64) * 7 % 5 - 2) / 2
            total = total + (output * weight.reshape(output.shape)).sum()
    slopes = torch.autograd.grad(total, [inputs[i] for i in gradients]) if gradients else []
    cases.append({
        "name": name, "op": op, "args": args, "moved": moved, "wide": wide, "depth": depth,
        "inputs": [pack(tensor) for tensor in inputs],
        "outputs": [pack(output) for output in outputs],
        "gradients": [{"input": i, **pack(slope)} for i, slope in zip(gradients, slopes)],
    })


def statistics():
    x = reals(3, 5, 7)
    for axis in (0, 1, -1):
        case(f"softmax_{axis}", "softmax", [x], lambda t: t.softmax(axis), [0], axis=axis)
        case(f"log_softmax_{axis}", "log_softmax", [x], lambda t: t.log_softmax(axis), [0], axis=axis)
        case(f"logsumexp_{axis}", "logsumexp", [x], lambda t: t.logsumexp(axis), [0], axes=[axis])
        case(f"cumsum_{axis}", "cumsum", [x], lambda t: t.cumsum(axis), [0], axis=axis)
        case(f"cumprod_{axis}", "cumprod", [x + 0.25], lambda t: t.cumprod(axis), axis=axis, depth=32)
        case(f"cummax_{axis}", "cummax", [x], lambda t: t.cummax(axis).values, axis=axis, depth=0)
    for axes in ([0], [1, 2], [0, 1, 2]):
        tag = "".join(map(str, axes))
        case(f"mean_{tag}", "mean", [x], lambda t: t.mean(axes), [0], axes=axes)
        for correction in (0, 1):
            case(f"var_{tag}_{correction}", "var", [x], lambda t: t.var(axes, correction=correction), [0], depth=32,
                 axes=axes, correction=correction)
        case(f"std_{tag}", "std", [x], lambda t: t.std(axes, correction=1), [0], depth=32, axes=axes, correction=1)
        case(f"mean_keepdim_{tag}", "mean", [x], lambda t: t.mean(axes, keepdim=True), axes=axes, keepdim=True)
    case("prod_1", "prod", [x[:2, :3]], lambda t: t.prod(1), [0], axes=[1], depth=32)
    case("max_1", "max", [x], lambda t: t.amax(1), [0], axes=[1], depth=4)
    case("min_2", "min", [x], lambda t: t.amin(2), [0], axes=[2], depth=4)
    case("normalize", "normalize", [x], lambda t: F.normalize(t, p=2.0, dim=1), [0], depth=32, p=2.0, axis=1)
    for axis in (0, -1):
        case(f"softmin_{axis}", "softmin", [x], lambda t: F.softmin(t, axis), [0], axis=axis)
        case(f"logcumsumexp_{axis}", "logcumsumexp", [x], lambda t: t.logcumsumexp(axis), [0], depth=32, axis=axis)
        case(f"cummin_{axis}", "cummin", [x], lambda t: t.cummin(axis), depth=0, axis=axis)
    case("var_mean", "var_mean", [x], lambda t: torch.var_mean(t, 1), depth=32, axes=[1])
    case("std_mean", "std_mean", [x], lambda t: torch.std_mean(t, (0, 2)), depth=32, axes=[0, 2])
    far = reals(2, 33) * 16
    case("softmax_far", "softmax", [far], lambda t: t.softmax(-1), axis=-1)
    case("logsumexp_far", "logsumexp", [far], lambda t: t.logsumexp(-1), axes=[-1])
    case("layernorm_1", "layernorm", [x], lambda t: F.layer_norm(t, (7,)), [0], depth=64, axes=[-1])
    case("layernorm_2", "layernorm", [x], lambda t: F.layer_norm(t, (5, 7)), [0], depth=64, axes=[-2, -1])
    channels = [reals(3), reals(3), positives(3)]
    case("batchnorm", "batchnorm", [reals(2, 3, 4, 5), reals(3), reals(3), *channels[1:]],
         lambda t, w, b, m, s: (t - m[:, None, None]) * s[:, None, None] * w[:, None, None] + b[:, None, None],
         [0, 1, 2], depth=64)


def products():
    for a, b in (((5,), (5,)), ((3, 4), (4,)), ((3, 4), (4, 6)), ((1, 7), (7, 1)), ((2, 3, 4), (4, 5)),
                 ((2, 1, 3, 4), (3, 4, 2)), ((17, 33), (33, 9)), ((1, 1), (1, 1))):
        tag = "_".join("x".join(map(str, shape)) for shape in (a, b))
        case(f"matmul_{tag}", "matmul", [reals(*a), reals(*b)], torch.matmul, [0, 1], depth=64)
    case("matmul_transposed", "matmul_transposed", [reals(6, 5), reals(7, 6)], lambda a, b: a.t() @ b.t(), [0, 1],
         depth=64)
    case("linear", "linear", [reals(4, 3), reals(3, 5), reals(5)], lambda x, w, b: x @ w + b, [0, 1, 2], depth=64)
    for formula, shapes in (("ij,jk->ik", ((3, 4), (4, 5))), ("bij,bjk->bik", ((2, 3, 4), (2, 4, 2))),
                            ("ij->ji", ((3, 4),)), ("ii->i", ((4, 4),)), ("i,j->ij", ((3,), (4,))),
                            ("nhqd,nhkd->nhqk", ((2, 2, 3, 4), (2, 2, 5, 4))), ("ijk->", ((2, 3, 4),))):
        case(f"einsum_{formula}", "einsum", [reals(*shape) for shape in shapes],
             lambda *t: torch.einsum(formula, *t), depth=64, formula=formula)


def decompositions():
    """What has one answer: singular values, and what the factors multiply to."""
    for rows, columns in ((5, 3), (3, 5), (4, 4)):
        x = reals(rows, columns)
        case(f"svd_values_{rows}x{columns}", "svd_values", [x], torch.linalg.svdvals, wide=True, depth=128)
        case(f"svd_product_{rows}x{columns}", "svd_product", [x], lambda t: t.clone(), wide=True, depth=128)
        case(f"qr_product_{rows}x{columns}", "qr_product", [x], lambda t: t.clone(), wide=True, depth=128)
        case(f"qr_triangle_{rows}x{columns}", "qr_triangle", [x], lambda t: torch.linalg.qr(t).R.abs(), wide=True,
             depth=128)
    case("qr_orthonormal", "qr_orthonormal", [reals(6, 4)], lambda t: torch.eye(4, dtype=torch.float64), wide=True,
         depth=128)


def convolutions():
    for tag, x, w, options in (
            ("plain", (1, 2, 5, 6), (3, 2, 3, 3), {}),
            ("padded", (2, 3, 4, 5), (2, 3, 3, 3), {"padding": 1}),
            ("strided", (1, 2, 7, 8), (4, 2, 3, 2), {"stride": (2, 3)}),
            ("dilated", (1, 1, 8, 9), (2, 1, 3, 3), {"dilation": (2, 1), "padding": (1, 0)}),
            ("grouped", (1, 4, 5, 5), (6, 2, 2, 2), {"groups": 2}),
            ("depthwise", (2, 3, 5, 5), (3, 1, 3, 3), {"groups": 3, "padding": 1}),
            ("pointwise", (2, 5, 3, 3), (4, 5, 1, 1), {})):
        case(f"conv2d_{tag}", "conv", [reals(*x), reals(*w), reals(w[0])],
             lambda t, k, b: F.conv2d(t, k, b, **options), [0, 1, 2], depth=64, **options)
    case("conv1d", "conv", [reals(2, 3, 9), reals(4, 3, 4), reals(4)],
         lambda t, k, b: F.conv1d(t, k, b, stride=2, padding=1), [0, 1, 2], depth=64, stride=2, padding=1)
    case("conv3d", "conv", [reals(1, 2, 3, 4, 5), reals(2, 2, 2, 2, 2), reals(2)], F.conv3d, [0, 1, 2], depth=64)
    for tag, options in (("plain", {}), ("strided", {"stride": 2, "padding": 1, "output_padding": 1}),
                         ("grouped", {"groups": 2, "dilation": 2})):
        groups = options.get("groups", 1)
        case(f"conv_transpose2d_{tag}", "conv_transpose", [reals(1, 4, 3, 4), reals(4, 2, 3, 3), reals(2 * groups)],
             lambda t, k, b: F.conv_transpose2d(t, k, b, **options), [0, 1, 2], depth=64, **options)
    x = reals(2, 2, 7, 8)
    for tag, kernel, options in (("plain", (2, 2), {}), ("overlapping", (3, 3), {"stride": 1}),
                                 ("padded", (3, 2), {"stride": (2, 2), "padding": (1, 1)}),
                                 ("ceiling", (3, 3), {"stride": 2, "ceil_mode": True})):
        case(f"max_pool2d_{tag}", "max_pool", [x], lambda t: F.max_pool2d(t, kernel, **options), [0], depth=4,
             kernel=kernel, **options)
        case(f"avg_pool2d_{tag}", "avg_pool", [x], lambda t: F.avg_pool2d(t, kernel, **options), [0],
             kernel=kernel, **options)
    case("avg_pool2d_uncounted", "avg_pool", [x],
         lambda t: F.avg_pool2d(t, 3, stride=2, padding=1, count_include_pad=False), [0],
         kernel=(3, 3), stride=2, padding=1, count_include_pad=False)
    case("max_pool2d_dilated", "max_pool", [x], lambda t: F.max_pool2d(t, (2, 2), stride=1, dilation=2), [0], depth=4,
         kernel=(2, 2), stride=1, dilation=2)
    case("avg_pool2d_divided", "avg_pool", [x], lambda t: F.avg_pool2d(t, (2, 3), divisor_override=5), [0],
         kernel=(2, 3), divisor=5)
    case("max_pool2d_places", "max_pool_places", [x],
         lambda t: F.max_pool2d(t, (2, 2), return_indices=True), depth=0, kernel=(2, 2))
    case("max_unpool2d", "max_unpool", [x[:, :, :6]],
         lambda t: F.max_unpool2d(*F.max_pool2d(t, (2, 2), return_indices=True), (2, 2)), depth=0, kernel=(2, 2))
    case("conv2d_same", "conv_same", [reals(1, 2, 5, 6), reals(3, 2, 3, 4)],
         lambda t, k: F.conv2d(t, k, padding="same"), [0, 1], depth=64)
    for mode, align in (("nearest", None), ("nearest-exact", None), ("bilinear", False), ("bilinear", True),
                        ("bicubic", False), ("bicubic", True), ("area", None)):
        for sizes in ((9, 4), (3, 11)):
            case(f"interpolate_{mode}_{align}_{sizes[0]}", "interpolate", [reals(1, 2, 5, 6)],
                 lambda t: F.interpolate(t, sizes, mode=mode, align_corners=align), [0], depth=64,
                 sizes=sizes, mode=mode, align=bool(align))


def attention():
    q, k, v = reals(2, 2, 5, 4), reals(2, 2, 7, 4), reals(2, 2, 7, 6)
    sdpa = F.scaled_dot_product_attention
    case("attention", "attention", [q, k, v], sdpa, [0, 1, 2], depth=64)
    case("attention_scaled", "attention", [q, k, v], lambda *t: sdpa(*t, scale=0.25), [0, 1, 2], depth=64, scale=0.25)
    case("attention_causal", "attention", [q, k[:, :, :5], v[:, :, :5]], lambda *t: sdpa(*t, is_causal=True),
         [0, 1, 2], depth=64, causal=True)
    case("attention_mask", "attention", [q, k, v, reals(5, 7)], sdpa, [0, 1, 2, 3], depth=64)
    keep = bools(5, 7)
    keep[:, 0] = True
    case("attention_kept", "attention", [q, k, v, keep], sdpa, [0, 1, 2], depth=64)
    case("attention_grouped", "attention", [reals(2, 6, 5, 4), k, v], lambda *t: sdpa(*t, enable_gqa=True), [0, 1, 2],
         depth=64, grouped=True)


def losses():
    x, labels = reals(6, 5), integers(5, 6)
    for reduction in ("mean", "sum", "none"):
        case(f"cross_entropy_{reduction}", "cross_entropy", [x, labels],
             lambda t, y: F.cross_entropy(t, y, reduction=reduction), [0], depth=32, reduction=reduction)
    case("cross_entropy_smooth", "cross_entropy", [x, labels],
         lambda t, y: F.cross_entropy(t, y, label_smoothing=0.2), [0], depth=32, label_smoothing=0.2)
    case("cross_entropy_images", "cross_entropy", [reals(2, 3, 2, 2), integers(3, 2, 2, 2)], F.cross_entropy, [0],
         depth=32)
    case("nll_loss", "nll_loss", [x, labels], F.nll_loss, [0], depth=16)
    truth = bools(6, 5).double()
    case("bce_logits", "bce_logits", [x, truth], F.binary_cross_entropy_with_logits, [0], depth=32)
    some = labels.clone()
    some[::2] = -100
    case("cross_entropy_ignored", "cross_entropy", [x, some], F.cross_entropy, [0], depth=32)
    case("cross_entropy_probabilities", "cross_entropy", [x, reals(6, 5).softmax(1)], F.cross_entropy, [0], depth=32)
    for reduction in ("mean", "sum", "none"):
        case(f"cross_entropy_weighted_{reduction}", "cross_entropy_weighted", [x, labels, positives(5)],
             lambda t, y, w: F.cross_entropy(t, y, w, reduction=reduction), [0], depth=32, reduction=reduction)
    case("nll_loss_weighted", "nll_loss_weighted", [x, some, positives(5)],
         lambda t, y, w: F.nll_loss(t, y, w), [0], depth=32)
    case("bce_weighted", "bce_weighted", [positives(6, 5) / 4, truth, positives(5)],
         lambda t, y, w: F.binary_cross_entropy(t, y, w), [0], depth=64)
    case("bce_logits_weighted", "bce_logits_weighted", [x, truth, positives(6, 5), positives(5)],
         lambda t, y, w, p: F.binary_cross_entropy_with_logits(t, y, w, pos_weight=p), [0], depth=64)
    case("bce", "bce", [positives(6, 5) / 4, truth], F.binary_cross_entropy, [0], depth=64)


def movements():
    x, small = wholes(2, 3, 4), wholes(5)
    moves = [
        ("reshape", "reshape", [x], lambda t: t.reshape(4, 6), {"shape": [4, 6]}),
        ("permute", "permute", [x], lambda t: t.permute(2, 0, 1), {"axes": [2, 0, 1]}),
        ("expand", "expand", [wholes(3, 1)], lambda t: t.expand(2, 3, 4), {"shape": [2, 3, 4]}),
        ("flip", "flip", [x], lambda t: t.flip(0, 2), {"axes": [0, 2]}),
        ("roll", "roll", [x], lambda t: t.roll(-3, 2), {"shift": -3, "axis": 2}),
        ("repeat", "repeat", [x], lambda t: t.repeat(2, 1, 3), {"counts": [2, 1, 3]}),
        ("repeat_interleave", "repeat_interleave", [x], lambda t: t.repeat_interleave(3, 1), {"count": 3, "axis": 1}),
        ("unfold", "unfold", [small], lambda t: t.unfold(0, 3, 2), {"axis": 0, "size": 3, "step": 2}),
        ("diagonal", "diagonal", [wholes(2, 4, 4)], lambda t: t.diagonal(dim1=-2, dim2=-1), {}),
        ("flatten", "flatten", [x], lambda t: t.flatten(1), {"first": 1}),
        ("cat", "cat", [x, wholes(2, 1, 4), wholes(2, 5, 4)], lambda *t: torch.cat(t, 1), {"axis": 1}),
        ("stack", "stack", [x, wholes(2, 3, 4), wholes(2, 3, 4)], lambda *t: torch.stack(t, -1), {"axis": -1}),
        ("chain", "chain", [wholes(4, 6)],
         lambda t: F.pad(t.t().flip(0).reshape(3, 8)[1:, ::3], (1, 0, 0, 2)).unsqueeze(1).expand(4, 2, 4), {}),
    ]
    moves += [
        ("unflatten", "unflatten", [wholes(3, 8)], lambda t: t.unflatten(1, (2, 4)), {"axis": 1, "shape": [2, -1]}),
        ("diagonal_offset", "diagonal_of", [wholes(3, 4, 5)], lambda t: t.diagonal(1, 0, 2),
         {"offset": 1, "axes": [0, 2]}),
        ("diag", "diag", [small], lambda t: t.diag(-1), {"diagonal": -1}),
        ("split", "split", [wholes(7, 3)], lambda t: t.split(3), {"size": 3, "axis": 0}),
        ("chunk", "chunk", [wholes(7, 3)], lambda t: t.chunk(3), {"count": 3, "axis": 0}),
        ("rearrange", "rearrange", [wholes(4, 6)], lambda t: t.reshape(2, 2, 6).permute(2, 0, 1).reshape(12, 2),
         {"formula": "(a b) c -> (c a) b", "a": 2}),
        ("repeat_each", "repeat_each", [wholes(3, 4)],
         lambda t: t.repeat_interleave(torch.tensor([2, 0, 3]), 0), {"counts": [2, 0, 3], "axis": 0}),
    ]
    for tag in (-1, 0, 2):
        moves.append((f"tril_{tag}", "tril", [wholes(4, 5)], lambda t, d=tag: t.tril(d), {"diagonal": tag}))
        moves.append((f"triu_{tag}", "triu", [wholes(4, 5)], lambda t, d=tag: t.triu(d), {"diagonal": tag}))
    for mode in ("reflect", "replicate", "circular"):
        moves.append((f"pad_{mode}", "pad", [wholes(1, 2, 5, 4)], lambda t, m=mode: F.pad(t, (1, 2, 2, 1), mode=m),
                      {"amounts": [[0, 0], [0, 0], [2, 1], [1, 2]], "mode": mode}))
    moves.append(("pad_cut", "pad", [wholes(4, 5)], lambda t: F.pad(t, (-1, 2, 1, -2)),
                  {"amounts": [[1, -2], [-1, 2]], "mode": "constant"}))
    for start, stop, step in ((1, 9, 3), (8, 0, -2), (-4, 10, 1), (0, 0, 1)):
        places = numpy.arange(10)[start:stop:step].copy()
        moves.append((f"slice_{start}_{stop}_{step}", "slice", [wholes(3, 10)],
                      lambda t, p=places: t[:, torch.from_numpy(p)], {"start": start, "stop": stop, "step": step}))
    for name, op, inputs, function, args in moves:
        case(f"move_{name}", op, inputs, function, moved=True, depth=0, **args)
    y = reals(2, 3, 4)
    case("move_gradient_roll", "roll", [y], lambda t: t.roll(3, 2), [0], shift=3, axis=2)
    case("move_gradient_pad", "pad", [reals(1, 1, 5, 4)], lambda t: F.pad(t, (1, 2, 2, 1), mode="reflect"), [0],
         amounts=[[0, 0], [0, 0], [2, 1], [1, 2]], mode="reflect")
    case("move_gradient_cat", "cat", [y, reals(2, 5, 4)], lambda *t: torch.cat(t, 1), [0, 1], axis=1)
    case("move_gradient_unfold", "unfold", [reals(7)], lambda t: t.unfold(0, 3, 1), [0], axis=0, size=3, step=1)


def indexing():
    x = wholes(5, 6)
    case("index_gather_0", "gather", [x, integers(5, 3, 6)], lambda t, i: t.gather(0, i), moved=True, depth=0, axis=0)
    case("index_gather_1", "gather", [x, integers(6, 5, 9)], lambda t, i: t.gather(1, i), moved=True, depth=0, axis=1)
    case("index_rows", "rows", [x, integers(5, 4)], lambda t, i: t[i], moved=True, depth=0)
    case("index_pairs", "pairs", [x, integers(5, 7), integers(6, 7)], lambda t, i, j: t[i, j], moved=True, depth=0)
    order = torch.stack([torch.randperm(5)[:3] for _ in range(6)], 1)
    case("index_scatter", "scatter", [x, order, wholes(3, 6)], lambda t, i, s: t.scatter(0, i, s), moved=True, depth=0,
         axis=0)
    case("index_masked_select", "masked_select", [x, bools(5, 6)], lambda t, m: F.pad(t[m], (0, 30))[:30], moved=True,
         depth=0, size=30)
    case("index_set", "set", [x, wholes(5, 2)], lambda t, v: torch.cat([t[:, :1], v[:, :1], t[:, 2:4], v[:, 1:],
                                                                       t[:, 5:]], 1), moved=True, depth=0)
    case("index_one_hot", "one_hot", [integers(4, 3, 2)], lambda i: F.one_hot(i, 4), depth=0, classes=4)
    case("index_nonzero", "nonzero", [bools(4, 5).double()],
         lambda t: F.pad(t.nonzero(), (0, 0, 0, 20))[:20], depth=0, size=20)
    case("index_isin", "isin", [integers(9, 4, 5), integers(9, 4)], torch.isin, depth=0)
    y, places = reals(4, 5), integers(4, 6, 5)
    case("index_scatter_add", "scatter_add", [y, places, reals(6, 5)], lambda t, i, s: t.scatter_add(0, i, s), [0, 2],
         axis=0)
    for ours, theirs in (("sum", "sum"), ("product", "prod"), ("mean", "mean"), ("max", "amax"), ("min", "amin")):
        for include in (True, False):
            case(f"index_scatter_{ours}_{include}", "scatter_reduce", [y, places, reals(6, 5)],
                 lambda t, i, s: t.scatter_reduce(0, i, s, theirs, include_self=include), axis=0, combine=ours,
                 include_self=include)
    case("index_gradient_gather", "gather", [y, integers(4, 6, 5)], lambda t, i: t.gather(0, i), [0], axis=0)
    case("index_gradient_rows", "rows", [y, integers(4, 9)], lambda t, i: t[i], [0])


def sorting():
    for axis, shape in ((0, (7, 3)), (1, (3, 8)), (-1, (33,))):
        x = wholes(*shape)
        for down in (False, True):
            case(f"sort_{len(shape)}_{axis}_{down}", "sort", [x],
                 lambda t: t.sort(dim=axis, descending=down, stable=True), depth=0, axis=axis, descending=down)
    ties = integers(4, 3, 9).double()
    case("sort_ties", "sort", [ties], lambda t: t.sort(dim=1, stable=True), depth=0, axis=1, descending=False)
    case("sort_argsort", "argsort", [ties], lambda t: t.argsort(dim=1, stable=True), depth=0, axis=1, descending=False)
    for largest in (True, False):
        case(f"sort_topk_{largest}", "topk", [wholes(3, 11)], lambda t: t.topk(4, 1, largest=largest), depth=0,
             count=4, axis=1, largest=largest)
    case("sort_gradient", "sort_values", [reals(3, 6)], lambda t: t.sort(1).values, [0], axis=1)


def functions():
    """Values of what generate_edges.py has gradients of, or what has none."""
    infinity, missing = float("inf"), float("nan")
    paired = [-infinity, -7.0, -2.5, -1.0, -0.0, 0.0, 0.5, 1.0, 2.5, 6.0, infinity, missing]
    x = torch.tensor([a for a in paired for b in paired], dtype=torch.float64)
    y = torch.tensor([b for a in paired for b in paired], dtype=torch.float64)
    for name, function in (("div_floor", lambda a, b: torch.div(a, b, rounding_mode="floor")),
                           ("div_trunc", lambda a, b: torch.div(a, b, rounding_mode="trunc")),
                           ("mod", torch.remainder), ("fmod", torch.fmod)):
        case(f"function_{name}", name, [x, y], function, depth=0)
    # From 0 the next number is one that a device may take for 0.
    case("function_nextafter", "nextafter", [x[x != 0], y[x != 0]],
         lambda a, b: (torch.nextafter(a, b) > a).double() - (torch.nextafter(a, b) < a).double(), depth=0)
    for name, function in (("atan2", torch.atan2), ("hypot", torch.hypot)):
        case(f"function_{name}", name, [x, y], function, depth=16)
        case(f"function_{name}_inside", name, [reals(4, 5), reals(5)], function, [0, 1], depth=64)
    case("function_nan_to_num", "nan_to_numbers", [x], lambda t: t.nan_to_num(0.5, 7.0, -3.0), depth=0, nan=0.5,
         high=7.0, low=-3.0)
    rows, ties = reals(3, 4, 7), integers(5, 4, 7).double()
    for p in (0.0, 1.0, 2.0, 3.0, infinity):
        case(f"function_norm_{p}", "norm", [rows], lambda t: t.norm(p, 1), [0] if p else [], depth=64, p=str(p),
             axes=[1])
    missing_rows = rows[0].clone()
    missing_rows[1, 2] = missing
    for tag, values in (("plain", rows[0]), ("missing", missing_rows)):
        case(f"function_median_{tag}", "median_places", [values], lambda t: t.median(1), depth=0, axis=1)
        case(f"function_median_all_{tag}", "median_all", [values], torch.median, depth=0)
    case("function_outer", "outer", [reals(4), reals(7)], torch.outer, [0, 1], depth=16)
    for times, axis in ((1, 0), (2, 1)):
        case(f"function_diff_{times}", "diff", [rows], lambda t: t.diff(times, axis), [0], depth=16, times=times,
             axis=axis)
    case("function_movedim", "movedim", [wholes(2, 3, 4)], lambda t: t.movedim((0, 2), (1, 0)), moved=True, depth=0,
         axes=[0, 2], places=[1, 0])
    case("function_conv1d", "conv1d", [reals(2, 3, 8), reals(4, 3, 3), reals(4)], F.conv1d, [0, 1, 2], depth=64)
    line = reals(37).sort().values
    for right in (False, True):
        for length in (1, 8, 37):
            case(f"function_searchsorted_{length}_{right}", "searchsorted",
                 [line[:length], torch.cat([line, reals(20)]).reshape(3, 19)],
                 lambda a, v: torch.searchsorted(a, v, right=right), depth=0, right=right)
        case(f"function_searchsorted_rows_{right}", "searchsorted", [ties.sort(1).values, ties],
             lambda a, v: torch.searchsorted(a, v, right=right), depth=0, right=right)
    case("function_unique", "unique", [ties], lambda t: torch.unique(t, return_inverse=True, return_counts=True),
         depth=0)
    for axis in (0, 1):
        case(f"function_unique_{axis}", "unique_parts", [integers(2, 6, 3, 2).double()],
             lambda t: torch.unique(t, return_inverse=True, return_counts=True, dim=axis), depth=0, axis=axis)
    case("function_batchnorm_over", "batchnorm_over",
         [reals(2, 3, 4, 5), reals(3, 5), reals(3, 5), reals(3, 5), positives(3, 5)],
         lambda t, w, b, m, s: (t - m[:, None]) * s[:, None] * w[:, None] + b[:, None], [0, 1, 2], depth=64,
         axes=[1, 3])
    for mode, align in (("nearest", None), ("nearest-exact", None), ("bilinear", False), ("bilinear", True),
                        ("bicubic", False), ("area", None)):
        for again in (False, True):
            case(f"function_interpolate_{mode}_{align}_{again}", "interpolate", [reals(1, 2, 5, 6)],
                 lambda t: F.interpolate(t, scale_factor=(1.7, 0.55), mode=mode, align_corners=align,
                                         recompute_scale_factor=again), [0], depth=128, factors=(1.7, 0.55), mode=mode,
                 align=bool(align), recompute=again)
    a, b = reals(4, 5), reals(4, 5)
    for reduction in ("mean", "sum", "none"):
        for name, function in (("mse_loss", F.mse_loss), ("l1_loss", F.l1_loss),
                               ("huber_loss", lambda *t, **o: F.huber_loss(*t, delta=0.5, **o)),
                               ("smooth_l1_loss", lambda *t, **o: F.smooth_l1_loss(*t, beta=0.5, **o))):
            case(f"function_{name}_{reduction}", name, [a, b], lambda *t: function(*t, reduction=reduction), [0, 1],
                 depth=64, reduction=reduction, delta=0.5)
        for logarithms in (False, True):
            case(f"function_kl_div_{reduction}_{logarithms}", "kl_div", [a, b if logarithms else positives(4, 5) / 4],
                 lambda *t: F.kl_div(*t, reduction=reduction, log_target=logarithms), [0, 1], depth=64,
                 reduction=reduction, logarithms=logarithms)


def write(path, cases):
    text = json.dumps({"pytorch": torch.__version__.split("+")[0], "cases": cases}, separators=(",", ":"))
    with open(path, "wb") as file:
        file.write(gzip.compress(len(text).to_bytes(8, "little") + text.encode() + bytes(blob), 9, mtime=0))
    print(f"{len(cases)} cases")


def main():
    for part in (statistics, products, decompositions, convolutions, attention, losses, movements, indexing, sorting,
                 functions):
        part()
    write(sys.argv[1], cases)


if __name__ == "__main__":
    main()
