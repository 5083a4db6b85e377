// Places of elements in registers.
#include "emulator/amd/isa/matrix_layout.h"

namespace doorbell::emulator::amd {

u32 MatrixLayout::inputs_per_lane() const {
  const u32 elements = u32{shape_.m} * shape_.k * shape_.blocks;
  if (shape_.family == MatrixFamily::Mfma) return elements / lanes_;
  return elements / input_lanes();
}

u32 MatrixLayout::input_lanes() const {
  if (shape_.family == MatrixFamily::Mfma) return lanes_;
  if (!gfx12_) return 16;  // the other lanes hold the same
  // Four bits times sixteen fill a register in half of a wave of 64.
  return shape_.a == Number::I4 && shape_.k == 16 ? 32 : lanes_;
}

u32 MatrixLayout::wmma_k(u32 lane, u32 e) const {
  if (!gfx12_) return e;
  const u32 group = lane / 16, half = group % 2, upper = group / 2;
  if (bits_of(shape_.a) == 16) {
    return lanes_ == 32 ? e / 4 * 8 + half * 4 + e % 4 : group * 4 + e;
  }
  const u32 per_lane = inputs_per_lane();
  return half * (shape_.k / 2) + upper * per_lane + e;
}

MatrixPlace MatrixLayout::input(u32 lane, u32 e, u32 rows) const {
  if (shape_.family == MatrixFamily::Wmma) return {0, lane % 16, wmma_k(lane, e)};
  const u32 rest = lane / rows;
  return {rest % shape_.blocks, lane % rows, rest / shape_.blocks * inputs_per_lane() + e};
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

}  // namespace doorbell::emulator::amd
