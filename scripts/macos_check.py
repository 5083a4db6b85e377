"""Compiles what a Mac with Apple silicon needs for aarch64-macos, with PyPI's ziglang: its clang, its libc++, and the
C headers of macOS, which it carries. Headers of fmt, Abseil and other libraries are this machine's; nothing is linked.

usage: scripts/macos_check.py [--sample N] [FILE...]     FILE: sources; without any, all of the rooms below

pip install ziglang first; without it, or with no file left, it exits with 77. DOORBELL_SEED chooses the sample.
"""

import argparse
import importlib.util
import os
import pathlib
import random
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Rooms of which all sources are compiled, but for those below.
ROOMS = ("base", "core", "codegen", "hcq", "drivers/cpu", "drivers/disk", "drivers/metal", "drivers/null", "tensor")
# Parts that are optional, and whose library no Mac needs: -Dllvm=disabled leaves them out. And what takes ELF's
# constants from glibc's <elf.h>.
LEFT_OUT = ("codegen/compile/llvm", "codegen/render/llvm", "base/elf")
# Of libraries that are headers of C or C++ alone for a compiler that does not link.
LIBRARIES = ("fmt", "absl", "nlohmann", "CLI", "spdlog", "sqlite3.h", "zlib.h", "zconf.h", "archive.h",
             "archive_entry.h", "curl", "libusb-1.0")
FOLDERS = ("/usr/include", "/usr/include/x86_64-linux-gnu", "/usr/include/aarch64-linux-gnu")


def zig():
    """The compiler's path, or None."""
    found = importlib.util.find_spec("ziglang")
    return found and str(pathlib.Path(found.origin).parent / "zig")


def sources():
    found = sorted(path.relative_to(ROOT) for room in ROOMS for path in (ROOT / room).rglob("*.cc"))
    return [path for path in found if not str(path).startswith(LEFT_OUT)]


def link_libraries(folder):
    """Headers of these libraries, and of no other: those of this machine's libc must not be found."""
    for name in LIBRARIES:
        path = next((f"{at}/{name}" for at in FOLDERS if os.path.exists(f"{at}/{name}")), None)
        if path:
            os.symlink(path, os.path.join(folder, name))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sample", type=int, default=0)
    parser.add_argument("files", nargs="*")
    asked = parser.parse_args()
    compiler = zig()
    if compiler is None:
        print("no ziglang here (pip install ziglang)")
        return 77
    files = [pathlib.Path(name) for name in asked.files] or sources()
    if asked.sample:
        seed = int(os.environ.get("DOORBELL_SEED", "1"))
        files = random.Random(seed).sample(files, min(asked.sample, len(files)))
        print(f"seed {seed}")
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        link_libraries(folder)
        for path in files:
            done = subprocess.run(
                [compiler, "c++", "-target", "aarch64-macos.13.0", "-std=c++20", "-c", "-DFMT_HEADER_ONLY", f"-I{ROOT}",
                 "-isystem", folder, str(ROOT / path), "-o", os.path.join(folder, "made.o")],
                capture_output=True, text=True, cwd=folder)
            failed += done.returncode != 0
            if done.returncode != 0:
                print(f"{path}:\n{done.stderr[:2000]}")
    print(f"{len(files) - failed} of {len(files)} sources compile for aarch64-macos")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
