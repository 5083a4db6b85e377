"""Runs `doorbell demo` as a user does: a few steps, the same twice, and folders that are not MNIST's.

usage: demo_test.py PATH_OF_DOORBELL
"""

import gzip
import os
import re
import struct
import subprocess
import sys
import tempfile
import unittest

TOOL = sys.argv.pop(1)
NAMES = ("train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte")


def run(*args, **environment):
    clean = {k: v for k, v in os.environ.items() if k not in ("DEV", "DEBUG", "CPU_THREADS")}
    return subprocess.run([TOOL, "demo", *args], env={**clean, **environment}, capture_output=True, text=True)


def images(count):
    return b"\0\0\x08\x03" + struct.pack(">III", count, 28, 28) + bytes(784 * count)


def labels(values):
    return b"\0\0\x08\x01" + struct.pack(">I", len(values)) + bytes(values)


class Demo(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        for name in NAMES:
            self.write(name, images(4) if "images" in name else labels([0, 1, 2, 3]))

    def tearDown(self):
        self.folder.cleanup()

    def write(self, name, content):
        with open(os.path.join(self.folder.name, name), "wb") as file:
            file.write(content)

    def refused(self, *args, **environment):
        """The one line that an error is."""
        result = run(*args, **environment)
        self.assertEqual(result.returncode, 1, result.stdout)
        self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
        return result.stderr.strip()

    def test_refuses_a_folder_that_is_not_there(self):
        self.assertEqual(self.refused("--mnist", "/no/such/folder"),
                         "doorbell: /no/such/folder: there is no such folder")

    def test_names_what_a_folder_lacks(self):
        os.remove(os.path.join(self.folder.name, NAMES[0]))
        os.remove(os.path.join(self.folder.name, NAMES[3]))
        self.assertEqual(
            self.refused("--mnist", self.folder.name),
            f"doorbell: {self.folder.name}: not a folder of MNIST files, it lacks {NAMES[0]}, {NAMES[3]} (or .gz)")

    def test_refuses_a_device_twice(self):
        self.assertEqual(self.refused("--devices", "CPU,CPU", "--steps", "1"), "doorbell: device CPU is named twice")

    def test_refuses_damaged_files_with_path_and_offset(self):
        path = os.path.join(self.folder.name, NAMES[0])
        for content in (images(4)[:100], b"PK\x03\x04" + bytes(100), gzip.compress(images(4))[:-9]):
            self.write(NAMES[0], content)
            message = self.refused("--mnist", self.folder.name)
            self.assertIn(path + ": ", message)
            self.assertRegex(message, r"byte \d+")

    def test_refuses_what_does_not_fit_together(self):
        self.write(NAMES[1], labels([1, 2]))
        self.assertIn("expected u8 labels of 4 images", self.refused("--mnist", self.folder.name))
        self.write(NAMES[1], labels([1, 2, 3, 10]))
        self.assertIn("label 3 is 10, expected 0 to 9", self.refused("--mnist", self.folder.name))

    def test_refuses_a_batch_larger_than_the_set(self):
        self.assertIn("a batch of 5 digits out of 4", self.refused("--mnist", self.folder.name, "--batch", "5"))

    def test_refuses_a_device_that_runs_nothing(self):
        self.assertEqual(self.refused("--device", "NULL"),
                         "doorbell: NULL compiles and runs nothing, so nothing can be learnt")

    def test_learns_the_same_from_the_same_seed(self):
        def outcome(seed):
            result = run("--steps", "6", "--batch", "16", "--seed", str(seed))
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertRegex(result.stdout, r"\d+ kernels per step, [\d.]+ GFLOPS")
            self.assertRegex(result.stderr, r"epoch 1/1  step +6/6 ")
            return re.search(r"loss ([\d.]+): (\d+) of 2000", result.stdout).groups()
        first = outcome(3)
        self.assertEqual(first, outcome(3))
        self.assertNotEqual(first, outcome(4))
        # Six steps of sixteen digits are enough to be better than a guess, which is 200.
        self.assertGreater(int(first[1]), 240)


unittest.main()
