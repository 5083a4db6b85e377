// One rebuild in topological order.
#include "codegen/lower/lower_index.h"

#include <absl/container/inlined_vector.h>

#include <bit>

#include "base/util/check.h"
#include "codegen/lower/op_builder.h"

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
  IndexLowering(core::Rewriter& rewriter, UOp sink, const Caps& caps)
      : arena_(rewriter.arena()),
        builder_(rewriter, caps),
        order_(core::topological_order(arena_, {&sink, 1})),
        narrow_scalars_(caps.narrow_index) {}
  UOp run();

 private:
  UOp map(UOp u) const { return map_[u.id()]; }
  UOp convert(UOp u, DType t);
  bool fits(UOp u) const;
  DType lowered(UOp u) const {
    bool small = u.dtype().lanes == 1 ? narrow_scalars_ && fits(u) : narrow_;
    return {small ? core::Scalar::I32 : core::Scalar::I64, u.dtype().lanes};
  }
  UOp division(UOp u, UOp x, UOp y, DType t);
  UOp lower(UOp u);
  // Index arithmetic was not decomposed before, so this decomposes ops that the target lacks.
  UOp make(Op op, DType t, std::span<const UOp> srcs) {
    return builder_.caps().has(op) ? arena_.make(op, t, srcs) : builder_.make(op, t, srcs);
  }
  UOp make(Op op, DType t, std::initializer_list<UOp> srcs) {
    return make(op, t, std::span(srcs.begin(), srcs.size()));
  }

  Arena& arena_;
  OpBuilder builder_;
  std::vector<UOp> order_, map_;
  bool narrow_ = true;  // vector index values fit i32
  bool narrow_scalars_;
};

// A scalar that fits i32, and is computed from such scalars (a remainder may be small although the
// dividend is not). Loaded values are converted in any case.
bool IndexLowering::fits(UOp u) const {
  if (!fits_i32(u)) return false;
  if (!core::is_elementwise(u.op()) || u.is(Op::Cast)) return true;
  for (UOp s : u.srcs()) {
    if (s.dtype().is_index() && map(s).dtype().scalar != core::Scalar::I32) return false;
  }
  return true;
}

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
    return mod ? make(Op::And, t, {x, arena_.const_of(t, c - 1)})
               : make(Op::Shr, t, {x, arena_.const_of(t, std::countr_zero(static_cast<u64>(c)))});
  }
  UOp rest = make(Op::CMod, t, {x, y}), quotient = make(Op::CDiv, t, {x, y});
  if (positive || !floors) return mod ? rest : quotient;
  CHECK(old_y.vmin() > 0, "floor division by a divisor that may be negative");
  UOp zero = arena_.const_of(t, 0);
  UOp negative = make(Op::CmpLt, core::dtypes::bool_.with_lanes(t.lanes), {rest, zero});
  UOp less_one = make(Op::Add, t, {quotient, arena_.const_of(t, -1)});
  UOp plus_y = make(Op::Add, t, {rest, y});
  return mod ? make(Op::Where, t, {negative, plus_y, rest})
             : make(Op::Where, t, {negative, less_one, quotient});
}

UOp IndexLowering::lower(UOp u) {
  bool was_index = u.dtype().is_index();
  DType t = was_index ? lowered(u) : u.dtype();
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
    case Op::FloorDiv:
    case Op::FloorMod:
    case Op::CDiv:
    case Op::CMod:
      if (was_index) {
        UOp x = convert(srcs[0], t), y = convert(srcs[1], t);
        return division(u, x, y, t);
      }
      break;
    case Op::Lane:
      if (was_index) {
        UOp lane = arena_.make(Op::Lane, srcs[0].dtype().element(), srcs, u.args());
        return convert(lane, t);
      }
      break;
    case Op::Cast:
      if (srcs[0].dtype() == t) return srcs[0];
      break;
    case Op::Splat:
    case Op::Ramp:
      if (was_index) srcs[0] = convert(srcs[0], t.element());
      break;
    case Op::Vec:
      if (was_index)
        for (UOp& s : srcs) s = convert(s, t.element());
      break;
    default:
      if (was_index && core::is_elementwise(u.op())) {
        for (usize i = u.is(Op::Where) ? 1 : 0; i < srcs.size(); ++i) srcs[i] = convert(srcs[i], t);
      } else if (index_operands && core::is_comparison(u.op())) {
        DType widest =
            srcs[0].dtype().bytes() > srcs[1].dtype().bytes() ? srcs[0].dtype() : srcs[1].dtype();
        for (UOp& s : srcs) s = convert(s, widest);
      }
  }
  if (!was_index && !index_operands && srcs.size() == u.nsrc()) {
    bool same = true;
    for (usize i = 0; i < srcs.size(); ++i) same &= srcs[i] == u.src(i);
    if (same) return u;
  }
  bool arithmetic = core::is_elementwise(u.op()) && (was_index || index_operands);
  return arithmetic ? make(u.op(), t, srcs) : arena_.make(u.op(), t, srcs, u.args());
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

UOp lower_index(core::Rewriter& rewriter, UOp sink, const Caps& caps) {
  return IndexLowering(rewriter, sink, caps).run();
}

}  // namespace doorbell::codegen
