// The structure of a kernel as bytes, equal exactly for equal kernels, in this process and in
// others, from which cache keys are made; and other queries on a whole kernel.
#pragma once

#include <bitset>
#include <string>

#include "core/schedule/kernel.h"

namespace doorbell::codegen {

std::string kernel_identity(const core::KernelAst& kernel);

// The dtypes of all nodes.
std::bitset<core::kScalarCount> kernel_dtypes(const core::KernelAst& kernel);

}  // namespace doorbell::codegen
