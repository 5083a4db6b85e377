"""Runs `doorbell profile` as a user does: the summary, the file, statuses, and programs that write nothing.

usage: profile_test.py PATH_OF_DOORBELL PATH_OF_HELLO
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

HELLO = os.path.abspath(sys.argv.pop(2))
TOOL = os.path.abspath(sys.argv.pop(1))


class Profile(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = os.path.join(self.folder.name, "out.json")

    def tearDown(self):
        self.folder.cleanup()

    def run_program(self, *command, **environment):
        clean = {k: v for k, v in os.environ.items() if k not in ("DEV", "DEBUG", "CPU_THREADS", "PROFILE")}
        return subprocess.run(command, env={**clean, **environment}, capture_output=True, text=True,
                              cwd=self.folder.name)

    def profile(self, *command):
        return self.run_program(TOOL, "profile", "--output", self.path, "--", *command)

    def check_trace(self, path):
        with open(path) as file:
            events = json.load(file)["traceEvents"]
        spans = [event for event in events if event["ph"] == "X"]
        names = {event["pid"]: event["args"]["name"] for event in events if event["name"] == "process_name"}
        kernels = [span for span in spans if span["cat"] == "kernel"]
        # y = sum(x * x + 1) and the gradient of x.
        self.assertGreaterEqual(len(kernels), 2)
        self.assertEqual({names[span["pid"]] for span in kernels}, {"CPU"})
        for category in ("schedule", "compile"):
            hosts = {names[span["pid"]] for span in spans if span["cat"] == category}
            self.assertEqual(hosts, {"host"}, category)
        return kernels

    def test_shows_what_the_trace_holds(self):
        result = self.profile(HELLO)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("tensor(17.)", result.stdout)
        self.assertIn(f"trace: {self.path}", result.stdout)
        kernels = self.check_trace(self.path)
        for name in {kernel["name"] for kernel in kernels}:
            count = sum(kernel["name"] == name for kernel in kernels)
            self.assertRegex(result.stdout, rf"(?m)^CPU +{re.escape(name)} +{count} ")

    def test_the_variable_alone_writes_it_too(self):
        result = self.run_program(HELLO, PROFILE="1")
        self.assertEqual(result.returncode, 0, result.stderr)
        (name,) = os.listdir(self.folder.name)
        self.assertRegex(name, r"^doorbell-\d+\.trace\.json$")
        self.assertIn(os.path.join(self.folder.name, name), result.stderr)
        self.check_trace(os.path.join(self.folder.name, name))

    def test_a_status_passes_through(self):
        self.assertEqual(self.profile("sh", "-c", f"{HELLO} && exit 7").returncode, 7)
        self.assertTrue(os.path.exists(self.path))

    def test_a_program_without_a_trace(self):
        result = self.profile("true")
        self.assertEqual(result.returncode, 1)
        self.assertIn("wrote no trace", result.stderr)
        self.assertEqual(self.profile("sh", "-c", "kill -9 $$").returncode, 137)

    def test_a_program_that_is_not_there(self):
        result = self.profile("no-such-program")
        self.assertEqual(result.returncode, 1)
        self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
        self.assertIn("no-such-program", result.stderr)


unittest.main()
