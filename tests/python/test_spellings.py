"""Names of arguments: every spelling that python/surface documents, and those of NumPy's, tinygrad's and PyTorch's
signatures, in any mix, mean the same; what is no name of an argument says which are.
"""
import inspect
import itertools
import os
import pathlib
import pickle
import sys

import numpy as np
import pytest

import doorbell
from doorbell import Tensor, _doorbell, dtypes, nn

ROOT = pathlib.Path(os.environ["DOORBELL_SOURCE_ROOT"])
sys.path.insert(0, str(ROOT / "python" / "surface"))
import entries as entries_of  # noqa: E402

ENTRIES = {name: entry for path in sorted((ROOT / "python" / "surface").glob("*.txt"))
           for entry in entries_of.read(path) for name in entry.names}
WITH_ALIASES = {name: entry for name, entry in ENTRIES.items()
                if any(len(parameter.names) > 1 for parameter in entry.parameters or ())}

MATRIX = Tensor([[3.0, 1.0, 2.0], [0.5, 5.0, 4.0]])
BY_TYPE = {
    "axes": 1, "int": 1, "ints": 1, "bool": True, "dtype": "float64", "float": 0.5, "number": 2, "shape": (2, 3),
    "sizes": (3, 2), "value": 2.0, "str": "mean", "floats": (1.5, -0.5), "kernel": 2, "object": None, "devices": "CPU",
}
SQUARE = Tensor([[3.0, 1.0], [0.5, 5.0]])
# Of a method: the tensor, and values of the parameters (by their first names) that BY_TYPE does not fit.
CALLS = {
    "arange": (None, {"start": 1, "stop": 7}), "linspace": (None, {"stop": 3.0}),
    "cat": (MATRIX, {"tensors": (SQUARE[:, :1],)}), "stack": (MATRIX, {"tensors": (MATRIX,)}),
    "batchnorm": (MATRIX, {"weight": None, "bias": None, "mean": Tensor([1.0, 2.0, 3.0]),
                           "invstd": Tensor([1.0, 2.0, 3.0])}),
    "cast": (MATRIX, {}), "clamp": (MATRIX, {"min_": 1, "max_": 3}),
    "conv2d": (MATRIX.reshape(1, 1, 2, 3), {"weight": Tensor.ones(1, 1, 2, 2), "padding": 1, "groups": 1}),
    "cross_entropy": (MATRIX, {"y": Tensor([0, 2]), "weight": None, "label_smoothing": 0.1}),
    "diagonal": (MATRIX.reshape(2, 3, 1), {"dim1": 1, "dim2": 0}), "div": (MATRIX, {"rounding_mode": "floor"}),
    "dot": (MATRIX, {"x": Tensor([1.0, 2.0, 3.0])}), "expand": (MATRIX, {"shape": (4, 2, 3)}),
    "flatten": (MATRIX.reshape(2, 3, 1), {"start_dim": 0, "end_dim": 1}), "flip": (MATRIX, {"axis": (1,)}),
    "gather": (MATRIX, {"index": Tensor([[2, 0], [0, 0]])}), "isin": (MATRIX, {"elements": Tensor([1.0, 5.0])}),
    "keccak": (Tensor([1, 2], dtype="uint8"), {"cfg": "sha3_224"}),
    "masked_select": (MATRIX, {"mask": MATRIX > 2}), "matmul": (SQUARE, {"x": SQUARE}),
    "movedim": (MATRIX, {"source": 0, "destination": 1}), "newton_schulz": (SQUARE, {"steps": 2}),
    "nll_loss": (MATRIX, {"y": Tensor([0, 2]), "weight": None}), "normalize": (MATRIX, {"p": 1.0}),
    "pad": (MATRIX, {"padding": (1, 1), "mode": "constant"}), "permute": (MATRIX, {"axes": (1, 0)}),
    "pow": (MATRIX, {}), "repeat_interleave": (MATRIX, {"repeats": 2}), "reshape": (MATRIX, {}),
    "roll": (MATRIX, {"shifts": 1, "dims": 1}),
    "scatter": (MATRIX, {"index": Tensor([[2, 0], [0, 0]]), "reduce": "add"}),
    "scatter_add": (MATRIX, {"index": Tensor([[2, 0], [0, 0]]), "src": MATRIX}),
    "scatter_reduce": (MATRIX, {"index": Tensor([[2, 0], [0, 0]]), "src": MATRIX, "reduce": "amax"}),
    "sequential": (MATRIX, {"ll": [Tensor.relu]}), "shard": (MATRIX, {"devices": ("CPU", "CPU:1"), "axis": None}),
    "shard_like": (MATRIX, {"y": MATRIX}), "shrink": (MATRIX, {"windows": ((0, 1), (1, 3))}),
    "shrink_to": (MATRIX, {"shape": (1, 2)}), "pad_to": (MATRIX, {"shape": (4, 4)}),
    "sparse_categorical_crossentropy": (MATRIX, {"y": Tensor([0, 2])}),
    "binary_crossentropy": (MATRIX.sigmoid(), {"y": MATRIX.sigmoid(), "weight": None}),
    "binary_crossentropy_logits": (MATRIX, {"y": MATRIX.sigmoid(), "weight": None, "pos_weight": None}),
    "split": (MATRIX, {"split_size": 2}), "to": (MATRIX, {"target": "float64"}),
    "transpose": (MATRIX.reshape(2, 3, 1), {"dim0": 0, "dim1": 2}), "unflatten": (MATRIX, {"sizes": (3, 1)}),
    "unfold": (MATRIX, {"size": 2, "step": 1}), "where": (MATRIX > 2, {"x": 1.0, "y": MATRIX}),
    "allclose": (MATRIX, {"x": MATRIX, "rtol": 1e-3}), "isclose": (MATRIX, {"rtol": 1e-3}), "hardtanh": (MATRIX, {}),
    "topk": (MATRIX, {"k": 2}), "var": (MATRIX, {"correction": 0}),
    "full": (None, {"fill_value": 3}), "randint": (None, {"high": 5}),
    "eye": (None, {"n": 3, "m": 2}), "view": (MATRIX, {}), "unsqueeze": (MATRIX, {}),
}
for loss in ("mse_loss", "l1_loss", "huber_loss", "smooth_l1_loss", "kl_div"):
    CALLS[loss] = (MATRIX, {"target": MATRIX + 1})
CALLS["outer"] = CALLS["ger"] = (Tensor([1.0, 2.0]), {"x": Tensor([3.0, 4.0])})
CALLS["norm"] = (MATRIX, {"p": 3})
CALLS["searchsorted"] = (Tensor([1.0, 2.0]), {"values": Tensor([1.5]), "side": "right"})
CALLS["diff"] = (MATRIX, {"prepend": MATRIX, "append": MATRIX})
for same, other in (("concat", "cat"), ("concatenate", "cat"), ("type", "cast"), ("astype", "cast"), ("clip", "clamp"),
                    ("mm", "matmul"), ("moveaxis", "movedim"), ("std", "var"), ("var_mean", "var"),
                    ("std_mean", "var"), ("swapaxes", "transpose"), ("swapdims", "transpose"), ("divide", "div"),
                    ("true_divide", "div"), ("broadcast_to", "expand")):
    CALLS[same] = CALLS[other]
# Random, or changing their tensor: two calls do not give the same.
UNEQUAL = {"empty", "rand", "randn", "randint", "uniform", "normal", "scaled_uniform", "glorot_uniform",
           "kaiming_uniform", "kaiming_normal", "random_bits", "randperm"}


def values_of(name, entry):
    """The tensor to call it on, and a value for each parameter by its first name."""
    tensor, given = CALLS.get(name, (MATRIX, {}))
    if "static" in entry.flags:
        tensor = None
    values = {}
    for parameter in entry.parameters:
        first = parameter.names[0]
        if first in ("device", "requires_grad"):
            continue
        kind = parameter.type.rstrip("?")
        values[first] = given[first] if first in given else BY_TYPE[kind]
        if kind in ("tensor", "tensors") and first not in given:
            raise KeyError(f"no value for {first} of {name}")
        if first == "keepdim":
            values[first] = True
    if name in ("randint", "random_bits", "randint_like"):
        values["dtype"] = "uint32"
    return tensor, values


def flat(result):
    """What a call gives, as something to compare."""
    if isinstance(result, Tensor):
        return (str(result.dtype), result.shape, result.tolist())
    if isinstance(result, (tuple, list)):
        return [flat(part) for part in result]
    return result


def call(name, tensor, arguments, keywords):
    if tensor is None:
        return getattr(Tensor, name)(*arguments, **keywords)
    return getattr(tensor, name)(*arguments, **keywords)


def starred_of(entry):
    return next((parameter for parameter in entry.parameters if parameter.star == "*"), None)


@pytest.mark.parametrize("name", sorted(WITH_ALIASES))
def test_every_documented_spelling(name):
    entry = WITH_ALIASES[name]
    if name == "bmm":
        pytest.skip("matmul's entry, on three axes")
    tensor, values = values_of(name, entry)
    starred = starred_of(entry)
    places = []
    if starred is not None:  # f(2, 3); the forms f(shape=(2, 3)) are below
        value = values[starred.names[0]]
        places = list(value) if isinstance(value, tuple) else [value]
        if starred.type in ("tensors", "values"):
            values.pop(starred.names[0])
    keywords = {first: value for first, value in values.items() if starred is None or first != starred.names[0]}
    expected = call(name, tensor, places, keywords)
    has_keyword_form = starred is None or starred.type not in ("tensors", "values")
    given = values if has_keyword_form else keywords
    choices = [parameter.names for parameter in entry.parameters if parameter.names[0] in given]
    mixes = list(itertools.islice(itertools.product(*choices), 64))
    assert len(mixes) > 1 or len(choices) == 0 or name in ("cat", "stack", "concat", "concatenate")
    for mix in mixes:
        spelled = dict(zip(mix, (given[names[0]] for names in choices)))
        got = call(name, tensor, [] if has_keyword_form else places, spelled)
        if name in UNEQUAL:
            assert got.shape == expected.shape
        else:
            assert flat(got) == flat(expected), mix


# Signatures as the documentation of NumPy and tinygrad has them, with what the names stand for here. "f" is the
# method where it has another name here.
OUTSIDE = [
    # NumPy
    ("sum", "axis dtype keepdims"), ("prod", "axis dtype keepdims"), ("mean", "axis dtype keepdims"),
    ("max", "axis keepdims"), ("min", "axis keepdims"), ("any", "axis keepdims"), ("all", "axis keepdims"),
    ("var", "axis ddof keepdims"), ("std", "axis ddof keepdims"), ("argmax", "axis keepdims"),
    ("argmin", "axis keepdims"), ("cumsum", "axis dtype"), ("cumprod", "axis dtype"), ("sort", "axis stable"),
    ("argsort", "axis stable"), ("clip", "a_min a_max"), ("clip", "min max"), ("squeeze", "axis"),
    ("roll", "shift axis"),
    ("flip", "axis"), ("pad", "pad_width mode constant_values"), ("diagonal", "offset axis1 axis2"),
    ("moveaxis", "source destination"), ("astype", "dtype copy"), ("dot", "b"), ("linspace", "start stop num"),
    ("full", "shape fill_value"), ("eye", "N M"), ("isclose", "rtol atol equal_nan"),
    # tinygrad
    ("sum", "axis keepdim dtype"), ("prod", "axis keepdim dtype"), ("mean", "axis keepdim"),
    ("max", "axis keepdim"), ("var", "axis keepdim correction"), ("std", "axis keepdim correction"),
    ("softmax", "axis dtype"), ("argmax", "axis keepdim"), ("cumsum", "axis"), ("sort", "dim descending"),
    ("topk", "k dim largest sorted_"), ("gather", "dim index"), ("scatter", "dim index src reduce"),
    ("scatter_reduce", "dim index src reduce include_self"), ("split", "sizes dim"), ("chunk", "chunks dim"),
    ("transpose", "dim0 dim1"), ("flatten", "start_dim end_dim"), ("unflatten", "dim sizes"), ("squeeze", "dim"),
    ("unsqueeze", "dim"), ("roll", "shifts dims"), ("pad", "padding mode value"), ("shrink", "arg"),
    ("permute", "order"), ("diagonal", "offset dim1 dim2"), ("unfold", "dim size step"), ("clamp", "min_ max_"),
    ("leaky_relu", "neg_slope"), ("hardtanh", "min_val max_val"), ("cross_entropy", "Y reduction label_smoothing"),
    ("nll_loss", "Y weight ignore_index reduction"), ("sparse_categorical_crossentropy", "Y ignore_index"),
    ("layernorm", "axis eps"), ("linspace", "start stop steps"), ("normalize", "p dim eps"), ("dot", "w"),
    ("matmul", "x"), ("sequential", "ll"), ("rand", "dtype"), ("full", "shape fill_value"),
    ("repeat_interleave", "repeats dim"), ("isin", "test_elements"), ("masked_select", "mask"),
]


@pytest.mark.parametrize("name, names", OUTSIDE)
def test_signatures_of_others(name, names):
    entry = ENTRIES[name]
    entry_names = {spelled: parameter.names[0] for parameter in entry.parameters or () for spelled in parameter.names}
    if not entry_names:
        inspect.signature(getattr(Tensor, name)).bind_partial(**{})
    unknown = [spelled for spelled in names.split() if spelled not in entry_names]
    assert unknown == []


def message(call, kind=TypeError):
    with pytest.raises(kind) as caught:
        call()
    return str(caught.value)


def test_what_is_no_name_says_which_are():
    x = MATRIX
    assert message(lambda: x.sum(axes=1)) == (
        "sum() has no argument axes; its arguments: axis (dim), keepdim (keepdims) and dtype")
    assert message(lambda: x.relu(1)) == "relu() is given 1 arguments, expected at most 0: none"
    assert message(lambda: x.relu(inplace=True)) == "relu() has no argument inplace; its arguments: none"
    said = message(lambda: Tensor.zeros(2, dtyp="int8"))
    assert said.startswith("zeros() has no argument dtyp; its arguments: shape")


def test_an_argument_given_twice():
    x = MATRIX
    assert message(lambda: x.sum(axis=0, dim=0)) == "sum() is given axis twice: as axis and as dim"
    assert message(lambda: x.sum(0, dim=0)) == "sum() is given axis twice: by place and as dim"
    assert message(lambda: x.sum(0, axis=0)) == "sum() is given axis twice: by place and as axis"
    assert message(lambda: x.var(correction=1, ddof=1)) == (
        "var() is given correction twice: as correction and as ddof")
    assert message(lambda: Tensor.stack([x, x], 0, dim=1)) == "axis is given twice: 0 and 1"


def test_an_argument_of_another_kind():
    x = MATRIX
    assert message(lambda: x.sum("a")) == (
        "sum(): axis is 'a', expected int | collections.abc.Sequence[int] | None")
    assert message(lambda: x.gather(0)) == (
        "gather() lacks the argument index; its arguments: axis (dim) and index (indices)")
    assert message(lambda: x.gather(dim=0, index=1)) == "gather(): index is 1, expected Tensor"
    assert message(lambda: Tensor.sum([1, 2])) == "sum() of [1, 2], expected a tensor"
    assert message(lambda: x.cast("float33")) == (
        "cast(): dtype is 'float33', expected bool, int8, uint8, int16, uint16, int32, uint32, int64, uint64, "
        "float8_e4m3fn, float8_e5m2, float8_e4m3fnuz, float8_e5m2fnuz, float16, bfloat16, float32, float64, "
        "or a type of NumPy or PyTorch")
    assert "expected bool, int8" in message(lambda: x.sum(dtype="float33"))
    assert "expected bool, int8" in message(lambda: Tensor.zeros(2, dtype="float33"))
    assert "expected bool, int8" in message(lambda: Tensor([1], dtype="float33"))


def test_integers_beyond_64_bits():
    x = MATRIX
    for overflowing in (lambda: x.sum(2**70), lambda: x.reshape(2**70), lambda: x.reshape((2, 2**70)),
                        lambda: x.transpose(0, 2**70), lambda: x.roll(2**70), lambda: x.flip(2**70),
                        lambda: Tensor.zeros(2**70), lambda: x.permute(0, 2**70), lambda: x.topk(2**70)):
        assert "beyond integers of 64 bits" in message(overflowing, OverflowError)


def test_the_first_argument_by_name():
    x = MATRIX
    assert Tensor.sum(input=x, dim=1).tolist() == x.sum(1).tolist()
    assert Tensor.sum(a=x, axis=1, keepdims=True).tolist() == x.sum(1, True).tolist()
    assert Tensor.stack(tensors=[x, x], dim=1).shape == (2, 2, 3)
    assert Tensor.cat(arrays=[x, x], axis=1).shape == (2, 6)
    assert Tensor.where(condition=x > 2, input=x, other=0.0).tolist() == (x > 2).where(x, 0.0).tolist()


def test_several_tensors_or_one_list():
    x = MATRIX
    for one in (Tensor.stack(x, x), Tensor.stack([x, x]), Tensor.stack((x, x), 0), x.stack(x), x.stack([x]),
                Tensor.stack([x, x], axis=0), Tensor.stack([x, x], dim=0)):
        assert one.shape == (2, 2, 3)
    assert Tensor.stack([x]).shape == (1, 2, 3)
    assert Tensor.stack(x).shape == (1, 2, 3)
    assert Tensor.cat([x, x], 1).shape == (2, 6)
    assert Tensor.cat(x, x, x, dim=1).shape == (2, 9)


def test_none_keeps_a_size():
    x = Tensor.arange(6).reshape(2, 3)
    assert x.reshape((None, 3)).shape == x.reshape(None, 3).shape == x.reshape(shape=(None, -1)).shape == (2, 3)
    assert x.reshape(None, 3, 1).shape == (2, 3, 1)
    assert x[:1].expand(4, None).shape == (4, 3)
    with pytest.raises(IndexError):
        x.reshape(2, 3, None)


DTYPES = ("bool", "int8", "uint8", "int16", "int32", "int64", "float16", "float32", "float64")


@pytest.mark.parametrize("name", DTYPES)
def test_dtypes_of_others(name):
    x = Tensor([[1, 0], [2, 3]])
    spelled = [name, getattr(dtypes, name), np.dtype(name), np.dtype(name).type]
    try:
        import torch
        spelled.append(getattr(torch, name))
    except ImportError:
        pass
    for dtype in spelled:
        for made in (x.sum(dtype=dtype), x.prod(dim=0, dtype=dtype), x.cumsum(0, dtype=dtype), x.cast(dtype),
                     x.to(dtype), x.astype(dtype), Tensor([1], dtype=dtype), Tensor.zeros(2, dtype=dtype),
                     Tensor.full((2,), 1, dtype=dtype), x.zeros_like(dtype=dtype), Tensor.arange(2, dtype=dtype)):
            assert made.dtype == getattr(dtypes, name), dtype


def functions():
    for name, value in vars(_doorbell).items():
        if name.startswith("_"):
            continue
        if inspect.isclass(value):
            for member in vars(value):
                if (not member.startswith("_") or member == "__call__") and callable(getattr(value, member)):
                    yield f"{name}.{member}", getattr(value, member)
        elif callable(value):
            yield name, value


@pytest.mark.parametrize("name, function", list(functions()))
def test_every_function_has_a_signature(name, function):
    signature = inspect.signature(function)
    entry = ENTRIES.get(name.removeprefix("Tensor."))
    if not name.startswith("Tensor.") or entry is None or entry.parameters is None:
        return
    names = [parameter.names[0] for parameter in entry.parameters]
    own = [] if "static" in entry.flags else ["self"]
    assert list(signature.parameters) == own + names


def test_signatures():
    assert str(inspect.signature(Tensor.gather)) == "(self, axis: 'int', index: 'Tensor') -> 'Tensor'"
    assert list(inspect.signature(MATRIX.sum).parameters) == ["axis", "keepdim", "dtype"]
    assert list(inspect.signature(Tensor.zeros).parameters) == ["shape", "dtype", "device", "requires_grad"]
    assert list(inspect.signature(Tensor).parameters) == ["data", "dtype", "device", "requires_grad"]
    assert list(inspect.signature(nn.Linear).parameters) == ["in_features", "out_features", "bias", "device"]
    assert len(inspect.signature(nn.Linear(2, 3)).parameters) == 1
    bound = inspect.signature(Tensor.softmax).bind(MATRIX, axis=1)
    assert bound.arguments["axis"] == 1
    for name in (cls for cls in dir(nn) if inspect.isclass(getattr(nn, cls))):
        inspect.signature(getattr(nn, name))


def test_functions_are_found_by_name():
    assert pickle.loads(pickle.dumps(Tensor.relu)) is Tensor.relu
    assert pickle.loads(pickle.dumps(Tensor.zeros)) is Tensor.zeros
    assert Tensor.sum.__name__ == "sum" and "The sum." in Tensor.sum.__doc__
    assert inspect.isroutine(Tensor.sum) and inspect.isroutine(Tensor.zeros)
    assert doorbell.manual_seed is Tensor.manual_seed
