// Element types: the scalar types, vectors of them, and the promotion lattice. Conversion of values
// is core/eval's; storage layout is the natural little-endian one of each type.
#pragma once

#include <string>
#include <string_view>

#include "base/util/types.h"

namespace doorbell::core {

// Within a kind, in the order of promotion.
enum class Scalar : u8 {
  Void,
  Bool,
  I8,
  U8,
  I16,
  U16,
  I32,
  U32,
  I64,
  U64,
  F8E4M3,
  F8E5M2,
  F8E4M3FNUZ,
  F8E5M2FNUZ,
  F16,
  BF16,
  F32,
  F64,
  Index,  // unbounded integers; only in index arithmetic, never in memory
};
inline constexpr usize kScalarCount = 19;

// A scalar type or a vector of `lanes` of it. Comparable and hashable by `key()`.
struct DType {
  Scalar scalar = Scalar::Void;
  u16 lanes = 1;

  constexpr bool operator==(const DType&) const = default;
  constexpr u32 key() const { return static_cast<u32>(scalar) | u32{lanes} << 8; }
  constexpr DType with_lanes(u16 n) const { return {scalar, n}; }
  constexpr DType element() const { return {scalar, 1}; }

  constexpr bool is_float() const { return scalar >= Scalar::F8E4M3 && scalar <= Scalar::F64; }
  constexpr bool is_int() const { return scalar >= Scalar::I8 && scalar <= Scalar::U64; }
  constexpr bool is_bool() const { return scalar == Scalar::Bool; }
  constexpr bool is_index() const { return scalar == Scalar::Index; }
  constexpr bool is_unsigned() const {
    return scalar == Scalar::U8 || scalar == Scalar::U16 || scalar == Scalar::U32 ||
           scalar == Scalar::U64;
  }
  constexpr bool is_signed_int() const { return is_int() && !is_unsigned(); }
  // Bytes of one value in memory, with all lanes. Index and Void have no size.
  constexpr i64 bytes() const {
    constexpr u8 kBytes[kScalarCount] = {0, 1, 1, 1, 2, 2, 4, 4, 8, 8, 1, 1, 1, 1, 2, 2, 4, 8, 0};
    return i64{kBytes[static_cast<usize>(scalar)]} * lanes;
  }
  constexpr int bits() const { return is_bool() ? 1 : static_cast<int>(bytes() / lanes * 8); }

  std::string str() const;  // "f32", "f32x8"
};

std::string_view name_of(Scalar scalar);       // "f32"
std::string_view long_name_of(Scalar scalar);  // "float32", as NumPy and PyTorch spell it
bool parse_dtype(std::string_view text, DType* out);

// The least type both convert to: bool < ints < floats, JAX's lattice without weak types
// (research: jax.numpy type promotion). i64 with u64 gives f32; f16 with bf16 gives f32.
DType promote(DType a, DType b);

namespace dtypes {
inline constexpr DType void_{Scalar::Void, 1}, bool_{Scalar::Bool, 1}, index{Scalar::Index, 1};
inline constexpr DType i8{Scalar::I8, 1}, u8{Scalar::U8, 1}, i16{Scalar::I16, 1},
    u16{Scalar::U16, 1}, i32{Scalar::I32, 1}, u32{Scalar::U32, 1}, i64{Scalar::I64, 1},
    u64{Scalar::U64, 1};
inline constexpr DType f8e4m3{Scalar::F8E4M3, 1}, f8e5m2{Scalar::F8E5M2, 1},
    f8e4m3fnuz{Scalar::F8E4M3FNUZ, 1}, f8e5m2fnuz{Scalar::F8E5M2FNUZ, 1}, f16{Scalar::F16, 1},
    bf16{Scalar::BF16, 1}, f32{Scalar::F32, 1}, f64{Scalar::F64, 1};
}  // namespace dtypes

}  // namespace doorbell::core
