"""Runs the cases of `distributed` as processes of MPI, each with a device of its own, and checks that none failed.

usage: mesh.py PATH_OF_DOORBELL COUNT MESH...

A MESH names the device of each process: CPU,AMD,CUDA. COUNT of them, chosen by DOORBELL_SEED; with
DOORBELL_WHOLE_TESTS=1 (scripts/test --whole) all. Skips where mpirun, or NVIDIA's compiler for CUDA, is missing.
"""
import os
import random
import re
import shutil
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "support"), os.path.join(HERE, "..", "dist")]

from nvidia_compilers import SKIPPED, use_compiler  # noqa: E402 (found by the line above)
from run import command  # noqa: E402 (so is this)

# device: DEV, and the emulated GPU
DEVICES = {
    "CPU": ("CPU", ""),
    "AMD": ("EMUKFD+AMD:LLVM", "gfx1100"),
    "CUDA": ("EMUCUDA+CUDA:CUDA", "sm_90"),
    "METAL": ("EMUMETAL+METAL", ""),
}


def run(tool, mesh, environment):
    """Whether every process says that nothing failed."""
    line = command(1)  # the first program's; options of mpirun are for all
    for rank, device in enumerate(mesh):
        dev, gpu = DEVICES[device]
        line += [":", "-n", "1"] if rank > 0 else []
        line += ["env", f"EMU_GPU={gpu}", tool, "conformance", "--device", dev, "--filter", "^distributed/"]
    done = subprocess.run(line, env=environment, capture_output=True, text=True, timeout=550)
    counts = re.search(r"^(\d+) passed, (\d+) failed", done.stdout, re.MULTILINE)
    print(f"{','.join(mesh)}: {counts[0] if counts else 'no counts'}, exit status {done.returncode}", flush=True)
    if done.returncode == 0 and counts and int(counts[1]) > 0 and int(counts[2]) == 0:
        return True
    print(done.stdout, done.stderr, sep="\n")
    return False


def main():
    tool, count, *meshes = sys.argv[1:]
    if shutil.which("mpirun") is None:
        print("skipped: there is no mpirun here")
        return SKIPPED
    if os.environ.get("DOORBELL_WHOLE_TESTS") != "1" and int(count) < len(meshes):
        seed = int(os.environ.get("DOORBELL_SEED") or time.time())
        print(f"DOORBELL_SEED={seed}", flush=True)
        meshes = random.Random(seed).sample(meshes, int(count))
    environment = {**os.environ, "CPU_THREADS": "1", "ASAN_OPTIONS": "detect_leaks=0:verify_asan_link_order=0"}
    environment.pop("DEV", None)
    if any("CUDA" in mesh for mesh in meshes) and not use_compiler(tool, "NV_CUDA", environment):
        return SKIPPED
    return 0 if all([run(tool, mesh.split(","), environment) for mesh in meshes]) else 1


if __name__ == "__main__":
    sys.exit(main())
