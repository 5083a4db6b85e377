// C for clang: the frame, operators, vectors and memory of the CPU's C-like language.
#include "codegen/render/clang_renderer.h"

#include <fmt/format.h>

#include <cmath>

#include "base/util/check.h"
#include "codegen/render/clang_helpers.h"
#include "codegen/render/constants.h"
#include "codegen/render/cstyle.h"
#include "codegen/render/memory.h"
#include "codegen/render/narrow_float.h"

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

std::string float_text(DType t, f64 value) {
  bool is_f32 = t.scalar == Scalar::F32;
  if (std::isnan(value)) return is_f32 ? "__builtin_nanf(\"\")" : "__builtin_nan(\"\")";
  if (std::isinf(value)) {
    return fmt::format("({}__builtin_inf{}())", value < 0 ? "-" : "", is_f32 ? "f" : "");
  }
  std::string text = is_f32 ? fmt::format("{}", static_cast<f32>(value)) : fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  if (is_f32) text += 'f';
  return text[0] == '-' ? "(" + text + ")" : text;
}

std::string int_text(DType t, u64 bits) {
  if (t.is_unsigned() || t.is_float()) {
    return fmt::format("{}{}", bits, t.bits() == 64 ? "ul" : t.bits() == 32 ? "u" : "");
  }
  auto value = static_cast<i64>(bits << (64 - t.bits())) >> (64 - t.bits());
  std::string_view suffix = t.bits() == 64 ? "l" : "";
  // The least number has no literal: its digits alone are too large for the type.
  if (t.bits() >= 32 && value == INT64_MIN >> (64 - t.bits())) {
    return fmt::format("({}{} - 1)", value + 1, suffix);
  }
  return value < 0 ? fmt::format("({}{})", value, suffix) : fmt::format("{}{}", value, suffix);
}

class ClangWriter final : public CStyleWriter {
 public:
  using CStyleWriter::CStyleWriter;

 private:
  std::string type_name(DType t) override { return helpers_.type(t); }
  std::string constant(UOp u) override {
    DType t = u.dtype().element();
    std::string text;
    if (t.is_bool()) {
      text = u.const_int() == 0 ? "0" : u.dtype().lanes > 1 ? "-1" : "1";
    } else if (t.scalar == Scalar::F32 || t.scalar == Scalar::F64) {
      text = float_text(t, u.const_float());
    } else {
      text = int_text(t, constant_bits(u));
    }
    return u.dtype().lanes == 1 ? text : fmt::format("({}){}", type_name(u.dtype()), text);
  }

  std::string special(UOp u) override {
    CHECK(static_cast<core::SpecialKind>(u.arg(0)) == core::SpecialKind::ThreadId,
          "special index {} on a CPU", u.arg(0));
    return fmt::format("({})thread", type_name(u.dtype()));
  }

  std::string private_array(UOp u, const std::string& name) override {
    std::string element = memory_type(u.dtype());
    return fmt::format("_Alignas(64) {} {}[{}];", element, name, u.arg(1));
  }

  std::string memory_type(DType t) { return t.is_bool() ? "u8" : helpers_.type(t); }

  std::string vector(UOp u) override;
  std::string elementwise(UOp u) override;
  std::string unary(UOp u);
  std::string infix(UOp u, std::string_view op);
  std::string binary(UOp u);
  std::string compare(UOp u, std::string_view op);
  std::string load(UOp u) override;
  std::string store(UOp u) override;
  std::string frame(const std::string& body) override;

  ClangHelpers helpers_;
};

std::string ClangWriter::vector(UOp u) {
  DType t = u.dtype();
  std::string type = helpers_.type(t);
  std::string sign = t.is_bool() ? "-" : "";  // lanes of Bool vectors are 0 or -1
  switch (u.op()) {
    case Op::Splat: return fmt::format("({})({}{})", type, sign, text(u.src(0)));
    case Op::Vec: {
      std::string lanes;
      for (UOp s : u.srcs()) lanes += (lanes.empty() ? "" : ", ") + sign + text(s);
      return fmt::format("({}){{{}}}", type, lanes);
    }
    case Op::Lane: {
      std::string source = text(u.src(0));
      if (u.src(0).dtype().lanes == 1) return source;
      if (t.lanes == 1) {
        return fmt::format("({}){}[{}]{}", type, source, u.arg(0), t.is_bool() ? " & 1" : "");
      }
      std::string lanes;
      for (i64 i = 0; i < t.lanes; ++i) lanes += fmt::format(", {}", u.arg(0) + i);
      return fmt::format("__builtin_shufflevector({0}, {0}{1})", source, lanes);
    }
    default: {
      std::string steps;
      for (i64 i = 0; i < t.lanes; ++i) {
        u64 step = static_cast<u64>(i) * static_cast<u64>(u.arg(0));
        u64 bits = t.bits() == 64 ? step : step & ((u64{1} << t.bits()) - 1);
        steps += (i ? ", " : "") + int_text(t.element(), bits);
      }
      return fmt::format("({0})({1}) + ({0}){{{2}}}", type, text(u.src(0)), steps);
    }
  }
}

std::string ClangWriter::elementwise(UOp u) {
  if (u.is(Op::Where)) {
    std::string gate = text(u.src(0));
    DType t = u.dtype();
    if (t.lanes > 1 && t.bits() != 1) {
      // The condition's lanes must be as wide as the values'.
      gate = fmt::format("__builtin_convertvector({}, {})", gate,
                         helpers_.type(ClangHelpers::int_of(t, true)));
    }
    return fmt::format("({} ? {} : {})", gate, text(u.src(1)), text(u.src(2)));
  }
  if (u.is(Op::MulAcc)) {
    std::string x = text(u.src(0)), y = text(u.src(1)), z = text(u.src(2));
    if (u.dtype().is_bool()) return fmt::format("(({} & {}) | {})", x, y, z);
    std::string sum = fmt::format("({} * {} + {})", x, y, z);
    bool promoted = u.dtype().lanes == 1 && u.dtype().is_int() && u.dtype().bits() < 32;
    return promoted ? fmt::format("({}){}", helpers_.type(u.dtype()), sum) : sum;
  }
  return u.nsrc() == 1 ? unary(u) : binary(u);
}

std::string ClangWriter::unary(UOp u) {
  DType t = u.dtype(), from = u.src(0).dtype();
  std::string x = text(u.src(0)), type = helpers_.type(t);
  bool is_f32 = t.scalar == Scalar::F32;
  switch (u.op()) {
    case Op::Cast: return from == t ? x : fmt::format("{}({})", helpers_.cast(t, from), x);
    case Op::Bitcast: {
      if (type == helpers_.type(from)) return x;
      std::string bits = fmt::format("{}({})", helpers_.bits(t, from), x);
      if (t.lanes == 1) return bits;
      if (t.is_bool()) return fmt::format("({} != 0)", bits);
      return from.is_bool() ? fmt::format("({} & 1)", bits) : bits;
    }
    case Op::Neg:
      if (t.is_bool()) return x;
      return fmt::format("(({})-{})", type, x);
    case Op::Trunc:
      if (!t.is_float()) return x;
      [[fallthrough]];
    case Op::Sqrt: {
      std::string builtin =
          fmt::format("__builtin_{}{}", u.is(Op::Sqrt) ? "sqrt" : "trunc", is_f32 ? "f" : "");
      return fmt::format("{}({})", t.lanes == 1 ? builtin : helpers_.by_lane(builtin, t), x);
    }
    case Op::Recip: return fmt::format("(({})1 / {})", type, x);
    default: UNREACHABLE("op {} on a CPU", core::name_of(u.op()));
  }
}

std::string ClangWriter::infix(UOp u, std::string_view op) {
  DType t = u.dtype();
  std::string expression = fmt::format("({} {} {})", text(u.src(0)), op, text(u.src(1)));
  // C computes narrow scalars in int.
  bool promoted = t.lanes == 1 && t.is_int() && t.bits() < 32;
  return promoted ? fmt::format("(({}){})", helpers_.type(t), expression) : expression;
}

std::string ClangWriter::compare(UOp u, std::string_view op) {
  std::string expression = fmt::format("({} {} {})", text(u.src(0)), op, text(u.src(1)));
  DType t = u.dtype();
  if (t.lanes == 1) return expression;
  return fmt::format("__builtin_convertvector({}, {})", expression, helpers_.type(t));
}

std::string ClangWriter::binary(UOp u) {
  DType t = u.dtype();
  std::string x = text(u.src(0)), y = text(u.src(1));
  bool is_bool = t.is_bool(), vector_bool = is_bool && t.lanes > 1;
  bool of_bools = u.src(0).dtype().is_bool();
  switch (u.op()) {
    case Op::Add: return infix(u, is_bool ? "|" : "+");
    case Op::Sub: return infix(u, is_bool ? "^" : "-");
    case Op::Mul: return infix(u, is_bool ? "&" : "*");
    case Op::FDiv: return infix(u, "/");
    case Op::And: return infix(u, "&");
    case Op::Or: return infix(u, "|");
    case Op::Xor: return infix(u, "^");
    // Lanes of Bool vectors are 0 or -1: true is the smaller.
    case Op::CmpLt: return compare(u, of_bools && vector_bool ? ">" : "<");
    case Op::CmpEq: return compare(u, "==");
    case Op::CmpNe: return compare(u, "!=");
    case Op::Max: return is_bool ? infix(u, "|") : fmt::format("{}({}, {})", helpers_.max(t), x, y);
    case Op::CDiv:
    case Op::CMod: {
      UOp divisor = u.src(1);
      bool safe = divisor.vmin() > 0 || divisor.vmax() < -1;
      if (safe) return infix(u, u.is(Op::CDiv) ? "/" : "%");
      return fmt::format("{}({}, {})", helpers_.divide(u.op(), t), x, y);
    }
    case Op::Shl:
    case Op::Shr: {
      UOp amount = u.src(1);
      bool safe = amount.vmin() >= 0 && amount.vmax() < t.bits() && amount.dtype() == t;
      if (safe) return infix(u, u.is(Op::Shl) ? "<<" : ">>");
      return fmt::format("{}({}, {})", helpers_.shift(u.op(), t, amount.dtype()), x, y);
    }
    default: UNREACHABLE("op {} on a CPU", core::name_of(u.op()));
  }
}

std::string ClangWriter::load(UOp u) {
  DType t = u.dtype();
  UOp index = u.src(0);
  bool gated = index.nsrc() > 2;
  if (t.lanes == 1) {
    std::string element = fmt::format("{}[{}]", text(index.src(0)), text(index.src(1)));
    if (!gated) return element;
    return fmt::format("({} ? {} : {})", text(index.src(2)), element, text(u.src(1)));
  }
  if (gated && index.src(2).dtype().lanes > 1) {
    return fmt::format("{}({}, {}, {})", helpers_.load(t, true), address(index), text(index.src(2)),
                       text(u.src(1)));
  }
  std::string vector = fmt::format("{}({})", helpers_.load(t, false), address(index));
  if (!gated) return vector;
  return fmt::format("({} ? {} : {})", text(index.src(2)), vector, text(u.src(1)));
}

std::string ClangWriter::store(UOp u) {
  UOp index = u.src(0);
  DType t = u.src(1).dtype();
  bool gated = index.nsrc() > 2;
  std::string v = text(u.src(1)), statement;
  if (gated && index.src(2).dtype().lanes > 1) {
    return fmt::format("{}({}, {}, {});", helpers_.store(t, true), address(index), v,
                       text(index.src(2)));
  }
  if (t.lanes == 1) {
    statement = fmt::format("{}[{}] = {};", text(index.src(0)), text(index.src(1)), v);
  } else {
    statement = fmt::format("{}({}, {});", helpers_.store(t, false), address(index), v);
  }
  return gated ? fmt::format("if ({}) {}", text(index.src(2)), statement) : statement;
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

class ClangRenderer final : public Renderer {
 public:
  explicit ClangRenderer(Caps caps) : caps_(caps) {}
  std::string_view name() const override { return "CLANG"; }
  const Caps& caps() const override { return caps_; }
  std::string render(const LinearProgram& program) const override {
    return ClangWriter(program).write();
  }

 private:
  const Caps caps_;
};

}  // namespace

std::unique_ptr<Renderer> make_clang_renderer(Caps caps) {
  return std::make_unique<ClangRenderer>(caps);
}

}  // namespace doorbell::codegen
