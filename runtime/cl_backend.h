// OpenCL in the composition root: which of its devices serves a name, and the code generator's side
// of one. The devices are drivers/cl's.
#pragma once

#include <memory>

#include "base/os/files.h"
#include "codegen/caps.h"
#include "codegen/compile/compiler.h"
#include "core/device/device.h"

namespace doorbell::runtime {

// Whether a program that names no device should take OpenCL: a GPU has it. Looks for device nodes
// first, because loading the drivers takes time. docs/decisions/0070-opencl.md says why.
bool has_opencl_gpu(os::Files& files, const std::string& platform);

// Of a CL device; of any other (NULL), those of a usual GPU.
codegen::Caps opencl_caps_of(const core::Device& device);
// Compiles with the device, which it borrows; null for one that is not CL.
std::unique_ptr<codegen::Compiler> make_opencl_compiler(core::Device& device);

}  // namespace doorbell::runtime
