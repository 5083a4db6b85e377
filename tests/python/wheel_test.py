"""Installs the package into a fresh virtual environment by `pip install .`, which builds a wheel, and computes with it.

usage: wheel_test.py SOURCE_ROOT        exits 77, meson's word for skipped, without PyPI
"""
import os
import subprocess
import sys
import tempfile

PROGRAM = """
import doorbell, os, sys
assert doorbell.__file__.startswith(sys.prefix), doorbell.__file__
assert (doorbell.Tensor([1, 2]) * 3).tolist() == [3, 6]
print(doorbell.Tensor.ones(3).sum())
"""


def run(*command, **options):
    print("+", *command, flush=True)
    return subprocess.run(command, check=False, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options)


def main():
    source = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        python = os.path.join(folder, "env", "bin", "python")
        # Kernels from a cache would not show that the compiler is found.
        environment = {**os.environ, "CACHELEVEL": "0", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
        environment.pop("PYTHONPATH", None)
        environment.pop("XDG_CACHE_HOME", None)  # the tests' own, where no compiler cache is
        made = run(sys.executable, "-m", "venv", os.path.join(folder, "env"), env=environment)
        assert made.returncode == 0, made.stdout
        reachable = run(python, "-m", "pip", "download", "--no-deps", "-d", folder, "nanobind>=3.0", env=environment)
        if reachable.returncode != 0:
            print(reachable.stdout, "\nSKIPPED: PyPI is not reachable")
            return 77
        built = run(python, "-m", "pip", "install", "--verbose", source, env=environment, cwd=folder)
        print(built.stdout[-3000:])
        assert built.returncode == 0
        assert "Created wheel for doorbell" in built.stdout
        listed = run(python, "-m", "pip", "show", "--files", "doorbell", env=environment, cwd=folder).stdout
        files = [line.strip() for line in listed.partition("Files:")[2].split("\n") if line.strip()]
        print("\n".join(files))
        assert "doorbell/py.typed" in files and "doorbell/_doorbell.pyi" in files
        assert all(name.startswith(("doorbell/", "doorbell-")) for name in files), files
        done = run(python, "-c", PROGRAM, env=environment, cwd=folder)
        print(done.stdout)
        assert done.returncode == 0 and done.stdout.strip() == "tensor(3.)", done.stdout
    return 0


if __name__ == "__main__":
    sys.exit(main())
