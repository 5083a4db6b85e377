// From a device's renderer to the code generator's backend: the other half of the one table.
#pragma once

#include "tensor/engine/kernel_compiler.h"

namespace doorbell::runtime {

engine::KernelCompiler& compilers();

}  // namespace doorbell::runtime
