// Matrix products of warp groups. Each warp computes its 16 rows when it executes the instruction:
// hardware does so at some time until WARPGROUP.DEPBAR, and rounds otherwise (see matrix.cc).
#include "emulator/nv/isa/warpgroup.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "emulator/core/number/number.h"
#include "emulator/core/number/small_float.h"
#include "emulator/nv/compute/rules.h"
#include "emulator/nv/isa/handlers.h"
#include "emulator/nv/isa/memory_access.h"

namespace doorbell::emu::nvgpu {

namespace {

constexpr u32 kHgmma = 0x1f0, kIgmma = 0x1f1, kQgmma = 0x1f3;
constexpr u32 kUnit = 16;      // bytes: what layouts move
constexpr u32 kWarpRows = 16;  // of a warp

// Where a matrix lies. Offsets are bytes.
struct Layout {
  u32 start = 0, leading = 0, stride = 0;
  u32 width = 1;  // units of a swizzled row: 8, 4 or 2; 1: not swizzled

  // Null: the descriptor has an offset of its base, which is not executed.
  static std::optional<Layout> of(u64 descriptor) {
    const Words words{descriptor, 0};
    if (words.field(49, 3) != 0) return std::nullopt;
    constexpr u32 kWidths[] = {1, 8, 4, 2};
    return Layout{words.field(0, 14) * kUnit, words.field(16, 14) * kUnit,
                  words.field(32, 14) * kUnit, kWidths[words.field(62, 2)]};
  }
  u32 swizzled(u32 offset) const {
    const u32 address = start + offset;
    return address ^ (((address >> 7) & (width - 1)) * kUnit);
  }
  // Of row `row` of A or column of B, unit `unit` of its depth.
  u32 of_row(u32 row, u32 unit) const {
    const u32 next = width == 1 ? leading : kUnit;
    return swizzled(row % 8 * width * kUnit + row / 8 * stride + unit * next);
  }
  // Of the unit `unit` of the rows (of B: columns) at depth k.
  u32 of_depth(u32 unit, u32 k) const {
    if (width == 1) return swizzled(unit * stride + k % 8 * kUnit + k / 8 * leading);
    return swizzled(unit % width * kUnit + unit / width * leading + k % 8 * width * kUnit +
                    k / 8 * stride);
  }
};

f64 element_of(const u8* bytes, Element type) {
  u32 word = 0;
  std::memcpy(&word, bytes, type == Element::Tf32 ? 4 : type <= Element::Bfloat ? 2 : 1);
  switch (type) {
    case Element::Half: return half_to_float(word);
    case Element::Bfloat: return bfloat_to_float(word);
    case Element::Tf32: return std::bit_cast<f32>(word & 0xffff'e000);
    case Element::E4m3: return small_to_float(word, kFp8);
    case Element::E5m2: return small_to_float(word, kBf8);
    case Element::U8: return word;
    case Element::I8: return static_cast<i8>(word);
  }
  return 0;
}

// Rows of A or columns of B: `count` of them, depth() elements each.
class Factor {
 public:
  Factor(u32 count, const WarpgroupForm& form, Element type)
      : depth_(form.depth()), bytes_(form.element_bytes()), type_(type), values_(count * depth_) {}

  f64 at(u32 row, u32 k) const { return values_[row * depth_ + k]; }
  void negate() {
    for (f64& value : values_) value = -value;
  }

  // False: a rule was broken, and the warp is stopped. `first`: the row of the matrix at which
  // ours begin, a multiple of 8.
  bool load(Warp& warp, const Layout& layout, bool by_depth, u32 first) {
    const u32 rows = static_cast<u32>(values_.size()) / depth_, in_unit = kUnit / bytes_;
    const u32 outer = by_depth ? rows / in_unit : rows, inner = by_depth ? depth_ : 2;
    for (u32 i = 0; i < outer; ++i)
      for (u32 j = 0; j < inner; ++j) {
        const u32 address =
            by_depth ? layout.of_depth(first / in_unit + i, j) : layout.of_row(first + i, j);
        const u8* unit = locate(warp, Space::Shared, 0, address, kUnit, false);
        if (unit == nullptr) return false;
        for (u32 e = 0; e < in_unit; ++e) {
          const u32 row = by_depth ? i * in_unit + e : i, k = by_depth ? j : j * in_unit + e;
          values_[row * depth_ + k] = element_of(unit + e * bytes_, type_);
        }
      }
    return true;
  }
  // As those of m16n8k16's A: register 2 i + j of lane 4 g + t has row 8 j + g.
  void load(const Warp& warp, u32 first_register) {
    const u32 packed = 4 / bytes_;
    for (u32 r = 0; r < 4; ++r)
      for (u32 lane = 0; lane < kLanes; ++lane) {
        const u32 word = warp.rows[first_register + r][lane];
        const u32 row = lane / 4 + 8 * (r & 1), k = packed * (lane % 4 + 4 * (r >> 1));
        for (u32 e = 0; e < packed; ++e) {
          const u32 shifted = word >> (8 * bytes_ * e);
          values_[row * depth_ + k + e] = element_of(reinterpret_cast<const u8*>(&shifted), type_);
        }
      }
  }

 private:
  u32 depth_, bytes_;
  Element type_;
  std::vector<f64> values_;
};

// Register 4 i + 2 j + odd of lane 4 g + t has row 8 j + g, column 8 i + 2 t + odd; of halves,
// register 2 i + j has both columns.
struct Place {
  u32 number, lane, odd;
};
Place place_of(u32 row, u32 column, bool narrow) {
  const u32 number = column / 8 * 2 + row / 8, odd = column % 2;
  return {narrow ? number : 2 * number + odd, row % 8 * 4 + column % 8 / 2, odd};
}

u32 sum_of(const WarpgroupForm& form, const Factor& left, const Factor& right, u32 row, u32 column,
           u32 before) {
  if (form.left >= Element::U8) {
    i64 sum = static_cast<i32>(before);
    for (u32 k = 0; k < form.depth(); ++k)
      sum += static_cast<i64>(left.at(row, k) * right.at(column, k));
    if (form.saturates)
      sum = std::clamp<i64>(sum, std::numeric_limits<i32>::min(), std::numeric_limits<i32>::max());
    return static_cast<u32>(sum);
  }
  f32 sum = form.narrow_sums ? half_to_float(before) : std::bit_cast<f32>(before);
  for (u32 k = 0; k < form.depth(); ++k)
    sum = std::fma(static_cast<f32>(left.at(row, k)), static_cast<f32>(right.at(column, k)), sum);
  if (form.narrow_sums) return sum != sum ? 0x7fff : float_to_half(sum);
  return sum != sum ? 0x7fff'ffff : std::bit_cast<u32>(sum);
}

void multiply(Warp& warp, const Operation& op, const WarpgroupForm& form, const Factor& left,
              const Factor& right, bool adds) {
  const u32 mask = form.narrow_sums ? 0xffff : ~0u;
  for (u32 row = 0; row < kWarpRows; ++row)
    for (u32 column = 0; column < form.columns; ++column) {
      const Place at = place_of(row, column, form.narrow_sums);
      const u32 shift = form.narrow_sums ? 16 * at.odd : 0;
      u32 before = 0;
      if (adds && op.e.index != kZero)
        before = warp.rows[op.e.index + at.number][at.lane] >> shift & mask;
      u32& word = warp.rows[op.dst + at.number][at.lane];
      word = (word & ~(mask << shift)) | sum_of(form, left, right, row, column, before) << shift;
    }
}

std::optional<Layout> layout_at(const Warp& warp, u32 row) {
  return Layout::of(warp.rows[row][0] | u64{warp.rows[next_row(row)][0]} << 32);
}

// IGMMA has not every multiple of 8 columns, and counts those that it has in threes. [PTX ISA,
// "wgmma.mma_async", shapes of .s32; the code of NVRTC 13.2 for each of them]
std::optional<u32> columns_of(const Operation& op) {
  if (op.opcode->number != kIgmma) return 8 * (op.field(53, 5) + 1);
  constexpr u32 kShapes = 18;
  const u32 code = op.field(53, 6), shape = code / 3;
  if (code % 3 != 0 || shape >= kShapes) return std::nullopt;
  return shape < 4 ? 8 * (shape + 1) : 16 * (shape - 1);
}

}  // namespace

bool is_warpgroup_product(u32 opcode) {
  return opcode == kHgmma || opcode == kIgmma || opcode == kQgmma;
}

std::optional<WarpgroupForm> warpgroup_form(const Operation& op) {
  const u32 number = op.opcode->number;
  if (op.bit(73) || (op.form != 4 && op.form != 6)) return std::nullopt;
  WarpgroupForm form;
  const std::optional<u32> columns = columns_of(op);
  if (!columns) return std::nullopt;
  form.columns = *columns;
  form.left_in_registers = op.form == 6;
  form.left_descriptor = kUniformStart + op.field(24, 6);
  // gdesc names four registers, also where A needs none of them.
  form.right_descriptor = kUniformStart + op.field(form.left_in_registers ? 32 : 24, 6) + 2;
  form.left_by_column = op.bit(61) && !form.left_in_registers, form.right_by_row = op.bit(62);
  form.negates_left = op.bit(72), form.negates_right = op.bit(63);
  form.narrow_sums = !op.bit(75);
  const u32 types = op.field(76, 2);
  if (number == kIgmma) {
    form.left = op.bit(76) ? Element::I8 : Element::U8;
    form.right = op.bit(82) ? Element::I8 : Element::U8;
    form.saturates = op.bit(75), form.narrow_sums = false;
    if (op.bit(77) || op.bit(83) || form.negates_left || form.negates_right) return std::nullopt;
  } else if (number == kQgmma) {
    form.left = op.bit(76) ? Element::E5m2 : Element::E4m3;
    form.right = op.bit(77) ? Element::E5m2 : Element::E4m3;
  } else {
    if (types == 3 || op.bit(58) != (types == 2)) return std::nullopt;
    form.left = form.right = types == 0   ? Element::Half
                             : types == 1 ? Element::Bfloat
                                          : Element::Tf32;
  }
  const bool major = form.left_by_column || form.right_by_row;
  if (major && form.element_bytes() != 2) return std::nullopt;
  return form;
}

// Bits 87 to 90: a uniform predicate, its number complemented, that says whether D counts.
Flow multiply_warpgroup(Warp& warp, const Operation& op) {
  const std::optional<WarpgroupForm> form = warpgroup_form(op);
  if (!form || op.dst == kZero) return unknown_instruction(warp, op);
  if (warp.mask_of(op) == 0) return Flow::Next;
  if (!check_whole_warp(warp, op)) return Flow::Stop;
  const auto left_layout = layout_at(warp, form->left_descriptor);
  const auto right_layout = layout_at(warp, form->right_descriptor);
  if (!right_layout || (!form->left_in_registers && !left_layout))
    return unknown_instruction(warp, op);
  Factor left(kWarpRows, *form, form->left), right(form->columns, *form, form->right);
  if (form->left_in_registers)
    left.load(warp, op.a.index);
  else if (!left.load(warp, *left_layout, form->left_by_column, warp.index % 4 * kWarpRows))
    return Flow::Stop;
  if (!right.load(warp, *right_layout, form->right_by_row, 0)) return Flow::Stop;
  if (form->negates_left) left.negate();
  if (form->negates_right) right.negate();
  const u32 predicate = kUniformPredicates + (7 ^ op.field(87, 3));
  multiply(warp, op, *form, left, right, predicate_of(warp, predicate, op.bit(90)) & 1);
  return Flow::Next;
}

}  // namespace doorbell::emu::nvgpu
