// From a device's renderer to the code generator's backend: the other half of the one table.
#pragma once

#include "codegen/caps.h"
#include "codegen/linear/program.h"
#include "tensor/engine/kernel_compiler.h"

namespace doorbell::runtime {

engine::KernelCompiler& compilers();

// What the renderer of a device, refined by the device, declares.
Result<codegen::Caps> caps_of(core::Device& device);

// A linear program written by hand, for the device's compiler as it is.
Result<core::Binary> compile_linear(const codegen::LinearProgram& program, core::Device& device);

}  // namespace doorbell::runtime
