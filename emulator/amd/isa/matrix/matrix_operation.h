// MatrixOperation: a matrix instruction on one wave, decoded from its words: layout, formats,
// signs, broadcasts, scales; and the transfer of its operands' elements from and to registers. The
// arithmetic and the table of instructions are in matrix.cc.
#pragma once

#include <bit>
#include <cmath>
#include <type_traits>

#include "emulator/amd/isa/decode/decode.h"
#include "emulator/amd/isa/matrix/matrix_layout.h"
#include "emulator/amd/isa/matrix/matrix_number.h"
#include "emulator/amd/isa/number/lane_bits.h"
#include "emulator/amd/isa/wave.h"

namespace doorbell::emu::amdgpu {

inline constexpr u32 kFirstAccumulator = 256;

// V_MFMA_SCALE_*: 16 bytes, of which decoding puts the half with the scales last. The scales'
// operand codes.
inline constexpr u32 kScaledBytes = 16;
inline std::array<u32, 2> scale_operands(const Operation& op) {
  return {field(op.words[3], 8, 0), field(op.words[3], 17, 9)};
}

// [LLVM VOP3PInstructions.td: VOP3P_Real_MAI, VOP3PX2e, VOP3Pe]
struct MatrixOperation {
  MatrixLayout layout;
  bool fnuz = false;
  u32 broadcast_size = 0, broadcast_block = 0, broadcast_lanes = 0;  // MFMA: cbsz, abid, blgp
  u32 negate = 0, negate_high = 0;  // WMMA: neg_lo, neg_hi; MFMA of doubles: negate
  u32 op_sel = 0;
  u32 index_set = 0;  // of a sparse operand: which of the index register's parts
  bool clamp = false;
  // A scale for every 32 elements of A and of B: words by lane, and the byte in them.
  bool scaled = false;
  u32 scale_byte[2] = {};
  u32 scales[2][64] = {};

  const MatrixShape& shape() const { return layout.shape(); }
};

MatrixOperation read_matrix_operation(const Wave& wave, const Operation& op,
                                      const MatrixShape& shape);

// The registers of the operands; c and d are the same where D is added to.
struct MatrixRows {
  const u32 *a, *b, *c, *index;
  u32* d;
};
MatrixRows matrix_rows(const Wave& wave, const Operation& op, const MatrixShape& shape);

// BLGP: the lane that B's lane takes its elements from.
u32 broadcast_lane(u32 blgp, u32 lane);
// CBSZ and ABID: the block of A that a block multiplies.
u32 input_block(const MatrixOperation& what, u32 block);
// Which k the held element e of a lane of a sparse A stands for, out of its column.
u32 sparse_column(const MatrixOperation& what, const u32* index, u32 lane, u32 e, u32 column);

template <class T>
T read_element(const MatrixOperation& what, const u32* row, u32 lanes, u32 lane, u32 e,
               u32 operand) {
  const Number number = what.shape().input(operand);
  const u32 width = bits_of(number);
  const u64 bits = read_element_bits(row, lanes, lane, e, width);
  if constexpr (std::is_same_v<T, i32>) {
    const bool is_signed =
        what.shape().family == MatrixFamily::Mfma || (what.negate >> operand & 1) != 0;
    return element_to_integer(static_cast<u32>(bits), width, is_signed);
  } else {
    const u32 negate = width == 16 && e % 2 != 0 ? what.negate_high : what.negate;
    const T value = width == 64 ? static_cast<T>(std::bit_cast<f64>(bits))
                                : T{element_to_float(static_cast<u32>(bits), number, what.fnuz)};
    return (negate >> operand & 1) != 0 ? -value : value;
  }
}

// a[block][k][i] and b[block][k][j]: the inner loop's index is last.
template <class T>
void read_inputs(const MatrixOperation& what, const u32* row, u32 lanes, u32 operand, T* out) {
  const u32 rows = what.shape().rows(operand), columns = what.shape().columns(operand);
  const u32 count = what.layout.inputs_per_lane(operand);
  const u32 from = what.layout.input_lanes(operand);
  for (u32 lane = 0; lane < from; ++lane) {
    const u32 source = operand == 1 ? broadcast_lane(what.broadcast_lanes, lane) : lane;
    for (u32 e = 0; e < count; ++e) {
      const MatrixPlace place = what.layout.input(lane, e, operand);
      T value = read_element<T>(what, row, lanes, source, e, operand);
      if constexpr (std::is_same_v<T, f64>) {
        if (what.scaled) {
          const u32 word = what.scales[operand][place.column / 32 * rows + place.row];
          value *= scale_to_double(word >> 8 * what.scale_byte[operand] & 255);
        }
      }
      out[(place.block * columns + place.column) * rows + place.row] = value;
    }
  }
}

// C's element r of a lane: a register's, half a register's, or a constant.
template <class Sum>
Sum read_sum(const MatrixOperation& what, const u32* row, u64 constant, u32 lanes, u32 lane,
             u32 r) {
  const Number number = what.shape().result;
  u64 bits = constant;
  if (row != nullptr) {
    if (bits_of(number) == 16 && !what.layout.packed_results()) {
      bits = row[lane + r * lanes] >> ((what.op_sel & 4) != 0 ? 16 : 0) & 0xffff;
    } else {
      bits = read_element_bits(row, lanes, lane, r, bits_of(number));
    }
  }
  if constexpr (std::is_same_v<Sum, i64>) {
    return static_cast<i32>(bits);
  } else {
    Sum value = number == Number::F64
                    ? static_cast<Sum>(std::bit_cast<f64>(bits))
                    : Sum{element_to_float(static_cast<u32>(bits), number, false)};
    if ((what.negate_high & 4) != 0) value = std::fabs(value);
    return (what.negate & 4) != 0 ? -value : value;
  }
}

void write_sum(const MatrixOperation& what, u32* row, u32 lanes, u32 lane, u32 r, f32 sum);
void write_sum(const MatrixOperation& what, u32* row, u32 lanes, u32 lane, u32 r, f64 sum);
void write_sum(const MatrixOperation& what, u32* row, u32 lanes, u32 lane, u32 r, i64 sum);

}  // namespace doorbell::emu::amdgpu
