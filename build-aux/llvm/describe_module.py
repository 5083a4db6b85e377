"""Writes a C++ source that tells the library about its LLVM module.

usage: describe_module.py OUTPUT LLVM_VERSION MODULE, or OUTPUT - where LLVM is left out

The hash of the module takes part in cache keys: a changed code generator must not find its old kernels. That the
library needs this source also sees to it that the module is built before any program that would load it.
"""
import hashlib
import os
import sys


def main():
    output, version, *module = sys.argv[1:]
    path = digest = ""
    if version == "-":
        version = ""
    else:
        path = os.path.abspath(module[0])
        with open(path, "rb") as file:
            digest = hashlib.sha256(file.read()).hexdigest()
    with open(output, "w", encoding="utf-8") as file:
        file.write('#include "codegen/compile/llvm_build.h"\n'
                   "namespace doorbell::codegen {\n"
                   f'const char* const kLlvmVersion = "{version}";\n'
                   f'const char* const kLlvmModulePath = "{path}";\n'
                   f'const char* const kLlvmModuleHash = "{digest}";\n'
                   "}\n")


if __name__ == "__main__":
    main()
