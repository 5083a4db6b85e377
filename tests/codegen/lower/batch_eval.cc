// One loop over the batch for each node, by operation and machine type.
#include "tests/codegen/lower/batch_eval.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "base/util/check.h"

namespace doorbell::codegen {

using core::DType;
using core::Op;
using core::Scalar;
using core::UOp;

namespace {

template <class T>
T get(u64 raw) {
  T value;
  std::memcpy(&value, &raw, sizeof(T));
  return value;
}

template <class T>
u64 put(T value) {
  u64 raw = 0;
  std::memcpy(&raw, &value, sizeof(T));
  return raw;
}

// Calls f with a value of the dtype's machine type.
template <class F>
void with_type(DType t, F f) {
  switch (t.scalar) {
    case Scalar::Bool: return f(u8{});
    case Scalar::I8: return f(i8{});
    case Scalar::U8: return f(u8{});
    case Scalar::I16: return f(i16{});
    case Scalar::U16: return f(u16{});
    case Scalar::I32: return f(i32{});
    case Scalar::U32: return f(u32{});
    case Scalar::I64: return f(i64{});
    case Scalar::U64: return f(u64{});
    case Scalar::F32: return f(f32{});
    case Scalar::F64: return f(f64{});
    default: UNREACHABLE("dtype {}", t.str());
  }
}

template <class T>
T float_op(Op op, T x, T y, T z, bool fused) {
  switch (op) {
    case Op::Neg: return -x;
    case Op::Sqrt: return std::sqrt(x);
    case Op::Recip: return 1 / x;
    case Op::Trunc: return std::trunc(x);
    case Op::Add: return x + y;
    case Op::Sub: return x - y;
    case Op::Mul: return x * y;
    case Op::FDiv: return x / y;
    case Op::Max: return std::isnan(x) || std::isnan(y) ? T(NAN) : std::fmax(x, y);
    case Op::MulAcc: {
      if (fused) return std::fma(x, y, z);
      volatile T product = x * y;
      return product + z;
    }
    default: UNREACHABLE("op {} of floats", core::name_of(op));
  }
}

template <class T>
T int_op(Op op, T x, T y) {
  using U = std::make_unsigned_t<T>;
  const u64 ux = static_cast<u64>(x), uy = static_cast<u64>(y);
  switch (op) {
    case Op::Neg: return static_cast<T>(0 - ux);
    case Op::Add: return static_cast<T>(ux + uy);
    case Op::Sub: return static_cast<T>(ux - uy);
    case Op::Mul: return static_cast<T>(ux * uy);
    case Op::CDiv: return y == 0 ? T(0) : y == T(-1) && std::is_signed_v<T> ? T(0 - ux) : T(x / y);
    case Op::CMod: return y == 0 || (y == T(-1) && std::is_signed_v<T>) ? T(0) : T(x % y);
    case Op::Max: return x > y ? x : y;
    case Op::And: return static_cast<T>(ux & uy);
    case Op::Or: return static_cast<T>(ux | uy);
    case Op::Xor: return static_cast<T>(ux ^ uy);
    case Op::Shl:
    case Op::Shr:
      CHECK(uy < sizeof(T) * 8, "shift by {}", uy);  // what a machine would make of it is open
      return op == Op::Shl ? static_cast<T>(static_cast<U>(x) << uy) : static_cast<T>(x >> uy);
    default: UNREACHABLE("op {} of integers", core::name_of(op));
  }
}

template <class To, class From>
To cast(From x) {
  if constexpr (std::is_floating_point_v<From> && !std::is_floating_point_v<To>) {
    if (std::isnan(x)) return 0;
    constexpr int kBits = std::numeric_limits<To>::digits;
    if (x >= std::ldexp(From(1), kBits)) return std::numeric_limits<To>::max();
    constexpr To kMin = std::numeric_limits<To>::min();
    if (x <= static_cast<From>(kMin)) return kMin;
  }
  return static_cast<To>(x);
}

void eval_cast(UOp u, const Batch& x, Batch* out) {
  with_type(u.src(0).dtype(), [&](auto from) {
    using From = decltype(from);
    with_type(u.dtype(), [&](auto to) {
      using To = decltype(to);
      for (usize i = 0; i < x.size(); ++i) {
        From value = get<From>(x[i]);
        (*out)[i] = u.dtype().is_bool() ? u64{value != 0} : put(cast<To>(value));
      }
    });
  });
}

void eval_compare(UOp u, const Batch& x, const Batch& y, Batch* out) {
  with_type(u.src(0).dtype(), [&](auto type) {
    using T = decltype(type);
    for (usize i = 0; i < x.size(); ++i) {
      T a = get<T>(x[i]), b = get<T>(y[i]);
      (*out)[i] = u.is(Op::CmpLt) ? a < b : u.is(Op::CmpEq) ? a == b : a != b;
    }
  });
}

void eval_arithmetic(UOp u, std::span<const Batch* const> args, bool fused, Batch* out) {
  const Batch &x = *args[0], &y = *args[args.size() > 1], &z = *args[args.size() > 2 ? 2 : 0];
  with_type(u.dtype(), [&](auto type) {
    using T = decltype(type);
    for (usize i = 0; i < x.size(); ++i) {
      if constexpr (std::is_floating_point_v<T>) {
        (*out)[i] = put(float_op<T>(u.op(), get<T>(x[i]), get<T>(y[i]), get<T>(z[i]), fused));
      } else {
        // The amount of a shift may be of another integer type: it is never negative here.
        bool shifts = u.is(Op::Shl) || u.is(Op::Shr);
        T second = shifts ? static_cast<T>(y[i]) : get<T>(y[i]);
        (*out)[i] = put(int_op<T>(u.op(), get<T>(x[i]), second));
      }
    }
  });
}

u64 constant_bits(UOp u) {
  if (u.dtype().scalar == Scalar::F32) return put(static_cast<f32>(u.const_float()));
  if (u.dtype().scalar == Scalar::F64) return put(u.const_float());
  u64 mask = u.dtype().bytes() == 8 ? ~u64{0} : (u64{1} << u.dtype().bytes() * 8) - 1;
  return static_cast<u64>(u.const_int()) & mask;
}

}  // namespace

Batch batch_eval(core::Arena& arena, UOp root, const std::map<u32, Batch>& leaves, bool fused) {
  const usize size = leaves.begin()->second.size();
  std::map<u32, Batch> values = leaves;
  for (UOp u : core::topological_order(arena, {&root, 1})) {
    if (values.contains(u.id())) continue;
    Batch out(size);
    if (u.is_const()) {
      out.assign(size, constant_bits(u));
    } else if (core::is_elementwise(u.op())) {
      std::vector<const Batch*> args;
      for (UOp s : u.srcs()) args.push_back(&values.at(s.id()));
      if (u.is(Op::Cast)) {
        eval_cast(u, *args[0], &out);
      } else if (u.is(Op::Bitcast)) {
        CHECK_EQ(u.dtype().bytes(), u.src(0).dtype().bytes());
        out = *args[0];
      } else if (u.is(Op::Where)) {
        for (usize i = 0; i < size; ++i) out[i] = (*args[0])[i] ? (*args[1])[i] : (*args[2])[i];
      } else if (core::is_comparison(u.op())) {
        eval_compare(u, *args[0], *args[1], &out);
      } else {
        eval_arithmetic(u, args, fused, &out);
      }
    }
    values[u.id()] = std::move(out);  // memory below a leaf has no values, and they are not read
  }
  return values.at(root.id());
}

}  // namespace doorbell::codegen
