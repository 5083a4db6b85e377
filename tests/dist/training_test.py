"""The examples learn in several processes what one learns, and weights in parts take less memory.

usage: training_test.py PYTHON CHECKS EXAMPLE        CHECKS is checks.py, EXAMPLE language_model.py
"""
import os
import re
import shutil
import subprocess
import sys
import time
import unittest

from run import SKIP, command

PYTHON = CHECKS = EXAMPLE = ""
SEED = int(os.environ.get("DOORBELL_SEED") or time.time())
IS_WHOLE = os.environ.get("DOORBELL_WHOLE_TESTS") == "1"


def output(processes, *args):
    run = subprocess.run(command(processes) + [PYTHON, *args], capture_output=True, text=True,
                         env=os.environ | {"CPU_THREADS": "1"}, timeout=250)
    if run.returncode != 0:
        raise AssertionError(f"{run.stdout}\n{run.stderr}")
    return run.stdout


def losses(processes, model_parallel):
    text = output(processes, EXAMPLE, "--steps", "3", "--model-parallel", str(model_parallel))
    return [float(loss) for loss in re.findall(r"loss (\S+)", text)]


class Training(unittest.TestCase):
    def test_language_model(self):
        alone = losses(1, 1)
        self.assertEqual(len(alone), 3)
        self.assertLess(alone[2], alone[0])
        for processes, model_parallel in ((2, 1), (2, 2), (4, 2)):
            for found, expected in zip(losses(processes, model_parallel), alone, strict=True):
                self.assertAlmostEqual(found, expected, delta=1e-4 * expected)

    def test_digits(self):
        digits = os.path.join(os.path.dirname(EXAMPLE), "digits.py")
        found = {count: [float(loss) for loss in re.findall(r"loss (\S+)", output(count, digits, "--steps", "10"))]
                 for count in ((1, 2, 4, 8) if IS_WHOLE else (1, (2, 4, 8)[SEED % 3]))}
        alone = found[1]
        self.assertEqual(len(alone), 2)
        self.assertLess(alone[1], alone[0])
        for count, losses_of in found.items():
            # Of steps 1 and 10: nine steps at this rate enlarge what another order of sums changes.
            for loss, expected, relative in zip(losses_of, alone, (1e-4, 2e-3), strict=True):
                self.assertAlmostEqual(loss, expected, delta=relative * expected, msg=f"{count} processes, seed {SEED}")

    def test_memory_of_weights_in_parts(self):
        found = re.search(r"memory 2 (\d+) (\d+) (\d+)", output(2, CHECKS, "memory"))
        weights, in_parts, in_copies = map(int, found.groups())
        # Weights, gradients and two states of each: half of four times the weights, and what is gathered of one layer.
        self.assertLess(in_parts, 3.5 * weights)
        self.assertGreater(in_copies, 4 * weights)


if __name__ == "__main__":
    if shutil.which("mpirun") is None:
        print("skipped: there is no mpirun here")
        sys.exit(SKIP)
    PYTHON, CHECKS, EXAMPLE = sys.argv[1:]
    unittest.main(argv=sys.argv[:1])
