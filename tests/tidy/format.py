"""Format: every C++ file is as the clang-format that python/requirements.txt pins leaves it.

usage: format.py ROOT [PYTHON]    prints the files that differ and exits 1 when there are some; exits 77 (skipped)
                                  where that version is neither beside PYTHON nor on PATH
"""
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import tidy  # noqa: E402

FORMATTED = (".h", ".cc")
FILES_A_CALL = 50


def pinned_version(root):
    with open(os.path.join(root, "python", "requirements.txt"), encoding="utf-8") as file:
        return re.search(r"^clang-format==(\S+)$", file.read(), re.M).group(1)


def find_program(version, python):
    folders = ([os.path.dirname(python)] if python else []) + os.environ.get("PATH", "").split(os.pathsep)
    for folder in folders:
        program = shutil.which("clang-format", path=folder)
        if program is None:
            continue
        said = subprocess.run([program, "--version"], stdout=subprocess.PIPE, text=True, check=False).stdout
        if version in said.split():
            return program
    return None


def complaints(program, root, paths):
    """What clang-format would change, as its warnings."""
    done = subprocess.run([program, "--dry-run", "--style=file", *paths], cwd=root, stderr=subprocess.PIPE, text=True,
                          check=True)
    return re.findall(r"^(\S+?:\d+):\d+: warning", done.stderr, re.M)


def main(root, python=None):
    version = pinned_version(root)
    program = find_program(version, python)
    if program is None:
        print(f"no clang-format {version} here (pip install clang-format=={version})")
        return 77
    paths = [path for path in tidy.project_files(root) if path.endswith(FORMATTED)]
    parts = [paths[i:i + FILES_A_CALL] for i in range(0, len(paths), FILES_A_CALL)]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        found = [place for part in pool.map(lambda part: complaints(program, root, part), parts) for place in part]
    for place in found:
        print(f"{place}: not as clang-format {version} leaves it")
    print(f"format: {len(found)} places to change in {len(paths)} files" if found else "format: all in order")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
