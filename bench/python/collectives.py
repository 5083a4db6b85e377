"""What doorbell.distributed costs beside mpi4py, in the same processes, in turn.

usage: mpirun -n 2 python collectives.py [--smoke]       mpi4py and the package doorbell can be imported.
Prints one JSON object for each size of an allreduce: medians of process 0, in microseconds.
"""
import json
import statistics
import sys
import time

SKIP = 77
try:
    from mpi4py import MPI
except ImportError:
    print("skipped: there is no mpi4py here")
    sys.exit(SKIP)

import numpy as np  # noqa: E402

import doorbell  # noqa: E402
import doorbell.distributed as dist  # noqa: E402
from doorbell import Tensor  # noqa: E402

WARM_UP = 5


def in_turn(calls, rounds):
    """Medians of calls that are made one after the other, round by round, each behind a barrier."""
    samples = [[] for _ in calls]
    for turn in range(WARM_UP + rounds):
        for call, own in zip(calls, samples):
            MPI.COMM_WORLD.Barrier()
            begin = time.perf_counter()
            call()
            if turn >= WARM_UP:
                own.append((time.perf_counter() - begin) * 1e6)
    return [statistics.median(own) for own in samples]


def measure(size, rounds):
    given, result = np.ones(size // 4, np.float32), np.empty(size // 4, np.float32)
    x = Tensor.ones(size // 4).contiguous().realize()
    captured = doorbell.jit(lambda t: dist.functional.all_reduce(t))

    def replay():
        captured(x)
        doorbell.synchronize()

    for _ in range(WARM_UP):
        captured(x)
    plain, own = in_turn([lambda: MPI.COMM_WORLD.Allreduce(given, result, op=MPI.SUM), replay], rounds)
    return {"what": f"allreduce {size}", "mpi4py us": round(plain, 2), "replay us": round(own, 2)}


def main():
    dist.init_process_group(timeout=60)
    smoke = "--smoke" in sys.argv
    for size in (1024,) if smoke else (8, 1024, 65536, 1 << 20):
        row = measure(size, 3 if smoke else 200)
        if dist.get_rank() == 0:
            print(json.dumps(row))


if __name__ == "__main__":
    main()
