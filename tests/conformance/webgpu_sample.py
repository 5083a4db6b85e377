"""Runs a sample of the conformance suite on a WebGPU adapter; skips where this machine has no library or no adapter.

usage: webgpu_sample.py PATH_OF_DOORBELL [ARGUMENTS OF doorbell conformance...]
"""

import os
import subprocess
import sys

SKIPPED = 77  # what meson takes for it
tool, *arguments = sys.argv[1:]
environment = dict(os.environ)
environment.pop("DEV", None)
result = subprocess.run([tool, "conformance", "--device", "WEBGPU", *arguments],
                        env=environment, stderr=subprocess.PIPE, text=True)
sys.stderr.write(result.stderr)
if result.returncode == 1 and any(reason in result.stderr for reason in ("no WebGPU library", "has no adapter")):
    print(f"skipped: there is no WebGPU here: {result.stderr.strip()}")
    sys.exit(SKIPPED)
sys.exit(result.returncode)
