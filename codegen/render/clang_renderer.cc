// C for clang: the frame, vectors and memory of the CPU's C-like language.
#include "codegen/render/clang_renderer.h"

#include <fmt/format.h>

#include <cmath>

#include "base/util/check.h"
#include "codegen/render/clang_writer.h"

namespace doorbell::codegen {

using core::DType;
using core::Op;
using core::Scalar;
using core::UOp;

namespace {

// i8 and i64 are the types that clang gives to comparisons of vectors (char is signed by option).
constexpr std::string_view kPrelude =
    "typedef char i8; typedef unsigned char u8, b8;\n"
    "typedef short i16; typedef unsigned short u16;\n"
    "typedef int i32; typedef unsigned int u32;\n"
    "typedef long i64; typedef unsigned long u64;\n"
    "typedef float f32; typedef double f64;\n"
    "#define FN static inline __attribute__((always_inline))\n"
    "#if __clang_major__ >= 15 && defined(__F16C__)\n#define HAVE_HALF\n#endif\n"
    "#if __has_builtin(__builtin_masked_load)\n#define HAVE_MASKED\n#endif\n";

bool has_lane_gate(UOp index) { return index.nsrc() > 2 && index.src(2).dtype().lanes > 1; }

}  // namespace

std::string ClangWriter::special_float(DType t, f64 value) {
  bool is_f32 = t.scalar == Scalar::F32;
  if (std::isnan(value)) return is_f32 ? "__builtin_nanf(\"\")" : "__builtin_nan(\"\")";
  return fmt::format("({}__builtin_inf{}())", value < 0 ? "-" : "", is_f32 ? "f" : "");
}

std::string ClangWriter::math(Op op, DType t, const std::string& x) {
  std::string builtin = fmt::format("__builtin_{}{}", op == Op::Sqrt ? "sqrt" : "trunc",
                                    t.scalar == Scalar::F32 ? "f" : "");
  return fmt::format("{}({})", t.lanes == 1 ? builtin : helpers_.by_lane(builtin, t), x);
}

std::string ClangWriter::float_divide(UOp u) {
  DType t = u.dtype();
  if (t.lanes == 1) return CStyleWriter::float_divide(u);
  return fmt::format("({} / {}({}))", text(u.src(0)), helpers_.fence(t), text(u.src(1)));
}

std::string ClangWriter::vector_of(DType t, const std::string& lanes) {
  return fmt::format("({}){{{}}}", type_name(t), lanes);
}

std::string ClangWriter::lanes_of(const std::string& vector, i64 first, i64 count) {
  if (count == 1) return fmt::format("{}[{}]", vector, first);
  std::string lanes;
  for (i64 i = 0; i < count; ++i) lanes += fmt::format(", {}", first + i);
  return fmt::format("__builtin_shufflevector({0}, {0}{1})", vector, lanes);
}

std::string ClangWriter::special(UOp u) {
  CHECK(static_cast<core::SpecialKind>(u.arg(0)) == core::SpecialKind::ThreadId,
        "special index {} on a CPU", u.arg(0));
  return fmt::format("({})thread", type_name(u.dtype()));
}

std::string ClangWriter::private_array(UOp u, const std::string& name) {
  return fmt::format("_Alignas(64) {} {}[{}];", memory_type(u.dtype()), name, u.arg(1));
}

std::string ClangWriter::load_vector(UOp u) {
  UOp index = u.src(0);
  bool gated = has_lane_gate(index);
  std::string call = fmt::format("{}({}", helpers_.load(u.dtype(), gated), address(index));
  if (!gated) return call + ")";
  return fmt::format("{}, {}, {})", call, text(index.src(2)), text(u.src(1)));
}

std::string ClangWriter::store_vector(UOp u) {
  UOp index = u.src(0), value = u.src(1);
  bool gated = has_lane_gate(index);
  std::string call =
      fmt::format("{}({}, {}", helpers_.store(value.dtype(), gated), address(index), text(value));
  return gated ? fmt::format("{}, {});", call, text(index.src(2))) : call + ");";
}

// The body is a function of its own because clang heeds `restrict` on parameters only.
std::string ClangWriter::frame(const std::string& body) {
  std::string parameters, arguments;
  for (usize i = 0; i < program_.params.size(); ++i) {
    const ProgramParam& p = program_.params[i];
    std::string name = param_name(static_cast<i64>(i));
    parameters += fmt::format("{}{}* restrict {}, ", p.written ? "" : "const ",
                              memory_type(p.dtype.element()), name);
    arguments += fmt::format("args[{}], ", i);
  }
  for (usize i = 0; i < program_.variables.size(); ++i) {
    parameters += fmt::format("i64 n{}, ", i);
    arguments += fmt::format("variables[{}], ", i);
  }
  return fmt::format(
      "{0}{1}FN void {2}_body({3}i64 thread) {{\n{4}}}\n"
      "void {2}(void* const* args, const i64* variables, i64 thread) {{\n"
      "  {2}_body({5}thread);\n}}\n",
      kPrelude, helpers_.source(), program_.name, parameters, body, arguments);
}

std::unique_ptr<Renderer> make_clang_renderer(Caps caps) {
  caps.dot_products = false;
  return make_source_renderer("CLANG", caps, [](const LinearProgram& program, const Caps&) {
    return ClangWriter(program).write();
  });
}

}  // namespace doorbell::codegen
