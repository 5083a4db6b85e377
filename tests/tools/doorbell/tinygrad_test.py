"""Runs tinygrad of PyPI, unchanged, on emulated GPUs: its own drivers of AMD's and NVIDIA's kernel interfaces against
our emulators of them. Kernels, copies, and a graph of its JIT; rules at `error` but for those that it breaks.

usage: tinygrad_test.py PATH_OF_DOORBELL PYTHON
"""

import glob
import os
import subprocess
import sys
import tempfile
import unittest

TOOL, PYTHON = sys.argv.pop(1), sys.argv.pop(1)

PROGRAM = """
from tinygrad import Device, Tensor, TinyJit
a, b = Tensor([[1.0, 2.0], [3.0, 4.0]]), Tensor([[5.0, 6.0], [7.0, 8.0]])
print((a @ b).tolist(), Tensor.arange(100).sum().item())
@TinyJit
def step(x): return ((x * 2 + 1).realize() + x).realize()
for i in range(4): print(step(Tensor([float(i), 10.0]).realize()).tolist())
if Device.DEFAULT != "CPU" and GPUS == 2:
    there = Tensor([1.0, 2.0, 3.0]).to(Device.DEFAULT + ":1") * 2
    print((there.to(Device.DEFAULT) + 1).tolist())
print(Device.DEFAULT)
"""
RESULTS = ["[[19.0, 22.0], [43.0, 50.0]] 4950", "[1.0, 31.0]", "[4.0, 31.0]", "[7.0, 31.0]", "[10.0, 31.0]"]


def has_tinygrad():
    return subprocess.run([PYTHON, "-c", "import tinygrad"], capture_output=True).returncode == 0


def nvidia_libraries():
    found = subprocess.run([PYTHON, "-c", "import nvidia; print(*nvidia.__path__, sep='\\n')"],
                           capture_output=True, text=True)
    return [folder for path in found.stdout.split() for folder in glob.glob(path + "/**/lib", recursive=True)]


def newest_llvm():
    """Debian's, by version: tinygrad would take one before 15, which does not read what it writes."""
    found = glob.glob("/usr/lib/llvm-*/lib/libLLVM.so")
    return max(found, key=lambda path: int(path.split("/")[3].removeprefix("llvm-")), default="")


@unittest.skipUnless(has_tinygrad(), "tinygrad is not installed: scripts/test --torch brings it")
class Tinygrad(unittest.TestCase):
    def run_on(self, gpus, device, broken, more=()):
        gpus = gpus.split(",")
        with tempfile.TemporaryDirectory() as cache:
            path = os.pathsep.join([*nvidia_libraries(), os.environ.get("LD_LIBRARY_PATH", "")])
            environment = {**os.environ, "DEV": device, "LD_LIBRARY_PATH": path, "XDG_CACHE_HOME": cache}
            environment.setdefault("LLVM_PATH", newest_llvm())
            checks = ",".join(["error", *(rule + "=warn" for rule in broken)])
            done = subprocess.run(
                [TOOL, "emu", "--gpu", ",".join(gpus), "--check", checks, *more, "--", PYTHON, "-c",
                 f"GPUS = {len(gpus)}\n" + PROGRAM],
                capture_output=True, text=True, timeout=110, env=environment)
        if "try setting" in done.stderr:  # a compiler's library
            self.skipTest(done.stderr.splitlines()[-1])
        peer = ["[3.0, 5.0, 7.0]"] if len(gpus) == 2 else []
        self.assertEqual(done.stdout.splitlines(), RESULTS + peer + [device.split("+")[-1].split(":")[0]], done.stderr)
        reports = [line for line in done.stderr.splitlines() if line.startswith("doorbell emu: ")]
        self.assertEqual([line for line in reports if line.split()[3].rstrip(":") not in broken], [])
        self.assertEqual(done.returncode, 0, done.stderr)

    # The buffers of its graphs are no multiples of pages, and their kernels' arguments not of 16 bytes.
    def test_on_amd_with_pm4(self):
        self.run_on("gfx1100", "KFD+AMD:LLVM", ["AMD-ARG-001", "AMD-VM-002"])

    def test_on_amd_with_aql_and_two_gpus(self):
        self.run_on("gfx942,gfx942", "KFD+AMD:LLVM", ["AMD-ARG-001", "AMD-VM-002"])

    # The arguments of its graphs lie in buffers that are smaller than the constant bank it announces.
    def test_on_nvidia(self):
        self.run_on("sm_86", "NV", ["NV-QMD-005"])

    def test_on_two_nvidia_gpus_of_ada(self):
        self.run_on("sm_89,sm_89", "NV", ["NV-QMD-005"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
