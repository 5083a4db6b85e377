"""Tests of scripts/count_tests.py: nothing that failed, died or never ran may count as passed."""
import json
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "scripts"))
import count_tests  # noqa: E402


def log(result, output=""):
    return json.dumps({"name": "x", "result": result, "stdout": output})


def gtest(announced, *cases):
    lines = [f"[==========] Running {announced} tests from 1 test suite."]
    words = {"ok": "[       OK ]", "failed": "[  FAILED  ]", "skipped": "[  SKIPPED ]"}
    lines += [f"{words[case]} Suite.Case{i} (0 ms)" for i, case in enumerate(cases)]
    return "\n".join(lines)


class CountTest(unittest.TestCase):
    def test_plain_tests_count_as_one(self):
        lines = [log("OK"), log("FAIL"), log("TIMEOUT"), log("ERROR"), log("SKIP"), ""]
        self.assertEqual(count_tests.count(lines), (1, 3, 1))

    def test_cases_of_a_program_count(self):
        self.assertEqual(count_tests.count([log("OK", gtest(3, "ok", "ok", "skipped"))]), (2, 0, 1))

    def test_failures_are_counted_once(self):
        # GoogleTest lists the failed cases again at the end, without a time.
        output = gtest(2, "ok", "failed") + "\n[  FAILED  ] Suite.Case1\n 1 FAILED TEST"
        self.assertEqual(count_tests.count([log("FAIL", output)]), (1, 1, 0))

    def test_a_program_that_dies_loses_what_it_never_ran(self):
        self.assertEqual(count_tests.count([log("FAIL", gtest(10, "ok", "ok"))]), (2, 8, 0))
        self.assertEqual(count_tests.count([log("TIMEOUT", gtest(1))]), (0, 1, 0))

    def test_a_program_that_fails_after_its_cases(self):
        self.assertEqual(count_tests.count([log("FAIL", gtest(1, "ok"))]), (1, 1, 0))

    def test_cases_of_pytest_count(self):
        framed = "FAILED test_x.py::test_y\n===== 2 failed, 12 passed, 3 skipped, 1 error in 1.20s (0:00:01) ====="
        self.assertEqual(count_tests.count([log("FAIL", framed)]), (12, 3, 3))
        self.assertEqual(count_tests.count([log("OK", "....\n4 passed, 1 warning in 0.02s\n")]), (4, 0, 0))
        # Something after the last test went wrong.
        self.assertEqual(count_tests.count([log("FAIL", "4 passed in 0.02s")]), (4, 1, 0))
        # It died before the end: there is no count.
        self.assertEqual(count_tests.count([log("FAIL", "....")]), (0, 1, 0))

    def test_failures_are_named(self):
        program = log("FAIL", gtest(3, "ok", "failed", "failed"))
        module = log("FAIL", "FAILED test_x.py::test_y - AssertionError\n1 failed in 1.20s")
        lines = [log("OK", gtest(1, "ok")), program, log("SKIP"), log("TIMEOUT"), module]
        self.assertEqual(count_tests.failures(lines),
                         ["x FAIL Suite.Case1 Suite.Case2", "x TIMEOUT", "x FAIL test_x.py::test_y"])


if __name__ == "__main__":
    unittest.main()
