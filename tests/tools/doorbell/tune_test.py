"""Runs `doorbell tune` and `doorbell explain` as a user does, with caches of their own.

usage: tune_test.py PATH_OF_DOORBELL PATH_OF_HELLO
"""
import os
import subprocess
import sys
import tempfile
import unittest

HELLO = os.path.abspath(sys.argv.pop(2))
TOOL = os.path.abspath(sys.argv.pop(1))


def run(folder, *arguments, **settings):
    clean = {k: v for k, v in os.environ.items() if k not in ("DEBUG", "PROFILE", "GRAPH_FILE", "BEAM", "CACHELEVEL")}
    return subprocess.run([TOOL, *arguments], env={**clean, "DEV": "CPU", "CACHEDIR": folder, **settings}, text=True,
                          capture_output=True, check=False, cwd=folder)


class Tune(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.first = run(cls.folder.name, "tune", "--beam", "1", "--export", "hello.plans", "--", HELLO)
        with open(os.path.join(cls.folder.name, "hello.plans"), encoding="utf-8") as file:
            cls.plans = file.read()

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_runs_the_program_and_lists_plans(self):
        self.assertEqual(self.first.returncode, 0, self.first.stderr)
        self.assertIn("tensor(17.)", self.first.stdout)
        self.assertIn("kernel and plan", self.first.stdout)
        again = run(self.folder.name, "tune", "--list")
        kernels = self.plans.count("\n") - 1
        self.assertGreaterEqual(kernels, 1)
        self.assertGreaterEqual(again.stdout.count("\n"), kernels + 1, again.stdout)

    def test_exports_a_line_for_each_kernel(self):
        lines = self.plans.splitlines()
        self.assertEqual(lines[0], "doorbell plans 1")
        for line in lines[1:]:
            key, ns, heuristic_ns, _plan, kernel, target = line.split("\t")
            self.assertEqual(len(key), 32)
            self.assertGreater(float(ns), 0)
            self.assertLessEqual(float(ns), float(heuristic_ns))
            self.assertTrue(kernel and target)

    def test_imports_what_another_cache_exported(self):
        with tempfile.TemporaryDirectory() as other:
            path = os.path.join(self.folder.name, "hello.plans")
            done = run(other, "tune", "--import", path, "--list")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn(f"{len(self.plans.splitlines()) - 1} plans from {path}", done.stdout)
            self.assertIn("tensor(17.)", subprocess.run([HELLO], env={**os.environ, "DEV": "CPU", "CACHEDIR": other},
                                                        capture_output=True, text=True, check=True).stdout)

    def test_refuses_what_is_no_file_of_plans(self):
        done = run(self.folder.name, "tune", "--import", TOOL + ".missing")
        self.assertNotEqual(done.returncode, 0)
        with open(os.path.join(self.folder.name, "bad"), "w", encoding="utf-8") as file:
            file.write("plans\n")
        done = run(self.folder.name, "tune", "--import", "bad")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("the first line is 'plans', expected 'doorbell plans 1'", done.stderr)

    def test_plans_that_do_not_fit_are_passed_over(self):
        lines = self.plans.splitlines()
        spoilt = [lines[0]]
        for line in lines[1:]:
            words = line.split("\t")
            words[3] = "VECTOR(40,4) UPCAST(41,3)"
            spoilt.append("\t".join(words))
        with tempfile.TemporaryDirectory() as other:
            with open(os.path.join(other, "spoilt"), "w", encoding="utf-8") as file:
                file.write("\n".join(spoilt) + "\n")
            self.assertEqual(run(other, "tune", "--import", "spoilt").returncode, 0)
            done = subprocess.run([HELLO], env={**os.environ, "DEV": "CPU", "CACHEDIR": other}, capture_output=True,
                                  text=True, check=True)
            self.assertIn("tensor(17.)", done.stdout)


class Explain(unittest.TestCase):
    def test_shows_a_kernel_and_writes_a_page(self):
        with tempfile.TemporaryDirectory() as folder:
            done = run(folder, "explain", "--output", "page.html", "--", HELLO)
            self.assertEqual(done.returncode, 0, done.stderr)
            for word in ("tensor(17.)", "plan ", "GFLOPS", "CPU", os.path.join(folder, "page.html")):
                self.assertIn(word, done.stdout)
            with open(os.path.join(folder, "page.html"), encoding="utf-8") as file:
                page = file.read()
            for part in ("Loop nest", "Source", "Machine code"):
                self.assertIn(f"<h2>{part}</h2>", page)
            self.assertNotRegex(page, r'(src|href)="(https?:)?//')
            self.assertEqual(sorted(name for name in os.listdir(folder) if name.endswith("graphs")), [])

    def test_names_a_kernel_that_there_is_not(self):
        with tempfile.TemporaryDirectory() as folder:
            done = run(folder, "explain", "--kernel", "no_such_kernel", "--", HELLO)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn("no kernel of the program is called 'no_such_kernel'", done.stderr)


class Devices(unittest.TestCase):
    def test_prints_what_is_known_of_the_processor(self):
        with tempfile.TemporaryDirectory() as folder:
            done = run(folder, "devices", "--verbose")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("this machine", done.stdout)
            self.assertRegex(done.stdout, r"\d+ cores?, \d+ hardware threads?|lists no processors")


if __name__ == "__main__":
    unittest.main()
