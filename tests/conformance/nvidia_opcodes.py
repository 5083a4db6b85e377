"""Counts opcodes: those that nvdisasm knows, those that the interpreter executes, and those of compiled kernels.

usage: nvidia_opcodes.py PATH_OF_NVIDIA_TEXT [CHIP[=DATABASE]...]

DATABASE is a cache of kernels (kernels.db of CACHEDIR, filled with CACHELEVEL=1). An opcode is a mnemonic without its
modifiers. nvdisasm has no list of what it knows: it is given instructions with each value of the bits 0 to 11 and
different ones of the others, and says which of them are illegal. Exits with 1 where the interpreter's table has another
name for a number than nvdisasm; skips where there is no nvdisasm.
"""

import os
import random
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))

from nvidia_compilers import SKIPPED, wheels  # noqa: E402 (found by the line above)
from nvidia_sample import code_of, cubins, find_nvdisasm  # noqa: E402

ROUNDS = 6  # of all numbers; nothing new is found after the third
CHIPS = ("sm_86", "sm_89", "sm_90")
LINE = re.compile(r"^\s*/\*([0-9a-f]+)\*/\s+(?:@!?U?P\w+\s+)?([^\s;.]+)", re.MULTILINE)
SCHEDULED = 0xFE2 << 104 | 1 << 105  # waits for nothing


def bodies(step, choose):
    """Bits 12 to 104 of eight instructions."""
    if step == 0:  # fields as compilers leave them where they are not used
        yield from (0, 0xFF << 64, 7 << 87 | 0xFF << 64, 7 << 81 | 7 << 84 | 7 << 87, 1 << 91, 0xFFFFFFFF << 32,
                    1 << 89, 3 << 73)
        return
    for sparse in range(8):
        body = choose.getrandbits(105)
        for bit in range(3):
            if sparse >> bit & 1:
                body &= choose.getrandbits(105)
        yield body


def legal_lines(nvdisasm, chip, words, folder):
    """nvdisasm's mnemonics of those words that it can read, with the words."""
    path = os.path.join(folder, "words")
    while words:
        with open(path, "wb") as file:
            file.write(b"".join(word.to_bytes(16, "little") for word in words))
        command = [nvdisasm, "-b", chip.replace("sm_", "SM"), path]
        output = subprocess.run(command, capture_output=True, text=True, check=False)
        illegal = {int(at, 16) // 16 for at in re.findall(r"at address 0x([0-9a-f]+)", output.stderr)}
        if not illegal:
            return [(words[int(at, 16) // 16], name) for at, name in LINE.findall(output.stdout)]
        words = [word for index, word in enumerate(words) if index not in illegal]
    return []


def known(nvdisasm, chip, folder):
    """The mnemonics of each number (bits 0 to 8) that nvdisasm knows."""
    choose = random.Random(1)
    names = {}
    for step in range(ROUNDS):
        words = [body >> 16 << 16 | 0x7000 | number | SCHEDULED
                 for number in range(1 << 12) for body in bodies(step, choose)]
        for word, name in legal_lines(nvdisasm, chip, words, folder):
            if name.startswith("_"):  # "__HIR0X1F0": legal, without a mnemonic
                continue
            names.setdefault(word & 0x1FF, set()).add(name)
    return names


def used(database):
    """The numbers of the instructions of a database's kernels."""
    return {code[at] | (code[at + 1] & 1) << 8
            for cubin in cubins(database) for code in code_of(cubin) for at in range(0, len(code), 16)}


def main():
    text, *chips = sys.argv[1:]
    nvdisasm = find_nvdisasm(os.environ.get("CUDA_PATH") or wheels())
    if not nvdisasm:
        print("skipped: no nvdisasm (pip install nvidia-cuda-nvdisasm)")
        return SKIPPED
    listing = subprocess.run([text, "--opcodes"], capture_output=True, text=True, check=True).stdout.split("\n")
    ours = {int(number): name.split(".")[0] for number, name in (line.split() for line in listing if line)}
    failures = 0
    for one in chips or CHIPS:
        chip, _, database = one.partition("=")
        with tempfile.TemporaryDirectory() as folder:
            theirs = known(nvdisasm, chip, folder)
        for number, name in ours.items():
            if number in theirs and not any(other.startswith(name) for other in theirs[number]):
                print(f"{chip}: {number:#x} is {name}; nvdisasm: {', '.join(sorted(theirs[number]))}")
                failures += 1
        names = set().union(*theirs.values())
        executed = set().union(*(theirs[number] for number in ours if number in theirs))
        print(f"{chip}: nvdisasm knows {len(names)} opcodes of {len(theirs)} numbers; {len(executed)} are executed")
        print("  not executed:", *sorted(names - executed))
        if database:
            in_kernels = set().union(*(theirs.get(number, {hex(number)}) for number in used(database)))
            print(f"  {len(in_kernels)} in the kernels of {database}:", *sorted(in_kernels))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
