"""Records and numbers of drivers/*/hw against the headers that distributions package, of what is installed.

usage: packaged_headers_test.py [--include FOLDER]... COMPILER...
where FOLDER has headers of another version, say of another distribution.
"""
import argparse
import glob
import os
import re
import sys
import tempfile
import unittest

import amd
import nv
from compare import ROOT, Comparison, compile_text, complaints, left_out


class PackagedHeaders(unittest.TestCase):
    """A test for each header; what cannot be compared is printed by name."""

    def compare(self, group):
        self.assertEqual(left_out(group), [], f"{group.ours} have more than is compared with {group.header}")
        if group.folder() is None:
            self.skipTest(f"{group.package} is not installed, so {group.header} is not compared with: " + ", ".join(
                record.ours for record in group.records + group.bits))
        comparison = Comparison(group, COMPILER)
        self.assertEqual(comparison.broken(), [])
        for name, why in comparison.skipped.items():
            print(f"{group.header}: {name} is not compared: {why}")

    def check_that_a_difference_shows(self, group):
        if group.folder() is None:
            self.skipTest(f"{group.package} is not installed")
        header = group.wrong_header or group.header
        with open(os.path.join(group.folder(), header), encoding="utf-8") as file:
            text = file.read()
        for pattern, replacement, _ in group.wrong:
            text, count = re.subn(pattern, replacement, text)
            self.assertGreater(count, 0, pattern)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, header)
            os.makedirs(os.path.dirname(path))
            for other in glob.glob(os.path.join(group.folder(), os.path.dirname(header), "*.h")):
                os.symlink(other, os.path.join(os.path.dirname(path), os.path.basename(other)))
            if os.path.islink(path):
                os.remove(path)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            broken = "\n".join(Comparison(group, COMPILER, [folder]).broken())
        for _, _, name in group.wrong:
            self.assertIn(name, broken)

    def test_sources_of_nvidias_kernel_modules(self):
        sources = nv.Sources(INCLUDED + nv.FOLDERS)
        if sources.folder is None:
            self.skipTest("no sources of NVIDIA's kernel modules from release 570 on are installed, so that records of "
                          f"drivers/nv/hw are not compared with any; seen: {sources.seen}")
        includes = "".join(f"#include <{name}>\n" for name in nv.INCLUDES)
        header = compile_text(COMPILER, includes, [*sources.flags(), "-E", "-dD"]).stdout
        program, lacking = sources.program(set(re.findall(r"\w+", header)))
        print(f"{sources.folder} has no (compared by rm_test.cc only):", ", ".join(lacking))
        compare = lambda text: complaints(compile_text(COMPILER, text, [*sources.flags(), "-fsyntax-only"]).stderr)
        self.assertEqual(compare(program), [])
        wrong = program.replace("sizeof(UVM_FREE_PARAMS) ==", "sizeof(UVM_FREE_PARAMS) + 1 ==")
        wrong = wrong.replace("UVM_FREE ==", "UVM_FREE + 1 ==")
        self.assertEqual(compare(wrong), ["size of UVM_FREE_PARAMS", "UVM_FREE"])

    def test_every_file_is_compared_or_says_why_not(self):
        files = {os.path.relpath(path, ROOT) for vendor in ("amd", "nv")
                 for path in glob.glob(f"{ROOT}/drivers/{vendor}/hw/**/*.h", recursive=True)}
        compared = {path for group in amd.GROUPS for path in group.ours}
        self.assertEqual(files - compared - set(amd.GOLDENS) - set(nv.GOLDENS), set())
        self.assertEqual((set(amd.GOLDENS) | set(nv.GOLDENS)) - files, set())


def add_tests():
    for group in amd.GROUPS:
        name = re.sub(r"\W", "_", group.header)
        setattr(PackagedHeaders, f"test_{name}", lambda self, group=group: self.compare(group))
        setattr(PackagedHeaders, f"test_{name}_would_fail",
                lambda self, group=group: self.check_that_a_difference_shows(group))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--include", action="append", default=[])
    parser.add_argument("compiler", nargs="+")
    arguments = parser.parse_args()
    COMPILER, INCLUDED = arguments.compiler, arguments.include
    for one in amd.GROUPS:
        one.folders = arguments.include + one.folders
    add_tests()
    unittest.main(argv=sys.argv[:1])
