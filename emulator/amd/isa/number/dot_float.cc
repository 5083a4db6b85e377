// Both generations share the terms, the rules for NaNs and infinities, and the final rounding.
#include "emulator/amd/isa/number/dot_float.h"

#include <algorithm>
#include <bit>
#include <optional>

#include "emulator/core/number/number.h"

namespace doorbell::emu::amdgpu {

namespace {

struct Format {
  i32 mantissa_bits, bias;
  i32 least() const { return 1 - bias; }  // the exponent of denormals
};
constexpr Format kSingle{23, 127}, kHalf{10, 15}, kBfloat{7, 127};

constexpr i32 kNowhere = -4096;  // the exponent of zero: below every grid
constexpr u32 kInfinity = 0x7f800000;
// The result of a NaN factor, of infinity times zero, and of infinity minus itself.
constexpr u32 kFactorNan = 0xffc00a3d, kInvalid = 0xffc00000;

// significand * 2^exponent
struct Term {
  bool negative = false;
  u64 significand = 0;
  i32 exponent = 0;

  i32 top() const {
    return significand == 0 ? kNowhere
                            : exponent + static_cast<i32>(std::bit_width(significand)) - 1;
  }
  // In units of 2^grid, the rest cut off.
  u64 units(i32 grid) const {
    if (significand == 0) return 0;  // whose exponent may be far above the grid
    const i32 shift = exponent - grid;
    return shift >= 0 ? significand << shift : shift > -64 ? significand >> -shift : 0;
  }
  bool is_cut(i32 grid) const {
    const i32 shift = exponent - grid;
    if (shift >= 0 || significand == 0) return false;
    return shift <= -64 || (significand & ((u64{1} << -shift) - 1)) != 0;
  }
};

class Factor {
 public:
  Factor(u32 bits, const Format& format) : bits_(bits & 0xffff), format_(format) {}

  bool negative() const { return bits_ >> 15; }
  bool is_nan() const { return magnitude() > top() << format_.mantissa_bits; }
  bool is_infinite() const { return magnitude() == top() << format_.mantissa_bits; }
  i32 exponent() const { return std::max(static_cast<i32>(field()), 1) - format_.bias; }
  u64 significand() const {
    const u32 mantissa = bits_ & ((1u << format_.mantissa_bits) - 1);
    return field() == 0 ? mantissa : mantissa | 1u << format_.mantissa_bits;
  }
  bool is_denormal() const { return field() == 0; }

 private:
  u32 magnitude() const { return bits_ & 0x7fff; }
  u32 field() const { return magnitude() >> format_.mantissa_bits; }
  u32 top() const { return (1u << (15 - format_.mantissa_bits)) - 1; }

  u32 bits_;
  Format format_;
};

struct Product {
  Product(u32 a, u32 b, const Format& format, bool flushes) : left(a, format), right(b, format) {
    const auto value = [&](const Factor& f) {
      return flushes && f.is_denormal() ? 0 : f.significand();
    };
    zero_by_infinite =
        (left.is_infinite() && value(right) == 0) || (right.is_infinite() && value(left) == 0);
    exponents = left.exponent() + right.exponent();
    term = {.negative = left.negative() != right.negative(),
            .significand = value(left) * value(right),
            .exponent = exponents - 2 * format.mantissa_bits};
  }
  bool is_nan() const { return left.is_nan() || right.is_nan(); }
  bool is_infinite() const { return left.is_infinite() || right.is_infinite(); }
  // The finest grid that this product is put on: by its factors' exponents, whatever their
  // product's.
  i32 grid() const { return term.significand == 0 ? kNowhere : exponents - 24; }

  Factor left, right;
  bool zero_by_infinite = false;
  i32 exponents = 0;
  Term term;
};

Format format_of(DotFactors factors) { return factors == DotFactors::F16 ? kHalf : kBfloat; }

u32 narrowed_special(DotFactors factors, u32 bits) {
  const bool half = factors == DotFactors::F16;
  if (bits == kFactorNan) return half ? 0xfe3d : 0xfffd;
  return half ? (bits >> 16 & 0x8000) | 0x7c00 | (bits >> 13 & 0x3ff) : bits >> 16;
}

// The result if NaNs or infinities determine it: NaN factors take precedence over the addend.
std::optional<u32> special_result(const Dot2& dot, const Product (&products)[2]) {
  bool above = false, below = false, invalid = false;
  const auto decided = [&](u32 bits) {
    return dot.narrow ? narrowed_special(dot.factors, bits) : bits;
  };
  for (const Product& product : products) {
    if (product.is_nan()) return decided(kFactorNan);
    invalid |= product.zero_by_infinite;
    if (product.is_infinite()) (product.term.negative ? below : above) = true;
  }
  if (invalid || (above && below)) return decided(kInvalid);
  if ((dot.addend & 0x7fffffff) > kInfinity) return decided(dot.addend | 0x400000);
  if ((dot.addend & 0x7fffffff) == kInfinity) (dot.addend >> 31 ? below : above) = true;
  if (above && below) return decided(kInvalid);
  if (above || below) return decided(below ? kInfinity | 0x80000000 : kInfinity);
  return std::nullopt;
}

Term addend_of(u32 bits) {
  const i32 field = static_cast<i32>(bits >> 23 & 0xff);
  return {.negative = bits >> 31 != 0,
          .significand = (bits & 0x7fffff) | (field == 0 ? 0 : 0x800000),
          .exponent = std::max(field, 1) - kSingle.bias - kSingle.mantissa_bits};
}

u64 to_nearest_even(u64 value, i32 shift) {
  if (shift <= 0) return value << -shift;
  if (shift >= 64) return 0;
  const u64 kept = value >> shift, rest = value & ((u64{1} << shift) - 1);
  const u64 half = u64{1} << (shift - 1);
  return kept + (rest > half || (rest == half && (kept & 1)) ? 1 : 0);
}

// sum * 2^grid in a format of `width` bits. What becomes zero is positive. `flushes`: a denormal
// becomes zero, after rounding as a normal number.
u32 rounded(i64 sum, i32 grid, const Format& format, u32 width, bool flushes, bool held) {
  if (sum == 0) return 0;
  const u64 magnitude = sum < 0 ? static_cast<u64>(-sum) : static_cast<u64>(sum);
  const i32 top = static_cast<i32>(std::bit_width(magnitude)) - 1 + grid;
  const i32 exponent = flushes ? top : std::max(top, format.least());
  const u64 steps = to_nearest_even(magnitude, exponent - format.mantissa_bits - grid);
  // A carry out of the mantissa lands in the exponent.
  const i64 bits =
      (i64{exponent - format.least()} << format.mantissa_bits) + static_cast<i64>(steps);
  const i64 infinity = i64{2 * format.bias + 1} << format.mantissa_bits;
  if (bits <= 0 || (flushes && bits >> format.mantissa_bits <= 0)) return 0;
  const u32 sign = sum < 0 ? 1u << (width - 1) : 0;
  return sign | static_cast<u32>(bits < infinity ? bits : held ? infinity - 1 : infinity);
}

u32 result_of(const Dot2& dot, i64 sum, i32 grid, bool flushes) {
  if (dot.narrow && dot.factors == DotFactors::F16) {
    return rounded(sum, grid, kHalf, 16, false, dot.held);
  }
  const u32 single = rounded(sum, grid, kSingle, 32, flushes, false);
  return dot.narrow ? single >> 16 : single;
}

bool narrows_half(const Dot2& dot) { return dot.narrow && dot.factors == DotFactors::F16; }

}  // namespace

u32 widened(DotFactors format, u32 half) {
  half &= 0xffff;
  if (format == DotFactors::BF16) return half << 16;
  const bool special = (half & 0x7c00) == 0x7c00;
  return special ? (half & 0x8000) << 16 | kInfinity | (half & 0x3ff) << 13
                 : std::bit_cast<u32>(half_to_float(half));
}

// Signs are relative to the addend's, even if it is zero: terms of the other sign are complemented.
u32 dot2_gfx11(const Dot2& dot) {
  const Format format = format_of(dot.factors);
  const bool flushes = dot.factors == DotFactors::BF16;
  const Product products[] = {{dot.a, dot.b, format, flushes},
                              {dot.a >> 16, dot.b >> 16, format, flushes}};
  if (const std::optional<u32> special = special_result(dot, products)) return *special;
  Term addend = addend_of(dot.addend);
  if (addend.top() < kSingle.least()) addend.significand = 0;
  const Term &first = products[0].term, &second = products[1].term;
  if ((addend.significand | first.significand | second.significand) == 0) return 0;
  const i32 addend_top = narrows_half(dot) ? std::max(addend.top(), kHalf.least()) : addend.top();
  const i32 grid = std::max({products[0].grid(), products[1].grid(), addend_top - 26,
                             first.top() - 26, second.top() - 26});
  i64 sum = 0;
  for (const Term& term : {addend, first, second}) {
    const i64 units = static_cast<i64>(term.units(grid));
    sum += term.negative == addend.negative ? units : ~units;
  }
  return result_of(dot, addend.negative ? -sum : sum, grid, true);
}

// Negative terms are rounded down where something is cut off. The products are added on a grid of
// their own; of the addend, what vanishes on a grid coarser than its least one is no unit.
u32 dot2_gfx12(const Dot2& dot) {
  const Format format = format_of(dot.factors);
  const Product products[] = {{dot.a, dot.b, format, false},
                              {dot.a >> 16, dot.b >> 16, format, false}};
  if (const std::optional<u32> special = special_result(dot, products)) return *special;
  const auto floor_units = [](const Term& term, i32 grid) {
    const i64 units = static_cast<i64>(term.units(grid));
    return term.negative ? -units - (term.is_cut(grid) ? 1 : 0) : units;
  };
  const i32 products_grid = std::max(products[0].grid(), products[1].grid());
  i64 both = 0;
  for (const Product& product : products) {
    if (product.term.significand != 0) both += floor_units(product.term, products_grid);
  }
  const Term addend = addend_of(dot.addend);
  const i32 least = narrows_half(dot) ? kHalf.least() : kSingle.least();
  const i32 grid = std::max(products_grid, std::max(least, addend.top()) - 26);
  const Term together{.negative = both < 0,
                      .significand = static_cast<u64>(both < 0 ? -both : both),
                      .exponent = products_grid};
  const bool vanishes = grid > least && addend.units(grid) == 0;
  const i64 sum = floor_units(together, grid) + (vanishes ? 0 : floor_units(addend, grid));
  return result_of(dot, sum, grid, false);
}

}  // namespace doorbell::emu::amdgpu
