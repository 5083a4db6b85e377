"""Runs `doorbell emu --races` as a user does, on a client of the kernel's interface.

usage: races_test.py PATH_OF_DOORBELL
"""

import unittest

from kfd_client import CLIENT, COMPUTE, QUEUE, EmulatedCase

# v_mov_b32 v1, 0; ds_store_b32 v1, v0; s_endpgm, by two waves of a group with 512 bytes of LDS. [RDNA3 ISA, VOP1, DS,
# SOPP; COMPUTE_PGM_RSRC2.LDS_SIZE in LLVM AMDGPUUsage]
PROGRAM = (CLIENT + QUEUE + COMPUTE + "code[0:16] = struct.pack('4I', 0x7e020280, 0xd8340000, 0x00000001, 0xbfb00000)\n"
           "dispatch[2] = 64\ndispatch[dispatch.index(0x600f0000) + 1] |= 1 << 15\nprint(hex(code_va))\n"
           "run(dispatch)")


class Races(EmulatedCase):
    def test_a_race_is_an_error_where_it_is_asked_for(self):
        done = self.python(PROGRAM, "--check", "error")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        done = self.python(PROGRAM, "--races")
        self.assertEqual(done.returncode, 1)
        address = next(line for line in done.stdout.splitlines() if line.startswith("0x7e00"))
        self.assertIn(f"error AMD-RACE-001: the kernel at {address}, group 0,0,0, wave 1, pc {int(address, 16) + 4:#x}"
                      ", lane 0: ", done.stderr)
        self.assertIn("writes LDS at 0x0, which wave 0 wrote by ", done.stderr)

    def test_a_level_of_check_goes_before(self):
        done = self.python(PROGRAM, "--races", "--check", "error,AMD-RACE=warn")
        self.assertEqual(done.returncode, 0)
        self.assertIn("warn AMD-RACE-001: ", done.stderr)

    def test_counts_and_races_do_not_fit(self):
        self.assertIn("AMD-RACE=off", self.python(PROGRAM, "--races", "--count").stderr)
        done = self.emu("--gpu", "sm_86", "--races", "--", "true")
        self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    unittest.main()
