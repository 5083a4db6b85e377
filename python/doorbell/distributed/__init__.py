"""One program in several processes, over MPI, with the names of torch.distributed: mpirun -n 4 python train.py

    import doorbell.distributed as dist
    dist.init_process_group()
    everywhere = dist.devices()                     # ["CPU@0", "CPU@1", "CPU@2", "CPU@3"]
    x = x.shard(everywhere, axis=0)                 # each process keeps its rows
    loss = loss_of(x, w.to(everywhere))             # summed over all of them, where sums are
    if dist.get_rank() == 0: print(loss.item())

A tensor on a device without a rank is in every process, where the same program has computed the same. One on devices
with ranks is one value of all processes: every process must do the same with it, in the same order.
"""
from __future__ import annotations

import datetime
from collections.abc import Sequence

from doorbell import _doorbell
from doorbell._doorbell import Tensor
from doorbell.distributed import checkpoint, fsdp, functional, mesh, optim, pipelining
from doorbell.distributed.mesh import (DeviceMesh, Partial, Placement, Replicate, Shard, distribute_tensor,
                                       distribute_tensor_, init_device_mesh, placements_of, redistribute)

__all__ = ["DeviceMesh", "Partial", "Placement", "ReduceOp", "Replicate", "Shard", "all_gather",
           "all_gather_into_tensor", "all_reduce", "all_to_all_single", "barrier", "broadcast", "checkpoint",
           "destroy_process_group", "devices", "distribute_tensor", "distribute_tensor_", "from_local", "fsdp",
           "functional", "get_local_rank", "get_rank", "get_world_size", "init_device_mesh", "init_process_group",
           "is_available", "is_initialized", "optim", "pipelining", "placements_of", "recv", "redistribute",
           "reduce_scatter_tensor", "send", "to_local"]


class ReduceOp:
    """How all_reduce and reduce_scatter_tensor combine."""

    SUM, AVG, PRODUCT, MAX, MIN = "sum", "avg", "product", "max", "min"


def is_available() -> bool:
    """Always: whether this build has MPI, and a launcher started the process, init_process_group() says."""
    return True


def init_process_group(backend: str = "mpi", timeout: datetime.timedelta | float = 300.0) -> None:
    """Joins the processes that mpirun or srun started. An exchange that takes longer than the timeout (seconds) is an
    error in every process, which names those that are missing. Again does nothing. Raises an error where no launcher
    of MPI started this process."""
    if backend not in ("mpi", "mpi:cpu", "cpu:mpi"):
        raise ValueError(f"backend {backend!r}, expected 'mpi'")
    seconds = timeout.total_seconds() if isinstance(timeout, datetime.timedelta) else float(timeout)
    _doorbell._dist_init(seconds)


def destroy_process_group() -> None:
    """Leaves the others once all of them are here, for good; an error names those that are missing. A program that ends
    without it waits for them too, but raises no error."""
    _doorbell._dist_destroy()


def is_initialized() -> bool:
    """Whether this process is one of several: from init_process_group() to destroy_process_group()."""
    return bool(_doorbell._dist_is_initialized())


def get_rank() -> int:
    """This process's number, from 0 on; 0 of one where nothing was initialised."""
    return int(_doorbell._dist_rank())


def get_world_size() -> int:
    """How many processes there are."""
    return int(_doorbell._dist_world_size())


def get_local_rank() -> int:
    """This process's number among those of its machine: of its GPU, say."""
    return int(_doorbell._dist_local_rank())


def devices(device: str | None = None) -> list[str]:
    """That device of every process in order, for shard() and to(); the default one's kind for None."""
    return list(_doorbell._dist_devices(device or ""))


def barrier() -> None:
    """Waits until every process is here."""
    _doorbell._dist_barrier()


def from_local(tensor: Tensor, on: list[str] | DeviceMesh | None = None, dim: int = 0,
               placements: Sequence[Placement] | None = None) -> Tensor:
    """One value of all processes, of which each has a part along an axis: this one's is the tensor. With placements
    each has what they say over a mesh: a part, a copy, or a summand."""
    if isinstance(on, DeviceMesh):
        if placements is None:
            raise ValueError(f"a mesh of {len(on.shape)} axes needs a placement for each, got none")
        return _doorbell._dist_from_local_mesh(tensor, on.devices(), list(on.shape), mesh._names(placements))
    return _doorbell._dist_from_local(tensor, on or devices(), dim)


def to_local(tensor: Tensor) -> Tensor:
    """This process's part of a value of several."""
    return _doorbell._dist_to_local(tensor)


def all_reduce(tensor: Tensor, op: str = ReduceOp.SUM) -> None:
    """The tensor becomes all processes' tensors combined. See functional for a form that gradients pass."""
    tensor.assign(functional.all_reduce(tensor, op)).realize()


def broadcast(tensor: Tensor, src: int = 0) -> None:
    """The tensor becomes that of process src."""
    tensor.assign(functional.broadcast(tensor, src)).realize()


def all_gather(tensor_list: list[Tensor], tensor: Tensor) -> None:
    """Each tensor of the list becomes that of the process of its number."""
    if len(tensor_list) != get_world_size():
        raise ValueError(f"{len(tensor_list)} tensors for {get_world_size()} processes")
    gathered = functional.all_gather(tensor).realize()
    for i, each in enumerate(tensor_list):
        each.assign(gathered[i]).realize()


def all_gather_into_tensor(output_tensor: Tensor, input_tensor: Tensor) -> None:
    """The output becomes all processes' inputs, one after the other along the first axis or along a new one."""
    output_tensor.assign(functional.all_gather(input_tensor).reshape(output_tensor.shape)).realize()


def reduce_scatter_tensor(output: Tensor, input: Tensor, op: str = ReduceOp.SUM) -> None:
    """The output becomes this process's part of the first axis of all inputs combined."""
    output.assign(functional.reduce_scatter(input, op).reshape(output.shape)).realize()


def all_to_all_single(output: Tensor, input: Tensor) -> None:
    """Part i of the input's first axis goes to process i; the output becomes what came."""
    count = get_world_size()
    rows = input.reshape(count, -1)
    output.assign(functional.all_to_all(rows).reshape(output.shape)).realize()


def send(tensor: Tensor, dst: int) -> None:
    """To one other process, which calls recv; nobody else need."""
    _doorbell._dist_send(tensor, dst)


def recv(tensor: Tensor, src: int) -> int:
    """The tensor becomes what process src sends; gives src."""
    tensor.assign(_doorbell._dist_recv(tensor, src)).realize()
    return src
