"""Writes a C++ source that tells the library about a module of its that links to LLVM.

usage: describe_module.py OUTPUT HEADER NAMESPACE PREFIX LIBRARY_FOLDER LLVM_VERSION MODULE
       ... - instead of the last two where LLVM is left out

The module's build id takes part in cache keys, because a changed code generator must not find its old kernels, and
the library refuses a module of any other build. That the library needs this source also sees to it that the module
is built before any program that would load it.
"""
import os
import struct
import sys

PT_NOTE, NT_GNU_BUILD_ID = 4, 3


def build_id(path):
    """The build id of a 64-bit little-endian ELF file, in hexadecimal."""
    with open(path, "rb") as file:
        data = file.read()
    assert data[:6] == b"\x7fELF\x02\x01", f"{path} is not a 64-bit ELF file"
    (table,) = struct.unpack_from("<Q", data, 32)
    size, count = struct.unpack_from("<HH", data, 54)
    for i in range(count):
        kind, _, at, _, _, length = struct.unpack_from("<IIQQQQ", data, table + i * size)
        end = at + length
        while kind == PT_NOTE and at + 12 <= end:
            name_size, desc_size, note = struct.unpack_from("<III", data, at)
            name = at + 12
            desc = name + (name_size + 3 & ~3)
            if note == NT_GNU_BUILD_ID and data[name:name + 4] == b"GNU\0":
                return data[desc:desc + desc_size].hex()
            at = desc + (desc_size + 3 & ~3)
    raise SystemExit(f"{path} has no build id: link it with --build-id")


def main():
    output, header, namespace, prefix, folder, version, *module = sys.argv[1:]
    path = build = ""
    if version == "-":
        version = ""
    else:
        path, build = os.path.abspath(module[0]), build_id(module[0])
    with open(output, "w", encoding="utf-8") as file:
        file.write(f'#include "{header}"\n'
                   f"namespace {namespace} {{\n"
                   f'const char* const kLlvmVersion = "{version}";\n'
                   f'const char* const kLlvmModulePath = "{path}";\n'
                   f'const char* const kLlvmModuleBuildId = "{build}";\n'
                   f'const char* const kLibraryFolder = "{folder}";\n'
                   f'const char* const kPrefix = "{prefix}";\n'
                   "}\n")


if __name__ == "__main__":
    main()
