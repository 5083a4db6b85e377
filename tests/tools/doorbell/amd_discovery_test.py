"""Runs `doorbell amd discovery` as a user does, on emulated GPUs and on a table from elsewhere.

usage: amd_discovery_test.py PATH_OF_DOORBELL SOURCE_ROOT
"""

import json
import os
import subprocess
import sys
import unittest

TOOL, ROOT = (os.path.abspath(path) for path in sys.argv[1:3])
del sys.argv[1:3]
TABLES = os.path.join(ROOT, "tests/fuzz/corpus/amd_discovery")


def run(*arguments):
    return subprocess.run([TOOL, "amd", "discovery", *arguments], capture_output=True, text=True, timeout=120,
                          env=dict(os.environ, EMU_GPU="gfx1100,gfx1100"))


class Discovery(unittest.TestCase):
    def test_emulated_gpus_describe_themselves(self):
        done = run("--device", "EMUPCI+AMD", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        gpus = json.loads(done.stdout)
        self.assertEqual([gpu["address"] for gpu in gpus], ["0000:03:00.0", "0000:04:00.0"])
        self.assertEqual(gpus[0]["memory_bytes"], 24560 << 20)
        self.assertEqual(gpus[0]["shown_bytes"], 24560 << 20)
        self.assertEqual(gpus[0]["engines"] * gpus[0]["arrays_per_engine"] * gpus[0]["compute_units_per_array"], 96)
        versions = {block["name"]: block["version"] for block in gpus[0]["blocks"]}
        self.assertEqual(versions["GC"], "11.0.0")
        self.assertEqual(versions["SDMA0"], "6.0.0")

    def test_a_table_from_a_file_is_printed(self):
        done = run("--file", os.path.join(TABLES, "two_dies"))
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = done.stdout.splitlines()
        self.assertEqual(lines[0], "4 shader engines of 1 arrays of 10 compute units, waves of 64, 8 on a SIMD")
        self.assertEqual(lines[2].split(), "GC 9.4.3 die 0 instance 1, fused off; 0x200002000 0xa000".split())
        self.assertEqual(len(lines), 5)

    def test_mistakes_are_named(self):
        self.assertIn("where its discovery table begins", run("--file", TOOL).stderr)
        done = run("--device", "KFD+AMD")
        self.assertEqual(done.returncode, 1)
        self.assertIn("expected PCI+AMD, USB+AMD, EMUPCI+AMD or EMUUSB+AMD", done.stderr)


if __name__ == "__main__":
    unittest.main()
