// What the build knows about LLVM and about the module that links to it. Defined in a source that
// build-aux/llvm/describe_module.py writes.
#pragma once

namespace doorbell::codegen {

extern const char* const kLlvmVersion;        // empty: left out of the build
extern const char* const kLlvmModulePath;     // where the module was built
extern const char* const kLlvmModuleBuildId;  // in hexadecimal: the only one that fits this library
extern const char* const kLibraryFolder;      // where it is installed: "lib/x86_64-linux-gnu"
extern const char* const kPrefix;             // under this: "/usr/local"

}  // namespace doorbell::codegen
