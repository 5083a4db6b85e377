// Facts about LLVM and about the module that links to it, known at build time.
// build-aux/llvm/describe_module.py writes the source with the definitions.
#pragma once

namespace doorbell::codegen {

extern const char* const kLlvmVersion;        // empty: built without LLVM
extern const char* const kLlvmModulePath;     // where the module was built
extern const char* const kLlvmModuleBuildId;  // in hexadecimal: the only one that fits this library
extern const char* const kLibraryFolder;      // where it is installed: "lib/x86_64-linux-gnu"
extern const char* const kPrefix;             // under this: "/usr/local"

}  // namespace doorbell::codegen
