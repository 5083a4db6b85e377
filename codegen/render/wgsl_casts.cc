// Conversions of WGSL. Float to int truncates and saturates, NaN gives 0.
#include <fmt/format.h>

#include "codegen/render/wgsl_helpers.h"

namespace doorbell::codegen {

using core::DType;
using core::Scalar;
namespace dt = core::dtypes;

std::string WgslHelpers::saturating(DType to, DType from) {
  const std::string name = fmt::format("{}_{}", to.str(), from.str());
  if (!begin(name)) return name;
  const bool is_unsigned = to.is_unsigned();
  const int bits = to.bits();
  const DType wide = from.bits() == 64 ? dt::f64 : dt::f32;
  const std::string_view mark = from.bits() == 64 ? "lf" : "f";
  const u64 greatest = (is_unsigned ? ~u64{0} : ~u64{0} >> 1) >> (64 - bits);
  const std::string type_name = type(to);
  const std::string most = fmt::format("{}{}", greatest, suffix(to));
  const std::string least = is_unsigned  ? fmt::format("0{}", suffix(to))
                            : bits >= 32 ? fmt::format("bitcast<{}>({:#x}{})", type_name,
                                                       greatest + 1, bits == 64 ? "lu" : "u")
                                         : fmt::format("-{}i", greatest + 1);
  const std::string is_none = is_nan(wide, "a");
  source_ += fmt::format(
      "fn {}(x: {}) -> {} {{\n  let a = {}(x);\n  if ({}) {{ return {}(0); }}\n"
      "  if (a <= {}.0{}) {{ return {}; }}\n  if (a >= {}.0{}) {{ return {}; }}\n"
      "  return {}(a);\n}}\n",
      name, type(from), type_name, type(wide), is_none, type_name,
      is_unsigned ? "0" : fmt::format("-{}", greatest + 1), mark, least,
      bits == 64 && is_unsigned ? "18446744073709551616" : std::to_string(greatest + 1), mark, most,
      type_name);
  return name;
}

// Of a Bool or an integer.
std::string WgslHelpers::float_of(DType to, DType from, const std::string& x) {
  const bool half = to.scalar == Scalar::F16;
  if (from.is_bool() && to.bits() == 64) return fmt::format("f64(select(0u, 1u, {}))", x);
  if (!is_wide_int(from)) return fmt::format("{}({})", type(to), x);
  if (half) return fmt::format("f16({}({}))", function_of("word", from), x);
  if (!is_pair(from)) return fmt::format("{}({})", type(to), x);
  return fmt::format("{}({})", named(from.is_unsigned() ? "float_u64" : "float_i64"), x);
}

// Of another integer.
std::string WgslHelpers::int_of(DType to, DType from, const std::string& x) {
  if (is_pair(from)) {
    if (is_pair(to)) return x;
    const std::string low = fmt::format("{}.x", x);
    return wrapped(to, to.is_unsigned() ? low : fmt::format("bitcast<i32>({})", low));
  }
  if (is_pair(to)) {
    if (from.is_unsigned()) return fmt::format("vec2u({}, 0u)", x);
    return fmt::format("{}({})", named("wide_i32"), x);
  }
  if (is_wide_int(to) && !is_wide_int(from)) {
    // The sign is the source's.
    const std::string wide = fmt::format("{}({})", from.is_unsigned() ? "u64" : "i64", x);
    return from.is_unsigned() == to.is_unsigned() ? wide
                                                  : fmt::format("bitcast<{}>({})", type(to), wide);
  }
  if (is_wide_int(from) && !is_wide_int(to)) {
    // Of an unsigned value that fits, since not every compiler truncates.
    const std::string low = fmt::format("u32({} & 0xfffffffflu)", bitcast(dt::u64, from, x));
    return wrapped(to, to.is_unsigned() ? low : fmt::format("bitcast<i32>({})", low));
  }
  const std::string same = type(to) == type(from) ? x : fmt::format("bitcast<{}>({})", type(to), x);
  const bool holds = to.bits() > from.bits() && (from.is_unsigned() || !to.is_unsigned());
  return holds ? same : wrapped(to, same);
}

std::string WgslHelpers::cast(DType to, DType from, const std::string& x) {
  if (to == from) return x;
  if (to.is_bool()) {
    if (is_pair(from)) return fmt::format("any({} != vec2u())", x);
    // Of a float, what is not equal to 0 even if it is NaN.
    return from.is_float() ? fmt::format("!({} == {}(0))", x, type(from))
                           : fmt::format("({} != {}(0))", x, type(from));
  }
  if (to.scalar == Scalar::F16 && from.scalar == Scalar::F64)
    return fmt::format("{}({})", named("half_of_f64"), x);
  if (to.is_float())
    return from.is_float() ? fmt::format("{}({})", type(to), x) : float_of(to, from, x);
  if (from.is_float()) {
    if (!is_pair(to)) return fmt::format("{}({})", saturating(to, from), x);
    return fmt::format("{}(f32({}))", named(to.is_unsigned() ? "saturate_u64" : "saturate_i64"), x);
  }
  if (from.is_bool()) {
    const std::string word = fmt::format("select(0u, 1u, {})", x);
    if (is_pair(to)) return fmt::format("vec2u({}, 0u)", word);
    if (is_wide_int(to)) return int_of(to, dt::u32, word);
    return to.is_unsigned() ? word : fmt::format("i32({})", word);
  }
  return int_of(to, from, x);
}

std::string WgslHelpers::bitcast(DType to, DType from, const std::string& x) {
  if (to == from || (is_pair(to) && is_pair(from))) return x;
  if (to.scalar == Scalar::F16) {
    const std::string word = cast(dt::u16, from.is_bool() ? dt::bool_ : from, x);
    return fmt::format("{}({})", named("half_of"), word);
  }
  if (from.scalar == Scalar::F16)
    return cast(to, dt::u16, fmt::format("{}({})", named("bits_f16"), x));
  if (to.is_bool() || from.is_bool() || to.bits() < 32) return cast(to, from, x);
  return fmt::format("bitcast<{}>({})", type(to), x);
}

std::string WgslHelpers::to_pair(DType t, const std::string& x) {
  return is_pair(t) ? x : fmt::format("{}({})", named("pair"), bitcast(dt::u64, t, x));
}

std::string WgslHelpers::from_pair(DType t, const std::string& x) {
  return is_pair(t) ? x : bitcast(t, dt::u64, fmt::format("{}({})", named("joined"), x));
}

}  // namespace doorbell::codegen
