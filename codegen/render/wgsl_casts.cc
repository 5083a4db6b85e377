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
  const u32 greatest = (is_unsigned ? ~0u : ~0u >> 1) >> (32 - bits);
  const std::string type_name = type(to), suffix = is_unsigned ? "u" : "i";
  const std::string most = fmt::format("{}{}", greatest, suffix);
  const std::string least = is_unsigned  ? "0u"
                            : bits == 32 ? "i32(0x80000000u)"
                                         : fmt::format("-{}i", greatest + 1);
  source_ += fmt::format(
      "fn {}(x: {}) -> {} {{\n  let a = f32(x);\n"
      "  if ((bitcast<u32>(a) & 0x7fffffffu) > 0x7f800000u) {{ return {}; }}\n"
      "  if (a <= {}.0f) {{ return {}; }}\n  if (a >= {}.0f) {{ return {}; }}\n"
      "  return {}(a);\n}}\n",
      name, type(from), type_name, "0" + suffix, is_unsigned ? i64{0} : -(i64{1} << (bits - 1)),
      least, i64{1} << (is_unsigned ? bits : bits - 1), most, type_name);
  return name;
}

// Of a Bool or an integer.
std::string WgslHelpers::float_of(DType to, DType from, const std::string& x) {
  const bool half = to.scalar == Scalar::F16;
  if (!is_wide_int(from)) return fmt::format("{}({})", type(to), x);
  const bool is_unsigned = from.is_unsigned();
  if (!half) return fmt::format("{}({})", named(is_unsigned ? "float_u64" : "float_i64"), x);
  return fmt::format("f16({}({}))", named(is_unsigned ? "word_u64" : "word_i64"), x);
}

std::string WgslHelpers::cast(DType to, DType from, const std::string& x) {
  if (to == from) return x;
  if (to.is_bool()) {
    if (is_wide_int(from)) return fmt::format("any({} != vec2u())", x);
    // Of a float, what is not equal to 0 even if it is NaN.
    return from.is_float() ? fmt::format("!({} == {}(0))", x, type(from))
                           : fmt::format("({} != {}(0))", x, type(from));
  }
  if (to.is_float())
    return from.is_float() ? fmt::format("{}({})", type(to), x) : float_of(to, from, x);
  if (from.is_float()) {
    if (!is_wide_int(to)) return fmt::format("{}({})", saturating(to, from), x);
    return fmt::format("{}(f32({}))", named(to.is_unsigned() ? "saturate_u64" : "saturate_i64"), x);
  }
  if (from.is_bool()) {
    const std::string word = fmt::format("select(0u, 1u, {})", x);
    if (is_wide_int(to)) return fmt::format("vec2u({}, 0u)", word);
    return to.is_unsigned() ? word : fmt::format("i32({})", word);
  }
  if (is_wide_int(from)) {
    if (is_wide_int(to)) return x;
    const std::string low = fmt::format("{}.x", x);
    return wrapped(to, to.is_unsigned() ? low : fmt::format("bitcast<i32>({})", low));
  }
  if (is_wide_int(to)) {
    if (from.is_unsigned()) return fmt::format("vec2u({}, 0u)", x);
    return fmt::format("{}({})", named("wide_i32"), x);
  }
  const std::string same = type(to) == type(from) ? x : fmt::format("bitcast<{}>({})", type(to), x);
  const bool holds = to.bits() > from.bits() && (from.is_unsigned() || !to.is_unsigned());
  return holds ? same : wrapped(to, same);
}

std::string WgslHelpers::bitcast(DType to, DType from, const std::string& x) {
  if (to == from || (is_wide_int(to) && is_wide_int(from))) return x;
  if (to.scalar == Scalar::F16) {
    const std::string word = cast(dt::u16, from.is_bool() ? dt::bool_ : from, x);
    return fmt::format("{}({})", named("half_of"), word);
  }
  if (from.scalar == Scalar::F16)
    return cast(to, dt::u16, fmt::format("{}({})", named("bits_f16"), x));
  if (to.is_bool() || from.is_bool() || to.bits() < 32) return cast(to, from, x);
  return fmt::format("bitcast<{}>({})", type(to), x);
}

}  // namespace doorbell::codegen
