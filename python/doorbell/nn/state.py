"""The tensors of a model by name, and files of them.

>>> model = [nn.Linear(2, 1), {"scale": Tensor([1.0])}]
>>> list(nn.state.get_state_dict(model))
['0.weight', '0.bias', '1.scale']
"""
from __future__ import annotations

from typing import Any, NamedTuple

from doorbell._doorbell import (Tensor, _load_into, _parameters_among, safe_load, safe_load_metadata, safe_save,
                                tar_extract, torch_load, zip_extract)

__all__ = ["LoadResult", "get_parameters", "get_state_dict", "load_state_dict", "safe_load", "safe_load_metadata",
           "safe_save", "tar_extract", "torch_load", "zip_extract"]


class LoadResult(NamedTuple):
    """Names on one side only, from a load_state_dict() that was not strict."""

    missing_keys: list[str]
    unexpected_keys: list[str]


def _parts(value: Any) -> list[tuple[str, Any]]:
    """The parts of a container, a layer or an object, by name."""
    if isinstance(value, dict):
        return [(str(key), item) for key, item in value.items()]
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return list(value._asdict().items())
    if isinstance(value, (list, tuple)):
        return [(str(i), item) for i, item in enumerate(value)]
    if hasattr(value, "_named_parts"):
        return list(value._named_parts())
    layer = list(value._tensors()) if hasattr(value, "_tensors") else []
    return layer + list(getattr(value, "__dict__", {}).items())


def get_state_dict(obj: Any, prefix: str = "") -> dict[str, Tensor]:
    """All tensors of a model by name, as PyTorch's state_dict(): of attributes, lists, tuples and dicts, as deep as
    they go. The tensors are the model's own: assigning to them changes it."""
    found: dict[str, Tensor] = {}
    seen: set[int] = set()
    waiting = [(prefix, obj)]
    while waiting:
        name, value = waiting.pop()
        if isinstance(value, Tensor):
            found[name.strip(".")] = value
        elif isinstance(value, (dict, list, tuple)) or hasattr(value, "__dict__") or hasattr(value, "_tensors"):
            if id(value) in seen or isinstance(value, type):
                continue
            seen.add(id(value))
            start = f"{name}." if name and not name.endswith(".") else name
            waiting += [(start + part, item) for part, item in reversed(_parts(value))]
    return found


def get_parameters(obj: Any) -> list[Tensor]:
    """The tensors of a model that are marked requires_grad, each once: what an optimizer changes.

    >>> len(nn.state.get_parameters(nn.BatchNorm(3)))
    2
    """
    return _parameters_among(get_state_dict(obj))


def load_state_dict(model: Any, state_dict: dict[str, Any], strict: bool = True) -> LoadResult:
    """Gives the tensors of a model the values of these names, converting dtype and device; they may be PyTorch's, or
    arrays. Gives the names that one side lacks.

    Raises ValueError for wrong shapes, and if strict for names on one side only: it names them all, and nothing is
    changed. TypeError for what is no tensor.

    >>> model = nn.Linear(2, 1)
    >>> nn.state.load_state_dict(model, {"weight": Tensor([[1.0, 2.0]]), "bias": Tensor([3.0])})
    LoadResult(missing_keys=[], unexpected_keys=[])
    >>> model(Tensor([1.0, 1.0]))
    tensor([6.])
    """
    return LoadResult(*_load_into(get_state_dict(model), dict(state_dict), strict))
