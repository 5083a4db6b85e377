// The capabilities of this machine's CPU, for every compiler.
#pragma once

#include <string>
#include <string_view>

#include "base/util/result.h"
#include "codegen/caps.h"

namespace doorbell::codegen {

// `threads` of the result is 1: the device sets the number of workers.
Caps cpu_caps();

// The same for code that uses no more than a level of x86-64: "x86-64-v3" has AVX2, "x86-64-v4"
// AVX-512. Fails where this CPU has less. Empty: all that this CPU has.
Result<Caps> cpu_caps_of(std::string_view level);

// Names the CPU's model and features, for cache keys: code for one CPU may not run on another.
std::string cpu_identity();

}  // namespace doorbell::codegen
