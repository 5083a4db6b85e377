// Keeps compiles from running after the compiler's statics were destroyed. The exit of a process
// destroys them before older statics of the program, whose destructors may still compute; LLVM
// would crash then.
#pragma once

#include "codegen/compile/compiler.h"

namespace doorbell::codegen {

// compiler.compile(program, source) while the compiler's statics exist; otherwise an error. The
// exit waits for a running compile, a few seconds at most.
// Thread safety: from any thread.
Result<std::vector<u8>> compile_before_exit(const Compiler& compiler, const LinearProgram& program,
                                            std::string_view source);

}  // namespace doorbell::codegen
