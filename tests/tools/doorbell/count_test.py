"""Runs `doorbell emu --count` as a user does, on a client of the kernel's interface.

usage: count_test.py PATH_OF_DOORBELL
"""

import json
import unittest

from kfd_client import CLIENT, COMPUTE, QUEUE, EmulatedCase

# s_mov_b32 s5, 0x12345678; v_mov_b32_e32 v3, 0x55; s_endpgm. [RDNA3 ISA, SOP1, VOP1, SOPP]
WORDS = "0xbe8500ff, 0x12345678, 0x7e0602ff, 0x55, 0xbfb00000"
PROGRAM = (CLIENT + QUEUE + COMPUTE + f"code[0:20] = struct.pack('5I', {WORDS})\nprint(hex(code_va))\n"
           "run(dispatch)")


class Count(EmulatedCase):
    def test_a_table_of_kernels(self):
        done = self.python(PROGRAM, "--count")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        lines = done.stdout.splitlines()
        address = next(line for line in lines if line.startswith("0x"))
        title = lines.index("what kernels executed")
        self.assertEqual(lines[title + 2].split(), ["kernel", "launches", "vector", "scalar", "branch"])
        self.assertEqual(lines[title + 4].split(), ["kernel", "at", address, "1", "1", "1", "1"])

    def test_counts_as_json(self):
        done = self.python(PROGRAM, "--count", "--json")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        rows = json.loads(done.stdout[done.stdout.index("{\n"):])["rows"]
        self.assertEqual(len(rows), 1)
        row = rows[0]
        self.assertTrue(row.pop("kernel").startswith("kernel at 0x"))
        self.assertEqual({name for name, value in row.items() if value}, {"launches", "vector", "scalar", "branch"})
        self.assertIn("bank conflicts", row)

    def test_nothing_is_counted_without_kernels(self):
        done = self.emu("--count", "--", "true")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(done.stdout.splitlines()[0], "what kernels executed")

    def test_options_that_do_not_fit(self):
        done = self.emu("--json", "--", "true")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("--json needs --count", done.stderr)
        done = self.python(PROGRAM, "--count", "--check", "warn,AMD-INI=warn")
        self.assertIn("set AMD-INI=off", done.stderr)


if __name__ == "__main__":
    unittest.main()
