// load_object: a relocatable ELF object (as LLVM and `clang -c` emit it for one kernel) into
// executable memory of this process. It links against nothing but the few memory functions that
// compilers call on their own. A small loader of ours, so that a kernel from the cache starts
// without loading LLVM, and both compilers' output is loaded the same way.
#pragma once

#include <span>
#include <string_view>

#include "base/util/result.h"
#include "base/util/types.h"
#include "core/device/program.h"

namespace doorbell::codegen {

// `entry` is the name of the function wanted. The object's bytes are not needed afterwards.
Result<core::LoadedCode> load_object(std::span<const u8> object, std::string_view entry);

}  // namespace doorbell::codegen
