// What this machine's CPU offers to generated code, whichever compiler makes it.
#pragma once

#include <string>

#include "codegen/caps.h"

namespace doorbell::codegen {

// `threads` of the result is 1: the device knows how many workers there are.
Caps cpu_caps();

// Names the CPU's model and features, for cache keys: code for one CPU may not run on another.
std::string cpu_identity();

}  // namespace doorbell::codegen
