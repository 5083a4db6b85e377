// Ints that wrap, computed where wrapping is defined: as unsigned ones.
#include "codegen/render/wrapping_writer.h"

#include <fmt/format.h>

#include "codegen/render/memory.h"

namespace doorbell::codegen {

using core::DType;
using core::UOp;

namespace {

// The unsigned type that C computes a dtype in without promoting it to int.
DType wrapping_type(DType t) {
  if (t.lanes == 1 && t.bits() < 32) return core::dtypes::u32;
  return CStyleHelpers::int_of(t, false);
}

}  // namespace

std::string WrappingWriter::unwrapped(UOp u) {
  const DType to = wrapping_type(u.dtype());
  if (u.dtype() == to) return text(u);
  if (to.lanes == 1) return fmt::format("({}){}", type_name(to), text(u));
  return fmt::format("{}({})", helpers().bits(to, u.dtype()), text(u));
}

std::string WrappingWriter::wrapping(DType t, const std::string& expression) {
  const DType computed = wrapping_type(t);
  if (t == computed) return expression;
  if (t.lanes == 1) return fmt::format("(({}){})", type_name(t), expression);
  return helpers().bits(t, computed) + expression;
}

std::string WrappingWriter::arithmetic(UOp u, std::string_view op) {
  const DType t = u.dtype();
  if (!t.is_int() || cannot_wrap(u)) return CStyleWriter::arithmetic(u, op);
  if (u.nsrc() == 1) {
    return wrapping(t,
                    fmt::format("(({})0 - {})", type_name(wrapping_type(t)), unwrapped(u.src(0))));
  }
  return wrapping(t, fmt::format("({} {} {})", unwrapped(u.src(0)), op, unwrapped(u.src(1))));
}

std::string WrappingWriter::multiply_add(UOp u) {
  const DType t = u.dtype();
  if (t.is_float()) {
    return fmt::format("fma({}, {}, {})", text(u.src(0)), text(u.src(1)), text(u.src(2)));
  }
  return wrapping(t, fmt::format("({} * {} + {})", unwrapped(u.src(0)), unwrapped(u.src(1)),
                                 unwrapped(u.src(2))));
}

}  // namespace doorbell::codegen
