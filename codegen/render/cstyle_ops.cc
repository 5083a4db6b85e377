// Arithmetic, constants and the parts of memory access that all C-like languages share.
#include <fmt/format.h>

#include <cmath>

#include "base/util/check.h"
#include "codegen/linear/tensor_copy.h"
#include "codegen/render/constants.h"
#include "codegen/render/cstyle.h"

namespace doorbell::codegen {

using core::DType;
using core::Op;
using core::Scalar;
using core::UOp;

std::string CStyleWriter::float_text(DType t, f64 value) {
  if (!std::isfinite(value)) return special_float(t, value);
  if (t.scalar == Scalar::F16)
    return fmt::format("(({}){})", type_name(t), float_text(core::dtypes::f32, value));
  bool is_f32 = t.scalar == Scalar::F32;
  std::string text = is_f32 ? fmt::format("{}", static_cast<f32>(value)) : fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  if (is_f32) text += 'f';
  return text[0] == '-' ? "(" + text + ")" : text;
}

std::string CStyleWriter::int_text(DType t, u64 bits) {
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

std::string CStyleWriter::constant(UOp u) {
  DType t = u.dtype().element();
  std::string text;
  if (t.is_bool()) {
    text = u.const_int() == 0 ? "0" : u.dtype().lanes > 1 ? "(-1)" : "1";
  } else if (t.is_float() && !helpers().is_narrow(t)) {
    text = float_text(t, u.const_float());
  } else {
    text = int_text(t, constant_bits(u));
  }
  return u.dtype().lanes == 1 ? text : fmt::format("({}){}", type_name(u.dtype()), text);
}

std::string CStyleWriter::vector(UOp u) {
  DType t = u.dtype();
  std::string type = type_name(t);
  std::string sign = t.is_bool() ? "-" : "";  // lanes of Bool vectors are 0 or -1
  switch (u.op()) {
    case Op::Splat: return fmt::format("({})({}{})", type, sign, text(u.src(0)));
    case Op::Vec: {
      std::string lanes;
      for (UOp s : u.srcs()) lanes += (lanes.empty() ? "" : ", ") + sign + text(s);
      return vector_of(t, lanes);
    }
    case Op::Lane: {
      std::string source = text(u.src(0));
      if (u.src(0).dtype().lanes == 1) return source;
      std::string lanes = lanes_of(source, u.arg(0), t.lanes);
      return t.lanes > 1 ? lanes : fmt::format("({}){}{}", type, lanes, t.is_bool() ? " & 1" : "");
    }
    default: {
      std::string steps;
      for (i64 i = 0; i < t.lanes; ++i) {
        u64 step = static_cast<u64>(i) * static_cast<u64>(u.arg(0));
        u64 bits = t.bits() == 64 ? step : step & ((u64{1} << t.bits()) - 1);
        steps += (i ? ", " : "") + int_text(t.element(), bits);
      }
      return fmt::format("({})({}) + {}", type, text(u.src(0)), vector_of(t, steps));
    }
  }
}

std::string CStyleWriter::elementwise(UOp u) {
  if (u.is(Op::Where)) {
    std::string gate = text(u.src(0));
    DType t = u.dtype();
    if (t.lanes > 1 && t.bits() != 1) {
      // The condition's lanes must be as wide as the values'.
      gate = helpers().convert(CStyleHelpers::int_of(t, true), gate);
    }
    return fmt::format("({} ? {} : {})", gate, text(u.src(1)), text(u.src(2)));
  }
  if (u.is(Op::MulAcc)) {
    if (!u.dtype().is_bool()) return multiply_add(u);
    return fmt::format("(({} & {}) | {})", text(u.src(0)), text(u.src(1)), text(u.src(2)));
  }
  return u.nsrc() == 1 ? unary(u) : binary(u);
}

std::string CStyleWriter::multiply_add(UOp u) {
  std::string sum = fmt::format("({} * {} + {})", text(u.src(0)), text(u.src(1)), text(u.src(2)));
  bool promoted = u.dtype().lanes == 1 && u.dtype().is_int() && u.dtype().bits() < 32;
  return promoted ? fmt::format("({}){}", type_name(u.dtype()), sum) : sum;
}

std::string CStyleWriter::unary(UOp u) {
  DType t = u.dtype(), from = u.src(0).dtype();
  std::string x = text(u.src(0)), type = type_name(t);
  switch (u.op()) {
    case Op::Cast: return from == t ? x : fmt::format("{}({})", helpers().cast(t, from), x);
    case Op::Bitcast: {
      if (type == type_name(from)) return x;
      std::string bits = fmt::format("{}({})", helpers().bits(t, from), x);
      if (t.lanes == 1) return bits;
      if (t.is_bool()) return fmt::format("({} != ({})0)", bits, type);
      return from.is_bool() ? fmt::format("({} & ({})1)", bits, type) : bits;
    }
    case Op::Neg: return t.is_bool() ? x : arithmetic(u, "-");
    case Op::Trunc:
      if (!t.is_float()) return x;
      [[fallthrough]];
    case Op::Sqrt: return math(u.op(), t, x);
    case Op::Recip: return fmt::format("(({})1 / {})", type, x);
    default: UNREACHABLE("op {} in a program for C", core::name_of(u.op()));
  }
}

std::string CStyleWriter::arithmetic(UOp u, std::string_view op) {
  if (u.nsrc() == 2) return infix(u, op);
  return fmt::format("(({}){}{})", type_name(u.dtype()), op, text(u.src(0)));
}

std::string CStyleWriter::float_divide(UOp u) { return infix(u, "/"); }

std::string CStyleWriter::infix(UOp u, std::string_view op) {
  DType t = u.dtype();
  std::string expression = fmt::format("({} {} {})", text(u.src(0)), op, text(u.src(1)));
  // C computes narrow scalars in int.
  bool promoted = t.lanes == 1 && t.is_int() && t.bits() < 32;
  return promoted ? fmt::format("(({}){})", type_name(t), expression) : expression;
}

std::string CStyleWriter::compare(UOp u, std::string_view op) {
  std::string expression = fmt::format("({} {} {})", text(u.src(0)), op, text(u.src(1)));
  DType t = u.dtype();
  if (t.lanes == 1) return expression;
  return helpers().convert(t, expression);
}

std::string CStyleWriter::binary(UOp u) {
  DType t = u.dtype();
  std::string x = text(u.src(0)), y = text(u.src(1));
  bool is_bool = t.is_bool(), vector_bool = is_bool && t.lanes > 1;
  bool of_bools = u.src(0).dtype().is_bool();
  switch (u.op()) {
    case Op::Add: return is_bool ? infix(u, "|") : arithmetic(u, "+");
    case Op::Sub: return is_bool ? infix(u, "^") : arithmetic(u, "-");
    case Op::Mul: return is_bool ? infix(u, "&") : arithmetic(u, "*");
    case Op::FDiv: return float_divide(u);
    case Op::And: return infix(u, "&");
    case Op::Or: return infix(u, "|");
    case Op::Xor: return infix(u, "^");
    // Lanes of Bool vectors are 0 or -1: true is the smaller.
    case Op::CmpLt: return compare(u, of_bools && vector_bool ? ">" : "<");
    case Op::CmpEq: return compare(u, "==");
    case Op::CmpNe: return compare(u, "!=");
    case Op::Max:
      return is_bool ? infix(u, "|") : fmt::format("{}({}, {})", helpers().max(t), x, y);
    case Op::CDiv:
    case Op::CMod: {
      UOp divisor = u.src(1);
      bool safe = divisor.vmin() > 0 || divisor.vmax() < -1;
      if (safe) return infix(u, u.is(Op::CDiv) ? "/" : "%");
      return fmt::format("{}({}, {})", helpers().divide(u.op(), t), x, y);
    }
    case Op::Shl:
    case Op::Shr: {
      UOp amount = u.src(1);
      bool safe = amount.vmin() >= 0 && amount.vmax() < t.bits() && amount.dtype() == t;
      if (safe) return infix(u, u.is(Op::Shl) ? "<<" : ">>");
      return fmt::format("{}({}, {})", helpers().shift(u.op(), t, amount.dtype()), x, y);
    }
    default: UNREACHABLE("op {} in a program for C", core::name_of(u.op()));
  }
}

std::string CStyleWriter::address(UOp index) {
  return fmt::format("{} + {}", text(index.src(0)), text(index.src(1)));
}

std::string CStyleWriter::whole(const std::string& shared, const std::string& body) {
  std::string declarations = shared.empty() ? "" : "  ";
  for (usize i = 0; i < shared.size(); ++i) {
    declarations += shared[i];
    if (shared[i] == '\n' && i + 1 < shared.size()) declarations += "  ";
  }
  return frame(declarations + body);
}

std::string CStyleWriter::value(DType t, const std::string& name, const std::string& expression) {
  return fmt::format("{} {} = {};", type_name(t), name, expression);
}

std::string CStyleWriter::reg(DType t, const std::string& name) {
  return fmt::format("{} {};", type_name(t), name);
}

std::string CStyleWriter::loop(UOp range, const std::string& name) {
  return fmt::format("for ({0} {1} = 0; {1} < {2}; ++{1}) {{", type_name(range.dtype()), name,
                     text(range.src(0)));
}

std::string CStyleWriter::variable(DType t, usize position) {
  return fmt::format("(({})n{})", type_name(t), position);
}

std::string CStyleWriter::load(UOp u) {
  DType t = u.dtype();
  UOp index = u.src(0);
  bool gated = index.nsrc() > 2;
  std::string value =
      t.lanes > 1 ? load_vector(u) : fmt::format("{}[{}]", text(index.src(0)), text(index.src(1)));
  bool gated_by_lane = gated && index.src(2).dtype().lanes > 1;
  if (!gated || gated_by_lane) return value;
  return fmt::format("({} ? {} : {})", text(index.src(2)), value, text(u.src(1)));
}

std::string CStyleWriter::store(UOp u) {
  UOp index = u.src(0);
  DType t = u.src(1).dtype();
  bool gated = index.nsrc() > 2;
  if (is_phase_wait(u)) return phase_wait(u);
  std::string statement;
  if (is_tensor_copy(u)) {
    statement = tensor_copy(u);
  } else if (t.lanes > 1) {
    statement = store_vector(u);
    if (gated && index.src(2).dtype().lanes > 1) return statement;
  } else {
    statement = fmt::format("{}[{}] = {};", text(index.src(0)), text(index.src(1)), text(u.src(1)));
  }
  return gated ? fmt::format("if ({}) {}", text(index.src(2)), statement) : statement;
}

std::string CStyleWriter::parameters() {
  std::string all;
  for (usize i = 0; i < program_.params.size(); ++i) {
    const ProgramParam& p = program_.params[i];
    all +=
        fmt::format("{}{}{}* __restrict__ {}", all.empty() ? "" : ", ", p.written ? "" : "const ",
                    memory_type(p.dtype.element()), param_name(static_cast<i64>(i)));
  }
  for (usize i = 0; i < program_.variables.size(); ++i)
    all += fmt::format("{}i64 n{}", all.empty() ? "" : ", ", i);
  return all;
}

}  // namespace doorbell::codegen
