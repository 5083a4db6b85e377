// The texts specific to OpenCL C.
#include "codegen/render/opencl_helpers.h"

#include <fmt/format.h>

#include "base/util/check.h"

namespace doorbell::codegen {

using core::DType;
using core::Scalar;

namespace {

std::string_view scalar_type(Scalar scalar, bool native_half) {
  switch (scalar) {
    case Scalar::I8: return "char";
    case Scalar::U8: return "uchar";
    case Scalar::I16: return "short";
    case Scalar::U16: return "ushort";
    case Scalar::I32: return "int";
    case Scalar::U32: return "uint";
    case Scalar::I64: return "long";
    case Scalar::U64: return "ulong";
    case Scalar::F16: return native_half ? "half" : "ushort";
    case Scalar::F32: return "float";
    case Scalar::F64: return "double";
    default: UNREACHABLE("dtype {} in OpenCL C", core::name_of(scalar));
  }
}

std::string lanes_suffix(DType t) { return t.lanes == 1 ? "" : fmt::format("{}", t.lanes); }

}  // namespace

bool OpenClHelpers::is_narrow(DType t) const { return t.scalar == Scalar::F16 && !native_half_; }

std::string OpenClHelpers::type(DType t) {
  // The language has vectors of these lengths only. One of three takes the room of four.
  CHECK(t.lanes == 1 || t.lanes == 2 || t.lanes == 4 || t.lanes == 8 || t.lanes == 16,
        "a vector of {} lanes in OpenCL C", t.lanes);
  if (t.is_bool()) return t.lanes == 1 ? "uchar" : fmt::format("char{}", t.lanes);
  return std::string(scalar_type(t.scalar, native_half_)) + lanes_suffix(t);
}

std::string OpenClHelpers::convert(DType to, const std::string& expression) {
  if (to.lanes == 1) return fmt::format("({})({})", type(to), expression);
  return fmt::format("convert_{}({})", type(to), expression);
}

std::string OpenClHelpers::bits(DType to, DType) { return "as_" + type(to); }

// Rounds once: truncates to f32 and sets the last bit if bits were lost, which then rounds as the
// value itself does.
std::string OpenClHelpers::to_narrow(DType to, DType from) {
  const DType f32{Scalar::F32, to.lanes}, i32{Scalar::I32, to.lanes};
  const std::string floats = type(f32);
  std::string text;
  const bool exact = from.scalar == Scalar::F32 || from.bits() <= 16;
  if (exact) {
    const bool mask = from.is_bool() && from.lanes > 1;
    text = fmt::format("  {} f = {};\n", floats,
                       convert(f32, mask ? fmt::format("a & ({})1", type(from)) : "a"));
  } else {
    std::string lost = fmt::format("convert_{}(f) != a", type(from));
    if (to.lanes > 1) lost = fmt::format("convert_{}({})", type(i32), lost);
    text = fmt::format(
        "  {0} f = convert_{0}_rtz(a);\n  f = as_{0}(as_{1}(f) | ({2} ? ({1})1 : ({1})0));\n",
        floats, type(i32), lost);
  }
  return text +
         fmt::format("  {0} r;\n  vstore_half{1}_rte(f, 0, (private half*)&r);\n  return r;\n",
                     type(to), lanes_suffix(to));
}

std::string OpenClHelpers::from_narrow(DType to, DType from) {
  const DType f32{Scalar::F32, from.lanes};
  const std::string then = to.scalar == Scalar::F32 ? "f" : fmt::format("{}(f)", cast(to, f32));
  return fmt::format("  {} f = vload_half{}(0, (private const half*)&a);\n  return {};\n",
                     type(f32), lanes_suffix(from), then);
}

}  // namespace doorbell::codegen
