// Identifies builds of this code generator, for cache keys, and of its modules.
#pragma once

#include <string>

namespace doorbell::codegen {

// The linker's build id of the program or library that holds this code: it changes with every
// change of the code generator. Without one, the time of the build.
const std::string& build_id();

// In hexadecimal, of the program or library that holds this address; empty if it has none.
std::string build_id_at(const void* address);

}  // namespace doorbell::codegen
