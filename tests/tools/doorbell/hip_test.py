"""ROCr and HIP of ROCm 6 on emulated GPUs, all rules at error: rocminfo, and a program (hip_client.py).

usage: hip_test.py PATH_OF_DOORBELL, where HIP 6 is installed, or unpacked in DOORBELL_ROCM_ROOT (scripts/rocm-root)
"""

import glob
import os
import shutil
import subprocess
import sys
import unittest

from kfd_client import EmulatedCase

ROOT = os.environ.get("DOORBELL_ROCM_ROOT")
CLIENT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "hip_client.py")
LIBRARY = "libamdhip64.so.6"
COUNTED = 5 + 7 * 100 + 10_000 * 64 + 7 * 100  # by hip_client.py


def installed():
    cache = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=False).stdout
    return LIBRARY in cache and shutil.which("rocminfo") is not None


def command(program, *arguments):
    """Of an unpacked distribution, by its own loader and libraries."""
    if not ROOT:
        return [program, *arguments]
    libraries = os.path.join(ROOT, "usr/lib/x86_64-linux-gnu")
    compiler = glob.glob(os.path.join(ROOT, "usr/lib/llvm-*/lib"))
    (found,) = glob.glob(os.path.join(ROOT, "usr/bin", program))
    return [os.path.join(libraries, "ld-linux-x86-64.so.2"), "--library-path", ":".join([libraries, *compiler]), found,
            *arguments]


@unittest.skipUnless(ROOT or installed(), "no HIP of ROCm 6 here: neither installed nor in DOORBELL_ROCM_ROOT")
class Hip(EmulatedCase):
    def run_hip(self, gpus, chip, *options):
        python = "python3.[0-9]*[0-9]" if ROOT else sys.executable
        done = self.emu("--gpu", gpus, "--check", "error", *options, "--", *command(python, CLIENT, chip))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        lines = done.stdout.splitlines()
        # Firmware of gfx942 can. [ROCr amd_gpu_agent.h AsyncScratchReclaimEnabled()]
        able = int(gpus.partition(":CPX:")[2] or 1) if chip == "gfx942" else 0
        given = [line for line in lines if line.startswith("scratch")]
        self.assertEqual(set(given), {f"scratch given back by {able}"})
        return [line for line in lines if line.startswith(("device", "copied"))]

    def test_rocminfo_lists_every_gpu(self):
        for gpu, name in (("gfx1030", "gfx1030"), ("gfx1100", "gfx1100"), ("gfx1201", "gfx1201"),
                          ("gfx942", "gfx942:sramecc+:xnack-"), ("gfx950", "gfx950:sramecc+:xnack-")):
            done = self.emu("--gpu", gpu, "--check", "error", "--", *command("rocminfo"))
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertIn("amdgcn-amd-amdhsa--" + name, done.stdout)

    def test_a_program_runs(self):
        for gpu in ("gfx1030", "gfx1100", "gfx1201", "gfx942"):
            self.assertEqual(self.run_hip(gpu, gpu), [f"device 0 wrong 0 counted {COUNTED}"], gpu)

    def test_and_on_the_weakest_hardware(self):
        for gpu in ("gfx1100", "gfx942"):
            lines = self.run_hip(gpu, gpu, "--adversarial", "--races", "--seed", "3")
            self.assertEqual(lines, [f"device 0 wrong 0 counted {COUNTED}"], gpu)

    def test_two_gpus_copy_to_each_other(self):
        for gpus, chip in (("gfx1100,gfx1100", "gfx1100"), ("gfx942:CPX:2", "gfx942")):
            lines = self.run_hip(gpus, chip, "--races")
            self.assertEqual(lines, [f"device {n} wrong 0 counted {COUNTED}" for n in (0, 1)] + ["copied True"], gpus)


if __name__ == "__main__":
    unittest.main()
