// What the operations of a kernel are called by those who wrote the program: a sum of products is a
// matmul, exp2 of a multiple is exp. For choosing among the words, and their name, see
// kernel_name.h.
#pragma once

#include <string_view>
#include <vector>

#include "codegen/opt/kernel_info.h"

namespace doorbell::codegen {

// How much a word tells; where there is no room for all, the last kinds go first.
enum class WordRank { Whole, Function, Choice, Arithmetic };

struct OperationWord {
  std::string_view text;  // static
  WordRank rank;
};

// In the order of the work, each text once. At least one.
std::vector<OperationWord> operation_words(const KernelInfo& info);

}  // namespace doorbell::codegen
