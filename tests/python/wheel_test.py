"""Builds the wheel by scripts/wheel, installs it into an empty virtual environment, and computes with it there.

usage: wheel_test.py SOURCE_ROOT PYTHON

Exits 77, meson's word for skipped, without PyPI, and without auditwheel beside PYTHON.
"""
import os
import re
import subprocess
import sys
import tempfile

PROGRAM = """
import doorbell, os, sys
assert doorbell.__file__.startswith(sys.prefix), doorbell.__file__
assert (doorbell.Tensor([1, 2]) * 3).tolist() == [3, 6]
print(doorbell.Tensor.ones(3).sum())
"""
# Which libraries are in the process afterwards.
LOADED = """
for line in sorted({line.split()[-1] for line in open("/proc/self/maps") if ".so" in line}): print(line)
"""
# Those of the system that manylinux allows, as far as they are of any use here.
OF_THE_SYSTEM = re.compile(r"/(ld-linux-x86-64|lib(c|m|dl|rt|pthread|gcc_s|stdc\+\+|z|expat))\.so\.\d+")


def run(*command, **options):
    print("+", *command, flush=True)
    return subprocess.run(command, check=False, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options)


def skipped(why):
    print("SKIPPED:", why)
    return 77


def main():
    source, tools = sys.argv[1], os.path.dirname(sys.argv[2])
    with tempfile.TemporaryDirectory() as folder:
        # Kernels from a cache would not show that the compiler is found.
        environment = {**os.environ, "CACHELEVEL": "0", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
        environment.pop("PYTHONPATH", None)
        environment.pop("XDG_CACHE_HOME", None)  # the tests' own, where no compiler cache is
        if not os.path.exists(os.path.join(tools, "auditwheel")):
            return skipped("no auditwheel: python/requirements-wheel.txt")
        python = os.path.join(folder, "env", "bin", "python")
        made = run(sys.executable, "-m", "venv", os.path.join(folder, "env"), env=environment)
        assert made.returncode == 0, made.stdout
        if run(python, "-m", "pip", "install", "numpy", env=environment).returncode != 0:
            return skipped("PyPI is not reachable")
        built = run(os.path.join(source, "scripts", "wheel"), folder, env=environment, cwd=folder)
        print(built.stdout[-3000:])
        assert built.returncode == 0
        (wheel,) = [name for name in os.listdir(folder) if name.endswith(".whl")]
        assert re.search(r"-manylinux_2_\d+_x86_64\.whl$", wheel), wheel

        installed = run(python, "-m", "pip", "install", "--no-index", os.path.join(folder, wheel), env=environment)
        assert installed.returncode == 0, installed.stdout
        listed = run(python, "-m", "pip", "show", "--files", "doorbell", env=environment, cwd=folder).stdout
        files = [line.strip() for line in listed.partition("Files:")[2].split("\n") if line.strip()]
        print("\n".join(files))
        assert "doorbell/py.typed" in files and "doorbell/_doorbell.pyi" in files
        assert all(name.startswith(("doorbell/", "doorbell-", "doorbell.libs/")) for name in files), files
        done = run(python, "-c", PROGRAM + LOADED, env=environment, cwd=folder)
        value, *loaded = done.stdout.strip().split("\n")
        assert done.returncode == 0 and value == "tensor(3.)", done.stdout
        bare = run(python, "-c", "import numpy, sqlite3, ctypes" + LOADED, env=environment, cwd=folder)
        foreign = [path for path in loaded if path not in bare.stdout.split("\n") and not path.startswith(folder)
                   and "/lib-dynload/" not in path and not OF_THE_SYSTEM.search(path)]
        assert not foreign, f"of the system, and not of the wheel: {foreign}"
    return 0


if __name__ == "__main__":
    sys.exit(main())
