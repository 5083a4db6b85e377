"""The program that scripts/demo builds: it learns, and says which program has the emulator.

usage: demo_program_test.py PATH_OF_DOORBELL_DEMO
"""
import os
import subprocess
import sys
import unittest

PROGRAM = sys.argv.pop(1)


def run(*args):
    clean = {k: v for k, v in os.environ.items() if k not in ("DEV", "DEBUG", "CPU_THREADS")}
    return subprocess.run([PROGRAM, "demo", *args], env=clean, capture_output=True, text=True, check=False)


class DemoProgram(unittest.TestCase):
    def test_learns(self):
        result = run("--steps", "2")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stdout, r"epoch 1, loss [\d.]+: \d+ of 2000 held-out digits right")

    def test_names_the_program_with_the_emulator(self):
        result = run("--steps", "1", "--device", "EMUKFD+AMD:LLVM")
        self.assertEqual(result.returncode, 1, result.stdout)
        self.assertIn("this program is built without the emulator; the program doorbell has it", result.stderr)


if __name__ == "__main__":
    unittest.main()
