// What the build tells of the decoder's module, written by build-aux/llvm/describe_module.py.
#pragma once

namespace doorbell::emu::amdgpu {

extern const char* const kLlvmVersion;     // "" where LLVM is left out
extern const char* const kLlvmModulePath;  // where it was built
extern const char* const kLlvmModuleBuildId;
extern const char* const kLibraryFolder;  // "lib/x86_64-linux-gnu", below kPrefix
extern const char* const kPrefix;

}  // namespace doorbell::emu::amdgpu
