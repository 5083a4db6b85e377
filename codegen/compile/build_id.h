// What tells builds of this code generator apart, for cache keys.
#pragma once

#include <string>

namespace doorbell::codegen {

// The linker's build id of the program or library that holds this code: it changes with every
// change of the code generator. Where the linker left none, the time of the build.
const std::string& build_id();

}  // namespace doorbell::codegen
