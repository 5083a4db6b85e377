// Facts about the decoder's module, known at build time; build-aux/llvm/describe_module.py writes
// the source.
#pragma once

namespace doorbell::emu::amdgpu {

extern const char* const kLlvmVersion;     // "" without LLVM
extern const char* const kLlvmModulePath;  // where it was built
extern const char* const kLlvmModuleBuildId;
extern const char* const kLibraryFolder;  // "lib/x86_64-linux-gnu", below kPrefix
extern const char* const kPrefix;

}  // namespace doorbell::emu::amdgpu
