"""Parts of array_api: versions, kinds of dtypes, and promotion of dtypes."""
from __future__ import annotations

import builtins
from typing import Any

from doorbell._doorbell import DType, Tensor, default_device, promote_types
from doorbell.dtypes import bool, float32, float64, int8, int16, int32, int64, uint8, uint16, uint32, uint64

_VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12")
VERSION = _VERSIONS[-1]

_KINDS = {
    "bool": (bool,), "signed integer": (int8, int16, int32, int64),
    "unsigned integer": (uint8, uint16, uint32, uint64), "real floating": (float32, float64), "complex floating": (),
}
_KINDS["integral"] = _KINDS["signed integer"] + _KINDS["unsigned integer"]
_KINDS["numeric"] = _KINDS["integral"] + _KINDS["real floating"]


def _of_kind(kind: str) -> tuple[DType, ...]:
    if kind not in _KINDS:
        raise ValueError(f"kind is {kind!r}, expected one of {', '.join(_KINDS)}")
    return _KINDS[kind]


class Info:
    """The parts of the standard that this library has."""

    def capabilities(self) -> dict[str, Any]:
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 16}

    def default_device(self) -> str:
        return default_device()

    def default_dtypes(self, *, device: str | None = None) -> dict[str, DType]:
        return {"real floating": float32, "integral": int32, "indexing": int32}

    def devices(self) -> list[str]:
        return [default_device()]

    def dtypes(self, *, device: str | None = None, kind: str | tuple[str, ...] | None = None) -> dict[str, DType]:
        kinds = ("bool", "numeric") if kind is None else (kind,) if isinstance(kind, str) else kind
        return {dtype.name: dtype for one in kinds for dtype in _of_kind(one)}


def check_version(version: str) -> None:
    if version not in _VERSIONS:
        raise ValueError(f"version {version} of the array API, expected one of {', '.join(_VERSIONS)}")


def isdtype(dtype: DType, kind: Any) -> builtins.bool:
    if isinstance(kind, tuple):
        return builtins.any(isdtype(dtype, one) for one in kind)
    return dtype in _of_kind(kind) if isinstance(kind, str) else dtype == kind


def result_type(*arrays_and_dtypes: Any) -> DType:
    found: DType | None = None
    scalars = []
    for item in arrays_and_dtypes:
        if isinstance(item, (builtins.bool, int, float)):
            scalars.append(item)
            continue
        dtype = item.dtype if isinstance(item, Tensor) else DType(item)
        found = dtype if found is None else promote_types(found, dtype)
    if found is None:
        raise ValueError("result_type of numbers alone")
    for number in scalars:
        found = (Tensor.zeros((), dtype=found) + number).dtype if not isinstance(number, builtins.bool) else found
    return found


def can_cast(from_: Any, to: DType, /) -> builtins.bool:
    own = from_.dtype if isinstance(from_, Tensor) else from_
    try:
        return promote_types(own, to) == to
    except ValueError:
        return False
