// Expressions, memory and the frame of WGSL.
#include "codegen/render/wgsl_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/util/check.h"
#include "codegen/linear/combined_load.h"
#include "codegen/render/constants.h"
#include "codegen/render/memory.h"
#include "core/eval/float_format.h"

namespace doorbell::codegen {

using core::DType;
using core::Op;
using core::Scalar;
using core::UOp;
namespace dt = core::dtypes;
namespace hw = webgpu::hw;

namespace {

// Of arrays of a work group, packed as in memory.
bool is_packed(DType t) { return t.scalar != Scalar::F16 && t.bytes() < 4; }

bool is_sum(UOp u) { return u.is(Op::Add) || u.is(Op::Sub); }
UOp without_sign(UOp u) {
  while (u.is(Op::Neg)) u = u.src(0);
  return u;
}

// Whether a compiler that reorders sums or products of floats could drop a term of `inner`, as
// in (x + c) - c, which is there because it rounds.
bool may_cancel(UOp outer, UOp inner, UOp other) {
  const bool sums = is_sum(outer) && is_sum(inner),
             products = outer.is(Op::Mul) && inner.is(Op::Mul);
  if (!sums && !products) return false;
  for (UOp term : inner.srcs()) {
    if (term.is_const() && other.is_const()) return true;
    if (sums && without_sign(term) == without_sign(other)) return true;
  }
  return false;
}

// A sum that is there because a sum within it rounds, as in x - ((x + c) - c): if a loop that is
// unrolled makes x known, x + c would be one constant.
bool keeps_rounding(UOp outer, UOp inner) {
  if (!is_sum(outer) || !is_sum(inner)) return false;
  for (usize i = 0; i < 2; ++i)
    if (may_cancel(inner, without_sign(inner.src(i)), inner.src(1 - i))) return true;
  return false;
}

}  // namespace

hw::KernelAbi abi_of(const LinearProgram& program) {
  hw::KernelAbi abi;
  for (const ProgramParam& p : program.params)
    abi.params.push_back({static_cast<u32>(p.dtype.element().bytes()), p.written,
                          static_cast<u64>(p.count) * p.dtype.lanes});
  abi.variables = static_cast<u32>(program.variables.size());
  return abi;
}

WgslWriter::WgslWriter(const LinearProgram& program, const Caps& caps, WgslDialect dialect)
    : SourceWriter(program), caps_(caps), dialect_(dialect), helpers_(dialect.int64) {}

// A compiler may not know a special value, and may take a subnormal one for 0.
std::string WgslWriter::float_text(DType t, UOp u, bool hidden) {
  const bool half = t.scalar == Scalar::F16, wide = t.scalar == Scalar::F64;
  const u64 bits = constant_bits(u);
  const f64 value = core::round_to_format(t.scalar, u.const_float());
  const f64 least_normal = half ? 0x1p-14 : wide ? 0x1p-1022 : 0x1p-126;
  const bool usual = std::isfinite(value) && std::fabs(value) >= least_normal;
  if (hidden || (!usual && bits != 0)) {
    const std::string_view mark = wide ? "lu" : "u";
    const std::string zero =
        wide ? fmt::format("u64({})", hw::kZeroText) : std::string(hw::kZeroText);
    const std::string word = std::isfinite(value) && !hidden
                                 ? fmt::format("{:#x}{}", bits, mark)
                                 : fmt::format("({:#x}{} ^ {})", bits, mark, zero);
    return half ? fmt::format("{}({})", helpers_.named("half_of"), word)
                : fmt::format("bitcast<{}>({})", helpers_.type(t), word);
  }
  std::string text = wide ? fmt::format("{}", value) : fmt::format("{}", static_cast<f32>(value));
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  text += half ? "h" : wide ? "lf" : "f";
  return text[0] == '-' ? "(" + text + ")" : text;
}

std::string WgslWriter::constant(UOp u) {
  const DType t = u.dtype();
  CHECK(t.lanes == 1, "a vector of {} in WGSL", t.str());
  if (t.is_bool()) return u.const_int() == 0 ? "false" : "true";
  if (t.is_float()) return float_text(t, u);
  const u64 bits = constant_bits(u);
  if (helpers_.is_pair(t))
    return fmt::format("vec2u({}u, {}u)", static_cast<u32>(bits), static_cast<u32>(bits >> 32));
  const std::string_view suffix = WgslHelpers::suffix(t);
  if (t.is_unsigned()) return fmt::format("{}{}", bits, suffix);
  const i64 value = u.const_int();
  if (value == INT64_MIN) return "bitcast<i64>(0x8000000000000000lu)";
  if (value == INT32_MIN && t.bits() == 32) return "i32(0x80000000u)";
  return value < 0 ? fmt::format("({}{})", value, suffix) : fmt::format("{}{}", value, suffix);
}

std::string WgslWriter::infix(UOp u, std::string_view op) {
  return fmt::format("({} {} {})", text(u.src(0)), op, text(u.src(1)));
}

std::string WgslWriter::call(const std::string& function, UOp u) {
  return fmt::format("{}({}, {})", function, text(u.src(0)), text(u.src(1)));
}

// Mesa's compiler takes x * 0 and 1 / 0 for 0, whatever x is.
std::string WgslWriter::factor(UOp u) {
  return u.is_const() && u.const_float() == 0 ? float_text(u.dtype(), u, true) : text(u);
}

std::string WgslWriter::term(UOp u, usize i) {
  if (u.is(Op::Mul) && u.src(i).is_const()) return factor(u.src(i));
  const UOp inner = without_sign(u.src(i)), other = u.src(1 - i);
  const bool same = is_sum(u) && i == 0 && u.src(0) == other && !other.is_const();
  if (!same && !may_cancel(u, inner, other) && !keeps_rounding(u, inner)) return text(u.src(i));
  return fmt::format("{}({})", helpers_.named("rounded_" + u.dtype().str()), text(u.src(i)));
}

std::string WgslWriter::elementwise(UOp u) {
  switch (u.nsrc()) {
    case 1: return unary(u);
    case 2: return binary(u);
    default:
      CHECK(u.is(Op::Where), "op {} in WGSL", core::name_of(u.op()));
      return fmt::format("select({}, {}, {})", text(u.src(2)), text(u.src(1)), text(u.src(0)));
  }
}

std::string WgslWriter::unary(UOp u) {
  const DType t = u.dtype(), from = u.src(0).dtype();
  const std::string x = text(u.src(0));
  switch (u.op()) {
    case Op::Cast: {
      const UOp number = u.src(0);
      constexpr i64 kExact = i64{1} << 24;
      const bool rounds = t == dt::f32 && from.is_int() && from.bits() == 32 &&
                          (number.vmin() < -kExact || number.vmax() > kExact);
      if (!rounds) return helpers_.cast(t, from, x);
      return fmt::format("{}({})", helpers_.named("float_" + from.str()), x);
    }
    case Op::Bitcast: return helpers_.bitcast(t, from, x);
    case Op::Neg:
      if (t.is_bool()) return x;
      if (helpers_.is_pair(t)) return fmt::format("{}(vec2u(), {})", helpers_.named("sub64"), x);
      if (t.is_unsigned())
        return helpers_.wrapped(t, fmt::format("(0{} - {})", WgslHelpers::suffix(t), x));
      return helpers_.wrapped(t, fmt::format("(-{})", x));
    case Op::Sqrt: return fmt::format("sqrt({})", x);
    case Op::Trunc: return t.is_float() ? fmt::format("trunc({})", x) : x;
    case Op::Recip: return fmt::format("({}(1) / {})", helpers_.type(t), x);
    default: UNREACHABLE("op {} in WGSL", core::name_of(u.op()));
  }
}

std::string WgslWriter::binary(UOp u) {
  if (u.is(Op::CmpLt) || u.is(Op::CmpEq) || u.is(Op::CmpNe)) return compare(u);
  const DType t = u.dtype();
  if (t.is_bool()) return bool_binary(u);
  if (t.is_float()) return float_binary(u);
  if (u.is(Op::Shl) || u.is(Op::Shr)) return shift(u);
  return helpers_.is_pair(t) ? wide_binary(u) : int_binary(u);
}

std::string WgslWriter::compare(UOp u) {
  const DType t = u.src(0).dtype();
  const std::string x = text(u.src(0)), y = text(u.src(1));
  const bool equal = u.is(Op::CmpEq);
  if (t.is_float()) {
    if (u.is(Op::CmpLt)) return infix(u, "<");
    if (u.src(0) == u.src(1)) return fmt::format("{}{}", equal ? "!" : "", helpers_.is_nan(t, x));
    return equal ? infix(u, "==") : fmt::format("(!({} == {}))", x, y);
  }
  if (helpers_.is_pair(t)) {
    if (u.is(Op::CmpLt)) return call(helpers_.named(t.is_unsigned() ? "less_u64" : "less_i64"), u);
    return fmt::format("{}({} {} {})", equal ? "all" : "any", x, equal ? "==" : "!=", y);
  }
  if (u.is(Op::CmpLt)) return t.is_bool() ? fmt::format("(!{} & {})", x, y) : infix(u, "<");
  return infix(u, equal ? "==" : "!=");
}

std::string WgslWriter::bool_binary(UOp u) {
  switch (u.op()) {
    case Op::Add:
    case Op::Max:
    case Op::Or: return infix(u, "|");
    case Op::Mul:
    case Op::And: return infix(u, "&");
    case Op::Sub:
    case Op::Xor: return infix(u, "!=");
    default: UNREACHABLE("op {} of Bools in WGSL", core::name_of(u.op()));
  }
}

std::string WgslWriter::float_binary(UOp u) {
  switch (u.op()) {
    case Op::Add: return fmt::format("({} + {})", term(u, 0), term(u, 1));
    case Op::Sub: return fmt::format("({} - {})", term(u, 0), term(u, 1));
    case Op::Mul: return fmt::format("({} * {})", term(u, 0), term(u, 1));
    case Op::FDiv: return fmt::format("({} / {})", text(u.src(0)), factor(u.src(1)));
    case Op::Max: return call(helpers_.max(u.dtype()), u);
    default: UNREACHABLE("op {} of floats in WGSL", core::name_of(u.op()));
  }
}

std::string WgslWriter::int_binary(UOp u) {
  const DType t = u.dtype();
  switch (u.op()) {
    case Op::Add: return helpers_.wrapped(t, infix(u, "+"));
    case Op::Sub: return helpers_.wrapped(t, infix(u, "-"));
    case Op::Mul: return helpers_.wrapped(t, infix(u, "*"));
    case Op::And: return infix(u, "&");
    case Op::Or: return infix(u, "|");
    case Op::Xor: return infix(u, "^");
    case Op::Max: return call("max", u);
    case Op::CDiv:
    case Op::CMod: {
      const UOp divisor = u.src(1);
      if (divisor.vmin() > 0 || divisor.vmax() < -1) return infix(u, u.is(Op::CDiv) ? "/" : "%");
      return helpers_.wrapped(t, call(helpers_.divide(u.op(), t), u));
    }
    default: UNREACHABLE("op {} of integers in WGSL", core::name_of(u.op()));
  }
}

std::string WgslWriter::wide_binary(UOp u) {
  switch (u.op()) {
    case Op::Add: return call(helpers_.named("add64"), u);
    case Op::Sub: return call(helpers_.named("sub64"), u);
    case Op::Mul: return call(helpers_.named("mul64"), u);
    case Op::And: return infix(u, "&");
    case Op::Or: return infix(u, "|");
    case Op::Xor: return infix(u, "^");
    case Op::Max: return call(helpers_.max(u.dtype()), u);
    case Op::CDiv:
    case Op::CMod: return call(helpers_.divide(u.op(), u.dtype()), u);
    default: UNREACHABLE("op {} of 64-bit integers in WGSL", core::name_of(u.op()));
  }
}

std::string WgslWriter::shift(UOp u) {
  const DType t = u.dtype();
  const UOp amount = u.src(1);
  const std::string n = amount.is_const() && amount.vmin() >= 0 && amount.vmax() <= INT32_MAX
                            ? fmt::format("{}u", amount.vmin())
                            : helpers_.shift_amount(amount.dtype(), text(amount));
  // Bits that leave a narrow type are cut off, and those of a signed one are copies of its sign.
  const bool safe =
      !helpers_.is_pair(t) && amount.vmin() >= 0 && amount.vmax() < std::max(32, t.bits());
  const std::string shifted =
      safe ? fmt::format("({} {} {})", text(u.src(0)), u.is(Op::Shl) ? "<<" : ">>", n)
           : fmt::format("{}({}, {})", helpers_.shift(u.op(), t), text(u.src(0)), n);
  return u.is(Op::Shl) ? helpers_.wrapped(t, shifted) : shifted;
}

std::string WgslWriter::special(UOp u) {
  const auto kind = static_cast<core::SpecialKind>(u.arg(0));
  CHECK(kind != core::SpecialKind::ThreadId, "a worker thread's number in WGSL");
  const std::string word =
      fmt::format("{}.{}", kind == core::SpecialKind::GroupId ? "group" : "item", "xyz"[u.arg(1)]);
  return helpers_.cast(u.dtype(), dt::u32, word);
}

std::string WgslWriter::variable(DType t, usize position) {
  const u32 word = abi_of(program_).variable_word(position);
  const std::string low = hw::argument(word);
  if (!is_wide_int(t)) return helpers_.cast(t, dt::u32, low);
  return helpers_.from_pair(t, fmt::format("vec2u({}, {})", low, hw::argument(word + 1)));
}

std::string WgslWriter::place(UOp index) {
  const UOp number = index.src(1);
  const std::string word = helpers_.cast(dt::u32, number.dtype(), text(number));
  if (number.is_const()) return fmt::format("{}u", number.vmin());
  // A place that is not to be read may not be there.
  return index.nsrc() > 2 ? fmt::format("select(0u, {}, {})", word, text(index.src(2))) : word;
}

std::string WgslWriter::to_memory(DType t, const std::string& x) {
  if (t.bits() == 64) return helpers_.to_pair(t, x);
  if (t.is_float() && t.bits() == 32) return fmt::format("bitcast<u32>({})", x);
  return t.is_float() ? helpers_.bitcast(dt::u16, t, x) : helpers_.cast(dt::u32, t, x);
}

std::string WgslWriter::from_memory(DType t, const std::string& x) {
  if (t.bits() == 64) return helpers_.from_pair(t, x);
  if (t.is_float()) return helpers_.bitcast(t, t.bits() == 32 ? dt::u32 : dt::u16, x);
  return helpers_.cast(t, dt::u32, x);
}

std::string WgslWriter::load(UOp u) {
  const DType t = u.dtype();
  CHECK(t.lanes == 1, "a load of {} in WGSL", t.str());
  const UOp index = u.src(0), memory = memory_of(index);
  if (is_combined_load(u))
    return fmt::format("{}({})", combining(u, text(index.src(0))), place(index));
  std::string value;
  if (memory.is(Op::Param))
    value = from_memory(t, fmt::format("load{}({})", memory.arg(0), place(index)));
  else if (memory.is(Op::DefineLocal) && is_packed(t))
    value = from_memory(t, fmt::format("load_l{}({})", memory.arg(0), place(index)));
  else
    value = fmt::format("{}[{}]", text(index.src(0)), place(index));
  if (index.nsrc() < 3) return value;
  return fmt::format("select({}, {}, {})", text(u.src(1)), value, text(index.src(2)));
}

std::string WgslWriter::combining(UOp load, const std::string& array) {
  uses_subgroups_ = true;
  return helpers_.combining(combined_by(load), load.dtype(), array, combined_count(load));
}

std::string WgslWriter::store(UOp u) {
  const UOp index = u.src(0), memory = memory_of(index);
  const DType t = u.src(1).dtype();
  CHECK(t.lanes == 1, "a store of {} in WGSL", t.str());
  const std::string at = helpers_.cast(dt::u32, index.src(1).dtype(), text(index.src(1)));
  const std::string x = text(u.src(1));
  std::string statement;
  if (memory.is(Op::Param))
    statement = fmt::format("store{}({}, {});", memory.arg(0), at, to_memory(t, x));
  else if (memory.is(Op::DefineLocal) && is_packed(t))
    statement = fmt::format("store_l{}({}, {});", memory.arg(0), at, to_memory(t, x));
  else
    statement = fmt::format("{}[{}] = {};", text(index.src(0)), at, x);
  return index.nsrc() < 3 ? statement
                          : fmt::format("if ({}) {{ {} }}", text(index.src(2)), statement);
}

std::string WgslWriter::value(DType t, const std::string& name, const std::string& expression) {
  return fmt::format("let {}: {} = {};", name, helpers_.type(t), expression);
}

std::string WgslWriter::reg(DType t, const std::string& name) {
  return fmt::format("var {}: {};", name, helpers_.type(t));
}

std::string WgslWriter::loop(UOp range, const std::string& name) {
  const DType t = range.dtype();
  const std::string end = text(range.src(0));
  if (!helpers_.is_pair(t))
    return fmt::format("for (var {0} = {1}(0); {0} < {2}; {0}++) {{", name, helpers_.type(t), end);
  return fmt::format("for (var {0} = vec2u(); {1}({0}, {2}); {0} = {3}({0}, vec2u(1u, 0u))) {{",
                     name, helpers_.named("less_i64"), end, helpers_.named("add64"));
}

std::string WgslWriter::private_array(UOp u, const std::string& name) {
  return fmt::format("var {}: array<{}, {}>;", name, helpers_.type(u.dtype()), u.arg(1));
}

std::string WgslWriter::local_array(UOp u, const std::string& name) {
  const DType t = u.dtype();
  if (!is_packed(t))
    return fmt::format("var<workgroup> {}: array<{}, {}>;", name, helpers_.type(t), u.arg(1));
  const u32 bytes = static_cast<u32>(t.bytes());
  return fmt::format("var<workgroup> {}: array<atomic<u32>, {}>;\n{}{}", name,
                     (u.arg(1) * bytes + 3) / 4,
                     hw::packed_load("_" + name, name, bytes, "0u", true),
                     hw::packed_store("_" + name, name, bytes, "0u"));
}

std::string WgslWriter::whole(const std::string& shared, const std::string& body) {
  const hw::KernelAbi abi = abi_of(program_);
  const i64(&items)[3] = program_.group_items;
  return fmt::format(
      "{}{}{}{}{}{}{}{}@compute @workgroup_size({}, {}, {})\n"
      "fn {}(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_id) item: vec3u) {{\n"
      "{}}}\n",
      hw::header(abi), caps_.has(dt::f16) ? "enable f16;\n" : "",
      uses_subgroups_ && dialect_.enables_subgroups ? "enable subgroups;\n" : "", hw::kBindings,
      hw::bindings(abi, hw::nothing_shared(abi.params.size())), hw::kKernel, helpers_.source(),
      shared, items[0], items[1], items[2], program_.name, body);
}

}  // namespace doorbell::codegen
