// The clang compiler: C source to a relocatable object, by running clang as a process.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "codegen/compile/compiler.h"

namespace doorbell::codegen {

// Uses the first of `programs` that runs; by default clang-22 down to clang-14, and clang.
Result<std::unique_ptr<Compiler>> make_clang_compiler(std::vector<std::string> programs = {});

}  // namespace doorbell::codegen
