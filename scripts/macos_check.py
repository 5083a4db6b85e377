"""Compiles what a Mac with Apple silicon needs for aarch64-macos, as the build files say it, with PyPI's ziglang: its
clang, its libc++, and the C headers of macOS, which it carries. Headers of fmt, Abseil and other libraries are this
machine's.

usage: scripts/macos_check.py [--sample N] [--folder FOLDER] [--match REGEX]
       scripts/macos_check.py --link ABSEIL [--folder FOLDER]

It configures a build of the project for macOS in FOLDER (otherwise one that it deletes), and has ninja compile the
sources whose paths contain REGEX, or all; of these N, chosen by DOORBELL_SEED. With --link it makes the program
FOLDER/first_light (tests/drivers/metal/first_light.cc) for a Mac, from base, core, hcq and drivers/metal; ABSEIL is a
folder with Abseil's sources, of the version whose headers are here. Without ziglang (pip install ziglang) or meson it
exits with 77.
"""

import argparse
import importlib.util
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Of libraries that are headers of C or C++ alone for a compiler that does not link, and what pkg-config calls them.
HEADERS = ("fmt", "absl", "nlohmann", "CLI", "spdlog", "sqlite3.h", "zlib.h", "zconf.h", "archive.h",
           "archive_entry.h", "curl", "libusb-1.0")
MODULES = ("fmt", "spdlog", "absl_flat_hash_map", "absl_inlined_vector", "nlohmann_json", "CLI11", "sqlite3", "zlib",
           "libarchive")
FOLDERS = ("/usr/include", "/usr/include/x86_64-linux-gnu", "/usr/include/aarch64-linux-gnu")
# What first_light needs of Abseil beyond headers.
ABSEIL = ("base/internal/raw_logging.cc", "base/internal/throw_delegate.cc", "container/internal/raw_hash_set.cc",
          "hash/internal/city.cc", "hash/internal/hash.cc", "hash/internal/low_level_hash.cc", "numeric/int128.cc")
LIBRARIES = ("libdoorbell_drivers_metal.a", "libdoorbell_hcq.a", "libdoorbell_core.a", "libdoorbell_base.a")
OPTIONS = ("-Dpython=disabled", "-Dmpi=disabled", "-Dcl=disabled", "-Doptimization=0", "-Ddebug=false")
CROSS = """[binaries]
cpp = '{folder}/clang'
ar = ['{zig}', 'ar']
pkgconfig = 'pkg-config'
[properties]
pkg_config_libdir = '{folder}/pkgconfig'
[built-in options]
cpp_args = ['-isystem', '{folder}/include', '-DFMT_HEADER_ONLY', '-fno-sanitize=undefined']
[host_machine]
system = 'darwin'
cpu_family = 'aarch64'
cpu = 'aarch64'
endian = 'little'
"""
# Meson knows Apple's linker by these answers, and does not know zig's, which takes the same options.
COMPILER = """#!/bin/sh
case " $* " in
  *" -Wl,--version "*) echo "ld: unknown option: --version" >&2; exit 1;;
  *" -Wl,-v "*) echo "@(#)PROGRAM:ld PROJECT:ld64-1" >&2; exit 0;;
esac
exec '{zig}' c++ -target aarch64-macos.13.0 "$@"
"""


def zig():
    """The compiler's path, or None."""
    found = importlib.util.find_spec("ziglang")
    return found and str(pathlib.Path(found.origin).parent / "zig")


def make_machine(folder, compiler):
    """The files of a machine that is a Mac with these headers, and no other: those of this machine's libc must not be
    found."""
    include = folder / "include"
    include.mkdir(parents=True, exist_ok=True)
    for name in HEADERS:
        path = next((f"{at}/{name}" for at in FOLDERS if os.path.exists(f"{at}/{name}")), None)
        if path and not (include / name).exists():
            os.symlink(path, include / name)
    (folder / "pkgconfig").mkdir(exist_ok=True)
    for name in MODULES:
        version = subprocess.run(["pkg-config", "--modversion", name], capture_output=True, text=True).stdout.strip()
        (folder / "pkgconfig" / f"{name}.pc").write_text(
            f"Name: {name}\nDescription: headers\nVersion: {version or '1'}\nLibs:\nCflags:\n")
    (folder / "clang").write_text(COMPILER.format(zig=compiler))
    (folder / "clang").chmod(0o755)
    (folder / "mac.cross").write_text(CROSS.format(zig=compiler, folder=folder))
    return folder / "mac.cross"


def objects_of(build, pattern):
    """What ninja makes of each source of the tree, by the source."""
    found = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        source = (build / entry["file"]).resolve()
        if source.is_relative_to(ROOT) and not source.is_relative_to(build):
            name = str(source.relative_to(ROOT))
            if re.search(pattern, name):
                found[name] = entry["output"]
    return dict(sorted(found.items()))


def configured(folder, compiler):
    build = folder / "build"
    if not (build / "build.ninja").exists():
        cross = make_machine(folder, compiler)
        subprocess.run(["meson", "setup", str(build), str(ROOT), "--cross-file", str(cross), *OPTIONS], check=True)
    return build


def check(folder, compiler, asked):
    build = configured(folder, compiler)
    found = objects_of(build, asked.match)
    chosen = list(found)
    if asked.sample:
        seed = int(os.environ.get("DOORBELL_SEED", "1"))
        chosen = random.Random(seed).sample(chosen, min(asked.sample, len(chosen)))
        print(f"seed {seed}: {' '.join(chosen)}", flush=True)
    if not chosen:
        print(f"no source of a Mac's build has {asked.match} in its path")
        return 1
    objects = [found[name] for name in chosen]
    done = subprocess.run(["ninja", "-C", str(build), "-k0", "-j", str(asked.jobs), *objects])
    compiled = sum((build / name).exists() for name in objects)
    print(f"{compiled} of {len(chosen)} sources compile for aarch64-macos; a Mac's build has {len(found)} like these")
    return done.returncode != 0


def link(folder, compiler, asked):
    build = configured(folder, compiler)
    subprocess.run(["ninja", "-C", str(build), "-j", str(asked.jobs), *LIBRARIES], check=True)
    sources = [ROOT / "tests/drivers/metal/first_light.cc"] + [asked.link / "absl" / name for name in ABSEIL]
    program = folder / "first_light"
    done = subprocess.run([str(folder / "clang"), "-std=c++20", "-O1", f"-I{ROOT}", "-isystem", str(folder / "include"),
                           "-DFMT_HEADER_ONLY", *map(str, sources), *LIBRARIES, "-o", str(program)], cwd=build)
    if done.returncode == 0:
        print(f"{program}: {program.stat().st_size} bytes, begins with {program.read_bytes()[:4].hex()}")
    return done.returncode != 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sample", type=int, default=0)
    parser.add_argument("--folder", type=pathlib.Path)
    parser.add_argument("--match", default="")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--link", type=pathlib.Path, metavar="ABSEIL")
    asked = parser.parse_args()
    compiler, work = zig(), link if asked.link else check
    if compiler is None or shutil.which("meson") is None or shutil.which("ninja") is None:
        print("no ziglang (pip install ziglang), meson or ninja here")
        return 77
    if asked.folder:
        return work(asked.folder.resolve(), compiler, asked)
    with tempfile.TemporaryDirectory() as folder:
        return work(pathlib.Path(folder), compiler, asked)


if __name__ == "__main__":
    sys.exit(main())
