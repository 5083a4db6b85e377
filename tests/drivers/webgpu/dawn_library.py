"""Makes a libwebgpu_dawn.so of PyPI's package wgpudawn, whose Python module has Dawn in it where no loader finds it.

The module's table of C functions names each function of webgpu.h; the library jumps to where they are. It is made for
this one file. Of Python it needs nothing: the few functions that the module asks a loader for are only called by
Python's own calls into it.

usage: dawn_library.py FOLDER    makes FOLDER/libwebgpu_dawn.so and prints its path; exits with 77 if a part is missing
"""

import importlib.util
import os
import re
import subprocess
import sys

MISSING = 77  # what meson takes for a test that is skipped

SOURCE = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
%(stubs)s
void *functions[%(count)d];
static const unsigned long offsets[%(count)d] = {%(offsets)s};
__asm__(".text\n%(jumps)s");
__attribute__((constructor)) static void start(void) {
  Dl_info self;
  dladdr((void *)start, &self);
  dlopen(self.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_GLOBAL);
  void *module = dlopen("%(module)s", RTLD_LAZY);
  if (!module) {
    fprintf(stderr, "%%s\n", dlerror());
    abort();
  }
  struct link_map *map;
  dlinfo(module, RTLD_DI_LINKMAP, &map);
  for (int i = 0; i < %(count)d; ++i) functions[i] = (char *)map->l_addr + offsets[i];
}
"""


def missing(what: str) -> None:
    print(f"skipped: {what}", file=sys.stderr)
    sys.exit(MISSING)


def module_path() -> str:
    found = importlib.util.find_spec("wgpudawn")
    if found is None:
        missing("there is no package wgpudawn (pip install wgpudawn)")
    return os.path.join(found.submodule_search_locations[0], "_lib", "_wgpu_dawn.abi3.so")


def offsets_of(path: str) -> dict[str, int]:
    """Of the functions of webgpu.h, in the file."""
    spec = importlib.util.spec_from_file_location("_wgpu_dawn", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    with open("/proc/self/maps") as maps:
        base = min(int(line.split("-")[0], 16) for line in maps if line.rstrip().endswith(path))
    address = lambda name: int(module.ffi.cast("uintptr_t", module.ffi.addressof(module.lib, name)))
    return {name: address(name) - base for name in sorted(dir(module.lib)) if re.match("wgpu[A-Z]", name)}


def undefined_of_python(path: str) -> list[str]:
    symbols = subprocess.run(["nm", "-D", "-u", path], stdout=subprocess.PIPE, text=True, check=True).stdout
    return [word for word in symbols.split() if re.match("_?Py", word)]


def main(folder: str) -> None:
    path = os.path.realpath(module_path())
    offsets = offsets_of(path)
    # A slot holds the address; %rip-relative, so that the library needs no relocation of its text.
    jumps = "".join(f".globl {name}\\n.type {name},@function\\n{name}: jmp *functions+{8 * i}(%rip)\\n"
                    for i, name in enumerate(offsets))
    source = SOURCE % {
        "stubs": "\n".join(f"char {name}[64];" for name in undefined_of_python(path)),
        "count": len(offsets), "offsets": ", ".join(map(hex, offsets.values())), "jumps": jumps, "module": path}
    library = os.path.join(folder, "libwebgpu_dawn.so")
    os.makedirs(folder, exist_ok=True)
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-Wl,-Bsymbolic", "-x", "c", "-", "-o", library, "-ldl"],
                   input=source, text=True, check=True)
    print(library)


if __name__ == "__main__":
    if os.uname().machine != "x86_64":
        missing("the jumps are x86-64's")
    main(sys.argv[1])
