// The capabilities of this machine's CPU, for every compiler.
#pragma once

#include <string>

#include "codegen/caps.h"

namespace doorbell::codegen {

// `threads` of the result is 1: the device sets the number of workers.
Caps cpu_caps();

// Names the CPU's model and features, for cache keys: code for one CPU may not run on another.
std::string cpu_identity();

}  // namespace doorbell::codegen
