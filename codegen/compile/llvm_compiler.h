// The LLVM backend as seen from outside: a renderer (IR text, for readers) and a compiler
// (objects), over the LLVM module that is loaded when one of them is first used.
#pragma once

#include <memory>
#include <string>

#include "codegen/compile/compiler.h"
#include "codegen/compile/llvm/llvm_api.h"
#include "codegen/render/renderer.h"

namespace doorbell::codegen {

// False if the build has no LLVM.
bool has_llvm();

// `module_path`: the module's file; empty: beside this library or program, or where it was built.
std::unique_ptr<Renderer> make_llvm_renderer(Caps caps, LlvmTarget target = {},
                                             std::string module_path = {});
std::unique_ptr<Compiler> make_llvm_compiler(LlvmTarget target = {}, std::string module_path = {});

}  // namespace doorbell::codegen
