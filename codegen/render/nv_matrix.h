// The instructions that a tensor core of NVIDIA's stands for (codegen/tensor_core.cc), and their
// text in PTX, which both renderers write.
#pragma once

#include <string>
#include <vector>

#include "codegen/tensor_core.h"

namespace doorbell::codegen {

// Whether the core is of NVIDIA's.
bool is_nv_matrix(const TensorCore& core);

// One instruction: which 32-bit words of an item's operands it takes, and which of its results it
// adds to.
struct NvMatrixStep {
  std::vector<int> a, b, sums;
};
std::vector<NvMatrixStep> nv_matrix_steps(const TensorCore& core);

// The instruction; `sign` and a number stand for an operand: first four sums, then a, then b.
std::string nv_matrix_text(const TensorCore& core, char sign);

}  // namespace doorbell::codegen
