// Positions of elements in registers.
#include "emulator/amd/isa/matrix/matrix_layout.h"

#include <algorithm>

namespace doorbell::emu::amdgpu {

u32 MatrixLayout::inputs_per_lane(u32 operand) const {
  const u32 elements = shape_.rows(operand) * shape_.columns(operand) * shape_.blocks;
  return elements / input_lanes(operand);
}

u32 MatrixLayout::input_lanes(u32 operand) const {
  if (shape_.family == MatrixFamily::Mfma) return lanes_;
  if (!gfx12_) return 16;  // the other lanes hold the same
  // Four bits times sixteen fill a register in half of a wave of 64.
  return shape_.input(operand) == Number::I4 && shape_.columns(operand) == 16 ? 32 : lanes_;
}

u32 MatrixLayout::wmma_column(u32 lane, u32 e, u32 operand) const {
  if (!gfx12_) return e;
  const u32 group = lane / 16, half = group % 2, upper = group / 2;
  const u32 columns = shape_.columns(operand);
  if (bits_of(shape_.input(operand)) == 16) {
    const u32 piece = columns / 4;
    return lanes_ == 32 ? (e / piece * 2 + half) * piece + e % piece : group * piece + e;
  }
  return half * (columns / 2) + upper * inputs_per_lane(operand) + e;
}

MatrixPlace MatrixLayout::input(u32 lane, u32 e, u32 operand) const {
  if (shape_.family == MatrixFamily::Wmma) return {0, lane % 16, wmma_column(lane, e, operand)};
  const u32 rows = shape_.rows(operand), bits = bits_of(shape_.input(operand));
  const u32 rest = lane / rows, group = rest / shape_.blocks;
  const u32 groups = lanes_ / rows / shape_.blocks, count = inputs_per_lane(operand);
  const u32 piece = bits == 6 ? count : std::min(count, 128 / bits);
  return {rest % shape_.blocks, lane % rows, (e / piece * groups + group) * piece + e % piece};
}

MatrixPlace MatrixLayout::result(u32 lane, u32 r) const {
  const u32 m = shape_.m, n = shape_.n, blocks = shape_.blocks;
  if (shape_.family == MatrixFamily::Wmma) {
    const u32 group = lane / 16, column = lane % 16;
    if (!gfx12_) return {0, lanes_ / 16 * r + group, column};
    if (lanes_ == 32) return {0, group * 8 + r, column};
    return {0, group % 2 * 8 + group / 2 * 4 + r, column};
  }
  const u32 column = lane % n, group = lane / n;
  if (bits_of(shape_.result) == 64) {
    // Rows one by one.
    const u32 block = group % blocks, first = group / blocks;
    return {block, first + r * (lanes_ / n / blocks), column};
  }
  if (m == 4) return {group, r, column};
  // Four rows at a time in each group of lanes.
  const u32 per_block = m * n / lanes_, in_block = r % per_block;
  return {r / per_block, in_block / 4 * (lanes_ / n) * 4 + group * 4 + in_block % 4, column};
}

}  // namespace doorbell::emu::amdgpu
