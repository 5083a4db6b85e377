// The helpers' texts: types and memory. Conversions of narrow floats are in clang_casts.cc.
#include "codegen/render/clang_helpers.h"

#include <fmt/format.h>

namespace doorbell::codegen {

using core::DType;
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

// The type in memory.
std::string_view memory_type(DType t) { return t.is_bool() ? "u8" : scalar_type(t.scalar); }

}  // namespace

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

std::string ClangHelpers::convert(DType to, const std::string& expression) {
  return to.lanes == 1 ? fmt::format("({})({})", type(to), expression)
                       : fmt::format("__builtin_convertvector({}, {})", expression, type(to));
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

// The identity, through which LLVM does not see zeros: it takes 0 / 0 of vectors for 0. See
// FunctionBuilder::float_divide. The pragma makes the fence one; it applies to nothing else.
std::string ClangHelpers::fence(DType t) {
  std::string value = type(t), name = "fence_" + value;
  if (!begin(name)) return name;
  define(
      fmt::format("FN {0} {1}({0} v) {{\n"
                  "#if defined(__AMDGCN__)\n  __asm__(\"\" : \"+v\"(v));\n"
                  "#elif __has_builtin(__arithmetic_fence)\n"
                  "#pragma clang fp reassociate(on)\n  v = __arithmetic_fence(v);\n#endif\n"
                  "  return v;\n}}\n",
                  value, name));
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
