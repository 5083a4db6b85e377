// The helpers that convert narrow floats: through f32, by the recipe of narrow_float.h, written out
// as C. For other conversions see cstyle_helpers.cc.
#include <fmt/format.h>

#include "codegen/render/clang_helpers.h"
#include "codegen/render/narrow_float.h"

namespace doorbell::codegen {

using core::DType;
using core::Scalar;

namespace {

// The emitter of narrow_float.h that writes C: one statement per step.
struct TextLane {
  using Value = std::string;
  using Mask = std::string;
  std::string u32, as_float, as_bits;  // type and function names for the lane count
  std::string statements;
  int count = 0;

  Value keep(const std::string& expression) {
    std::string name = fmt::format("t{}", count++);
    statements += fmt::format("  {} {} = {};\n", u32, name, expression);
    return name;
  }
  Value constant(unsigned v) { return fmt::format("({})0x{:x}u", u32, v); }
  Value band(const Value& a, const Value& b) { return keep(a + " & " + b); }
  Value bor(const Value& a, const Value& b) { return keep(a + " | " + b); }
  Value add(const Value& a, const Value& b) { return keep(a + " + " + b); }
  Value shl(const Value& a, unsigned n) { return keep(fmt::format("{} << {}", a, n)); }
  Value shr(const Value& a, unsigned n) { return keep(fmt::format("{} >> {}", a, n)); }
  Value fadd(const Value& a, const Value& b) { return on_floats(a, '+', b); }
  Value fmul(const Value& a, const Value& b) { return on_floats(a, '*', b); }
  Mask less(const Value& a, const Value& b) { return fmt::format("({} < {})", a, b); }
  Value select(const Mask& m, const Value& a, const Value& b) {
    return keep(fmt::format("{} ? {} : {}", m, a, b));
  }
  Value on_floats(const Value& a, char op, const Value& b) {
    return keep(fmt::format("{0}({1}({2}) {3} {1}({4}))", as_bits, as_float, a, op, b));
  }
};

DType like(Scalar scalar, DType t) { return {scalar, t.lanes}; }

}  // namespace

bool ClangHelpers::is_narrow(DType t) const { return is_narrow_float(t); }

// Rounds to odd, so that rounding the result again gives the same as rounding once.
std::string ClangHelpers::round_to_odd(DType t) {
  DType f32 = like(Scalar::F32, t), f64 = like(Scalar::F64, t), u32 = like(Scalar::U32, t);
  std::string narrow = type(f32), wide = type(f64), word = type(u32);
  std::string mask = type(like(Scalar::I32, t));
  std::string name = "to_odd_" + narrow;
  std::string to_bits = bits(u32, f32), to_float = bits(f32, u32);
  if (!begin(name)) return name;
  define(fmt::format(
      "FN {0} {1}({2} a) {{\n  {0} near = {3};\n  {2} back = {4};\n  {5} n = {6}(near);\n"
      "  {2} size = a < 0 ? -a : a, back_size = back < 0 ? -back : back;\n"
      "  {5} odd = (n - ({7} ? ({5})1 : ({5})0)) | 1;\n"
      "  {8} inexact = {9};\n"
      "  return {10}(inexact ? odd : n);\n}}\n",
      narrow, name, wide, convert(f32, "a"), convert(f64, "near"), word, to_bits,
      t.lanes == 1 ? "(back_size > size)"
                   : fmt::format("__builtin_convertvector(back_size > size, {})", mask),
      mask,
      t.lanes == 1 ? "(back < a) | (back > a)"
                   : fmt::format("__builtin_convertvector((back < a) | (back > a), {})", mask),
      to_float));
  return name;
}

// Keeps the upper 53 bits and sets the last of them if others were lost.
std::string ClangHelpers::int_to_odd(DType t) {
  std::string value = type(t);
  std::string name = "to_odd_" + value;
  if (!begin(name)) return name;
  define(
      fmt::format("FN {0} {1}({0} a) {{\n"
                  "  {0} lost = (a & 0x7ff) != 0 ? ({0})0x800 : ({0})0;\n"
                  "  {0} odd = (a & ~({0})0x7ff) | lost;\n"
                  "  return {2} ? a : odd;\n}}\n",
                  value, name,
                  t.is_unsigned() ? "(a < 0x20000000000000ull)"
                                  : "((a > -0x20000000000000ll) & (a < 0x20000000000000ll))"));
  return name;
}

std::string ClangHelpers::to_narrow(DType to, DType from) {
  DType f32 = like(Scalar::F32, to), f64 = like(Scalar::F64, to), u32 = like(Scalar::U32, to);
  std::string floats = type(f32);
  TextLane lane{.u32 = type(u32), .as_float = bits(f32, u32), .as_bits = bits(u32, f32)};
  std::string text, value = "a";
  // Ints of up to 24 bits are exact in f32; wider ones go through f64.
  if (from.is_int() && from.bits() > 16) {
    if (from.bits() == 64) value = fmt::format("{}({})", int_to_odd(from), value);
    text += fmt::format("  {} d = {};\n", type(f64), convert(f64, value));
    value = "d";
    from = f64;
  }
  if (from.scalar == Scalar::F64) {
    text += fmt::format("  {} f = {}({});\n", floats, round_to_odd(to), value);
  } else {
    bool mask = from.is_bool() && from.lanes > 1;
    text += fmt::format("  {} f = {};\n", floats, convert(f32, mask ? "a & 1" : "a"));
  }
  lane.statements = fmt::format("  {} x = {}(f);\n", lane.u32, lane.as_bits);
  std::string result = narrow_from_f32(lane, std::string("x"), narrow_float(to.scalar));
  std::string conversion = fmt::format("  return {};\n", convert(to, result));
  const std::string by_bits = lane.statements + conversion;
  return text + (to.scalar == Scalar::F16 ? to_half(to, by_bits) : by_bits);
}

std::string ClangHelpers::from_narrow(DType to, DType from) {
  DType f32 = like(Scalar::F32, from), u32 = like(Scalar::U32, from);
  std::string then = "f", floats = type(f32);
  if (to.scalar != Scalar::F32) then = fmt::format("{}(f)", cast(to, f32));
  TextLane lane{.u32 = type(u32), .as_float = bits(f32, u32), .as_bits = bits(u32, f32)};
  lane.statements = fmt::format("  {} x = {};\n", lane.u32, convert(u32, "a"));
  std::string result = f32_from_narrow(lane, std::string("x"), narrow_float(from.scalar));
  std::string by_bits =
      fmt::format("{}  {} f = {}({});\n", lane.statements, floats, lane.as_float, result);
  return (from.scalar == Scalar::F16 ? from_half(from, by_bits) : by_bits) +
         fmt::format("  return {};\n", then);
}

// clang 14 has no such type on x86.
std::string ClangHelpers::half_type(DType like) {
  if (like.lanes == 1) return "_Float16";
  const std::string half = fmt::format("half_x{}", like.lanes);
  if (begin(half)) {
    define(
        fmt::format("#ifdef HAVE_HALF\ntypedef _Float16 {} __attribute__((ext_vector_type({})));"
                    "\n#endif\n",
                    half, like.lanes));
  }
  return half;
}

std::string ClangHelpers::to_half(DType to, const std::string& by_bits) {
  const std::string half = half_type(to);
  return fmt::format(
      "#ifdef HAVE_HALF\n  {0} h = {1};\n  {2} r;\n"
      "  __builtin_memcpy(&r, &h, {3});\n  return r;\n#else\n{4}#endif\n",
      half, to.lanes == 1 ? "(_Float16)(f)" : fmt::format("__builtin_convertvector(f, {})", half),
      type(to), to.bytes(), by_bits);
}

std::string ClangHelpers::from_half(DType from, const std::string& by_bits) {
  const DType f32 = like(Scalar::F32, from);
  return fmt::format(
      "#ifdef HAVE_HALF\n  {0} h;\n  __builtin_memcpy(&h, &a, {1});\n"
      "  {2} f = {3};\n#else\n{4}#endif\n",
      half_type(from), from.bytes(), type(f32), convert(f32, "h"), by_bits);
}

}  // namespace doorbell::codegen
