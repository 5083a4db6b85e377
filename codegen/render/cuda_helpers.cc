// The texts that are CUDA C++'s own.
#include "codegen/render/cuda_helpers.h"

#include <fmt/format.h>

#include "base/util/check.h"

namespace doorbell::codegen {

using core::DType;

std::string CudaHelpers::type(DType t) {
  CHECK(t.lanes == 1, "a vector of {} lanes in CUDA C++", t.lanes);
  return ClangHelpers::type(t);
}

std::string CudaHelpers::bits(DType to, DType from) {
  const std::string result = type(to), value = type(from);
  const std::string name = fmt::format("bits_{}_{}", result, value);
  if (!begin(name)) return name;
  define(fmt::format("FN {0} {1}({2} a) {{\n  {0} r;\n  memcpy(&r, &a, {3});\n  return r;\n}}\n",
                     result, name, value, to.bytes()));
  return name;
}

// [PTX ISA, "cvt"; "Inline PTX Assembly in CUDA", "Constraints": "h" is a u16, "f" an f32]
std::string CudaHelpers::to_half(DType, const std::string&) {
  return "  u16 r;\n  asm(\"cvt.rn.f16.f32 %0, %1;\" : \"=h\"(r) : \"f\"(f));\n  return r;\n";
}

std::string CudaHelpers::from_half(DType, const std::string&) {
  return "  f32 f;\n  asm(\"cvt.f32.f16 %0, %1;\" : \"=f\"(f) : \"h\"(a));\n";
}

}  // namespace doorbell::codegen
