"""Runs a sample of the conformance suite on one OpenCL implementation; skips where this machine does not have it.

usage: opencl_sample.py PATH_OF_DOORBELL PLATFORM [--images] [ARGUMENTS OF doorbell conformance...]

--images has kernels read through images where they can.
"""

import os
import subprocess
import sys

SKIPPED = 77  # what meson takes for it
tool, platform, *arguments = sys.argv[1:]
environment = dict(os.environ, CL_PLATFORM=platform)
environment.pop("DEV", None)
if platform == "rusticl":
    environment["RUSTICL_ENABLE"] = "llvmpipe"  # its drivers show nothing unless asked
if arguments[:1] == ["--images"]:
    environment["IMAGE"] = "1"
    del arguments[0]
result = subprocess.run([tool, "conformance", "--device", "CL", *arguments],
                        env=environment, stderr=subprocess.PIPE, text=True)
sys.stderr.write(result.stderr)
# No loader, no platform, not this one, or a build without OpenCL.
absent = ("no OpenCL", "device CL is not part of this version")
if result.returncode == 1 and any(reason in result.stderr for reason in absent):
    print(f"skipped: there is no {platform} for this build: {result.stderr.strip()}")
    sys.exit(SKIPPED)
sys.exit(result.returncode)
