"""Runs `doorbell conformance` as a backend author does: listing, filtering, JSON, the last line, and bad requests.

usage: conformance_test.py PATH_OF_DOORBELL
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest

TOOL = sys.argv.pop(1)
FEW = "^cast/i8/"


def run(*args):
    clean = {k: v for k, v in os.environ.items() if k not in ("DEV", "DEBUG", "CPU_THREADS")}
    return subprocess.run([TOOL, "conformance", *args], env=clean, capture_output=True, text=True)


class Conformance(unittest.TestCase):
    def test_list_names_cases_and_runs_none(self):
        names = run("--list", "--filter", FEW).stdout.split()
        self.assertIn("cast/i8/bf16", names)
        self.assertTrue(all(name.startswith("cast/i8/") for name in names), names)

    def test_last_line_counts(self):
        count = len(run("--list", "--filter", FEW).stdout.split())
        result = run("--device", "CPU", "--filter", FEW)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertEqual(result.stdout.splitlines()[-1], f"{count} passed, 0 failed, 0 skipped")

    def test_json(self):
        result = run("--device", "NULL", "--filter", FEW, "--json", "--seed", "9")
        report = json.loads(result.stdout)
        self.assertEqual((report["device"], report["runs"], report["seed"]), ("NULL", False, 9))
        self.assertEqual(report["failed"], 0)
        self.assertEqual(report["groups"]["cast"]["passed"], report["passed"])

    def test_a_device_that_runs_nothing_says_so(self):
        last = run("--device", "NULL", "--filter", FEW).stdout.splitlines()[-1]
        self.assertTrue(last.endswith("(planned and compiled only)"), last)

    def test_exceptions_are_skipped_with_their_reason(self):
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
            file.write("# why\n^cast/i8/bf16$  a reason\n")
            file.flush()
            last = run("--device", "CPU", "--filter", FEW, "--except", file.name).stdout.splitlines()[-1]
            self.assertTrue(last.endswith(" passed, 0 failed, 1 skipped: 1 a reason"), last)
            file.write("^no/such/case$  a reason\n")
            file.flush()
            self.assertIn(f"{file.name}:3: no case has", run("--list", "--except", file.name).stderr)

    def test_bad_requests_are_one_line(self):
        for args, message in (
            (("--filter", "("), "'(' is no regular expression"),
            (("--filter", "no such case"), "no case has 'no such case' in its name"),
            (("--device", "CUP", "--filter", FEW), "did you mean CPU?"),
        ):
            result = run(*args)
            self.assertEqual(result.returncode, 1)
            self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
            self.assertIn(message, result.stderr)


unittest.main()
