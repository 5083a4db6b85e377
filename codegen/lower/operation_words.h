// Names the operations of a kernel as a program's author would: a sum of products is a matmul, exp2
// of a multiple is exp. For choosing among the words see kernel_name.h.
#pragma once

#include <string_view>
#include <vector>

#include "codegen/opt/kernel_info.h"

namespace doorbell::codegen {

// How informative a word is; if there is no room for all, the last ranks are dropped first.
enum class WordRank { Whole, Function, Choice, Arithmetic };

struct OperationWord {
  std::string_view text;  // static
  WordRank rank;
};

// In the order of the work, each text once. At least one.
std::vector<OperationWord> operation_words(const KernelInfo& info);

}  // namespace doorbell::codegen
