// Functions of WGSL: 64-bit integers as pairs of words, and operations whose results the language
// leaves open or defines otherwise.
#include "codegen/render/wgsl_helpers.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/util/check.h"

namespace doorbell::codegen {

using core::DType;
using core::Op;
using core::Scalar;

namespace {

struct Function {
  std::string_view name;
  std::string_view needs[3];
  std::string_view text;
};

// clang-format off: a table
constexpr Function kFunctions[] = {
{"add64", {}, R"(fn add64(a: vec2u, b: vec2u) -> vec2u {
  let low = a.x + b.x;
  return vec2u(low, a.y + b.y + select(0u, 1u, low < a.x));
}
)"},
{"sub64", {}, R"(fn sub64(a: vec2u, b: vec2u) -> vec2u {
  return vec2u(a.x - b.x, a.y - b.y - select(0u, 1u, a.x < b.x));
}
)"},
// The whole product of two words, from those of their halves.
{"product", {}, R"(fn product(a: u32, b: u32) -> vec2u {
  let al = a & 0xffffu; let ah = a >> 16u; let bl = b & 0xffffu; let bh = b >> 16u;
  let low = al * bl;
  let first = al * bh + (low >> 16u);
  let second = ah * bl + (first & 0xffffu);
  return vec2u((second << 16u) | (low & 0xffffu), ah * bh + (first >> 16u) + (second >> 16u));
}
)"},
{"mul64", {"product"}, R"(fn mul64(a: vec2u, b: vec2u) -> vec2u {
  let low = product(a.x, b.x);
  return vec2u(low.x, low.y + a.x * b.y + a.y * b.x);
}
)"},
{"less_u64", {}, R"(fn less_u64(a: vec2u, b: vec2u) -> bool {
  return a.y < b.y || (a.y == b.y && a.x < b.x);
}
)"},
{"less_i64", {}, R"(fn less_i64(a: vec2u, b: vec2u) -> bool {
  return bitcast<i32>(a.y) < bitcast<i32>(b.y) || (a.y == b.y && a.x < b.x);
}
)"},
{"max_u64", {"less_u64"}, R"(fn max_u64(a: vec2u, b: vec2u) -> vec2u {
  return select(a, b, less_u64(a, b));
}
)"},
{"max_i64", {"less_i64"}, R"(fn max_i64(a: vec2u, b: vec2u) -> vec2u {
  return select(a, b, less_i64(a, b));
}
)"},
{"shl64", {}, R"(fn shl64(a: vec2u, n: u32) -> vec2u {
  if (n >= 64u) { return vec2u(); }
  if (n >= 32u) { return vec2u(0u, a.x << (n - 32u)); }
  if (n == 0u) { return a; }
  return vec2u(a.x << n, (a.y << n) | (a.x >> (32u - n)));
}
)"},
{"shr_u64", {}, R"(fn shr_u64(a: vec2u, n: u32) -> vec2u {
  if (n >= 64u) { return vec2u(); }
  if (n >= 32u) { return vec2u(a.y >> (n - 32u), 0u); }
  if (n == 0u) { return a; }
  return vec2u((a.x >> n) | (a.y << (32u - n)), a.y >> n);
}
)"},
{"shr_i64", {}, R"(fn shr_i64(a: vec2u, n: u32) -> vec2u {
  let high = bitcast<i32>(a.y);
  let sign = bitcast<u32>(high >> 31u);
  if (n >= 64u) { return vec2u(sign, sign); }
  if (n >= 32u) { return vec2u(bitcast<u32>(high >> (n - 32u)), sign); }
  if (n == 0u) { return a; }
  return vec2u((a.x >> n) | (a.y << (32u - n)), bitcast<u32>(high >> n));
}
)"},
// Quotient and remainder, bit by bit where a word does not do; 0 and 0 of a division by 0.
{"divmod_u64", {"less_u64", "sub64"}, R"(fn divmod_u64(a: vec2u, b: vec2u) -> vec4u {
  if ((b.x | b.y) == 0u) { return vec4u(); }
  if ((a.y | b.y) == 0u) { return vec4u(a.x / b.x, 0u, a.x % b.x, 0u); }
  var quotient = vec2u(); var rest = vec2u();
  for (var i = 0u; i < 64u; i++) {
    let n = 63u - i;
    let bit = select(a.x >> (n & 31u), a.y >> (n & 31u), n > 31u) & 1u;
    let carry = rest.y >> 31u;
    rest = vec2u((rest.x << 1u) | bit, (rest.y << 1u) | (rest.x >> 31u));
    if (carry != 0u || !less_u64(rest, b)) {
      rest = sub64(rest, b);
      if (n > 31u) { quotient.y |= 1u << (n & 31u); } else { quotient.x |= 1u << (n & 31u); }
    }
  }
  return vec4u(quotient, rest);
}
)"},
{"abs64", {"sub64"}, R"(fn abs64(a: vec2u) -> vec2u {
  return select(a, sub64(vec2u(), a), (a.y >> 31u) != 0u);
}
)"},
{"div_u64", {"divmod_u64"}, R"(fn div_u64(a: vec2u, b: vec2u) -> vec2u {
  return divmod_u64(a, b).xy;
}
)"},
{"mod_u64", {"divmod_u64"}, R"(fn mod_u64(a: vec2u, b: vec2u) -> vec2u {
  return divmod_u64(a, b).zw;
}
)"},
{"div_i64", {"divmod_u64", "abs64"}, R"(fn div_i64(a: vec2u, b: vec2u) -> vec2u {
  let q = divmod_u64(abs64(a), abs64(b)).xy;
  return select(q, sub64(vec2u(), q), ((a.y ^ b.y) >> 31u) != 0u);
}
)"},
{"mod_i64", {"divmod_u64", "abs64"}, R"(fn mod_i64(a: vec2u, b: vec2u) -> vec2u {
  let r = divmod_u64(abs64(a), abs64(b)).zw;
  return select(r, sub64(vec2u(), r), (a.y >> 31u) != 0u);
}
)"},
// Rounds to nearest even: the leading 24 bits, and whether there is more behind them.
{"float_u64", {"shl64"}, R"(fn float_u64(a: vec2u) -> f32 {
  if (a.y == 0u && a.x < 0x1000000u) { return f32(a.x); }
  let zeros = select(32u + countLeadingZeros(a.x), countLeadingZeros(a.y), a.y != 0u);
  let n = shl64(a, zeros);
  let word = n.y | select(0u, 1u, n.x != 0u);
  let rest = word & 0xffu;
  let up = rest > 0x80u || (rest == 0x80u && (word & 0x100u) != 0u);
  let kept = (word >> 8u) + select(0u, 1u, up);
  return f32(kept) * bitcast<f32>((167u - zeros) << 23u);
}
)"},
{"float_i64", {"float_u64", "abs64"}, R"(fn float_i64(a: vec2u) -> f32 {
  let f = float_u64(abs64(a));
  return select(f, -f, (a.y >> 31u) != 0u);
}
)"},
// Of a float that fits, without its sign.
{"u64_float", {"shl64"}, R"(fn u64_float(a: f32) -> vec2u {
  let bits = bitcast<u32>(a) & 0x7fffffffu;
  let exponent = bits >> 23u;
  let digits = (bits & 0x7fffffu) | 0x800000u;
  if (exponent < 127u) { return vec2u(); }
  if (exponent < 150u) { return vec2u(digits >> (150u - exponent), 0u); }
  return shl64(vec2u(digits, 0u), exponent - 150u);
}
)"},
{"saturate_u64", {"u64_float"}, R"(fn saturate_u64(a: f32) -> vec2u {
  let bits = bitcast<u32>(a);
  if ((bits & 0x7fffffffu) > 0x7f800000u || (bits >> 31u) != 0u) { return vec2u(); }
  if (bits >= 0x5f800000u) { return vec2u(0xffffffffu, 0xffffffffu); }
  return u64_float(a);
}
)"},
{"saturate_i64", {"u64_float", "sub64"}, R"(fn saturate_i64(a: f32) -> vec2u {
  let bits = bitcast<u32>(a); let magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) { return vec2u(); }
  if (magnitude >= 0x5f000000u) {
    return select(vec2u(0xffffffffu, 0x7fffffffu), vec2u(0u, 0x80000000u), (bits >> 31u) != 0u);
  }
  let n = u64_float(a);
  return select(n, sub64(vec2u(), n), (bits >> 31u) != 0u);
}
)"},
// The language leaves open which neighbour a number becomes that f32 has not; a sum is rounded.
{"float_u32", {}, R"(fn float_u32(a: u32) -> f32 {
  return f32(a >> 16u) * 65536.0f + f32(a & 0xffffu);
}
)"},
{"float_i32", {}, R"(fn float_i32(a: i32) -> f32 {
  return f32(a >> 16u) * 65536.0f + f32(a & 0xffffi);
}
)"},
// Of what no f16 reaches, a word of the same sign; it rounds once.
{"word_i64", {}, R"(fn word_i64(a: vec2u) -> i32 {
  let sign = bitcast<i32>(a.y) >> 31u;
  let fits = a.y == bitcast<u32>(sign) && (bitcast<i32>(a.x) >> 31u) == sign;
  return select(select(0x40000000i, -0x40000000i, sign != 0i), bitcast<i32>(a.x), fits);
}
)"},
{"word_u64", {}, "fn word_u64(a: vec2u) -> u32 { return select(0x40000000u, a.x, a.y == 0u); }\n"},
// NaN if either is one, by its bits: a comparison may be compiled as if there were none.
// Of equal numbers only the zeros differ in their bits, and 0 has fewer than -0.
{"max_f32", {"nan_f32"}, R"(fn max_f32(a: f32, b: f32) -> f32 {
  if (nan_f32(a)) { return a; }
  if (nan_f32(b)) { return b; }
  if (a == b) { return bitcast<f32>(bitcast<u32>(a) & bitcast<u32>(b)); }
  return select(a, b, a < b);
}
)"},
// The value, of which a compiler does not know where it is from.
{"rounded_f32", {}, R"(fn rounded_f32(a: f32) -> f32 {
  return bitcast<f32>(bitcast<u32>(a) ^ args[0].x);
}
)"},
{"rounded_f16", {"half_of", "bits_f16"}, R"(fn rounded_f16(a: f16) -> f16 {
  return half_of(bits_f16(a) ^ args[0].x);
}
)"},
{"nan_f32", {}, R"(fn nan_f32(a: f32) -> bool {
  return (bitcast<u32>(a) & 0x7fffffffu) > 0x7f800000u;
}
)"},
// By way of f32, which has all values: naga has no bitcast between vec2<f16> and u32.
{"half_of", {}, "fn half_of(bits: u32) -> f16 { return f16(unpack2x16float(bits).x); }\n"},
{"bits_f16", {}, R"(fn bits_f16(a: f16) -> u32 {
  return pack2x16float(vec2f(f32(a), 0.0f)) & 0xffffu;
}
)"},
{"nan_f16", {"bits_f16"}, R"(fn nan_f16(a: f16) -> bool {
  return (bits_f16(a) & 0x7fffu) > 0x7c00u;
}
)"},
{"order_of_float", {"nan_f32"}, R"(fn order_of_float(a: f32) -> u32 {
  let bits = bitcast<u32>(a);
  let flipped = select(0x80000000u, 0xffffffffu, bits > 0x7fffffffu);
  return select(bits ^ flipped, 0xffffffffu, nan_f32(a));
}
)"},
{"float_of_order", {}, R"(fn float_of_order(n: u32) -> f32 {
  let bits = n ^ select(0xffffffffu, 0x80000000u, n > 0x7fffffffu);
  return bitcast<f32>(select(bits, 0x7fc00000u ^ args[0].x, n == 0xffffffffu));
}
)"},
{"max_f16", {"nan_f16", "half_of", "bits_f16"}, R"(fn max_f16(a: f16, b: f16) -> f16 {
  if (nan_f16(a)) { return a; }
  if (nan_f16(b)) { return b; }
  if (a == b) { return half_of(bits_f16(a) & bits_f16(b)); }
  return select(a, b, a < b);
}
)"},
// The language divides by 0 otherwise.
{"div_i32", {}, "fn div_i32(a: i32, b: i32) -> i32 { return select(a / b, 0i, b == 0i); }\n"},
{"mod_i32", {}, "fn mod_i32(a: i32, b: i32) -> i32 { return select(a % b, 0i, b == 0i); }\n"},
{"div_u32", {}, "fn div_u32(a: u32, b: u32) -> u32 { return select(a / b, 0u, b == 0u); }\n"},
{"mod_u32", {}, "fn mod_u32(a: u32, b: u32) -> u32 { return select(a % b, 0u, b == 0u); }\n"},
// It shifts by the amount modulo the width.
{"shl_i32", {}, "fn shl_i32(a: i32, n: u32) -> i32 { return select(a << n, 0i, n > 31u); }\n"},
{"shl_u32", {}, "fn shl_u32(a: u32, n: u32) -> u32 { return select(a << n, 0u, n > 31u); }\n"},
{"shr_i32", {}, "fn shr_i32(a: i32, n: u32) -> i32 { return a >> min(n, 31u); }\n"},
{"shr_u32", {}, "fn shr_u32(a: u32, n: u32) -> u32 { return select(a >> n, 0u, n > 31u); }\n"},
{"wide_i32", {}, R"(fn wide_i32(a: i32) -> vec2u {
  return vec2u(bitcast<u32>(a), bitcast<u32>(a >> 31u));
}
)"},
{"amount64", {}, "fn amount64(n: vec2u) -> u32 { return select(n.x, 64u, n.y != 0u); }\n"},
// The language's own 64-bit integers: "s64" and "n64", signed and not. A compiler guards 32-bit
// divisions only; of -1 a processor may trap too.
{"div_s64", {}, R"(fn div_s64(a: i64, b: i64) -> i64 {
  let odd = b == 0li || b == -1li;
  return select(a / select(b, 1li, odd), select(-a, 0li, b == 0li), odd);
}
)"},
{"mod_s64", {}, R"(fn mod_s64(a: i64, b: i64) -> i64 {
  return a % select(b, 1li, b == 0li || b == -1li);
}
)"},
{"div_n64", {}, R"(fn div_n64(a: u64, b: u64) -> u64 {
  return select(a / select(b, 1lu, b == 0lu), 0lu, b == 0lu);
}
)"},
{"mod_n64", {}, R"(fn mod_n64(a: u64, b: u64) -> u64 {
  return a % select(b, 1lu, b == 0lu);
}
)"},
{"shl_s64", {}, R"(fn shl_s64(a: i64, n: u32) -> i64 {
  return select(a << (n & 63u), 0li, n > 63u);
}
)"},
{"shl_n64", {}, R"(fn shl_n64(a: u64, n: u32) -> u64 {
  return select(a << (n & 63u), 0lu, n > 63u);
}
)"},
{"shr_s64", {}, "fn shr_s64(a: i64, n: u32) -> i64 { return a >> min(n, 63u); }\n"},
{"shr_n64", {}, R"(fn shr_n64(a: u64, n: u32) -> u64 {
  return select(a >> (n & 63u), 0lu, n > 63u);
}
)"},
{"amount_n64", {}, "fn amount_n64(n: u64) -> u32 { return u32(min(n, 64lu)); }\n"},
{"word_s64", {}, R"(fn word_s64(a: i64) -> i32 {
  return i32(clamp(a, -0x40000000li, 0x40000000li));
}
)"},
{"word_n64", {}, "fn word_n64(a: u64) -> u32 { return u32(min(a, 0x40000000lu)); }\n"},
{"pair", {}, "fn pair(a: u64) -> vec2u { return vec2u(u32(a), u32(a >> 32u)); }\n"},
{"joined", {}, "fn joined(a: vec2u) -> u64 { return (u64(a.y) << 32u) | u64(a.x); }\n"},
{"nan_f64", {}, R"(fn nan_f64(a: f64) -> bool {
  return (bitcast<u64>(a) & 0x7ffffffffffffffflu) > 0x7ff0000000000000lu;
}
)"},
{"max_f64", {"nan_f64"}, R"(fn max_f64(a: f64, b: f64) -> f64 {
  if (nan_f64(a)) { return a; }
  if (nan_f64(b)) { return b; }
  if (a == b) { return bitcast<f64>(bitcast<u64>(a) & bitcast<u64>(b)); }
  return select(a, b, a < b);
}
)"},
// By way of an f32 whose last bit is 1 where it is no f64's, so that it is rounded once.
{"half_of_f64", {}, R"(fn half_of_f64(a: f64) -> f16 {
  let n = f32(a);
  let bits = bitcast<u32>(n) - select(0u, 1u, abs(f64(n)) > abs(a));
  return f16(bitcast<f32>(bits | select(1u, 0u, f64(n) == a)));
}
)"},
{"rounded_f64", {}, R"(fn rounded_f64(a: f64) -> f64 {
  return bitcast<f64>(bitcast<u64>(a) ^ u64(args[0].x));
}
)"},
};
// clang-format on

}  // namespace

std::string WgslHelpers::type(DType t) const {
  CHECK(t.lanes == 1, "a vector of {} in WGSL", t.str());
  if (t.is_bool()) return "bool";
  if (t.scalar == Scalar::F32) return "f32";
  if (t.scalar == Scalar::F16) return "f16";
  if (t.scalar == Scalar::F64) return "f64";
  CHECK(t.is_int(), "dtype {} in WGSL", t.str());
  if (is_pair(t)) return "vec2u";
  if (is_wide_int(t)) return t.is_unsigned() ? "u64" : "i64";
  return t.is_unsigned() ? "u32" : "i32";
}

std::string_view WgslHelpers::suffix(DType t) {
  if (is_wide_int(t)) return t.is_unsigned() ? "lu" : "li";
  return t.is_unsigned() ? "u" : "i";
}

std::string WgslHelpers::wrapped(DType t, const std::string& expression) {
  if (!t.is_int() || t.bits() >= 32) return expression;
  if (t.is_unsigned()) return fmt::format("({} & {:#x}u)", expression, (1u << t.bits()) - 1);
  return fmt::format("(({0} << {1}u) >> {1}u)", expression, 32 - t.bits());
}

std::string WgslHelpers::named(std::string_view name) {
  const auto* found = std::find_if(std::begin(kFunctions), std::end(kFunctions),
                                   [&](const Function& f) { return f.name == name; });
  CHECK(found != std::end(kFunctions), "no function {} of WGSL", name);
  if (begin(std::string(name))) {
    for (std::string_view needed : found->needs)
      if (!needed.empty()) named(needed);
    source_ += found->text;
  }
  return std::string(name);
}

std::string WgslHelpers::is_nan(DType t, const std::string& x) {
  return fmt::format("{}({})", named("nan_" + t.str()), x);
}

std::string WgslHelpers::shift_amount(DType from, const std::string& x) {
  if (is_pair(from)) return fmt::format("{}({})", named("amount64"), x);
  if (is_wide_int(from))
    return fmt::format("{}({})", named("amount_n64"), bitcast(core::dtypes::u64, from, x));
  return from.is_unsigned() ? x : fmt::format("bitcast<u32>({})", x);
}

std::string WgslHelpers::max(DType t) {
  if (t.is_int() && !is_pair(t)) return "max";
  return named("max_" + t.str());
}

// Each item combines what its rank among those of its subgroup gives it. The larger of two floats
// is that of words in their order, of which NaN is the last.
std::string WgslHelpers::combining(Op op, DType t, const std::string& array, i64 count) {
  const std::string_view what = op == Op::Add ? "add" : op == Op::Mul ? "mul" : "max";
  const std::string name = fmt::format("{}_{}_{}", what, array, count);
  if (!begin(name)) return name;
  const bool is_max = op == Op::Max;
  const std::string next = is_max ? fmt::format("{}(x, {}[i])", max(t), array)
                                  : fmt::format("(x {} {}[i])", op == Op::Add ? '+' : '*', array);
  std::string last = fmt::format("subgroup{}(x)", is_max ? "Max" : op == Op::Add ? "Add" : "Mul");
  if (is_max && t.is_float())
    last = fmt::format("{}({}(subgroupMax({}(f32(x)))))", type(t), named("float_of_order"),
                       named("order_of_float"));
  source_ += fmt::format(
      "fn {}(first: u32) -> {} {{\n"
      "  let rank = subgroupExclusiveAdd(1u); let items = subgroupAdd(1u);\n"
      "  var x = {}[first + rank];\n"
      "  for (var i = first + rank + items; i < first + {}u; i += items) {{ x = {}; }}\n"
      "  return {};\n}}\n",
      name, type(t), array, count, next, last);
  return name;
}

// Functions of pairs are named u64 and i64, of the language's own n64 and s64.
std::string WgslHelpers::function_of(std::string_view what, DType t) {
  const bool own = is_wide_int(t) && int64_;
  return named(fmt::format("{}_{}{}", what,
                           t.is_unsigned() ? (own ? 'n' : 'u')
                           : own           ? 's'
                                           : 'i',
                           is_wide_int(t) ? 64 : 32));
}

std::string WgslHelpers::divide(Op op, DType t) {
  return function_of(op == Op::CDiv ? "div" : "mod", t);
}

std::string WgslHelpers::shift(Op op, DType t) {
  if (is_pair(t) && op == Op::Shl) return named("shl64");
  return function_of(op == Op::Shl ? "shl" : "shr", t);
}

}  // namespace doorbell::codegen
