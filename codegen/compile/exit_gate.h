// The exit of a process destroys the statics of libraries that were loaded last first, and so those
// of a compiler before statics of the program that were made earlier, whose destructors may still
// compute. LLVM crashes then.
#pragma once

#include "codegen/compile/compiler.h"

namespace doorbell::codegen {

// compiler.compile(program, source), where the compiler still has its statics: else an error. The
// exit waits for it, a few seconds at most.
// Thread safety: from any thread.
Result<std::vector<u8>> compile_before_exit(const Compiler& compiler, const LinearProgram& program,
                                            std::string_view source);

}  // namespace doorbell::codegen
