// The meaning of the elementwise operations on single values: one function that serves constant
// folding, the fuzzers, the interpreter and the tests of generated code. For whole expressions see
// eval_graph.h, for kernels interpret.h, for float formats float_format.h.
//
// Float results are rounded to nearest even in the result's dtype; transcendental ones use libm in
// f64 and round once more. Integers wrap. Index is unbounded: a result that does not fit i64 is no
// value. Shifts by the width or more give 0, or the sign for an arithmetic right shift. Division
// and modulo by zero give 0.
#pragma once

#include <bit>
#include <optional>
#include <span>

#include "core/uop/uop.h"

namespace doorbell::core {

// A value of a scalar dtype, in the form of a Const's argument: integers sign- or zero-extended to
// 64 bits, Bool 0 or 1, floats as an f64 that the dtype can represent.
struct ScalarValue {
  Scalar scalar = Scalar::Void;
  i64 bits = 0;

  static ScalarValue of_int(DType dtype, i64 value);    // wraps to the dtype
  static ScalarValue of_float(DType dtype, f64 value);  // rounds to the dtype
  static ScalarValue of_bool(bool value) { return {Scalar::Bool, value}; }
  static ScalarValue index(i64 value) { return {Scalar::Index, value}; }

  i64 as_int() const { return bits; }
  u64 as_unsigned() const { return static_cast<u64>(bits); }
  f64 as_float() const { return std::bit_cast<f64>(bits); }
  bool as_bool() const { return bits != 0; }
  bool is_float() const { return DType{scalar, 1}.is_float(); }

  // The same scalar and bits; a NaN is identical to any NaN.
  bool identical(const ScalarValue& other) const;
};

// The result of an elementwise op (any of groups Unary, Binary, Ternary) as one value of `result`'s
// scalar type; lanes are ignored. Empty if an Index result does not fit i64.
std::optional<ScalarValue> eval(Op op, DType result, std::span<const ScalarValue> args);

// Conversion of a value, as Cast does it. A u64 beyond i64 wraps on its way to Index; eval refuses.
ScalarValue convert(DType result, ScalarValue value);

// Values in memory, little endian; Bool is one byte.
ScalarValue load_scalar(DType dtype, const void* address);
void store_scalar(ScalarValue value, void* address);

// The identity of a reduction (Add, Mul, Max, And, Or, Xor): -inf or the least integer for Max.
ScalarValue reduce_identity(Op op, DType dtype);

// Threefry-2x32 with 20 rounds (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3",
// SC11).
u64 threefry2x32(u64 counter, u64 key);

}  // namespace doorbell::core
