"""Runs a sample of the conformance suite on a WebGPU adapter; skips where this machine has no library or no adapter.

usage: webgpu_sample.py PATH_OF_DOORBELL [--dawn PATH_OF_DAWN_LIBRARY_PY FOLDER] [ARGUMENTS OF doorbell conformance...]

--dawn: through Dawn, whose library dawn_library.py makes in the folder, on SwiftShader where Chromium brings it, whose
WGSL compiler is Tint.
"""

import os
import subprocess
import sys

SKIPPED = 77  # what meson takes for it
SWIFTSHADER = "/usr/lib/chromium/vk_swiftshader_icd.json"  # of Debian's package chromium

tool, *arguments = sys.argv[1:]
environment = dict(os.environ)
environment.pop("DEV", None)
if arguments[0] == "--dawn":
    maker, folder = arguments[1:3]
    arguments = arguments[3:]
    made = subprocess.run([sys.executable, maker, folder], stdout=subprocess.PIPE, text=True)
    if made.returncode != 0:
        sys.exit(made.returncode)
    environment["WEBGPU_LIBRARY"] = made.stdout.strip()
    # The leak sanitizer's look at all threads died of signal 11 at the end of a run with this library, whose cases had
    # passed. Leaks of the driver are looked for with wgpu-native.
    if "ASAN_OPTIONS" in environment:
        environment["ASAN_OPTIONS"] += ":detect_leaks=0"
    if os.path.exists(SWIFTSHADER):
        environment |= {"VK_ICD_FILENAMES": SWIFTSHADER, "WEBGPU_ADAPTER": "SwiftShader"}
result = subprocess.run([tool, "conformance", "--device", "WEBGPU", *arguments],
                        env=environment, stderr=subprocess.PIPE, text=True)
sys.stderr.write(result.stderr)
if result.returncode == 1 and any(reason in result.stderr for reason in ("no WebGPU library", "has no adapter")):
    print(f"skipped: there is no WebGPU here: {result.stderr.strip()}")
    sys.exit(SKIPPED)
sys.exit(result.returncode)
