// What a well-formed graph is, stage by stage. Run between passes in debug builds, and in others
// where CHECK_GRAPHS=1 asks for it. For the list form of a program see codegen/linear/validate.h.
#pragma once

#include <string>

#include "core/uop/arena.h"

namespace doorbell::core {

enum class Stage : u8 {
  Tensor,    // lazy tensors: movement, elementwise, Reduce over axes
  Kernel,    // a scheduled kernel: Ranges, Index, Load, Store, Reduce over Ranges, End
  Expanded,  // after unrolling: vectors, registers, After; no Reduce
  Lowered,   // as Expanded, without dtype Index
};

// Describes what is wrong with one node; empty if nothing is. Looks at the node and its direct
// sources.
std::string invalid(UOp u, Stage stage);

// CHECKs every node below `root` of an arena, where config().check says so.
void validate(Arena& arena, UOp root, Stage stage, const char* after_pass);

}  // namespace doorbell::core
