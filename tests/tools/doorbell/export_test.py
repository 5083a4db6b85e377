"""Runs `doorbell export` as a user does, and a C program with what it wrote.

usage: export_test.py PATH_OF_DOORBELL PATH_OF_CLASSIFIER PATH_OF_HELLO
"""

import os
import re
import subprocess
import sys
import tempfile
import unittest

HELLO = os.path.abspath(sys.argv.pop(3))
CLASSIFIER = os.path.abspath(sys.argv.pop(2))
TOOL = os.path.abspath(sys.argv.pop(1))

PROGRAM = """
#include <stdio.h>
#include "classify.h"

int main(int argc, char** argv) {
  classify* net = classify_open(argv[argc - 1]);
  if (net == NULL) return fprintf(stderr, "%s\\n", classify_error()), 1;
  const float x[4] = {0.5f, -1, 2, 0.25f};
  float chances[3];
  const int status = classify_run(net, x, chances);
  printf("%.4f %.4f %.4f\\n", chances[0], chances[1], chances[2]);
  classify_close(net);
  return status;
}
"""


class Export(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.root = self.folder.name

    def tearDown(self):
        self.folder.cleanup()

    def run_program(self, *command):
        clean = {k: v for k, v in os.environ.items() if k not in ("DEV", "DEBUG", "EXPORT")}
        return subprocess.run(command, env=clean, capture_output=True, text=True, cwd=self.root)

    def test_a_c_program_gives_what_the_example_printed(self):
        result = self.run_program(TOOL, "export", "--folder", "out", "--", CLASSIFIER)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("exported classify: ", result.stdout)
        out = os.path.join(self.root, "out")
        self.assertEqual(sorted(os.listdir(out)),
                         ["classify.c", "classify.h", "classify.safetensors", "libclassify.a"])
        with open(os.path.join(self.root, "main.c"), "w", encoding="utf-8") as file:
            file.write(PROGRAM)
        built = self.run_program("cc", "-Wall", "-Werror", "-Iout", "main.c", "-Lout", "-lclassify", "-o", "main")
        self.assertEqual(built.returncode, 0, built.stderr)
        ran = self.run_program("./main", "out/classify.safetensors")
        self.assertEqual(ran.returncode, 0, ran.stderr)
        here = [float(number) for number in re.findall(r"\d\.\d+", result.stdout.split("\n")[0])]
        there = [float(number) for number in ran.stdout.split()]
        self.assertEqual(len(there), 3)
        for a, b in zip(here, there, strict=True):
            self.assertAlmostEqual(a, b, delta=1e-4)
        self.assertAlmostEqual(sum(there), 1, delta=1e-3)
        # In another folder the weights are not there.
        missing = self.run_program("./main", "elsewhere")
        self.assertEqual((missing.returncode, missing.stderr), (1, "cannot open 'elsewhere'\n"))

    def test_a_program_without_jit_is_said_to_have_none(self):
        result = self.run_program(TOOL, "export", "--folder", "out", "--", HELLO)
        self.assertEqual(result.returncode, 1)
        self.assertIn("captured no function", result.stderr)

    def test_the_programs_status_is_passed_on(self):
        result = self.run_program(TOOL, "export", "--", "sh", "-c", "exit 7")
        self.assertEqual(result.returncode, 7)

    def test_a_program_that_is_not_there_is_named(self):
        result = self.run_program(TOOL, "export", "--", "./nothing")
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("./nothing", result.stderr)


if __name__ == "__main__":
    unittest.main()
