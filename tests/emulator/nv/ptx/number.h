// Numbers of any floating-point format, exactly: a sign, an integer of up to 125 bits and a power
// of two. Operations are exact up to a sticky bit far below every format's last one; encode()
// rounds, once. For the instructions see float.cc and convert.cc.
#pragma once

#include "base/util/types.h"

namespace doorbell::ptx {

__extension__ using u128 = unsigned __int128;
__extension__ using i128 = __int128;

// To nearest even, to nearest with ties away from zero, towards zero, down, up.
enum class Rounding : u8 { Nearest, NearestAway, Zero, Down, Up };

struct Format {
  int exponent_bits, mantissa_bits;
  bool has_infinity = true;  // e4m3 has none, and one NaN of each sign
  int bits() const { return 1 + exponent_bits + mantissa_bits; }
  int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  u64 sign() const { return u64{1} << (bits() - 1); }
  u64 infinity() const { return ((u64{1} << exponent_bits) - 1) << mantissa_bits; }
  u64 largest() const { return has_infinity ? infinity() - 1 : sign() - 2; }
  u64 nan() const { return sign() - 1; }  // the one that instructions make, of 8 to 32 bits
};
inline constexpr Format kF16{5, 10}, kBf16{8, 7}, kF32{8, 23}, kF64{11, 52}, kTf32{8, 10},
    kE4m3{4, 3, false}, kE5m2{5, 2};

struct Number {
  enum class Kind : u8 { Finite, Infinity, NaN };  // zero is finite
  Kind kind = Kind::Finite;
  bool negative = false;
  u128 mantissa = 0;
  int exponent = 0;     // of the mantissa's last bit
  bool sticky = false;  // something is lost below the mantissa
  bool is_nan() const { return kind == Kind::NaN; }
  bool is_infinite() const { return kind == Kind::Infinity; }
  bool is_zero() const { return kind == Kind::Finite && mantissa == 0 && !sticky; }
};

Number decode(u64 bits, const Format& format);
// `saturate`: what is beyond the format, infinities included, becomes its largest number.
u64 encode(const Number& number, const Format& format, Rounding rounding, bool saturate = false);

Number from_integer(i128 value);
// Rounded to an integer, between the bounds; NaN is zero.
i128 to_integer(const Number& number, Rounding rounding, i128 least, i128 most);
// The same as a number, which keeps its sign.
Number round_to_integer(const Number& number, Rounding rounding);

// The rounding decides on the sign of a sum that is exactly zero.
Number add(const Number& a, const Number& b, Rounding rounding);
Number multiply(const Number& a, const Number& b);
Number divide(const Number& a, const Number& b);
Number square_root(const Number& a);
// -1, 0, 1; neither is NaN.
int compare(const Number& a, const Number& b);

}  // namespace doorbell::ptx
