// The assembler of Abacus: Doorbell's Compiler for it. The text it takes is what renderer.cc
// writes, one instruction or label a line:
//
//     li r4 4
//   loop1:
//     jge r2 r3 end1
//     ld.f32 r5 r1
#pragma once

#include <memory>

#include "codegen/compile/compiler.h"

namespace doorbell::abacus {

std::unique_ptr<codegen::Compiler> make_assembler();

}  // namespace doorbell::abacus
