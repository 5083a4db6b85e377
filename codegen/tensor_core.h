// Matrix instructions as data: D = A * B + C over the items of a wave (of a warp group: of four
// warps), with where in their registers the elements lie. A kernel's plan names one by its number
// (Op::Wmma); Caps list those of a target; the renderer writes the instruction.
#pragma once

#include <span>

#include "core/dtype/dtype.h"

namespace doorbell::codegen {

// Part of a coordinate: n / divide % modulo * step.
struct Digit {
  i64 divide = 1, modulo = 1, step = 0;
  constexpr i64 of(i64 n) const { return n / divide % modulo * step; }
  bool operator==(const Digit&) const = default;
};

// A row, a column or a depth of an item's element: the sum of digits of the item's number and of
// the element's.
struct Coordinate {
  Digit item[2], element[3];
  constexpr i64 of(i64 l, i64 e) const {
    return item[0].of(l) + item[1].of(l) + element[0].of(e) + element[1].of(e) + element[2].of(e);
  }
  bool operator==(const Coordinate&) const = default;
};

struct TensorCore {
  const char* name;              // of the instruction, as vendors write it; with reads_local, the
                                 // part of it that is the same for all sizes
  core::Scalar operand, result;  // of A and B; of C and D
  i64 rows, columns, depth;
  i64 operand_elements, result_elements;  // an item holds; with reads_local 1 operand element,
                                          // which stands for all
  // Of the elements of A, of B (an instruction may have another order along the depth: it is the
  // same for A and B, so the sum does not change), and of C and D.
  Coordinate a_row, a_depth, b_column, b_depth;
  Coordinate result_row, result_column;
  bool loads_matrices = false;  // from local memory: see program.h, Load
  // Reads its operands from local memory itself: see program.h, Wmma. The depth is one row of a
  // tile, kLocalRowBytes, and several instructions.
  bool reads_local = false;
  // Sums within it have fewer bits than its result, so that each is added to what was there before.
  bool short_sums = false;

  i64 items() const { return rows * columns / result_elements; }
  i64 operand_bytes() const { return core::DType{operand, 1}.bytes(); }
};

inline constexpr i64 kLocalRowBytes = 128;
inline constexpr usize kTensorCoreCount = 56;

// By number.
std::span<const TensorCore> tensor_cores();
const TensorCore& tensor_core(i64 number);

}  // namespace doorbell::codegen
