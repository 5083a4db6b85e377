"""A process of several is killed, stopped, or falls behind: all others must fail within the timeout and name it, and
can still compute. One that comes back fails, too; one that is continued before the timeout goes on with the others.

usage: faults.py PROGRAM [UNITTEST'S]      PROGRAM is victim.cc

Of each kind one point, by DOORBELL_SEED; with DOORBELL_WHOLE_TESTS=1 (scripts/test --whole) 20.
"""
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from run import SKIP, command, send

PROCESSES = 3
PROGRAM = ""
POINTS = 20 if os.environ.get("DOORBELL_WHOLE_TESTS") == "1" else 1
SEED = int(os.environ.get("DOORBELL_SEED", "0")) or random.randrange(1, 1 << 30)
# Of the timeout of 4 s and of a busy machine, from the fault on, and before it.
PATIENCE, BEFORE = 60, 120


class Run:
    """The processes of one fault."""

    def __init__(self, test, mode, rank, exchanges, delay_us):
        self.test, self.rank = test, rank
        self.folder = tempfile.TemporaryDirectory()
        line = command(PROCESSES)
        # Else mpirun ends the others before they notice.
        line += ["--enable-recovery"] if "--oversubscribe" in line else []
        self.process = subprocess.Popen(
            line + [PROGRAM, self.folder.name, mode, str(rank), str(exchanges), str(delay_us)], start_new_session=True,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=os.environ | {"CPU_THREADS": "1"})

    def __enter__(self):
        return self

    def __exit__(self, *_):
        # Stopped processes end only so.
        for rank in range(PROCESSES):
            if os.path.exists(self.path(f"{rank}.pid")):
                send(self.pid(rank), signal.SIGKILL)
        self.process.kill()
        self.process.wait()
        self.process.stderr.close()
        self.folder.cleanup()

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def pid(self, rank):
        return int(self.read(f"{rank}.pid"))

    def read(self, name):
        with open(self.path(name), encoding="utf-8") as text:
            return text.read()

    def wait_for(self, names, patience):
        end = time.monotonic() + patience
        while not all(os.path.exists(self.path(name)) for name in names):
            if self.process.poll() is not None:
                self.test.fail(f"mpirun ended: {self.process.stderr.read()}")
            missing = [name for name in names if not os.path.exists(self.path(name))]
            self.test.assertLess(time.monotonic(), end, f"{missing} not there after {patience} s, seed {SEED}")
            time.sleep(0.02)

    def ends(self, ranks):
        """What each of them says, by rank."""
        self.wait_for(["fault"], BEFORE)
        self.wait_for([f"{rank}.end" for rank in ranks], PATIENCE)
        return {rank: self.read(f"{rank}.end") for rank in ranks}

    def seconds(self, ranks):
        """From the fault to the last of their errors."""
        return max(os.path.getmtime(self.path(f"{rank}.end")) for rank in ranks) - os.path.getmtime(self.path("fault"))


class Faults(unittest.TestCase):
    def check(self, mode, expected, comes_back=False, points=POINTS, at=None):
        slowest = 0.0
        for point in range(points):
            chance = random.Random(f"{SEED} {mode} {point}")
            rank, exchanges, delay_us = (chance.randrange(PROCESSES), at or chance.randrange(1, 200),
                                         chance.randrange(2000))
            others = [other for other in range(PROCESSES) if other != rank]
            with self.subTest(mode=mode, point=point, rank=rank, exchanges=exchanges, delay_us=delay_us, seed=SEED), \
                    Run(self, mode, rank, exchanges, delay_us) as run:
                for message in run.ends(others).values():
                    first, again, computes = message.split("\n")
                    self.assertIn(f"rank {rank}, which", first)
                    self.assertIn(expected, first)
                    self.assertIn(f"rank {rank}, which", again)
                    self.assertEqual(computes, "computes")
                slowest = max(slowest, run.seconds(others))
                if comes_back:
                    send(run.pid(rank), signal.SIGCONT)
                    # From the others, or from their silence.
                    self.assertRegex(run.ends([rank])[rank], f"rank {rank}, which|which do not answer")
        print(f"{mode}: {points} points, all knew within {slowest:.1f} s", flush=True)

    def test_killed(self):
        self.check("kill", "does not answer: dead or stopped")

    def test_stopped_and_continued_too_late(self):
        self.check("stop", "does not answer: dead or stopped", comes_back=True)

    def test_behind(self):
        self.check("lag", "is at work in exchange", comes_back=True, points=1)
        # Where the thread that answers was never woken for anything else.
        self.check("lag", "is at work in exchange", comes_back=True, points=1, at=1)

    def test_missing_from_the_start(self):
        self.check("early-kill", "is dead", points=1)
        self.check("early-stop", "is stopped", points=1)

    def test_killed_while_the_others_leave(self):
        self.check("late-kill", "does not answer: dead or stopped", points=1)

    def test_continued_in_time(self):
        rank, exchanges = random.Random(SEED).randrange(PROCESSES), random.Random(SEED).randrange(1, 200)
        with Run(self, "pause", rank, exchanges, 0) as run:
            run.wait_for(["fault"], BEFORE)
            end = time.monotonic() + PATIENCE
            # Unless somebody else has continued it.
            while not self.is_stopped(run.pid(rank)) and not os.path.exists(run.path(f"{rank}.end")):
                self.assertLess(time.monotonic(), end, f"rank {rank} did not stop, seed {SEED}")
                time.sleep(0.02)
            send(run.pid(rank), signal.SIGCONT)
            self.assertEqual(set(run.ends(range(PROCESSES)).values()), {"all right"}, f"seed {SEED}")

    def is_stopped(self, pid):
        with open(f"/proc/{pid}/status", encoding="utf-8") as text:
            return "\nState:\tT" in text.read()


if __name__ == "__main__":
    if shutil.which("mpirun") is None:
        print("skipped: there is no mpirun here")
        sys.exit(SKIP)
    PROGRAM = sys.argv.pop(1)
    unittest.main()
