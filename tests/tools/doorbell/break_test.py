"""Runs `doorbell emu --break` as a user does, on a client of the kernel's interface.

usage: break_test.py PATH_OF_DOORBELL
"""

import os
import unittest

from kfd_client import CLIENT, COMPUTE, QUEUE, EmulatedCase


class Break(EmulatedCase):
    def test_registers_are_told_at_a_breakpoint_and_the_kernel_goes_on(self):
        # s_mov_b32 s5, 0x12345678; v_mov_b32_e32 v3, 0x55; s_endpgm. [RDNA3 ISA, SOP1, VOP1, SOPP]
        words = "0xbe8500ff, 0x12345678, 0x7e0602ff, 0x55, 0xbfb00000"
        program = (CLIENT + QUEUE + COMPUTE + f"code[0:20] = struct.pack('5I', {words})\nprint(hex(code_va))\n"
                   "run(dispatch)")
        address = self.python(program).stdout.splitlines()[-2]
        for options in ((), ("--adversarial", "--seed", "3"), ("--check", "warn,AMD-INI=warn")):
            done = self.python(program, "--break", address + ":8", "--break", "nobody", *options)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(done.stdout.splitlines()[-1], "ended")
            lines = done.stderr.splitlines()
            self.assertRegex(lines[0], f"^breakpoint {address}:8, 1 of 1: the kernel at {address}, gfx1100, "
                             "compute unit [0-9]+ of XCC 0$")
            self.assertEqual(lines[1], "group 0,0,0, wave 0, ready")
            self.assertRegex(lines[2], f"^  pc {int(address, 16) + 8:#x}, exec 0xffffffff, vcc ")
            self.assertRegex(lines[3], r"^  s0    ([0-9a-f]{8} ){5}12345678 ")
            self.assertNotIn("  v3    " + " ".join(["00000055"] * 8), lines, "that comes behind it")
            self.assertIn(f"     {address}: s_mov_b32 s5, 0x12345678", lines)
            self.assertIn(f"  => {int(address, 16) + 8:#x}: v_mov_b32_e32 v3, 0x55", lines)
            self.assertEqual(lines[-1], "doorbell emu: no wave came to breakpoint nobody")
        done = self.python(program, "--break", address, "--break-file", "told")
        self.assertEqual(done.stderr, "")
        with open(os.path.join(self.folder.name, "told"), encoding="utf-8") as file:
            self.assertTrue(file.read().startswith(f"breakpoint {address}, 1 of 1: "))

    def test_a_breakpoint_that_cannot_be_is_told_before_the_program_runs(self):
        for arguments, message in ((("--break", "sum:3"), 'breakpoint "sum:3": "3" is not a number of bytes'),
                                   (("--break", ":4"), 'breakpoint ":4" names no kernel and no address'),
                                   (("--break", "sum", "--break-count", "x"), "--break-count"),
                                   (("--break-file", "told"), "need a --break")):
            done = self.python("print('ran')", *arguments)
            self.assertEqual((done.returncode, done.stdout), (1, ""), done.stderr)
            self.assertIn(message, done.stderr)


if __name__ == "__main__":
    unittest.main()
