"""Compiles against NVIDIA's cuda.h, cublas_api.h and nccl.h: checks that compare their ABI with the driver's
declarations, the emulated driver's and the benchmark's, and a C client, which then runs under
`doorbell emu --gpu sm_90,sm_90`. The headers are CUDA's own: of CUDA_PATH, of the wheel nvidia-cuda-runtime, or of
/usr/local/cuda. Skipped where there is none.

usage: abi_test.py PATH_OF_DOORBELL FOLDER_OF_LIBCUDA SOURCE_ROOT COMPILER CLIENT.C SOURCE...
"""

import glob
import os
import subprocess
import sys
import sysconfig
import tempfile
import unittest

TOOL, LIBRARY, ROOT, COMPILER, CLIENT, *CHECKS = sys.argv[1:]
del sys.argv[1:]


def find_header():
    wheels = [sysconfig.get_paths()["purelib"]]
    wheels += glob.glob(os.path.expanduser("~/.cache/doorbell/python/lib/python3*/site-packages"))
    folders = [os.path.join(os.environ.get("CUDA_PATH", ""), "include")]
    folders += [os.path.join(wheel, "nvidia", part, "include") for wheel in wheels for part in ("cu13", "cuda_runtime")]
    folders += ["/usr/local/cuda/include", "/opt/cuda/include"]
    return next((folder for folder in folders if os.path.exists(os.path.join(folder, "cuda.h"))), None)


INCLUDE = find_header()
# A wheel of its own has NCCL's header, which includes CUDA's.
NCCL = [folder for folder in (INCLUDE, os.path.join(INCLUDE or "", "..", "..", "nccl", "include"))
        if folder and os.path.exists(os.path.join(folder, "nccl.h"))]


def run(*command, **environment):
    return subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True, timeout=60)


@unittest.skipIf(INCLUDE is None, "no cuda.h: pip install nvidia-cuda-runtime, or set CUDA_PATH")
class Abi(unittest.TestCase):
    def compile(self, *command):
        result = run(*command)
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_declarations_are_those_of_nvidia(self):
        for source in CHECKS:
            with self.subTest(source):
                if "cublas" in source and not os.path.exists(os.path.join(INCLUDE, "cublas_api.h")):
                    self.skipTest("no cublas_api.h in " + INCLUDE + ": pip install nvidia-cublas")
                if "nccl" in source and not NCCL:
                    self.skipTest("no nccl.h beside " + INCLUDE + ": pip install nvidia-nccl-cu13")
                self.compile(*COMPILER.split(), "-std=c++20", "-fsyntax-only", "-I" + ROOT, "-isystem", INCLUDE,
                             *("-isystem" + folder for folder in NCCL[:1]), source)

    def test_a_client_in_c_runs(self):
        with tempfile.TemporaryDirectory() as folder:
            client = os.path.join(folder, "client")
            self.compile(*COMPILER.split(), "-x", "c", "-std=c11", "-Wall", "-Werror", "-isystem", INCLUDE,
                         CLIENT, "-o", client, "-L" + LIBRARY, "-l:libcuda.so.1")
            result = run(TOOL, "emu", "--gpu", "sm_90,sm_90", "--check", "error", "--", client)
            self.assertEqual(result.stdout, "Emulated H100, capability 9.x: 1000 numbers came back\n", result.stderr)
            self.assertEqual(result.returncode, 0, result.stderr)

            broken = run(TOOL, "emu", "--gpu", "sm_90,sm_90", "--check", "error", "--", client, "wrong")
            self.assertIn("cuStreamSynchronize(first): CUDA_ERROR_INVALID_HANDLE (400)", broken.stdout)
            self.assertIn("error CUDA-HND-001: cuStreamSynchronize: ", broken.stderr)
            self.assertIn("1 broken rule in ", broken.stderr)
            self.assertNotEqual(broken.returncode, 0)

    def test_machines_are_of_one_vendor(self):
        result = run(TOOL, "emu", "--gpu", "sm_90,gfx1100", "--", "true")
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("gfx1100", result.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
