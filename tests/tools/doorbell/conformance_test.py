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

    def test_two_runs_hold_the_same_bits(self):
        with tempfile.TemporaryDirectory() as folder:
            one, other = (os.path.join(folder, name) for name in ("one", "other"))
            for path in (one, other):
                result = run("--device", "CPU", "--filter", "^elementwise/f32/odd/", "--outputs", path)
                self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
            with open(one, encoding="utf-8") as file:
                lines = [json.loads(line) for line in file]
            self.assertEqual((lines[0]["device"], lines[0]["seed"]), ("CPU", 1))
            held = {line["case"]: line for line in lines[1:] if line["what"] == "value"}
            self.assertEqual(held["elementwise/f32/odd/exp"]["approximate"], "Exp2")
            self.assertNotIn("approximate", held["elementwise/f32/odd/square"])
            result = run("--compare", one, other)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertIn(f"{len(lines) - 1} tensors compared: 0 of exact arithmetic differ", result.stdout)
            # The last bit of the first element of a product, and of an exponential.
            for case, count, status in (("exp", "approximate", 0), ("square", "exact", 1)):
                self.change_first_bit(other, "elementwise/f32/odd/" + case)
                result = run("--compare", one, other, "--json")
                report = json.loads(result.stdout)
                self.assertEqual((result.returncode, report[count]), (status, 1), report)
            self.assertEqual(report["first"]["device"], "CPU")
            found, = [one for one in report["differences"] if one["kind"] == "exact"]
            self.assertTrue(found["name"].startswith("elementwise/f32/odd/square "), found)
            self.assertEqual((found["differ"], found["most_ulps"], found["dtype"]), (1, 1, "f32"))
            self.assertIn(", 1 ulps", found["first"])

    def change_first_bit(self, path, case):
        with open(path, encoding="utf-8") as file:
            lines = file.read().splitlines()
        at, = [i for i, line in enumerate(lines[1:], 1) if json.loads(line)["case"] == case
               and json.loads(line)["what"] == "value"]
        line = json.loads(lines[at])
        line["bytes"] = "%02x" % (int(line["bytes"][:2], 16) ^ 1) + line["bytes"][2:]
        lines[at] = json.dumps(line)
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")

    def test_what_is_no_record_is_refused(self):
        with tempfile.NamedTemporaryFile("w") as file:
            result = run("--compare", file.name, file.name)
            self.assertIn(f"{file.name} is empty, expected a record", result.stderr)
        self.assertIn("/nowhere", run("--compare", "/nowhere", "/nowhere").stderr)

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
