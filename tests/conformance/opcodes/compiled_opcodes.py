"""Compiles the kernels of the conformance suite for a chip, and asks whether the emulator knows every opcode in them.

usage: compiled_opcodes.py PATH_OF_DOORBELL PATH_OF_KERNEL_OPCODES CHIP [ARGUMENTS OF doorbell conformance...]

Without further arguments it is the whole suite.
"""

import os
import subprocess
import sys
import tempfile

tool, opcodes, chip, *arguments = sys.argv[1:]
with tempfile.TemporaryDirectory() as folder:
    environment = dict(os.environ, CACHEDIR=folder, CACHELEVEL="1")
    environment.pop("DEV", None)
    compiled = subprocess.run([tool, "conformance", "--device", "NULL:AMD_LLVM:" + chip, *arguments], env=environment)
    checked = subprocess.run([opcodes, chip, os.path.join(folder, "kernels.db")])
sys.exit(compiled.returncode or checked.returncode)
