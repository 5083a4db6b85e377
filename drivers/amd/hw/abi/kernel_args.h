// How a kernel that this project compiles finds its arguments: 8 bytes each, first the addresses of
// the buffers in the order of their slots, then the variables as signed 64-bit values. No hidden
// arguments. Both the code generator and the driver hold to it.
#pragma once

#include "base/util/types.h"

namespace doorbell::amd::hw {

inline constexpr u32 kArgumentBytes = 8;
// Scalar loads take lines of 64 bytes. [LLVM AMDGPUUsage "Kernarg Segment": aligned to 16]
inline constexpr u32 kArgumentsAlignment = 16;

constexpr u32 argument_offset(u32 index) { return index * kArgumentBytes; }

}  // namespace doorbell::amd::hw
