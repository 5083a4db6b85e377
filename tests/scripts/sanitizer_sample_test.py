"""Tests of scripts/sanitizer_sample.py: the seeds reach every test that runs what a sanitizer can watch.

usage: sanitizer_sample_test.py BUILD_FOLDER
"""
import fnmatch
import json
import os
import subprocess
import sys
import unittest

SCRIPTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "scripts")
sys.path.insert(0, SCRIPTS)
sys.dont_write_bytecode = True
import sanitizer_sample  # noqa: E402

BUILD = sys.argv.pop(1)
# They run nothing of a build with sanitizers: scripts, sources, headers, builds of their own; GPUs of the machine.
OTHERS = ["every gradient has its edges tested", "tidy", "tidy-test", "format", "packaged_headers", "setup",
          "changed_options", "count_tests", "make_saved_waves", "share", "sanitizer_sample", "hw", "install",
          "reference", "reference_missing", "public_headers", "python_wheel", "sources compile for macOS"]
SEEDS = range(4000)


def reached(sanitizer, names):
    return {name for seed in SEEDS for name in sanitizer_sample.chosen(sanitizer, seed, names)[1]}


class SanitizerSample(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with open(os.path.join(BUILD, "meson-info", "intro-tests.json"), encoding="utf-8") as file:
            tests = {test["name"]: test["suite"] for test in json.load(file)}
        # Sanitizers build without benchmarks.
        cls.tests = {name: suites for name, suites in tests.items() if not any(s.endswith(":bench") for s in suites)}

    def test_every_test_is_in_a_sample(self):
        self.assertEqual(set(self.tests) - reached("address", list(self.tests)) - set(OTHERS), set())

    def test_every_test_with_threads_is_in_a_sample(self):
        threads = {name for name, suites in self.tests.items() if any(s.endswith(":threads") for s in suites)}
        self.assertEqual(threads - reached("thread", list(self.tests)), set())

    def test_patterns_name_tests(self):
        for samples in sanitizer_sample.SAMPLES.values():
            for _, always, one_of in samples.values():
                for pattern in [*always, *one_of]:
                    if pattern.startswith("python") and "python" not in self.tests:
                        continue
                    self.assertTrue(fnmatch.filter(self.tests, pattern), pattern)

    def test_the_folder_is_the_tests(self):
        for sanitizer in sanitizer_sample.SAMPLES:
            for seed in range(50):
                folders, run = sanitizer_sample.chosen(sanitizer, seed, list(self.tests))
                self.assertEqual(folders, sanitizer_sample.chosen(sanitizer, seed, [])[0])
                self.assertTrue(run, (sanitizer, seed))

    def test_all_parts_run_every_test(self):
        def of_parts(sanitizer):
            return {name for part in sanitizer_sample.SAMPLES[sanitizer]
                    for name in sanitizer_sample.whole(sanitizer, part, list(self.tests))[1]}
        for sanitizer in sanitizer_sample.SAMPLES:
            self.assertEqual(of_parts(sanitizer), reached(sanitizer, list(self.tests)))
        parts = self.run_script("thread").split()
        self.assertEqual(parts, list(sanitizer_sample.SAMPLES["thread"]))
        self.assertEqual(self.run_script("thread", "core"), "base,core,tests/core\n")
        self.assertIn("core\n", self.run_script("thread", "core", BUILD))
        with self.assertRaises(subprocess.CalledProcessError) as refused:
            self.run_script("thread", "cores")
        self.assertIn("no part of the thread sanitizer is named cores", refused.exception.stderr)

    def run_script(self, *arguments):
        script = os.path.join(SCRIPTS, "sanitizer_sample.py")
        return subprocess.run([sys.executable, script, *arguments], check=True, capture_output=True, text=True).stdout

    def test_a_seed_is_a_choice(self):
        run = self.run_script
        folders = {run("address", str(seed)) for seed in range(8)}
        self.assertGreater(len(folders), 2)
        names = run("thread", "5", BUILD)
        self.assertEqual(names, run("thread", "5", BUILD))
        self.assertLessEqual(set(names.split("\n")[:-1]), set(self.tests))


if __name__ == "__main__":
    unittest.main()
