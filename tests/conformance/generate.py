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


def case(name, op, inputs, function, gradients=(), moved=False, depth=16, **args):
    """`gradients`: which inputs get one. `depth`: how many roundings may add up."""
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
        "name": name, "op": op, "args": args, "moved": moved, "depth": depth,
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
    for mode, align in (("nearest", None), ("nearest-exact", None), ("bilinear", False), ("bilinear", True)):
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


def main():
    for part in (statistics, products, convolutions, attention, losses, movements, indexing, sorting):
        part()
    text = json.dumps({"pytorch": torch.__version__.split("+")[0], "cases": cases}, separators=(",", ":"))
    with open(sys.argv[1], "wb") as file:
        file.write(gzip.compress(len(text).to_bytes(8, "little") + text.encode() + bytes(blob), 9, mtime=0))
    print(f"{len(cases)} cases")


if __name__ == "__main__":
    main()
