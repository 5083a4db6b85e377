"""A checkpoint of two processes goes on in one and in four, and one of four in two, with the losses of a run that was
never ended. A process that is killed while it saves leaves the old checkpoint or the new one, and the other learns it.

usage: resume_test.py PYTHON CHECKS [--whole]     CHECKS is checks.py; --whole: killed at every call, not at one of them
"""
import os
import random
import shutil
import subprocess
import sys
import tempfile
import unittest

from run import SKIP, command

PYTHON = CHECKS = ""
SEED = int(os.environ.get("DOORBELL_SEED", "0")) or random.randrange(1, 1 << 30)
IS_WHOLE = False
CALLS = (16, 4)  # that each process makes while it saves, at least


def run_checks(processes, *args, options=(), **variables):
    return subprocess.run([*command(processes), *options, PYTHON, CHECKS, *args], capture_output=True, text=True,
                          env=os.environ | {"CPU_THREADS": "1"} | variables, timeout=200)


def losses(processes, folder, steps):
    run = run_checks(processes, "train", folder, str(steps))
    for line in run.stdout.splitlines():
        if line.startswith("losses "):
            return [float(number) for number in line.split()[1:]]
    raise AssertionError(f"{run.stdout}\n{run.stderr}")


class Resume(unittest.TestCase):
    def test_on_fewer_and_on_more(self):
        with tempfile.TemporaryDirectory() as folder:
            unbroken = losses(1, os.path.join(folder, "one"), 4)
            for before, after in ((2, (1, 4)), (4, (2,))):
                begun = os.path.join(folder, f"begun{before}")
                begin = losses(before, begun, 2)
                names = ["index.json", *(f"rank{rank}.safetensors" for rank in range(before))]
                self.assertEqual(sorted(os.listdir(begun)), names)
                for processes in after:
                    copy = os.path.join(folder, f"{before}on{processes}")
                    shutil.copytree(begun, copy)
                    for found, expected in zip(begin + losses(processes, copy, 2), unbroken, strict=True):
                        self.assertAlmostEqual(found, expected, delta=1e-4 * expected)

    def test_killed_while_saving(self):
        points = [(rank, call) for rank, calls in enumerate(CALLS) for call in range(1, calls + 1)]
        for rank, call in points if IS_WHOLE else [random.Random(SEED).choice(points)]:
            with self.subTest(rank=rank, call=call, seed=SEED), tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "model")
                # Else Open MPI's mpirun ends the other before it notices.
                options = ["--enable-recovery"] if "--oversubscribe" in command(2) else []
                run = run_checks(2, "interrupted", path, str(rank), str(call), options=options, CHECKS_TIMEOUT="8")
                self.assertNotIn("calls", run.stdout, "nothing was killed")
                self.assertIn(f"rank {rank}, which does not answer: dead or stopped", run.stderr)
                self.assertTrue(os.path.isdir(path) or os.path.isdir(path + ".old"), run.stderr)
                run = run_checks(1, "whole", path)
                self.assertEqual(run.returncode, 0, run.stderr)


if __name__ == "__main__":
    if shutil.which("mpirun") is None:
        print("skipped: there is no mpirun here")
        sys.exit(SKIP)
    IS_WHOLE = "--whole" in sys.argv
    PYTHON, CHECKS = [arg for arg in sys.argv[1:] if arg != "--whole"]
    unittest.main(argv=sys.argv[:1])
