"""A checkpoint of two processes goes on in one and in four, with the losses of a run that was never ended.

usage: resume_test.py PYTHON CHECKS        CHECKS is checks.py
"""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

from run import SKIP, command

PYTHON = CHECKS = ""


def losses(processes, folder, steps):
    run = subprocess.run(command(processes) + [PYTHON, CHECKS, "train", folder, str(steps)], capture_output=True,
                         text=True, env=os.environ | {"CPU_THREADS": "1"}, timeout=200)
    for line in run.stdout.splitlines():
        if line.startswith("losses "):
            return [float(number) for number in line.split()[1:]]
    raise AssertionError(f"{run.stdout}\n{run.stderr}")


class Resume(unittest.TestCase):
    def test_on_fewer_and_on_more(self):
        with tempfile.TemporaryDirectory() as folder:
            unbroken = losses(1, os.path.join(folder, "one"), 4)
            begun = os.path.join(folder, "begun")
            begin = losses(2, begun, 2)
            self.assertEqual(sorted(os.listdir(begun)), ["index.json", "rank0.safetensors", "rank1.safetensors"])
            for processes in (1, 4):
                copy = os.path.join(folder, f"on{processes}")
                shutil.copytree(begun, copy)
                for found, expected in zip(begin + losses(processes, copy, 2), unbroken, strict=True):
                    self.assertAlmostEqual(found, expected, delta=1e-4 * expected)


if __name__ == "__main__":
    if shutil.which("mpirun") is None:
        print("skipped: there is no mpirun here")
        sys.exit(SKIP)
    PYTHON, CHECKS = sys.argv[1:]
    unittest.main(argv=sys.argv[:1])
