// load_object: a relocatable ELF object (as LLVM and `clang -c` emit it for one kernel) into
// executable memory of this process. It links only against the memory functions to which compilers
// emit calls themselves. With this loader a kernel from the cache starts without loading LLVM, and
// the output of both compilers is loaded in the same way.
#pragma once

#include <span>
#include <string_view>

#include "base/util/result.h"
#include "base/util/types.h"
#include "core/device/program.h"

namespace doorbell::codegen {

// `entry` is the name of the function to find. The object's bytes are not needed afterwards.
Result<core::LoadedCode> load_object(std::span<const u8> object, std::string_view entry);

}  // namespace doorbell::codegen
