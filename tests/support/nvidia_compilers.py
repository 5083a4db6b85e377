"""NVIDIA's compilers for tests: where they are, and whether doorbell can use them."""

import glob
import json
import os
import subprocess

SKIPPED = 77


def wheels():
    """The folder that PyPI's wheels share, where scripts/setup.sh installed them."""
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    env = os.environ.get("DOORBELL_PYTHON_ENV") or os.path.join(cache, "doorbell", "python")
    folders = glob.glob(os.path.join(env, "lib", "python3*", "site-packages", "nvidia"))
    return folders[0] if folders else ""


def use_compiler(tool, renderer, environment):
    """Sets CUDA_PATH in `environment`. Returns whether a renderer (NV_CUDA, NV_PTX) has its compiler; prints which."""
    folder = os.environ.get("CUDA_PATH") or wheels()
    if folder:
        environment["CUDA_PATH"] = folder
    listing = subprocess.run([tool, "devices", "--json"], env=environment, capture_output=True, text=True, check=True)
    state = {one["renderer"]: one for one in json.loads(listing.stdout)["compilers"]}[renderer]
    print(state["state"], flush=True)
    return state["available"]
