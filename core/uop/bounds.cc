// Bounds of integer values, computed once when a node is made. Index bounds saturate to infinity;
// a bound of a wrapping int that could leave its type is the whole type. For simplification by
// bounds see core/rules.
#include <algorithm>
#include <bit>

#include "core/uop/arena.h"

namespace doorbell::core {

namespace {

struct Bounds {
  i64 lo, hi;
};

constexpr bool finite(i64 v) { return v != kMinusInf && v != kPlusInf; }

// a + b where an infinite bound absorbs; `lower` says which infinity an overflow rounds to.
i64 add_bound(i64 a, i64 b) {
  if (!finite(a)) return a;
  if (!finite(b)) return b;
  i64 r;
  if (__builtin_add_overflow(a, b, &r)) return a > 0 ? kPlusInf : kMinusInf;
  return r;
}

i64 mul_bound(i64 a, i64 b) {
  if (a == 0 || b == 0) return 0;
  bool negative = (a < 0) != (b < 0);
  i64 r;
  if (!finite(a) || !finite(b) || __builtin_mul_overflow(a, b, &r)) {
    return negative ? kMinusInf : kPlusInf;
  }
  return r;
}

i64 negate_bound(i64 a) { return a == kMinusInf ? kPlusInf : a == kPlusInf ? kMinusInf : -a; }

i64 floor_div(i64 a, i64 b) {
  if (!finite(a)) return b > 0 ? a : negate_bound(a);
  i64 q = a / b;
  return (a % b != 0 && (a < 0) != (b < 0)) ? q - 1 : q;
}

i64 trunc_div(i64 a, i64 b) { return !finite(a) ? (b > 0 ? a : negate_bound(a)) : a / b; }

Bounds type_bounds(DType t) {
  if (t.is_bool()) return {0, 1};
  if (!t.is_int() || t.scalar == Scalar::U64) {
    return {t.scalar == Scalar::U64 ? 0 : kMinusInf, kPlusInf};
  }
  if (t.bits() == 64) return {kMinusInf, kPlusInf};
  if (t.is_unsigned()) return {0, (i64{1} << t.bits()) - 1};
  return {-(i64{1} << (t.bits() - 1)), (i64{1} << (t.bits() - 1)) - 1};
}

Bounds mul_bounds(Bounds a, Bounds b) {
  i64 p[4] = {mul_bound(a.lo, b.lo), mul_bound(a.lo, b.hi), mul_bound(a.hi, b.lo),
              mul_bound(a.hi, b.hi)};
  return {*std::min_element(p, p + 4), *std::max_element(p, p + 4)};
}

Bounds compare_bounds(Op op, Bounds a, Bounds b) {
  bool disjoint = a.hi < b.lo || b.hi < a.lo;
  bool same = a.lo == a.hi && b.lo == b.hi && a.lo == b.lo && finite(a.lo);
  switch (op) {
    case Op::CmpLt: return {a.hi < b.lo, a.lo < b.hi};
    case Op::CmpEq: return {same, !disjoint};
    default: return {disjoint, !same};
  }
}

// Where only the divisor's sign is known (positive): a Variable.
Bounds div_mod_by_positive(Op op, Bounds a, Bounds b) {
  const bool floors = op == Op::FloorDiv || op == Op::FloorMod;
  if (op == Op::FloorDiv || op == Op::CDiv) {
    // The smallest divisor brings furthest from zero, the largest nearest to it.
    const auto furthest = [&](i64 v) { return floors ? floor_div(v, b.lo) : trunc_div(v, b.lo); };
    const auto nearest = [&](i64 v) {
      if (!finite(b.hi)) return i64{floors && v < 0 ? -1 : 0};
      return floors ? floor_div(v, b.hi) : trunc_div(v, b.hi);
    };
    return {a.lo < 0 ? furthest(a.lo) : nearest(a.lo), a.hi < 0 ? nearest(a.hi) : furthest(a.hi)};
  }
  const i64 most = add_bound(b.hi, -1);
  if (floors) return {0, a.lo >= 0 ? std::min(a.hi, most) : most};
  return {a.lo >= 0 ? 0 : std::max(a.lo, negate_bound(most)), a.hi <= 0 ? 0 : std::min(a.hi, most)};
}

Bounds div_mod_bounds(Op op, Bounds a, Bounds b, Bounds whole) {
  if (b.lo <= 0 || !finite(b.lo)) return whole;
  if (b.lo != b.hi) return div_mod_by_positive(op, a, b);
  i64 d = b.lo;
  bool floors = op == Op::FloorDiv || op == Op::FloorMod;
  auto div = [&](i64 v) { return floors ? floor_div(v, d) : trunc_div(v, d); };
  if (op == Op::FloorDiv || op == Op::CDiv) return {div(a.lo), div(a.hi)};
  if (finite(a.lo) && finite(a.hi) && div(a.lo) == div(a.hi)) {
    return {a.lo - div(a.lo) * d, a.hi - div(a.hi) * d};
  }
  if (floors || a.lo >= 0) return {0, d - 1};
  return {-(d - 1), a.hi <= 0 ? 0 : d - 1};
}

Bounds shift_and_bounds(Op op, Bounds a, Bounds b, Bounds whole) {
  if (op == Op::And) {
    if (a.lo >= 0 && b.lo >= 0) return {0, std::min(a.hi, b.hi)};
    if (b.lo >= 0) return {0, b.hi};
    return a.lo >= 0 ? Bounds{0, a.hi} : whole;
  }
  if (op == Op::Shr && b.lo == b.hi && b.lo >= 0 && b.lo < 63 && finite(a.lo) && finite(a.hi)) {
    return {a.lo >> b.lo, a.hi >> b.lo};
  }
  return whole;
}

Bounds binary_bounds(const Node& n, Bounds whole) {
  const Node *x = n.srcs()[0], *y = n.srcs()[1];
  Bounds a{x->vmin, x->vmax}, b{y->vmin, y->vmax};
  switch (n.op) {
    case Op::Add: return {add_bound(a.lo, b.lo), add_bound(a.hi, b.hi)};
    case Op::Sub: return {add_bound(a.lo, negate_bound(b.hi)), add_bound(a.hi, negate_bound(b.lo))};
    case Op::Mul: return mul_bounds(a, b);
    case Op::FloorDiv:
    case Op::FloorMod:
    case Op::CDiv:
    case Op::CMod: return div_mod_bounds(n.op, a, b, whole);
    case Op::Max: return {std::max(a.lo, b.lo), std::max(a.hi, b.hi)};
    case Op::And:
    case Op::Shr: return shift_and_bounds(n.op, a, b, whole);
    case Op::Shl: {
      if (b.lo != b.hi || b.lo < 0 || b.lo > 62 || n.dtype.scalar == Scalar::U64) return whole;
      return mul_bounds(a, {i64{1} << b.lo, i64{1} << b.lo});
    }
    case Op::Xor: {
      const bool flips = b.lo == -1 && b.hi == -1 && n.dtype.is_signed_int();
      if (flips) return {~a.hi, ~a.lo};
      if (a.lo < 0 || b.lo < 0 || !finite(a.hi) || !finite(b.hi)) return whole;
      // All bits below the highest.
      const int bits = std::bit_width(static_cast<u64>(a.hi | b.hi));
      return {0, static_cast<i64>((u64{1} << bits) - 1)};
    }
    default: return whole;
  }
}

Bounds bounds_of(const Node& n) {
  Bounds whole = type_bounds(n.dtype);
  const Node* const* src = n.srcs();
  switch (n.op) {
    case Op::Const: return {n.args()[0], n.args()[0]};
    case Op::Variable: return {n.args()[1], n.args()[2]};
    case Op::Range: return {0, std::max<i64>(0, add_bound(src[0]->vmax, -1))};
    case Op::Special: return {0, n.args()[2] - 1};
    case Op::Bind:
    case Op::Splat:
    case Op::Lane: return {src[0]->vmin, src[0]->vmax};
    case Op::Ramp: {
      i64 last = mul_bound(n.args()[0], n.dtype.lanes - 1);
      return {add_bound(src[0]->vmin, std::min<i64>(0, last)),
              add_bound(src[0]->vmax, std::max<i64>(0, last))};
    }
    case Op::Neg: return {negate_bound(src[0]->vmax), negate_bound(src[0]->vmin)};
    case Op::Where:
      return {std::min(src[1]->vmin, src[2]->vmin), std::max(src[1]->vmax, src[2]->vmax)};
    case Op::Cast: {
      if (src[0]->dtype.is_float()) return whole;
      return {src[0]->vmin, src[0]->vmax};
    }
    case Op::Vec: {
      Bounds b{src[0]->vmin, src[0]->vmax};
      for (usize i = 1; i < n.nsrc; ++i) {
        b = {std::min(b.lo, src[i]->vmin), std::max(b.hi, src[i]->vmax)};
      }
      return b;
    }
    default: return group_of(n.op) == OpGroup::Binary ? binary_bounds(n, whole) : whole;
  }
}

}  // namespace

void compute_bounds(Node* node) {
  DType t = node->dtype;
  node->vmin = kMinusInf;
  node->vmax = kPlusInf;
  if (t.is_float() || t.scalar == Scalar::Void) return;
  if (is_comparison(node->op)) {
    const Node *x = node->srcs()[0], *y = node->srcs()[1];
    bool comparable = !x->dtype.is_float() && x->dtype.scalar != Scalar::U64;
    Bounds b = comparable ? compare_bounds(node->op, {x->vmin, x->vmax}, {y->vmin, y->vmax})
                          : Bounds{0, 1};
    node->vmin = b.lo;
    node->vmax = b.hi;
    return;
  }
  Bounds whole = type_bounds(t), b = bounds_of(*node);
  // A wrapping int that may leave its type, or a negative reinterpreted as unsigned, is anything.
  if (b.lo < whole.lo || b.hi > whole.hi) b = whole;
  if (t.scalar == Scalar::U64 && (!finite(b.hi) || b.lo < 0)) b = whole;
  // 64-bit ints wrap, so an infinite bound on either side says nothing about the other; but for
  // what gives one of its operands, or flips the bits of one.
  const bool wraps = node->op != Op::Max && node->op != Op::Xor;
  if (t.is_int() && t.bits() == 64 && wraps && (!finite(b.lo) || !finite(b.hi))) b = whole;
  node->vmin = b.lo;
  node->vmax = b.hi;
}

}  // namespace doorbell::core
