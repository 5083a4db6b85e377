"""Compiles the kernels of the conformance suite for NVIDIA's chips, and disassembles the cubins where nvdisasm is.

usage: nvidia_sample.py PATH_OF_DOORBELL PATH_OF_NVIDIA_TEXT RENDERER CHIPS [ARGUMENTS OF doorbell conformance...]

For the chips that the interpreter knows, the decoder's text of every instruction must be nvdisasm's, and every opcode
must have a handler. RENDERER is NV_CUDA or NV_PTX, CHIPS are separated by commas. DOORBELL_SEED=S chooses other
kernels; DOORBELL_WHOLE_TESTS=1, or --whole among the arguments, takes all of them (13 minutes a chip on one core).
Skips where NVIDIA's compilers are missing.
"""

import glob
import os
import re
import shutil
import sqlite3
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))

from nvidia_compilers import SKIPPED, use_compiler  # noqa: E402 (found by the line above)

DISASSEMBLED = 24  # cubins of a chip, each by itself
SCHEDULING = 105  # of an instruction: from this bit on, what no text shows
INTERPRETED = ("sm_86", "sm_89", "sm_90")


def find_nvdisasm(folder):
    found = glob.glob(os.path.join(folder, "*", "bin", "nvdisasm")) if folder else []
    return found[0] if found else shutil.which("nvdisasm") or shutil.which("nvdisasm", path="/usr/local/cuda/bin")


def cubins(database):
    """The ELF files in the cache's entries, by the size that their headers tell."""
    for (entry,) in sqlite3.connect(database).execute("SELECT entry FROM kernels ORDER BY key"):
        start = entry.find(b"\x7fELF")
        if start >= 0:
            yield entry[start:]


def code_of(cubin):
    """The executable sections."""
    start, = struct.unpack_from("<Q", cubin, 0x28)
    size, count = struct.unpack_from("<HH", cubin, 0x3A)
    for at in range(start, start + size * count, size):
        kind, flags, _, offset, length = struct.unpack_from("<IQQQQ", cubin, at + 4)
        if kind == 1 and flags & 4:
            yield cubin[offset:offset + length]


def compare_words(nvdisasm, text, chip, all_cubins, folder):
    """Compares the decoder's text of all different instructions with nvdisasm's; the number of failures."""
    words, count = {}, 0
    for cubin in all_cubins:
        for code in code_of(cubin):
            for at in range(0, len(code), 16):
                word = code[at:at + 16]
                words.setdefault(int.from_bytes(word, "little") & ((1 << SCHEDULING) - 1), word)
                count += 1
    path = os.path.join(folder, "words")
    with open(path, "wb") as file:
        file.write(b"".join(words[key] for key in sorted(words)))
    command = [nvdisasm, "-b", chip.replace("sm_", "SM"), path]
    output = subprocess.run(command, capture_output=True, text=True, check=False)
    with open(path + ".txt", "w", encoding="utf-8") as file:
        file.write(output.stdout)
    print(f"{len(words)} different instructions of {count} in {len(all_cubins)} cubins", flush=True)
    if output.returncode != 0:
        print(output.stderr)
        return 1
    command = [text, "--words", chip.removeprefix("sm_"), path, path + ".txt"]
    return subprocess.run(command, check=False).returncode


def disassemble(nvdisasm, text, all_cubins, folder, whole):
    """Runs nvdisasm over some of them; prints what it cannot read, or `text` (a program, or None) reads otherwise."""
    step = 1 if whole else max(1, len(all_cubins) // DISASSEMBLED)
    chosen = all_cubins[::step]
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
    print(f"{len(chosen)} of {len(all_cubins)} cubins disassembled, {instructions} instructions, {failures} failures",
          flush=True)
    if text:
        failures += subprocess.run([text, *pairs], check=False).returncode
    return failures


def main():
    tool, text, renderer, chips, *arguments = sys.argv[1:]
    environment = {**os.environ, "CACHELEVEL": "1"}
    environment.pop("DEV", None)
    if not use_compiler(tool, renderer, environment):
        return SKIPPED
    whole = os.environ.get("DOORBELL_WHOLE_TESTS") == "1" or "--whole" in arguments
    arguments = [argument for argument in arguments if argument != "--whole"]
    if whole:
        arguments = [argument for argument in arguments if not argument.startswith("--sample")]
    seed = os.environ.get("DOORBELL_SEED") or "1"
    print(f"DOORBELL_SEED={seed}", flush=True)
    nvdisasm = find_nvdisasm(environment.get("CUDA_PATH"))
    failed = 0
    for number, chip in enumerate(chips.split(",")):
        with tempfile.TemporaryDirectory() as cache:
            environment["CACHEDIR"] = cache
            command = [tool, "conformance", "--device", f"NULL:{renderer}:{chip}", *arguments]
            command += ["--seed", str(int(seed) + number)]
            failed |= subprocess.run(command, env=environment, check=False).returncode
            if nvdisasm:
                program = text if chip in INTERPRETED else None
                all_cubins = list(cubins(os.path.join(cache, "kernels.db")))
                # With all kernels, one file of words is read instead of 18,000 cubins.
                failed |= disassemble(nvdisasm, program, all_cubins, cache, whole and not program)
                if program:
                    failed |= compare_words(nvdisasm, program, chip, all_cubins, cache)
    if not nvdisasm:
        print("no nvdisasm (pip install nvidia-cuda-nvdisasm): cubins were not disassembled")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
