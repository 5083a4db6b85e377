// One rebuild in topological order.
#include "codegen/lower/lower_index.h"

#include <absl/container/inlined_vector.h>

#include <bit>

#include "base/util/check.h"
#include "core/uop/arena.h"

namespace doorbell::codegen {

using core::Arena;
using core::DType;
using core::Op;
using core::UOp;
using UOps = absl::InlinedVector<UOp, 8>;

namespace {

bool fits_i32(UOp u) { return u.vmin() >= INT32_MIN && u.vmax() <= INT32_MAX; }

class IndexLowering {
 public:
  IndexLowering(Arena& arena, UOp sink)
      : arena_(arena), order_(core::topological_order(arena, {&sink, 1})) {}
  UOp run();

 private:
  UOp map(UOp u) const { return map_[u.id()]; }
  UOp convert(UOp u, DType t);
  DType lowered(DType t) const {
    return {t.lanes == 1 || !narrow_ ? core::Scalar::I64 : core::Scalar::I32, t.lanes};
  }
  UOp division(UOp u, UOp x, UOp y, DType t);
  UOp lower(UOp u);

  Arena& arena_;
  std::vector<UOp> order_, map_;
  bool narrow_ = true;  // vector index values fit i32
};

UOp IndexLowering::convert(UOp u, DType t) {
  if (u.dtype() == t) return u;
  if (u.is_const() && t.is_int()) return arena_.const_int(t, u.const_int());
  return arena_.make(Op::Cast, t, {u});
}

UOp IndexLowering::division(UOp u, UOp x, UOp y, DType t) {
  bool mod = u.is(Op::FloorMod) || u.is(Op::CMod);
  bool floors = u.is(Op::FloorDiv) || u.is(Op::FloorMod);
  UOp old_x = u.src(0), old_y = u.src(1);
  bool positive = old_x.vmin() >= 0 && old_y.vmin() > 0;
  if (positive && old_y.is_const() && std::has_single_bit(static_cast<u64>(old_y.const_int()))) {
    i64 c = old_y.const_int();
    return mod ? arena_.make(Op::And, t, {x, arena_.const_of(t, c - 1)})
               : arena_.make(Op::Shr, t,
                             {x, arena_.const_of(t, std::countr_zero(static_cast<u64>(c)))});
  }
  UOp rest = arena_.make(Op::CMod, t, {x, y}), quotient = arena_.make(Op::CDiv, t, {x, y});
  if (positive || !floors) return mod ? rest : quotient;
  CHECK(old_y.vmin() > 0, "floor division by a divisor that may be negative");
  UOp zero = arena_.const_of(t, 0);
  UOp negative = arena_.make(Op::CmpLt, core::dtypes::bool_.with_lanes(t.lanes), {rest, zero});
  UOp less_one = arena_.make(Op::Add, t, {quotient, arena_.const_of(t, -1)});
  UOp plus_y = arena_.make(Op::Add, t, {rest, y});
  return mod ? arena_.make(Op::Where, t, {negative, plus_y, rest})
             : arena_.make(Op::Where, t, {negative, less_one, quotient});
}

UOp IndexLowering::lower(UOp u) {
  bool was_index = u.dtype().is_index();
  DType t = was_index ? lowered(u.dtype()) : u.dtype();
  if (was_index && !u.is_const()) {
    CHECK(u.vmin() != core::kMinusInf && u.vmax() != core::kPlusInf,
          "an index leaves 64 bits: bounds [{}, {}]", u.vmin(), u.vmax());
  }
  UOps srcs;
  bool index_operands = false;
  for (UOp s : u.srcs()) {
    index_operands |= s.dtype().is_index();
    srcs.push_back(map(s));
  }
  switch (u.op()) {
    case Op::Const: return was_index ? arena_.const_int(t, u.const_int()) : u;
    case Op::FloorDiv: case Op::FloorMod: case Op::CDiv: case Op::CMod:
      if (was_index) return division(u, srcs[0], srcs[1], t);
      break;
    case Op::Cast:
      if (srcs[0].dtype() == t) return srcs[0];
      break;
    case Op::Splat: case Op::Ramp:
      if (was_index) srcs[0] = convert(srcs[0], t.element());
      break;
    case Op::Vec:
      if (was_index) for (UOp& s : srcs) s = convert(s, t.element());
      break;
    default:
      if (was_index && core::is_elementwise(u.op())) {
        for (usize i = u.is(Op::Where) ? 1 : 0; i < srcs.size(); ++i) srcs[i] = convert(srcs[i], t);
      }
  }
  if (!was_index && !index_operands && srcs.size() == u.nsrc()) {
    bool same = true;
    for (usize i = 0; i < srcs.size(); ++i) same &= srcs[i] == u.src(i);
    if (same) return u;
  }
  return arena_.make(u.op(), t, srcs, u.args());
}

UOp IndexLowering::run() {
  u32 max_id = 0;
  for (UOp u : order_) {
    max_id = std::max(max_id, u.id());
    if (u.dtype().is_index() && u.dtype().lanes > 1) narrow_ &= fits_i32(u);
  }
  map_.resize(max_id + 1);
  for (UOp u : order_) map_[u.id()] = lower(u);
  return map(order_.back());
}

}  // namespace

UOp lower_index(Arena& arena, UOp sink) { return IndexLowering(arena, sink).run(); }

}  // namespace doorbell::codegen
