// Matrix instructions as data: D = A * B + C over the items of a wave, with where in their
// registers the elements lie. A kernel's plan names one by its number (Op::Wmma); Caps list those
// of a target; the renderer writes the instruction.
#pragma once

#include <span>

#include "core/dtype/dtype.h"

namespace doorbell::codegen {

// Of item l and its element e:
//   A  row l % rows,        depth (l / rows * operand_elements) % depth + e
//   B  column l % columns,  depth likewise
//   C, D        column l % columns,  row (l / columns) * next_item + e * next_element
// An instruction may have another order along the depth: it is the same for A and B, so the sum
// does not change.
struct TensorCore {
  const char* name;              // of the instruction, as vendors write it
  core::Scalar operand, result;  // of A and B; of C and D
  i64 rows, columns, depth;
  i64 operand_elements, result_elements;  // an item holds
  i64 next_item, next_element;

  i64 items() const { return rows * columns / result_elements; }
  i64 operand_bytes() const { return core::DType{operand, 1}.bytes(); }
};

inline constexpr usize kTensorCoreCount = 27;

// By number.
std::span<const TensorCore> tensor_cores();
const TensorCore& tensor_core(i64 number);

}  // namespace doorbell::codegen
