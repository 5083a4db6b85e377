"""Bars of progress: drawn on a terminal, within its width, gone at the end; nothing elsewhere.

usage: progress_test.py PATH_OF_DOORBELL
"""

import os
import pathlib
import re
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
from terminal import COLUMNS, run_on_terminal  # noqa: E402

TOOL = os.path.abspath(sys.argv.pop(1))
LONG = (("bench", "latency", "--device", "NULL", "--only", "enqueue,graph", "--runs", "20", "--seconds", "0.1"),
        ("conformance", "--device", "CPU", "--filter", "^elementwise/bool/empty"),
        ("demo", "--steps", "2", "--batch", "2"))


class Progress(unittest.TestCase):
    def test_a_terminal_gets_a_bar_that_goes(self):
        for arguments in LONG:
            status, output, seen = run_on_terminal([TOOL, *arguments])
            self.assertEqual(status, 0, seen)
            self.assertRegex(seen, r"\r\[[= ]{30}\] \d+/\d+ ", arguments)
            self.assertTrue(seen.endswith("\r\x1b[K"), seen[-40:])
            for drawn in re.split(r"\r", seen):
                self.assertLess(len(drawn.replace("\x1b[K", "")), COLUMNS, drawn)
            self.assertNotIn("\x1b", output)

    def test_elsewhere_there_is_none(self):
        for arguments in LONG[:2]:
            done = subprocess.run([TOOL, *arguments], capture_output=True, text=True, timeout=100)
            self.assertEqual((done.returncode, done.stderr), (0, ""))


if __name__ == "__main__":
    unittest.main()
