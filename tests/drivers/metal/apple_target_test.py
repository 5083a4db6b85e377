"""Checks that drivers/metal compiles for a Mac: clang for arm64-apple-macos reads it, with this machine's headers of C
and C++ in place of Apple's, of which nothing is needed.

usage: apple_target_test.py SOURCE_ROOT
"""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(sys.argv[1])
CLANG = next(filter(None, map(shutil.which, ("clang++", "clang++-22", "clang++-21", "clang++-20", "clang++-19"))), None)
# What headers of glibc and Abseil ask for on a machine that is neither 64-bit x86 nor has an SDK.
STAND_INS = {
    "bits/wordsize.h": "#define __WORDSIZE 64\n#define __WORDSIZE_TIME64_COMPAT32 1\n#define __SYSCALL_WORDSIZE 64\n",
    "gnu/stubs-32.h": "", "Availability.h": "", "TargetConditionals.h": "",
}


def system_folders():
    """Where this machine's compiler looks for headers of C++ and C."""
    said = subprocess.run(["c++", "-x", "c++", "-E", "-v", "/dev/null"], capture_output=True, text=True).stderr
    listed = re.search(r"search starts here:\n(.*?)End of search", said, re.S).group(1).split()
    return [folder for folder in listed if folder.startswith("/") and "/lib/" not in folder]


def main():
    if CLANG is None:
        print("no clang here, which setup installs")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        for name, text in STAND_INS.items():
            path = pathlib.Path(folder, name)
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
        includes = [f"-I{folder}"] + [word for at in system_folders() for word in ("-isystem", at)]
        failed = 0
        for source in sorted((ROOT / "drivers/metal").glob("*.cc")):
            done = subprocess.run(
                [CLANG, "-target", "arm64-apple-macos13", "-std=c++20", "-fsyntax-only", "-nostdinc++", "-U__nonnull",
                 "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", f"-I{ROOT}", *includes, str(source)],
                capture_output=True, text=True)
            if done.returncode != 0:
                print(f"{source.name}:\n{done.stderr}")
            failed += done.returncode != 0
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
