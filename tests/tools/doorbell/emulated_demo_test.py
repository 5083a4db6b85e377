"""Trains the demo's network for a few steps on an emulated GPU, on a handful of the digits that ship here, and on the
CPU: the losses are the same, but for rounding.

usage: emulated_demo_test.py PATH_OF_DOORBELL FOLDER_OF_THE_DIGITS DEVICE STEPS

EMU_GPU names the GPU. Skips where NVIDIA's compilers are needed and missing.
"""

import gzip
import os
import re
import struct
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "support"))

from nvidia_compilers import SKIPPED, use_compiler  # noqa: E402 (found by the line above)

STEPS = int(sys.argv.pop())
DEVICE = sys.argv.pop()
DIGITS = sys.argv.pop()
TOOL = sys.argv.pop()
ENVIRONMENT = {k: v for k, v in os.environ.items() if k not in ("DEV", "DEBUG")}
TRAIN, HELD_OUT, BATCH = 32, 8, 4


def some(folder):
    """The first of the shipped digits, as the four files of MNIST."""
    with gzip.open(os.path.join(DIGITS, "t10k-images-idx3-ubyte.gz")) as file:
        pixels = file.read()[16:]
    with gzip.open(os.path.join(DIGITS, "t10k-labels-idx1-ubyte.gz")) as file:
        names = file.read()[8:]
    for prefix, first, count in (("train", 0, TRAIN), ("t10k", TRAIN, HELD_OUT)):
        with open(os.path.join(folder, f"{prefix}-images-idx3-ubyte"), "wb") as file:
            file.write(b"\0\0\x08\x03" + struct.pack(">III", count, 28, 28))
            file.write(pixels[784 * first:784 * (first + count)])
        with open(os.path.join(folder, f"{prefix}-labels-idx1-ubyte"), "wb") as file:
            file.write(b"\0\0\x08\x01" + struct.pack(">I", count) + names[first:first + count])


class EmulatedDemo(unittest.TestCase):
    def losses(self, folder, device):
        """Of the first step and of the last."""
        result = subprocess.run(
            [TOOL, "demo", "--mnist", folder, "--steps", str(STEPS), "--batch", str(BATCH), "--device", device],
            env=ENVIRONMENT, capture_output=True, text=True)
        self.assertEqual(result.returncode, 0, result.stderr)
        steps = re.findall(r"step +(\d+)/\d+  loss (\d+\.\d+)", result.stderr)
        self.assertEqual((steps[0][0], steps[-1][0]), ("1", str(STEPS)), result.stderr)
        self.assertRegex(result.stdout, rf"\d+ of {HELD_OUT} held-out digits right")
        return float(steps[0][1]), float(steps[-1][1])

    def test_learns_as_on_the_cpu(self):
        with tempfile.TemporaryDirectory() as folder:
            some(folder)
            wanted = self.losses(folder, "CPU")
            got = self.losses(folder, DEVICE)
        self.assertNotEqual(wanted[0], wanted[1])
        self.assertAlmostEqual(got[0], wanted[0], delta=1e-3)
        self.assertAlmostEqual(got[1], wanted[1], delta=0.02 * (1 + wanted[1]))


if __name__ == "__main__":
    if "AMD" not in DEVICE and not use_compiler(TOOL, "NV_" + DEVICE.split(":")[-1], ENVIRONMENT):
        sys.exit(SKIPPED)
    unittest.main()
