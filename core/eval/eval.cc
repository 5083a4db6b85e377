// eval by kind of operand: floats in f64, integers in 64 bits and then wrapped, Index with overflow
// checked.
#include "core/eval/eval.h"

#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/util/check.h"
#include "core/eval/float_format.h"

namespace doorbell::core {
namespace {

i64 wrap(Scalar scalar, u64 value) {
  switch (scalar) {
    case Scalar::Bool: return value != 0;
    case Scalar::I8: return static_cast<i8>(value);
    case Scalar::U8: return static_cast<u8>(value);
    case Scalar::I16: return static_cast<i16>(value);
    case Scalar::U16: return static_cast<u16>(value);
    case Scalar::I32: return static_cast<i32>(value);
    case Scalar::U32: return static_cast<u32>(value);
    default: return static_cast<i64>(value);
  }
}

bool is_unsigned(Scalar scalar) { return DType{scalar, 1}.is_unsigned(); }

// Least and greatest integer of a scalar type; u64's greatest is -1 as i64, so not for U64.
void int_limits(Scalar scalar, f64* low, f64* high) {
  int bits = DType{scalar, 1}.bits();
  if (scalar == Scalar::Index) bits = 64;
  *low = is_unsigned(scalar) ? 0.0 : -std::ldexp(1.0, bits - 1);
  *high = std::ldexp(1.0, is_unsigned(scalar) ? bits : bits - 1);  // one past the greatest
}

// Truncates towards zero and saturates; NaN gives 0.
i64 float_to_int(Scalar scalar, f64 value) {
  if (std::isnan(value)) return 0;
  f64 low, high, truncated = std::trunc(value);
  int_limits(scalar, &low, &high);
  const int bits = scalar == Scalar::Index ? 64 : DType{scalar, 1}.bits();
  if (is_unsigned(scalar)) {
    if (truncated <= 0) return 0;
    if (truncated >= high) return wrap(scalar, ~u64{0});
    return static_cast<i64>(static_cast<u64>(truncated));
  }
  if (truncated < low) return -(i64{1} << (bits - 2)) * 2;
  if (truncated >= high) return static_cast<i64>((u64{1} << (bits - 1)) - 1);
  return static_cast<i64>(truncated);
}

// An f64 that rounds to any narrower format as the integer itself would: inexact values are rounded
// to odd (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums", 2008).
f64 int_to_odd(u64 magnitude) {
  if (magnitude < u64{1} << 53) return static_cast<f64>(magnitude);
  u64 sticky = (magnitude & 0x7ff) != 0;
  return std::ldexp(static_cast<f64>(magnitude >> 11 | sticky), 11);
}

f64 int_to_float(Scalar from, Scalar to, i64 value) {
  bool negative = !is_unsigned(from) && value < 0;
  u64 magnitude = negative ? 0 - static_cast<u64>(value) : static_cast<u64>(value);
  f64 wide = to == Scalar::F64 ? static_cast<f64>(magnitude) : int_to_odd(magnitude);
  return round_to_format(to, negative ? -wide : wide);
}

u64 raw_bits(ScalarValue value) {
  return value.is_float() ? float_bits(value.scalar, value.as_float()) : value.as_unsigned();
}

f64 float_max(f64 a, f64 b) {
  if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<f64>::quiet_NaN();
  if (a == b) return std::signbit(a) ? b : a;  // +0 is the larger zero
  return a > b ? a : b;
}

f64 eval_float(Op op, std::span<const ScalarValue> args) {
  f64 x = args[0].as_float();
  f64 y = args.size() > 1 ? args[1].as_float() : 0.0;
  switch (op) {
    case Op::Neg: return -x;
    case Op::Exp2: return std::exp2(x);
    case Op::Log2: return std::log2(x);
    case Op::Sin: return std::sin(x);
    case Op::Sqrt: return std::sqrt(x);
    case Op::Recip: return 1.0 / x;
    case Op::Trunc: return std::trunc(x);
    case Op::Add: return x + y;
    case Op::Sub: return x - y;
    case Op::Mul: return x * y;
    case Op::FDiv: return x / y;
    case Op::FloorDiv: return std::floor(x / y);
    case Op::FloorMod: {
      f64 r = std::fmod(x, y);
      return r != 0 && (r < 0) != (y < 0) ? r + y : r;
    }
    case Op::CDiv: return std::trunc(x / y);
    case Op::CMod: return std::fmod(x, y);
    case Op::Max: return float_max(x, y);
    case Op::Pow: return std::pow(x, y);
    case Op::MulAcc: return std::fma(x, y, args[2].as_float());
    default: UNREACHABLE("{} of floats", name_of(op));
  }
}

// Quotient and remainder of any 64-bit integers, as C truncates; zero by zero.
struct Division {
  u64 quotient, remainder;
};
Division divide(Scalar scalar, i64 x, i64 y) {
  if (y == 0) return {0, 0};
  if (is_unsigned(scalar) || scalar == Scalar::Bool)
    return {static_cast<u64>(x) / static_cast<u64>(y), static_cast<u64>(x) % static_cast<u64>(y)};
  if (y == -1) return {0 - static_cast<u64>(x), 0};  // INT64_MIN / -1 wraps
  return {static_cast<u64>(x / y), static_cast<u64>(x % y)};
}
Division floor_divide(Scalar scalar, i64 x, i64 y) {
  Division d = divide(scalar, x, y);
  if (is_unsigned(scalar) || d.remainder == 0) return d;
  bool opposite = (static_cast<i64>(d.remainder) < 0) != (y < 0);
  if (opposite) return {d.quotient - 1, d.remainder + static_cast<u64>(y)};
  return d;
}

// A shift amount at or beyond the width moves everything out.
u64 shift_left(Scalar scalar, i64 x, ScalarValue amount) {
  u64 width = scalar == Scalar::Index ? 64 : static_cast<u64>(DType{scalar, 1}.bits());
  u64 n = amount.as_unsigned();
  return n >= width ? 0 : static_cast<u64>(x) << n;
}
u64 shift_right(Scalar scalar, i64 x, ScalarValue amount) {
  u64 n = amount.as_unsigned();
  if (is_unsigned(scalar) || scalar == Scalar::Bool) return n >= 64 ? 0 : static_cast<u64>(x) >> n;
  return static_cast<u64>(x >> (n >= 64 ? 63 : n));
}

u64 eval_int(Op op, Scalar scalar, std::span<const ScalarValue> args) {
  i64 x = args[0].as_int();
  i64 y = args.size() > 1 ? args[1].as_int() : 0;
  u64 ux = static_cast<u64>(x), uy = static_cast<u64>(y);
  switch (op) {
    case Op::Neg: return 0 - ux;
    case Op::Trunc: return ux;
    case Op::Add: return ux + uy;
    case Op::Sub: return ux - uy;
    case Op::Mul: return ux * uy;
    case Op::FloorDiv: return floor_divide(scalar, x, y).quotient;
    case Op::FloorMod: return floor_divide(scalar, x, y).remainder;
    case Op::CDiv: return divide(scalar, x, y).quotient;
    case Op::CMod: return divide(scalar, x, y).remainder;
    case Op::Max:
      if (is_unsigned(scalar)) return ux > uy ? ux : uy;
      return x > y ? ux : uy;
    case Op::And: return ux & uy;
    case Op::Or: return ux | uy;
    case Op::Xor: return ux ^ uy;
    case Op::Shl: return shift_left(scalar, x, args[1]);
    case Op::Shr: return shift_right(scalar, x, args[1]);
    case Op::Threefry: return threefry2x32(ux, uy);
    case Op::MulAcc: return ux * uy + args[2].as_unsigned();
    default: UNREACHABLE("{} of integers", name_of(op));
  }
}

// Bool arithmetic: Add is or, Mul is and, as reductions over bools mean any and all.
u64 eval_bool(Op op, std::span<const ScalarValue> args) {
  bool x = args[0].as_bool(), y = args.size() > 1 && args[1].as_bool();
  switch (op) {
    case Op::Add:
    case Op::Max:
    case Op::Or: return x || y;
    case Op::Mul:
    case Op::And: return x && y;
    case Op::Xor:
    case Op::Sub: return x != y;
    case Op::Neg:
    case Op::Trunc: return x;
    case Op::MulAcc: return (x && y) || args[2].as_bool();
    default: return eval_int(op, Scalar::Bool, args) & 1;
  }
}

std::optional<i64> eval_index(Op op, std::span<const ScalarValue> args) {
  i64 x = args[0].as_int(), y = args.size() > 1 ? args[1].as_int() : 0, r = 0;
  bool overflow = false;
  switch (op) {
    case Op::Neg: overflow = __builtin_sub_overflow(i64{0}, x, &r); break;
    case Op::Add: overflow = __builtin_add_overflow(x, y, &r); break;
    case Op::Sub: overflow = __builtin_sub_overflow(x, y, &r); break;
    case Op::Mul: overflow = __builtin_mul_overflow(x, y, &r); break;
    case Op::MulAcc:
      overflow = __builtin_mul_overflow(x, y, &r);
      overflow = overflow || __builtin_add_overflow(r, args[2].as_int(), &r);
      break;
    case Op::FloorDiv:
    case Op::CDiv:
      overflow = x == INT64_MIN && y == -1;
      r = static_cast<i64>(eval_int(op, Scalar::Index, args));
      break;
    case Op::Shl:
      if (y < 0 || y > 62)
        overflow = x != 0;
      else
        overflow = __builtin_mul_overflow(x, i64{1} << y, &r);
      break;
    default: r = static_cast<i64>(eval_int(op, Scalar::Index, args)); break;
  }
  if (overflow) return std::nullopt;
  return r;
}

bool compare(Op op, ScalarValue a, ScalarValue b) {
  if (a.is_float()) {
    f64 x = a.as_float(), y = b.as_float();
    return op == Op::CmpLt ? x < y : op == Op::CmpEq ? x == y : x != y;
  }
  if (op == Op::CmpEq) return a.bits == b.bits;
  if (op == Op::CmpNe) return a.bits != b.bits;
  return is_unsigned(a.scalar) ? a.as_unsigned() < b.as_unsigned() : a.bits < b.bits;
}

}  // namespace

ScalarValue ScalarValue::of_int(DType dtype, i64 value) {
  return {dtype.scalar, wrap(dtype.scalar, static_cast<u64>(value))};
}

ScalarValue ScalarValue::of_float(DType dtype, f64 value) {
  return {dtype.scalar, std::bit_cast<i64>(round_to_format(dtype.scalar, value))};
}

bool ScalarValue::identical(const ScalarValue& other) const {
  if (scalar != other.scalar) return false;
  if (is_float() && std::isnan(as_float()) && std::isnan(other.as_float())) return true;
  return bits == other.bits;
}

ScalarValue convert(DType result, ScalarValue value) {
  if (result.scalar == value.scalar) return value;
  if (value.is_float()) {
    if (result.is_float()) return ScalarValue::of_float(result, value.as_float());
    if (result.is_bool()) return ScalarValue::of_bool(value.as_float() != 0);
    return {result.scalar, float_to_int(result.scalar, value.as_float())};
  }
  if (result.is_float()) {
    f64 converted = int_to_float(value.scalar, result.scalar, value.as_int());
    return {result.scalar, std::bit_cast<i64>(converted)};
  }
  return ScalarValue::of_int(result, value.as_int());
}

std::optional<ScalarValue> eval(Op op, DType result, std::span<const ScalarValue> args) {
  DCHECK(is_elementwise(op) && !args.empty());
  switch (op) {
    case Op::Cast:
      if (result.is_index() && args[0].scalar == Scalar::U64 && args[0].bits < 0)
        return std::nullopt;
      return convert(result, args[0]);
    case Op::Bitcast: {
      u64 bits = raw_bits(args[0]);
      if (!result.is_float()) return ScalarValue::of_int(result, static_cast<i64>(bits));
      return ScalarValue{result.scalar, std::bit_cast<i64>(float_from_bits(result.scalar, bits))};
    }
    case Op::CmpLt:
    case Op::CmpEq:
    case Op::CmpNe: return ScalarValue::of_bool(compare(op, args[0], args[1]));
    case Op::Where: return args[0].as_bool() ? args[1] : args[2];
    default: break;
  }
  if (result.is_float()) return ScalarValue::of_float(result, eval_float(op, args));
  if (result.is_bool()) return ScalarValue::of_bool(eval_bool(op, args) != 0);
  if (result.is_index()) {
    std::optional<i64> value = eval_index(op, args);
    if (!value) return std::nullopt;
    return ScalarValue::index(*value);
  }
  return ScalarValue::of_int(result, static_cast<i64>(eval_int(op, result.scalar, args)));
}

ScalarValue load_scalar(DType dtype, const void* address) {
  u64 bits = 0;
  std::memcpy(&bits, address, static_cast<usize>(dtype.element().bytes()));
  if (!dtype.is_float()) return ScalarValue::of_int(dtype, static_cast<i64>(bits));
  return {dtype.scalar, std::bit_cast<i64>(float_from_bits(dtype.scalar, bits))};
}

void store_scalar(ScalarValue value, void* address) {
  u64 bits = raw_bits(value);
  std::memcpy(address, &bits, static_cast<usize>(DType{value.scalar, 1}.bytes()));
}

ScalarValue reduce_identity(Op op, DType dtype) {
  switch (op) {
    case Op::Add:
    case Op::Or:
    case Op::Xor:
      return dtype.is_float() ? ScalarValue::of_float(dtype, 0) : ScalarValue::of_int(dtype, 0);
    case Op::Mul:
      return dtype.is_float() ? ScalarValue::of_float(dtype, 1) : ScalarValue::of_int(dtype, 1);
    case Op::And: return ScalarValue::of_int(dtype, -1);
    case Op::Max:
      if (dtype.is_float()) {
        // Formats without an infinity start from their most negative value or NaN-free equivalent.
        f64 least = -std::numeric_limits<f64>::infinity();
        bool fnuz = dtype.scalar == Scalar::F8E4M3FNUZ || dtype.scalar == Scalar::F8E5M2FNUZ;
        return ScalarValue::of_float(dtype, fnuz ? std::numeric_limits<f64>::lowest() : least);
      }
      if (dtype.is_unsigned() || dtype.is_bool()) return ScalarValue::of_int(dtype, 0);
      return {dtype.scalar, float_to_int(dtype.scalar, std::numeric_limits<f64>::lowest())};
    default: UNREACHABLE("{} is no reduction", name_of(op));
  }
}

u64 threefry2x32(u64 counter, u64 key) {
  static constexpr std::array<int, 8> kRotations = {13, 15, 26, 6, 17, 29, 16, 24};
  const u32 k0 = static_cast<u32>(key), k1 = static_cast<u32>(key >> 32);
  const std::array<u32, 3> keys = {k0, k1, k0 ^ k1 ^ 0x1bd11bdau};
  u32 x0 = static_cast<u32>(counter) + keys[0], x1 = static_cast<u32>(counter >> 32) + keys[1];
  for (u32 round = 0; round < 20; ++round) {
    x0 += x1;
    x1 = std::rotl(x1, kRotations[round % 8]) ^ x0;
    if (round % 4 == 3) {
      u32 injection = round / 4 + 1;
      x0 += keys[injection % 3];
      x1 += keys[(injection + 1) % 3] + injection;
    }
  }
  return u64{x1} << 32 | x0;
}

}  // namespace doorbell::core
