// The texts that are MSL's own.
#include "codegen/render/metal_helpers.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/util/check.h"

namespace doorbell::codegen {

using core::DType;
using core::Scalar;

namespace {

// [MSL 4, 2.1 "Scalar Data Types"]
std::string_view scalar_type(Scalar scalar) {
  switch (scalar) {
    case Scalar::Bool:
    case Scalar::U8: return "uchar";
    case Scalar::I8: return "char";
    case Scalar::I16: return "short";
    case Scalar::U16:
    case Scalar::BF16: return "ushort";
    case Scalar::I32: return "int";
    case Scalar::U32: return "uint";
    case Scalar::I64: return "long";
    case Scalar::U64: return "ulong";
    case Scalar::F16: return "half";
    case Scalar::F32: return "float";
    default: UNREACHABLE("dtype {} in MSL", core::name_of(scalar));
  }
}

}  // namespace

std::string MetalHelpers::type(DType t) {
  return t.lanes == 1 ? std::string(scalar_type(t.scalar)) : vector_at(t, t.element().bytes());
}

// One struct for each alignment: a value of any is the same lanes.
std::string MetalHelpers::vector_at(DType t, i64 alignment) {
  const std::string element(scalar_type(t.scalar));
  const std::string value = fmt::format("{}x{}", element, t.lanes);
  if (begin(value)) define(fmt::format("struct {} {{ {} v[{}]; }};\n", value, element, t.lanes));
  const i64 bytes = t.lanes * t.element().bytes();
  const i64 wide = std::min({alignment, i64{16}, bytes & -bytes});
  if (wide <= t.element().bytes()) return value;
  const std::string name = fmt::format("{}_at{}", value, wide);
  if (begin(name))
    define(fmt::format("struct alignas({}) {} {{ {} lanes; }};\n", wide, name, value));
  return name;
}

std::string MetalHelpers::convert(DType to, const std::string& expression) {
  CHECK(to.lanes == 1, "a conversion of lanes in MSL");
  return fmt::format("({})({})", type(to), expression);
}

std::string MetalHelpers::bits(DType to, DType) { return fmt::format("as_type<{}>", type(to)); }

// An item's elements are those of thread_elements(). bf16 is bits.
std::string MetalHelpers::matrix(const TensorCore& core) {
  const auto lanes = static_cast<u16>(core.operand_elements);
  const std::string operand = type({core.operand, lanes});
  const std::string sums = type({core.result, static_cast<u16>(core.result_elements)});
  const std::string name = fmt::format("multiply_{}", core.name);
  if (!begin(name)) return name;
  const std::string_view convert = core.operand == Scalar::BF16 ? "as_type<bfloat>" : "";
  std::string fill, made;
  for (i64 i = 0; i < lanes; ++i) {
    for (const char* from : {"a", "b"})
      fill += fmt::format("  m{0}.thread_elements()[{1}] = {2}({0}.v[{1}]);\n", from, i, convert);
    fill += fmt::format("  mc.thread_elements()[{0}] = c.v[{0}];\n", i);
    made += fmt::format("{}mc.thread_elements()[{}]", i ? ", " : "", i);
  }
  define(fmt::format(
      "FN {0} {1}({2} a, {2} b, {0} c) {{\n  {3} ma, mb;\n  simdgroup_float8x8 mc;\n{4}"
      "  simdgroup_multiply_accumulate(mc, ma, mb, mc);\n  return {0}{{{{{5}}}}};\n}}\n",
      sums, name, operand, core.name, fill, made));
  return name;
}

// Rounds once: an int of more than 24 bits keeps 24, of which the last one says whether others were
// lost, and a power of two.
std::string MetalHelpers::to_narrow(DType, DType from) {
  std::string text = "  float f = (float)a;\n";
  if (from.is_int() && from.bits() >= 32) {
    text = fmt::format(
        "  ulong m = {};\n  uint s = m >> 24 ? 40 - (uint)clz(m) : 0;\n"
        "  m = m >> s | ulong((m & ((1ul << s) - 1)) != 0);\n"
        "  float f = (float)(uint)m * as_type<float>((s + 127) << 23);\n",
        from.is_unsigned() ? "a" : "a < 0 ? 0ul - (ulong)a : (ulong)a");
    if (!from.is_unsigned()) text += "  f = a < 0 ? -f : f;\n";
  }
  return text + "  return as_type<ushort>((bfloat)f);\n";
}

std::string MetalHelpers::from_narrow(DType to, DType) {
  const DType f32{Scalar::F32, 1};
  return fmt::format("  float f = as_type<float>((uint)a << 16);\n  return {};\n",
                     to.scalar == Scalar::F32 ? "f" : fmt::format("{}(f)", cast(to, f32)));
}

}  // namespace doorbell::codegen
