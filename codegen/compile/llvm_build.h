// What the build knows about LLVM. Defined in a source that meson writes.
#pragma once

namespace doorbell::codegen {

extern const char* const kLlvmVersion;     // empty: left out of the build
extern const char* const kLlvmModulePath;  // where the module was built

}  // namespace doorbell::codegen
