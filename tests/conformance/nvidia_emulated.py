"""Runs the conformance suite on emulated NVIDIA GPUs, whose machine code is interpreted; rules are at error.

usage: nvidia_emulated.py PATH_OF_DOORBELL DEVICE RENDERER GPUS [ARGUMENTS OF doorbell conformance...]

DEVICE is EMUCUDA+CUDA, the CUDA driver, or EMUNVK+NV, the kernel modules. RENDERER is CUDA or PTX, GPUS as EMU_GPU has
them: sm_90,sm_90. DOORBELL_SEED=S chooses other cases; DOORBELL_WHOLE_TESTS=1 takes all of them, as
`scripts/test --whole` does. Skips where NVIDIA's compilers are missing.
"""

import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))

from nvidia_compilers import SKIPPED, use_compiler  # noqa: E402 (found by the line above)


def main():
    tool, device, renderer, gpus, *arguments = sys.argv[1:]
    environment = {**os.environ, "EMU_GPU": gpus}
    environment.pop("DEV", None)
    if not use_compiler(tool, f"NV_{renderer}", environment):
        return SKIPPED
    if os.environ.get("DOORBELL_WHOLE_TESTS") == "1":
        arguments = [argument for argument in arguments if not argument.startswith("--sample")]
    seed = os.environ.get("DOORBELL_SEED", "1")
    print(f"DOORBELL_SEED={seed}", flush=True)
    command = [tool, "conformance", "--device", f"{device}:{renderer}", "--seed", seed, *arguments]
    return subprocess.run(command, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
