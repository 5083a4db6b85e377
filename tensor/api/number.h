// Number: a bare C++ number beside tensors. It is weak: `a * 2` keeps the dtype of a, and only a
// fraction beside integers changes it. Nested is the braces of Tensor::of. Leaves promotion of
// tensors with tensors to core's dtype lattice.
#pragma once

#include <initializer_list>
#include <type_traits>
#include <vector>

#include "core/dtype/dtype.h"

namespace doorbell {

using core::DType;
namespace dtypes = core::dtypes;

// A bool, an integer or a floating-point number of C++, with its kind.
class Number {
 public:
  enum class Kind : u8 { Bool, Int, Float };

  template <class T>
    requires std::is_arithmetic_v<T>
  // NOLINTNEXTLINE(google-explicit-constructor): numbers stand beside tensors without ceremony.
  constexpr Number(T value)
      : kind_(std::is_same_v<T, bool> ? Kind::Bool
                                      : (std::is_floating_point_v<T> ? Kind::Float : Kind::Int)),
        exceeds_i64_(std::is_integral_v<T> && value > T{} && static_cast<i64>(value) < 0),
        integer_(std::is_floating_point_v<T> ? 0 : static_cast<i64>(value)),
        real_(static_cast<f64>(value)) {}

  constexpr Kind kind() const { return kind_; }                     // of the C++ type
  constexpr bool is_float() const { return kind_ == Kind::Float; }  // float or double
  constexpr bool exceeds_i64() const { return exceeds_i64_; }       // an integer of 2^63 or more
  // The 64 bits of an integer, which are a u64's where it exceeds i64. Meaningless for a Float.
  constexpr i64 integer() const { return integer_; }
  constexpr f64 real() const { return real_; }  // of every kind
  // The dtype of this number on its own: bool, i32 (i64 or u64 where it does not fit) or f32.
  constexpr DType dtype() const {
    if (kind_ == Kind::Bool) return dtypes::bool_;
    if (kind_ == Kind::Float) return dtypes::f32;
    if (exceeds_i64_) return dtypes::u64;
    return integer_ >= INT32_MIN && integer_ <= INT32_MAX ? dtypes::i32 : dtypes::i64;
  }

 private:
  Kind kind_;
  bool exceeds_i64_;
  i64 integer_;
  f64 real_;
};

// Nested braces of numbers: {{1, 2}, {3, 4}}.
class Nested {
 public:
  template <class T>
    requires std::is_arithmetic_v<T>
  // NOLINTNEXTLINE(google-explicit-constructor): an element.
  Nested(T value) : number_(value), is_leaf_(true) {}
  Nested(std::initializer_list<Nested> items) : items_(items) {}

  bool is_leaf() const { return is_leaf_; }
  Number number() const { return number_; }                    // of a leaf
  const std::vector<Nested>& items() const { return items_; }  // of the others

 private:
  Number number_ = 0;
  bool is_leaf_ = false;
  std::vector<Nested> items_;
};

// The dtype whose memory layout T has.
template <class T>
constexpr DType dtype_of() {
  if constexpr (std::is_same_v<T, bool>)
    return dtypes::bool_;
  else if constexpr (std::is_same_v<T, float>)
    return dtypes::f32;
  else if constexpr (std::is_same_v<T, double>)
    return dtypes::f64;
  else {
    static_assert(std::is_integral_v<T>, "no dtype has the layout of this type");
    constexpr bool kSigned = std::is_signed_v<T>;
    if constexpr (sizeof(T) == 1)
      return kSigned ? dtypes::i8 : dtypes::u8;
    else if constexpr (sizeof(T) == 2)
      return kSigned ? dtypes::i16 : dtypes::u16;
    else if constexpr (sizeof(T) == 4)
      return kSigned ? dtypes::i32 : dtypes::u32;
    else
      return kSigned ? dtypes::i64 : dtypes::u64;
  }
}

}  // namespace doorbell
