// Names of element types and the promotion lattice.
#include "core/dtype/dtype.h"

#include <charconv>
#include <utility>

namespace doorbell::core {

namespace {

struct Names {
  std::string_view short_name, long_name;
};
constexpr Names kNames[kScalarCount] = {
    {"void", "void"},
    {"bool", "bool"},
    {"i8", "int8"},
    {"u8", "uint8"},
    {"i16", "int16"},
    {"u16", "uint16"},
    {"i32", "int32"},
    {"u32", "uint32"},
    {"i64", "int64"},
    {"u64", "uint64"},
    {"f8e4m3", "float8_e4m3fn"},
    {"f8e5m2", "float8_e5m2"},
    {"f8e4m3fnuz", "float8_e4m3fnuz"},
    {"f8e5m2fnuz", "float8_e5m2fnuz"},
    {"f16", "float16"},
    {"bf16", "bfloat16"},
    {"f32", "float32"},
    {"f64", "float64"},
    {"index", "index"},
};

constexpr bool is_fp8(DType t) {
  return t.scalar >= Scalar::F8E4M3 && t.scalar <= Scalar::F8E5M2FNUZ;
}

DType promote_ints(DType a, DType b) {
  if (a.is_unsigned() == b.is_unsigned()) return a.bits() >= b.bits() ? a : b;
  DType u = a.is_unsigned() ? a : b, s = a.is_unsigned() ? b : a;
  if (s.bits() > u.bits()) return s;
  switch (u.bits()) {
    case 8: return dtypes::i16;
    case 16: return dtypes::i32;
    case 32: return dtypes::i64;
    default: return dtypes::f32;  // no integer holds both u64 and a signed type
  }
}

}  // namespace

std::string_view name_of(Scalar scalar) { return kNames[static_cast<usize>(scalar)].short_name; }
std::string_view long_name_of(Scalar scalar) {
  return kNames[static_cast<usize>(scalar)].long_name;
}

std::string DType::str() const {
  std::string text(name_of(scalar));
  if (lanes != 1) text += 'x' + std::to_string(lanes);
  return text;
}

bool parse_dtype(std::string_view text, DType* out) {
  for (usize i = 0; i < kScalarCount; ++i) {
    std::string_view name = kNames[i].short_name;
    if (text == name || text == kNames[i].long_name) {
      *out = {static_cast<Scalar>(i), 1};
      return true;
    }
    if (!text.starts_with(name) || text.size() <= name.size() || text[name.size()] != 'x') continue;
    u16 lanes = 0;
    const char* end = text.data() + text.size();
    auto [ptr, error] = std::from_chars(text.data() + name.size() + 1, end, lanes);
    if (error != std::errc() || ptr != end || lanes == 0) continue;
    *out = {static_cast<Scalar>(i), lanes};
    return true;
  }
  return false;
}

DType promote(DType a, DType b) {
  if (a == b) return a;
  if (a.scalar > b.scalar) std::swap(a, b);
  if (a.is_bool()) return b;
  if (a.is_int() && b.is_int()) return promote_ints(a, b);
  if (a.is_int()) return b;  // any float type wins over any integer type
  if (is_fp8(a) && is_fp8(b)) return dtypes::f16;
  if (a.scalar == Scalar::F16 && b.scalar == Scalar::BF16) return dtypes::f32;
  return b;
}

}  // namespace doorbell::core
