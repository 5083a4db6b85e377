// The text form of a graph: one node a line, sources first, the root last.
//   %0 = Param:f32 {0, 16}
//   %1 = Const:index 16
//   %2 = Range:index(%1) {0, loop}
//   %3 = Index:f32(%0, %2)
// print and parse are inverses: print(parse(s)) == s for every printed s. Payloads are not printed.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/util/result.h"
#include "core/uop/arena.h"

namespace doorbell::core {

// Any graph: arena or tensor. `order` lists sources before users (topological_order, a linear
// program).
std::string print_ops(std::span<const UOp> order);
// The graph below `root`, an arena node.
std::string print(Arena& arena, UOp root);
// The graph below `root`, a tensor-graph node.
std::string print_tensor_graph(UOp root);
// Builds the printed graph in `arena` and returns its last line's node.
Result<UOp> parse(Arena& arena, std::string_view text);

}  // namespace doorbell::core
