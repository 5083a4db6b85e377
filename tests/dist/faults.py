"""A process of several is killed, stopped, or falls behind: all others must fail within the timeout and name it.

usage: faults.py PROGRAM        PROGRAM is victim.cc
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

from run import SKIP, command

PROCESSES = 3
PROGRAM = ""
SEED = int(os.environ.get("DOORBELL_SEED", "0")) or random.randrange(1, 1 << 30)
# Of the timeout of 2 s and of a busy machine.
PATIENCE = 60


class Faults(unittest.TestCase):
    def errors_with(self, mode, rank, exchanges):
        """What each of the other processes says, by rank."""
        with tempfile.TemporaryDirectory() as folder:
            line = command(PROCESSES)
            # Else mpirun ends the others before they notice.
            line += ["--enable-recovery"] if "--oversubscribe" in line else []
            run = subprocess.Popen(line + [PROGRAM, folder, mode, str(rank), str(exchanges)], start_new_session=True,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                   env=os.environ | {"CPU_THREADS": "1"})
            try:
                others = [other for other in range(PROCESSES) if other != rank]
                files = {other: os.path.join(folder, f"error{other}") for other in others}
                end = time.monotonic() + PATIENCE
                while time.monotonic() < end and not all(map(os.path.exists, files.values())):
                    if run.poll() is not None:
                        self.fail(f"mpirun ended: {run.stderr.read()}")
                    time.sleep(0.05)
                found = {}
                for other, file in files.items():
                    self.assertTrue(os.path.exists(file), f"rank {other} waits for ever (seed {SEED})")
                    with open(file, encoding="utf-8") as text:
                        found[other] = text.read()
                return found
            finally:
                # Stopped processes end only so.
                for file in os.listdir(folder):
                    if file.endswith(".pid"):
                        try:
                            os.kill(int(file.removesuffix(".pid")), signal.SIGKILL)
                        except ProcessLookupError:
                            pass
                run.kill()
                run.wait()
                run.stderr.close()

    def check(self, mode, expected):
        chance = random.Random(f"{SEED} {mode}")
        rank, exchanges = chance.randrange(PROCESSES), chance.randrange(1, 200)
        for other, message in self.errors_with(mode, rank, exchanges).items():
            with self.subTest(mode=mode, rank=rank, exchanges=exchanges, other=other, seed=SEED):
                self.assertIn(f"rank {rank}, which", message)
                self.assertIn(expected, message)

    def test_killed(self):
        self.check("kill", "does not answer: dead or stopped")

    def test_stopped(self):
        self.check("stop", "does not answer: dead or stopped")

    def test_behind(self):
        self.check("lag", "is at work in exchange")


if __name__ == "__main__":
    if shutil.which("mpirun") is None:
        print("skipped: there is no mpirun here")
        sys.exit(SKIP)
    PROGRAM = sys.argv.pop(1)
    unittest.main()
