"""Runs `doorbell trace` as a user does, on a program that asks a file which is no GPU.

usage: trace_test.py PATH_OF_DOORBELL
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest

TOOL = sys.argv.pop(1)

# GET_VERSION, as include/uapi/linux/kfd_ioctl.h numbers it; the terminal's window size; the keyboard's type.
CLIENT = """
import fcntl, os, sys
null = os.open("/dev/null", os.O_RDWR)
for request in (0x80084B01, 0x5413, 0x4B33):
    try:
        fcntl.ioctl(null, request, bytearray(8))
    except OSError as error:
        print(error.errno)
sys.exit(3)
"""


def run(*args):
    return subprocess.run([TOOL, "trace", *args], capture_output=True, text=True)


class Trace(unittest.TestCase):
    def test_lines_on_standard_error_and_the_programs_own_end(self):
        result = run("--", sys.executable, "-c", CLIENT)
        self.assertEqual(result.returncode, 3, result.stderr)
        self.assertEqual(result.stdout.split(), ["25", "25", "25"])  # ENOTTY reaches the program
        self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
        self.assertIn("ioctl", result.stderr)
        self.assertIn("GET_VERSION major_version=0 minor_version=0 -> -25 (", result.stderr)

    def test_json_into_a_file(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "lines")
            result = run("--json", "-o", path, "--", sys.executable, "-c", CLIENT)
            self.assertEqual(result.stderr, "")
            with open(path, encoding="utf-8") as file:
                lines = [json.loads(line) for line in file]
        self.assertEqual(len(lines), 1)
        self.assertEqual(lines[0]["kind"], "ioctl")
        self.assertEqual(lines[0]["fields"], {"ioctl": "GET_VERSION", "major_version": 0, "minor_version": 0,
                                              "result": -25})

    def test_a_program_that_is_not_there(self):
        result = run("--", "/nowhere")
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("/nowhere", result.stderr)


unittest.main()
