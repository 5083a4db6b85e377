// Arithmetic and conversions whose text is the same in all C-like languages. A number used with a
// vector is written as a vector: OpenCL C does not convert scalars wider than the lanes.
#include "codegen/render/cstyle_helpers.h"

#include <fmt/format.h>

namespace doorbell::codegen {

using core::DType;
using core::Op;
using core::Scalar;

DType CStyleHelpers::int_of(DType t, bool is_signed) {
  switch (t.bits()) {
    case 1:
    case 8: return {is_signed ? Scalar::I8 : Scalar::U8, t.lanes};
    case 16: return {is_signed ? Scalar::I16 : Scalar::U16, t.lanes};
    case 32: return {is_signed ? Scalar::I32 : Scalar::U32, t.lanes};
    default: return {is_signed ? Scalar::I64 : Scalar::U64, t.lanes};
  }
}

// Float to int truncates and saturates, NaN gives 0.
std::string CStyleHelpers::cast(DType to, DType from) {
  std::string result = type(to), value = type(from);
  // Narrow floats share a C type, so the function's name has the dtype.
  std::string name = fmt::format("cast_{}_{}", to.str(), from.str());
  if (defined(name)) return name;
  std::string body;
  if (is_narrow(from)) {
    body = from_narrow(to, from);
  } else if (is_narrow(to)) {
    body = to_narrow(to, from);
  } else if (to.is_bool()) {
    body = fmt::format("  return {};\n", convert(to, fmt::format("a != ({})0", value)));
  } else if (from.is_float() && to.is_int()) {
    body = saturating(to, from);
  } else {
    // Lanes of Bool vectors are 0 or -1.
    bool mask = from.is_bool() && from.lanes > 1;
    body = fmt::format("  return {};\n", convert(to, mask ? fmt::format("a & ({})1", value) : "a"));
  }
  if (begin(name)) define(fmt::format("FN {} {}({} a) {{\n{}}}\n", result, name, value, body));
  return name;
}

std::string CStyleHelpers::saturating(DType to, DType from) {
  std::string result = type(to), value = type(from);
  int bits = to.bits();
  bool is_unsigned = to.is_unsigned();
  DType mask = int_of(to, true);
  std::string_view suffix = from.scalar == Scalar::F32 ? "f" : "";
  std::string low =
      is_unsigned ? fmt::format("0.0{}", suffix) : fmt::format("-0x1p{}{}", bits - 1, suffix);
  std::string high = fmt::format("0x1p{}{}", is_unsigned ? bits : bits - 1, suffix);
  u64 greatest = (is_unsigned ? ~u64{0} : ~u64{0} >> 1) >> (64 - bits);
  std::string most = fmt::format("({})0x{:x}ul", result, greatest);
  std::string least = is_unsigned ? fmt::format("({})0", result)
                                  : fmt::format("({0})(-0x{1:x}l - 1)", result, greatest);
  // Converts narrow ints by way of i32, which processors support: LLVM 15 crashes on vectors of i8.
  const DType word{Scalar::I32, to.lanes};
  const auto truncate = [&](const std::string& x) {
    return convert(to, bits < 32 ? convert(word, x) : x);
  };
  if (to.lanes == 1) {
    return fmt::format(
        "  if (a != a) return 0;\n  if (a < {}) return {};\n"
        "  return a >= {} ? {} : {};\n",
        low, least, high, most, truncate("a"));
  }
  // The mask of a comparison has the width of what was compared. Mesa 22.3 widens one without its
  // sign, by which lanes are chosen, so that it is compared again.
  const auto lanes = [&](const std::string& comparison) {
    const std::string widened = convert(mask, comparison);
    return to.bits() > from.bits() ? fmt::format("({} != ({})0)", widened, type(mask)) : widened;
  };
  // Values that do not fit must not reach the conversion.
  return fmt::format(
      "  {0} low = ({0})({1}), high = ({0})({2});\n"
      "  {0} safe = a >= low ? (a < high ? a : ({0})0) : ({0})0;\n"
      "  {3} r = {4};\n"
      "  r = {5} ? {6} : r;\n"
      "  return {7} ? {8} : r;\n",
      value, low, high, result, truncate("safe"), lanes("a >= high"), most, lanes("a < low"),
      least);
}

// The machine's max gives its second operand where either is NaN. Taken both ways round, the
// results are the same number, or one of them is the NaN, whose bits survive an "or" with any
// others, or they are the two zeros, of which an "and" is the larger.
std::string CStyleHelpers::max(DType t) {
  std::string value = type(t), name = "max_" + value;
  if (defined(name)) return name;
  std::string text = "  return a > b ? a : b;\n";
  if (t.is_float()) {
    DType word = int_of(t, false);
    std::string to_bits = bits(word, t), from_bits = bits(t, word);
    const auto combined = [&](char how) {
      std::string both = fmt::format("{0}(keeps_a) {1} {0}(keeps_b)", to_bits, how);
      // C computes narrow scalars in int.
      if (t.lanes == 1 && t.bits() < 32) both = fmt::format("({})({})", type(word), both);
      return fmt::format("{}({})", from_bits, both);
    };
    text = fmt::format(
        "  {0} keeps_a = b > a ? b : a, keeps_b = a > b ? a : b;\n"
        "  return a == b ? {1} : {2};\n",
        value, combined('&'), combined('|'));
  }
  begin(name);
  define(fmt::format("FN {0} {1}({0} a, {0} b) {{\n{2}}}\n", value, name, text));
  return name;
}

// Division and modulo by zero give 0; the least number by -1 wraps, where the machine would trap.
std::string CStyleHelpers::divide(Op op, DType t) {
  std::string value = type(t);
  bool is_div = op == Op::CDiv;
  std::string name = fmt::format("{}_{}", is_div ? "div" : "mod", value);
  if (!begin(name)) return name;
  std::string text = fmt::format("FN {0} {1}({0} a, {0} b) {{\n", value, name);
  bool is_signed = t.is_signed_int();
  text += fmt::format("  {0} safe = b == ({0})0 ? ({0})1 : b;\n", value);
  if (is_signed) text += fmt::format("  safe = b == ({0})(-1) ? ({0})1 : safe;\n", value);
  text += fmt::format("  {0} r = a {1} safe;\n", value, is_div ? "/" : "%");
  if (is_signed && is_div) {
    // As unsigned, where leaving the type is no overflow.
    DType word = int_of(t, false);
    std::string to = bits(word, t), from = bits(t, word);
    text += fmt::format("  r = b == ({0})(-1) ? {1}(({2})(({2})0 - {3}(a))) : r;\n", value, from,
                        type(word), to);
  }
  text += fmt::format("  return b == ({0})0 ? ({0})0 : r;\n}}\n", value);
  define(text);
  return name;
}

// Amounts of the width or more shift everything out: 0, or the sign. A negative one is a large
// unsigned one.
std::string CStyleHelpers::shift(Op op, DType t, DType amount) {
  std::string value = type(t), given = type(amount);
  bool is_left = op == Op::Shl, keeps_sign = !is_left && t.is_signed_int();
  std::string name = fmt::format("{}_{}_{}", is_left ? "shl" : "shr", value, given);
  if (defined(name)) return name;
  DType word = int_of(amount, false), mask = int_of(t, true);
  std::string n = type(word);
  std::string text = fmt::format("FN {0} {1}({0} a, {2} amount) {{\n", value, name, given);
  text += fmt::format("  {0} n = {1}, safe = n < ({0}){2} ? n : ({0}){3};\n", n,
                      convert(word, "amount"), t.bits(), t.bits() - 1);
  text += fmt::format("  {0} r = ({0})(a {1} {2});\n", value, is_left ? "<<" : ">>",
                      convert(t, "safe"));
  std::string in_range = fmt::format("n < ({}){}", n, t.bits());
  if (t.lanes > 1) in_range = convert(mask, in_range);
  text += keeps_sign ? "  return r;\n}\n"
                     : fmt::format("  return {} ? r : ({})0;\n}}\n", in_range, value);
  begin(name);
  define(text);
  return name;
}

}  // namespace doorbell::codegen
