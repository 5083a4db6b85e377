"""Bars of progress: drawn on a terminal, within its width, gone at the end; nothing elsewhere.

usage: progress_test.py PATH_OF_DOORBELL
"""

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
import unittest

TOOL = os.path.abspath(sys.argv.pop(1))
LONG = (("bench", "latency", "--device", "NULL", "--only", "enqueue,graph", "--runs", "20", "--seconds", "0.1"),
        ("conformance", "--device", "CPU", "--filter", "^elementwise/bool/empty"),
        ("demo", "--steps", "2", "--batch", "2"))


def on_terminal(columns, arguments):
    """Standard output, and what the terminal got as standard error."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    with subprocess.Popen([TOOL, *arguments], stdout=subprocess.PIPE, stderr=theirs) as process:
        os.close(theirs)
        seen = b""
        while True:
            try:
                more = os.read(ours, 4096)
            except OSError:  # the program has ended
                break
            if not more:
                break
            seen += more
        output = process.stdout.read().decode()
    os.close(ours)
    return process.returncode, output, seen.decode()


class Progress(unittest.TestCase):
    def test_a_terminal_gets_a_bar_that_goes(self):
        for arguments in LONG:
            status, output, seen = on_terminal(60, arguments)
            self.assertEqual(status, 0, seen)
            self.assertRegex(seen, r"\r\[[= ]{30}\] \d+/\d+ ", arguments)
            self.assertTrue(seen.endswith("\r\x1b[K"), seen[-40:])
            for drawn in re.split(r"\r", seen):
                self.assertLess(len(drawn.replace("\x1b[K", "")), 60, drawn)
            self.assertNotIn("\x1b", output)

    def test_elsewhere_there_is_none(self):
        for arguments in LONG[:2]:
            done = subprocess.run([TOOL, *arguments], capture_output=True, text=True, timeout=100)
            self.assertEqual((done.returncode, done.stderr), (0, ""))


if __name__ == "__main__":
    unittest.main()
