// What the build knows about LLVM and about the module that links to it. Defined in a source that
// build-aux/llvm/describe_module.py writes.
#pragma once

namespace doorbell::codegen {

extern const char* const kLlvmVersion;     // empty: left out of the build
extern const char* const kLlvmModulePath;  // where the module was built
extern const char* const kLlvmModuleHash;  // of the module's bytes

}  // namespace doorbell::codegen
