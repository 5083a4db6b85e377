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

// Waits for running compiles, a few seconds at most, and lets none begin any more. The exit of the
// process calls it by itself, but too late for a compiler's first compile, in which its statics are
// made: a host whose exit begins earlier, such as Python, calls it then.
void close_exit_gate();

}  // namespace doorbell::codegen
