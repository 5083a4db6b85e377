// The instructions of a kernel's inner loop by kind, read from the disassembly of its object code:
// of AMD's chips as LLVM prints it, of NVIDIA's as nvdisasm does.
#pragma once

#include <string>
#include <string_view>

#include "base/util/types.h"

namespace doorbell::codegen::testing {

struct LoopCount {
  int matrix = 0;         // multiply-accumulates of whole matrices
  int multiply_adds = 0;  // instructions of single elements
  int all = 0;            // instructions
  int shared_loads = 0, shared_stores = 0;
  int narrow_stores = 0;  // of these, stores of less than 32 bits
  int global_loads = 0, global_stores = 0;
  int waits = 0;  // and hints to the issue of instructions
  int barriers = 0;
  int moves = 0;  // and permutations of bytes
  int arithmetic = 0;
  int scalar = 0;  // of a whole wave, and branches
  int scratch = 0;
  std::string text;  // the instructions

  int work() const { return matrix > 0 ? matrix : multiply_adds; }
  int others() const { return all - work(); }
};

// The loop without inner loops that has the most matrix instructions, or, where there are none,
// the most multiply-adds. All zero if there is no loop.
LoopCount count_inner_loop(std::string_view disassembly);

std::string print(const LoopCount& count);  // one line

}  // namespace doorbell::codegen::testing
