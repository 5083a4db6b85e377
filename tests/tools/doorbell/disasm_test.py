"""Runs `doorbell disasm` as a user does, on an object that LLVM's llc made: data/add_one_gfx1100.ll with -mcpu=gfx1100
-O2 -filetype=obj. Expected: llc's assembly of the same, and llvm-objdump.

usage: disasm_test.py PATH_OF_DOORBELL
"""

import os
import subprocess
import sys
import unittest

TOOL = sys.argv.pop(1)
OBJECT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data", "add_one_gfx1100.o")
CODE = ["s_load_b64 s[0:1], s[0:1], null", "v_lshlrev_b32_e32 v0, 2, v0", "s_waitcnt lgkmcnt(0)",
        "global_load_b32 v1, v0, s[0:1]", "s_waitcnt vmcnt(0)", "v_add_f32_e32 v1, 1.0, v1",
        "global_store_b32 v0, v1, s[0:1]", "s_endpgm"]


def run(*args):
    return subprocess.run([TOOL, "disasm", *args], capture_output=True, text=True)


class Disasm(unittest.TestCase):
    def test_kernels_and_code(self):
        result = run(OBJECT)
        if "LLVM" in result.stderr:
            self.skipTest("built without LLVM: " + result.stderr.strip())
        self.assertEqual(result.returncode, 0, result.stderr)
        chip, descriptor, *code = result.stdout.splitlines()
        self.assertEqual(chip, "# gfx1100")
        words = descriptor.split()
        self.assertEqual(words[0], "add_one.kd")
        for word in ("group_segment_fixed_size=0", "private_segment_fixed_size=0", "kernarg_size=8",
                     "enable_sgpr_kernarg_segment_ptr", "enable_wavefront_size32", ".float_mode=0xf0", ".ieee_mode",
                     ".dx10_clamp", ".user_sgpr=0xd", ".tgid_x_en", ".mem_ordered", ".fwd_progress", ".wgp_mode",
                     ".tidig_comp_cnt=0", ".inst_pref_size=1"):
            self.assertIn(word, words)
        self.assertNotIn("enable_sgpr_dispatch_ptr", words)
        self.assertEqual([line.split(":", 1)[1].strip().replace("\t", " ") for line in code], CODE)

    def test_what_is_no_object(self):
        for args, message in ((("/nowhere",), "/nowhere"), ((os.path.abspath(__file__),), "ELF"),
                              ((sys.executable, "--gpu", "gfx1100"), "not for AMD's GPUs")):
            result = run(*args)
            self.assertEqual(result.returncode, 1, args)
            self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
            self.assertIn(message, result.stderr)


unittest.main()
