// The structure of a kernel as bytes, equal exactly for equal kernels, in this process and in
// others: what cache keys are made of.
#pragma once

#include <string>

#include "core/schedule/kernel.h"

namespace doorbell::codegen {

std::string kernel_identity(const core::KernelAst& kernel);

}  // namespace doorbell::codegen
