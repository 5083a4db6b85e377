"""Checkpoints of several processes: each writes the parts that it has, and any number of processes reads them.

A checkpoint is a folder: one safetensors file a process, and index.json, which says which file has which part of which
tensor. Everything is written beside it first; the folder takes its name only when it is whole.
"""
from __future__ import annotations

import json
import os
from typing import Any

from doorbell import _doorbell
from doorbell._doorbell import Tensor, safe_load, safe_save
from doorbell.nn import state

__all__ = ["load", "load_state_dict", "save"]

INDEX = "index.json"


def _own_part(tensor: Tensor) -> tuple[Tensor | None, dict[str, Any]]:
    """What this process writes of a tensor, and how all of it lies."""
    on, axis, rank = list(tensor.devices), tensor.shard_axis, _doorbell._dist_rank()
    whole = {"shape": list(tensor.shape), "dtype": tensor.dtype.name, "axis": axis}
    if any("@" in device for device in on):
        ranks = [int(device.rpartition("@")[2]) for device in on]
        if axis is None:
            whole["ranks"] = ranks[:1]
            return (_doorbell._dist_to_local(tensor) if rank == ranks[0] else None), whole
        whole["ranks"] = ranks
        return (_doorbell._dist_to_local(tensor) if rank in ranks else None), whole
    whole.update(ranks=[0], axis=None)
    return (tensor if rank == 0 else None), whole


def _remove(folder: str) -> None:
    """The folder and all in it, if it is there."""
    import shutil  # which opens libraries of compression, that nothing else needs

    shutil.rmtree(folder, ignore_errors=True)


def _sync(path: str) -> None:
    """What was written there is on the disk afterwards."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _replace(made: str, path: str) -> None:
    """The folder `made` takes the name `path`; what had it goes."""
    old = f"{path}.old"
    if os.path.isdir(path):  # else the old one may be the only whole one
        _remove(old)
        os.rename(path, old)
    os.rename(made, path)
    _remove(old)
    _sync(os.path.dirname(os.path.abspath(path)))


def save(tensors: dict[str, Tensor] | Any, path: str | os.PathLike[str]) -> None:
    """Writes tensors by name, or those of a model, to a folder that all processes see. Every process calls this."""
    if not isinstance(tensors, dict):
        tensors = state.get_state_dict(tensors)
    path, rank = os.fspath(path).rstrip("/"), _doorbell._dist_rank()
    made = f"{path}.partial"
    if rank == 0:
        _remove(made)
        os.makedirs(made)
    _doorbell._dist_barrier()
    own, index = {}, {}
    for name, tensor in tensors.items():
        part, index[name] = _own_part(tensor)
        if part is not None:
            own[name] = part
    if own:
        file = os.path.join(made, f"rank{rank}.safetensors")
        safe_save(own, file)
        _sync(file)
    _doorbell._dist_barrier()
    if rank == 0:
        file = os.path.join(made, INDEX)
        with open(file, "w", encoding="utf-8") as out:
            json.dump({"format": "doorbell sharded 1", "tensors": index}, out, indent=1)
            out.flush()
            os.fsync(out.fileno())
        _replace(made, path)
    _doorbell._dist_barrier()


def load(path: str | os.PathLike[str]) -> dict[str, Tensor]:
    """The whole tensors of a checkpoint by name, in every process, whatever number of processes wrote them."""
    path = os.fspath(path)
    if not os.path.isdir(path) and os.path.isdir(f"{path}.old"):
        path = f"{path}.old"  # save() was ended between its two renames
    with open(os.path.join(path, INDEX), encoding="utf-8") as file:
        index = json.load(file)
    if index.get("format") != "doorbell sharded 1":
        raise ValueError(f"{path}: format {index.get('format')!r}, expected 'doorbell sharded 1'")
    files: dict[int, dict[str, Tensor]] = {}
    found = {}
    for name, whole in index["tensors"].items():
        parts = []
        for rank in whole["ranks"]:
            if rank not in files:
                files[rank] = safe_load(os.path.join(path, f"rank{rank}.safetensors"))
            parts.append(files[rank][name])
        found[name] = parts[0] if whole["axis"] is None else Tensor.cat(*parts, dim=whole["axis"])
        if list(found[name].shape) != whole["shape"]:
            raise ValueError(f"{path}: {name} has shape {tuple(found[name].shape)}, expected {tuple(whole['shape'])}")
    return found


def load_state_dict(model: Any, path: str | os.PathLike[str]) -> None:
    """Gives the tensors of a model, wherever they are, the values of a checkpoint."""
    own, found = state.get_state_dict(model), load(path)
    if sorted(own) != sorted(found):
        raise ValueError(f"{path}: tensors {sorted(found)}, expected {sorted(own)}")
    for name, tensor in own.items():
        with _doorbell.Context(NO_GRAD=1):
            tensor.assign(found[name].cast(tensor.dtype).shard_like(tensor)).realize()
