"""Every name that PyTorch documents for an argument of a method is known here, or is in EXCEPT with the reason."""
import inspect
import os
import pathlib
import re
import sys

import pytest
import torch
import torch.nn.functional as F

sys.path.insert(0, str(pathlib.Path(os.environ["DOORBELL_SOURCE_ROOT"]) / "python" / "surface"))
import declarations  # noqa: E402
import entries as entries_of  # noqa: E402
import generate  # noqa: E402

ROOT = pathlib.Path(os.environ["DOORBELL_SOURCE_ROOT"])


def known():
    """Of each method all names of its arguments."""
    found = {}
    for path in sorted((ROOT / "python" / "surface").glob("*.txt")):
        table = ROOT / "tensor" / "api" / "methods" / f"{path.stem}.def"
        declared = {}
        for declaration in declarations.read(table) if table.exists() else ():
            declared.setdefault(declaration.name, declaration)
        for entry in entries_of.read(path):
            generate.complete(entry, declared)
            for name in entry.names:
                found[name] = {spelled for parameter in entry.parameters for spelled in parameter.names}
    return found


# Of all functions: what has no meaning here, and what the tensor itself stands for.
EVERYWHERE = {
    "input", "self", "tensor", "tensors", "condition", "args", "kwargs", "*args", "**kwargs",  # the tensor, or wrappers
    "out", "memory_format", "generator", "layout", "pin_memory", "non_blocking", "inplace", "_stacklevel",
    "size_average", "reduce",  # deprecated there
}
EXCEPT = {
    "batchnorm": {}, "gather": {"sparse_grad"}, "isin": {"elements", "assume_unique"},
    "interpolate": {"antialias"}, "qr": {"some"},
    "svd": {"some", "compute_uv"}, "dropout": {"training"}, "softplus": {"threshold"},
    "repeat_interleave": {"output_size"}, "unfold": {"kernel_size", "dilation", "padding", "stride"},
    "searchsorted": {"sorted_sequence", "out_int32", "sorter"}, "floor_divide": {"value"},
    "mse_loss": {"weight"}, "l1_loss": {"weight"}, "huber_loss": {"weight"}, "true_divide": {"dividend", "divisor"},
    "from_dlpack": {"ext_tensor", "device", "copy"}, "from_numpy": {"ndarray"}, "einsum": {"equation"},
}


def documented(name):
    """(where, names) of each form that PyTorch documents."""
    for owner in (torch.Tensor, torch, F):
        function = getattr(owner, name, None)
        if function is None:
            continue
        try:
            yield owner.__name__, list(inspect.signature(function).parameters)
            continue
        except (TypeError, ValueError):
            pass
        for line in (function.__doc__ or "").split("\n")[:12]:
            match = re.match(rf"^\s*(?:torch\.)?{name}\((.*)\)\s*->", line)
            if match and "[" not in match[1]:
                parts = re.split(r",(?![^(]*\))", match[1])
                names = [re.split(r"[=:]", part)[0].strip().lstrip("*\\") for part in parts]
                yield owner.__name__, [part for part in names if part and part not in ("*", "/")]


CASES = [(name, names, where, theirs) for name, names in sorted(known().items()) for where, theirs in documented(name)]


def test_there_are_many():
    assert len(CASES) > 150


@pytest.mark.parametrize("name, names, where, theirs", CASES, ids=lambda value: value if isinstance(value, str) else "")
def test_names_of_pytorch(name, names, where, theirs):
    unknown = set(theirs) - names - EVERYWHERE - set(EXCEPT.get(name, ()))
    assert unknown == set(), f"{where}.{name}({', '.join(theirs)})"
