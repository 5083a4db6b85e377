// The helpers' texts: types, memory, arithmetic. Conversions are in clang_casts.cc.
//
// The same text serves scalars and vectors where it can: clang's ext_vector_type gives vectors C's
// operators, a comparison gives lanes of 0 or -1, and `mask ? a : b` selects by lane.
#include "codegen/render/clang_helpers.h"

#include <fmt/format.h>

namespace doorbell::codegen {

using core::DType;
using core::Op;
using core::Scalar;

namespace {

std::string_view scalar_type(Scalar scalar) {
  switch (scalar) {
    case Scalar::F16:
    case Scalar::BF16: return "u16";
    case Scalar::F8E4M3:
    case Scalar::F8E5M2: return "u8";
    case Scalar::F8E4M3FNUZ:
    case Scalar::F8E5M2FNUZ: return "u8";
    case Scalar::Bool: return "b8";
    default: return core::name_of(scalar);
  }
}

// As it lies in memory.
std::string_view memory_type(DType t) { return t.is_bool() ? "u8" : scalar_type(t.scalar); }

}  // namespace

DType ClangHelpers::int_of(DType t, bool is_signed) {
  switch (t.bits()) {
    case 1:
    case 8: return {is_signed ? Scalar::I8 : Scalar::U8, t.lanes};
    case 16: return {is_signed ? Scalar::I16 : Scalar::U16, t.lanes};
    case 32: return {is_signed ? Scalar::I32 : Scalar::U32, t.lanes};
    default: return {is_signed ? Scalar::I64 : Scalar::U64, t.lanes};
  }
}

bool ClangHelpers::begin(const std::string& name) { return defined_.insert(name).second; }

std::string ClangHelpers::type(DType t) {
  std::string_view scalar = scalar_type(t.scalar);
  if (t.lanes == 1) return std::string(scalar);
  std::string name = fmt::format("{}x{}", scalar, t.lanes);
  if (begin(name)) {
    define(fmt::format("typedef {} {} __attribute__((ext_vector_type({})));\n",
                       t.is_bool() ? "i8" : scalar, name, t.lanes));
  }
  return name;
}

std::string ClangHelpers::load(DType t, bool gated) {
  if (gated) return gated_load(t);
  std::string value = type(t), name = "load_" + value;
  if (!begin(name)) return name;
  define(
      fmt::format("FN {0} {1}(const {2}* p) {{\n  {0} v;\n"
                  "  __builtin_memcpy(&v, p, {3});\n  return {4};\n}}\n",
                  value, name, memory_type(t), t.bytes(), t.is_bool() ? "v != 0" : "v"));
  return name;
}

std::string ClangHelpers::store(DType t, bool gated) {
  if (gated) return gated_store(t);
  std::string value = type(t), name = "store_" + value;
  if (!begin(name)) return name;
  define(fmt::format("FN void {1}({2}* p, {0} v) {{\n{4}  __builtin_memcpy(p, &v, {3});\n}}\n",
                     value, name, memory_type(t), t.bytes(), t.is_bool() ? "  v = v & 1;\n" : ""));
  return name;
}

// The vector of _Bool that clang's masked accesses take; older versions have neither.
std::string ClangHelpers::mask(DType t) {
  std::string name = fmt::format("mask_x{}", t.lanes);
  if (begin(name)) {
    define(
        fmt::format("#ifdef HAVE_MASKED\n"
                    "typedef _Bool {} __attribute__((ext_vector_type({})));\n#endif\n",
                    name, t.lanes));
  }
  return name;
}

std::string ClangHelpers::gated_load(DType t) {
  std::string value = type(t), gate = type(DType{Scalar::Bool, t.lanes}), lanes = mask(t);
  std::string name = fmt::format("load_{}_gated", value);
  if (!begin(name)) return name;
  // In memory a Bool is 0 or 1.
  std::string masked =
      fmt::format("__builtin_masked_load(__builtin_convertvector(gate, {}), ({}*)p, {})", lanes,
                  t.is_bool() ? "i8" : memory_type(t), t.is_bool() ? "v & 1" : "v");
  if (t.is_bool()) masked += " != 0";
  define(
      fmt::format("FN {0} {1}(const {2}* p, {3} gate, {0} v) {{\n"
                  "#ifdef HAVE_MASKED\n  return {4};\n#else\n"
                  "  for (int i = 0; i < {5}; ++i) if (gate[i]) v[i] = {6}p[i];\n"
                  "  return v;\n#endif\n}}\n",
                  value, name, memory_type(t), gate, masked, t.lanes, t.is_bool() ? "-" : ""));
  return name;
}

std::string ClangHelpers::gated_store(DType t) {
  std::string value = type(t), gate = type(DType{Scalar::Bool, t.lanes}), lanes = mask(t);
  std::string name = fmt::format("store_{}_gated", value);
  if (!begin(name)) return name;
  define(fmt::format(
      "FN void {1}({2}* p, {0} v, {3} gate) {{\n{4}#ifdef HAVE_MASKED\n"
      "  __builtin_masked_store(__builtin_convertvector(gate, {5}), v, ({6}*)p);\n#else\n"
      "  for (int i = 0; i < {7}; ++i) if (gate[i]) p[i] = v[i];\n#endif\n}}\n",
      value, name, memory_type(t), gate, t.is_bool() ? "  v = v & 1;\n" : "", lanes,
      t.is_bool() ? "i8" : memory_type(t), t.lanes));
  return name;
}

// The machine's max gives its second operand where either is NaN. Taken both ways round, the
// results are the same number, or one of them is the NaN; its bits survive an "or" with any others.
std::string ClangHelpers::max(DType t) {
  std::string value = type(t), name = "max_" + value;
  if (defined_.contains(name)) return name;
  std::string text = "  return a > b ? a : b;\n";
  if (t.is_float()) {
    DType word = int_of(t, false);
    std::string to_bits = bits(word, t), from_bits = bits(t, word);
    text = fmt::format(
        "  {0} keeps_a = b > a ? b : a, keeps_b = a > b ? a : b;\n"
        "  return {1}({2}(keeps_a) | {2}(keeps_b));\n",
        value, from_bits, to_bits);
  }
  begin(name);
  define(fmt::format("FN {0} {1}({0} a, {0} b) {{\n{2}}}\n", value, name, text));
  return name;
}

// Division and modulo by zero give 0; the least number by -1 wraps, where the machine would trap.
std::string ClangHelpers::divide(Op op, DType t) {
  std::string value = type(t);
  bool is_div = op == Op::CDiv;
  std::string name = fmt::format("{}_{}", is_div ? "div" : "mod", value);
  if (!begin(name)) return name;
  std::string text = fmt::format("FN {0} {1}({0} a, {0} b) {{\n", value, name);
  bool is_signed = t.is_signed_int();
  text += fmt::format("  {0} safe = b == 0 ? ({0})1 : b;\n", value);
  if (is_signed) text += fmt::format("  safe = b == ({0})-1 ? ({0})1 : safe;\n", value);
  text += fmt::format("  {0} r = a {1} safe;\n", value, is_div ? "/" : "%");
  if (is_signed && is_div) text += fmt::format("  r = b == ({0})-1 ? ({0})-a : r;\n", value);
  text += fmt::format("  return b == 0 ? ({0})0 : r;\n}}\n", value);
  define(text);
  return name;
}

// Amounts of the width or more shift everything out: 0, or the sign. A negative one is a large
// unsigned one.
std::string ClangHelpers::shift(Op op, DType t, DType amount) {
  std::string value = type(t), given = type(amount);
  bool is_left = op == Op::Shl, keeps_sign = !is_left && t.is_signed_int();
  std::string name = fmt::format("{}_{}_{}", is_left ? "shl" : "shr", value, given);
  if (defined_.contains(name)) return name;
  std::string n = type(int_of(amount, false)), mask = type(int_of(t, true));
  std::string text = fmt::format("FN {0} {1}({0} a, {2} amount) {{\n", value, name, given);
  text += fmt::format("  {0} n = ({0})amount, safe = n < {1} ? n : ({0}){2};\n", n, t.bits(),
                      t.bits() - 1);
  std::string by = t.lanes == 1 ? "safe" : fmt::format("__builtin_convertvector(safe, {})", value);
  text += fmt::format("  {0} r = ({0})(a {1} {2});\n", value, is_left ? "<<" : ">>", by);
  std::string in_range = fmt::format("n < {}", t.bits());
  if (t.lanes > 1) in_range = fmt::format("__builtin_convertvector({}, {})", in_range, mask);
  text += keeps_sign ? "  return r;\n}\n"
                     : fmt::format("  return {} ? r : ({})0;\n}}\n", in_range, value);
  begin(name);
  define(text);
  return name;
}

std::string ClangHelpers::by_lane(std::string_view builtin, DType t) {
  std::string value = type(t), name = fmt::format("{}_{}", builtin.substr(10), value);
  if (!begin(name)) return name;
  define(
      fmt::format("FN {0} {1}({0} a) {{\n"
                  "  for (int i = 0; i < {2}; ++i) a[i] = {3}(a[i]);\n  return a;\n}}\n",
                  value, name, t.lanes, builtin));
  return name;
}

std::string ClangHelpers::bits(DType to, DType from) {
  std::string result = type(to), value = type(from);
  std::string name = fmt::format("bits_{}_{}", result, value);
  if (!begin(name)) return name;
  define(
      fmt::format("FN {0} {1}({2} a) {{\n  {0} r;\n  __builtin_memcpy(&r, &a, {3});\n"
                  "  return r;\n}}\n",
                  result, name, value, to.bytes()));
  return name;
}

}  // namespace doorbell::codegen
