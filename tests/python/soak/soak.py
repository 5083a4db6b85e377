"""Runs random programs against PyTorch until its time is over: graphs, gradients, assignment, jit, several devices,
threads, interrupts. Every wrong value is printed with the seed that repeats it; the last line counts.

usage: soak.py [--seconds N | --programs N] [--seed N] [--devices CPU,CPU:1] [--threads N] [--interrupt] [--only SEED]
Exit status 1 if anything was wrong, or memory grew, which only --seconds tells: it repeats programs in its second half.
"""
import argparse
import os
import random
import signal
import sys
import threading
import time
import traceback

try:
    import torch  # noqa: F401  pylint: disable=unused-import
except ImportError:
    print("skipped: no PyTorch here to compare with (scripts/test --torch)")
    sys.exit(77)

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from programs import Mismatch, Program  # noqa: E402


def resident_mib():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / (1 << 20)


class Counts:
    def __init__(self):
        self.lock = threading.Lock()
        self.programs = self.wrong = self.interrupted = 0

    def wrong_program(self, seed, what):
        with self.lock:
            self.wrong += 1
        print(f"seed {seed}: {what}", flush=True)


def run_one(seed, devices, counts):
    program = Program(seed, devices)
    kind = "jit" if seed % 5 == 0 else "graph"
    try:
        program.run_jit() if kind == "jit" else program.run()
    except KeyboardInterrupt:
        raise
    except Mismatch as error:
        counts.wrong_program(seed, f"{program.dtype} {kind} {' '.join(program.steps)}\n  {error}")
    except Exception:  # pylint: disable=broad-except
        what = f"{program.dtype} {kind} {' '.join(program.steps)}"
        counts.wrong_program(seed, f"{what}\n{traceback.format_exc(limit=-3)}")
    with counts.lock:
        counts.programs += 1


def seeds_of(options):
    """Until the time or the number of programs is over. The second half of the time repeats the first half's programs:
    their kernels and plans are in caches then, and nothing may need more memory."""
    started, count = time.monotonic(), None
    for number in range(options.programs or sys.maxsize):
        passed = time.monotonic() - started
        if options.seconds and passed > options.seconds:
            return
        if options.seconds and not count and passed > options.seconds / 2:
            count = number
        yield options.seed + (number % count if count else number)


class Seeds:
    """The seeds, given to several threads."""

    def __init__(self, options):
        self.lock, self.iterator = threading.Lock(), seeds_of(options)

    def __iter__(self):
        while True:
            with self.lock:
                seed = next(self.iterator, None)
            if seed is None:
                return
            yield seed


def run_interrupted(options, counts):
    """Each program is interrupted at a random moment, and then run again to its end."""
    moments = random.Random(options.seed)
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    for seed in seeds_of(options):
        try:
            signal.setitimer(signal.ITIMER_REAL, moments.uniform(0.001, 0.05))
            Program(seed, options.devices).run()
            signal.setitimer(signal.ITIMER_REAL, 0)
        except KeyboardInterrupt:
            counts.interrupted += 1
        except Exception as error:  # pylint: disable=broad-except
            signal.setitimer(signal.ITIMER_REAL, 0)
            counts.wrong_program(seed, f"interrupted, {type(error).__name__}: {error}")
        run_one(seed, options.devices, counts)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=0)
    parser.add_argument("--programs", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--devices", type=lambda text: text.split(","), default=["CPU", "CPU:1"])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--interrupt", action="store_true")
    parser.add_argument("--only", type=int, help="run the program of this seed alone")
    options = parser.parse_args()
    if options.only is not None:
        options.seed, options.programs = options.only, 1
    if not options.seconds and not options.programs:
        options.programs = 100

    counts = Counts()
    levels = []
    started = time.monotonic()
    stop = threading.Event()

    def watch():
        while not stop.wait(max(1.0, options.seconds / 100)):
            levels.append(resident_mib())

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    if options.interrupt:
        run_interrupted(options, counts)
    else:
        seeds = Seeds(options)
        workers = [threading.Thread(target=lambda: [run_one(seed, options.devices, counts) for seed in seeds])
                   for _ in range(options.threads)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    stop.set()

    status = 1 if counts.wrong else 0
    if options.seconds and len(levels) >= 20:
        # Caches fill in the first half; seeds_of() says why memory must then stay where it is.
        middle, late = max(levels[len(levels) // 2 - 3:len(levels) // 2 + 3]), max(levels[-6:])
        print(f"memory: {levels[0]:.0f} MiB at first, {middle:.0f} in the middle, {late:.0f} at the end")
        if late > middle * 1.1 + 20:
            print("memory grew")
            status = 1
    print(f"{counts.programs} programs, {counts.wrong} wrong, {counts.interrupted} interrupted, "
          f"{time.monotonic() - started:.0f} s, seeds from {options.seed}, devices {','.join(options.devices)}")
    return status


if __name__ == "__main__":
    sys.exit(main())
