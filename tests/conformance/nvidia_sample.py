"""Compiles the kernels of the conformance suite for NVIDIA's chips, and disassembles the cubins where nvdisasm is.

usage: nvidia_sample.py PATH_OF_DOORBELL PATH_OF_NVIDIA_TEXT RENDERER CHIPS [ARGUMENTS OF doorbell conformance...]

For the chips that the interpreter knows, the decoder's text must be nvdisasm's, and every opcode must have a handler.
RENDERER is NV_CUDA or NV_PTX, CHIPS are separated by commas. DOORBELL_SEED=S repeats the choice of kernels;
DOORBELL_WHOLE_TESTS=1 takes all of them. Skips where NVIDIA's compilers are missing. PyPI's wheels are looked for in
the environment that scripts/setup.sh makes.
"""

import glob
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time

SKIPPED = 77
DISASSEMBLED = 24  # cubins of a chip
INTERPRETED = ("sm_86", "sm_89", "sm_90")


def wheels():
    """The folder that PyPI's wheels share, where they are installed."""
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    env = os.environ.get("DOORBELL_PYTHON_ENV") or os.path.join(cache, "doorbell", "python")
    folders = glob.glob(os.path.join(env, "lib", "python3*", "site-packages", "nvidia"))
    return folders[0] if folders else ""


def find_nvdisasm(folder):
    found = glob.glob(os.path.join(folder, "*", "bin", "nvdisasm")) if folder else []
    return found[0] if found else shutil.which("nvdisasm") or shutil.which("nvdisasm", path="/usr/local/cuda/bin")


def cubins(database):
    """The ELF files in the cache's entries, by the size that their headers tell."""
    for (entry,) in sqlite3.connect(database).execute("SELECT entry FROM kernels ORDER BY key"):
        start = entry.find(b"\x7fELF")
        if start >= 0:
            yield entry[start:]


def disassemble(nvdisasm, text, database, folder):
    """Runs nvdisasm over some of them; prints what it cannot read, or `text` (a program, or None) reads otherwise."""
    all_cubins = list(cubins(database))
    step = max(1, len(all_cubins) // DISASSEMBLED)
    chosen = all_cubins if os.environ.get("DOORBELL_WHOLE_TESTS") == "1" else all_cubins[::step]
    instructions = failures = 0
    pairs = []
    for number, cubin in enumerate(chosen):
        path = os.path.join(folder, f"{number}.cubin")
        pairs += [path, path + ".txt"]
        with open(path, "wb") as file:
            file.write(cubin)
        output = subprocess.run([nvdisasm, "-c", path], capture_output=True, text=True, check=False)
        with open(path + ".txt", "w", encoding="utf-8") as file:
            file.write(output.stdout)
        lines = re.findall(r"^\s+/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?(\S+)", output.stdout, re.MULTILINE)
        instructions += len(lines)
        if output.returncode != 0 or not any(line.startswith("EXIT") for line in lines):
            failures += 1
            print(output.stderr, output.stdout[:2000], output.stdout[-2000:], sep="\n")
    print(f"{len(chosen)} of {len(all_cubins)} cubins disassembled, {instructions} instructions, {failures} failures")
    if text:
        failures += subprocess.run([text, *pairs], check=False).returncode
    return failures


def main():
    tool, text, renderer, chips, *arguments = sys.argv[1:]
    environment = {**os.environ, "CACHELEVEL": "1"}
    environment.pop("DEV", None)
    folder = os.environ.get("CUDA_PATH") or wheels()
    if folder:
        environment["CUDA_PATH"] = folder
    listing = subprocess.run([tool, "devices", "--json"], env=environment, capture_output=True, text=True, check=True)
    states = {one["renderer"]: one for one in json.loads(listing.stdout)["compilers"]}
    if not states[renderer]["available"]:
        print("skipped:", states[renderer]["state"])
        return SKIPPED
    print(states[renderer]["state"])
    if os.environ.get("DOORBELL_WHOLE_TESTS") == "1":
        arguments = [argument for argument in arguments if not argument.startswith("--sample")]
    seed = os.environ.get("DOORBELL_SEED") or str(int(time.time()))
    print(f"DOORBELL_SEED={seed}", flush=True)
    nvdisasm = find_nvdisasm(folder)
    failed = 0
    for number, chip in enumerate(chips.split(",")):
        with tempfile.TemporaryDirectory() as cache:
            environment["CACHEDIR"] = cache
            command = [tool, "conformance", "--device", f"NULL:{renderer}:{chip}", *arguments]
            command += ["--seed", str(int(seed) + number)]
            failed |= subprocess.run(command, env=environment, check=False).returncode
            if nvdisasm:
                program = text if chip in INTERPRETED else None
                failed |= disassemble(nvdisasm, program, os.path.join(cache, "kernels.db"), cache)
    if not nvdisasm:
        print("no nvdisasm (pip install nvidia-cuda-nvdisasm): cubins were not disassembled")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
