"""What a call from Python costs beside the same call from C++, and an eager expression asked for again.

usage: overhead.py CALLS [--smoke]     CALLS: build/bench/bench_python_calls; the package doorbell can be imported.
Prints one table. Claims: a Python call costs at most 1 us more than the C++ one, (a + b).realize() at most 4 us.
"""
import json
import platform
import subprocess
import sys
import time
import timeit

from doorbell import Device, Tensor

a, b = Tensor.ones(8, 8).contiguous().realize(), Tensor.ones(8, 8).contiguous().realize()
# The expressions are the names of calls_bench.cc; where they are no Python, what Python says instead.
SPELLED = {"a.where_zero": "(a > 0).where(a, 0)"}
MOST_OVERHEAD_US, MOST_EAGER_US = 1.0, 4.0


def cxx_times(program, smoke):
    """Microseconds of each call in C++."""
    command = [program, "--benchmark_format=json", f"--benchmark_min_time={0.001 if smoke else 0.2}"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return {run["name"]: run["cpu_time"] / 1e3 for run in json.loads(done.stdout)["benchmarks"]}


def python_time(expression, smoke):
    # Time of this thread's processor, as the other side measures; (a + b).realize() computes in the caller.
    timer = timeit.Timer(expression, globals={"a": a, "b": b}, timer=time.thread_time)
    count, repeats = (100, 2) if smoke else (5000, 40)
    return min(timer.repeat(repeats, count)) / count * 1e6


def processor():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        return next((line.split(":")[1].strip() for line in file if line.startswith("model name")), "?")


def main():
    program, smoke = sys.argv[1], "--smoke" in sys.argv
    print(f"{processor()}, {Device.DEFAULT}, Python {platform.python_version()}; microseconds of processor time")
    print(f"{'call':34}{'C++':>8}{'Python':>9}{'more':>8}")
    over = []
    for name, cxx in cxx_times(program, smoke).items():
        spent = python_time(SPELLED.get(name, name), smoke)
        print(f"{SPELLED.get(name, name):34}{cxx:8.2f}{spent:9.2f}{spent - cxx:8.2f}")
        if spent - cxx > MOST_OVERHEAD_US or ("realize" in name and spent > MOST_EAGER_US):
            over.append(name)
    print("over the claims: " + (", ".join(over) or "nothing"))
    return 1 if over and not smoke else 0


if __name__ == "__main__":
    sys.exit(main())
