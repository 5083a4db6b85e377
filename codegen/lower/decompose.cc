// One walk, sources first. Every old node has one new node, or, where its dtype is emulated, the
// two forms of narrow_floats.h.
#include "codegen/lower/decompose.h"

#include <absl/container/inlined_vector.h>

#include "base/util/check.h"
#include "codegen/lower/narrow_floats.h"
#include "codegen/lower/op_builder.h"

namespace doorbell::codegen {

using core::DType;
using core::Op;
using core::UOp;

namespace {

using Sources = absl::InlinedVector<UOp, 4>;

bool is_memory(Op op) {
  switch (op) {
    case Op::Param:
    case Op::DefineLocal:
    case Op::DefinePrivate:
    case Op::DefineReg:
    case Op::Index:
    case Op::After: return true;
    default: return false;
  }
}

class Decomposer {
 public:
  Decomposer(core::Rewriter& rewriter, const Caps& caps) : builder_(rewriter, caps), caps_(caps) {}

  UOp run(UOp sink) {
    std::vector<UOp> order = core::topological_order(builder_.rewriter().arena(), {&sink, 1});
    // The walk may include nodes made after the sink, so this finds the greatest id.
    u32 greatest = 0;
    for (UOp u : order) greatest = std::max(greatest, u.id());
    values_.resize(greatest + 1);
    for (UOp u : order) {
      NarrowValue& value = values_[u.id()];
      if (is_memory(u.op()))
        value.wide = memory(u);
      else if (is_emulated(u.dtype(), caps_))
        value = emulated(u);
      else
        value.wide = plain(u);
    }
    return values_[sink.id()].wide;
  }

 private:
  bool has_forms(UOp u) const { return is_emulated(u.dtype(), caps_) && !is_memory(u.op()); }

  // The new node for an old one; its f32 form if it is emulated.
  UOp wide(UOp old) {
    NarrowValue& value = values_[old.id()];
    if (!value.wide) value.wide = wide_from_stored(builder_, old.dtype(), value.stored);
    return value.wide;
  }
  UOp stored(UOp old) {
    NarrowValue& value = values_[old.id()];
    if (!has_forms(old)) return value.wide;
    if (!value.stored) value.stored = stored_from_wide(builder_, old.dtype(), value.wide);
    return value.stored;
  }
  Sources wides(UOp u) {
    Sources srcs;
    for (UOp s : u.srcs()) srcs.push_back(wide(s));
    return srcs;
  }

  // The same op over new sources; `u` itself where nothing changed.
  UOp rebuild(UOp u, DType dtype, std::span<const UOp> srcs) {
    if (dtype == u.dtype() && std::equal(srcs.begin(), srcs.end(), u.srcs().begin())) return u;
    return builder_.rewriter().make(u.op(), dtype, srcs, u.args(), u.payload());
  }

  UOp memory(UOp u) {
    Sources srcs;
    for (UOp s : u.srcs()) srcs.push_back(stored(s));
    return rebuild(u, stored_dtype(u.dtype(), caps_), srcs);
  }

  // Bools that the target cannot store are bytes in memory.
  bool is_stored_otherwise(DType t) const {
    return !is_emulated(t, caps_) && stored_dtype(t, caps_) != t;
  }
  UOp load(UOp u) {
    Sources srcs = {stored(u.src(0))};
    DType held = srcs[0].dtype();
    for (UOp s : u.srcs().subspan(1)) srcs.push_back(to_memory(s, held));
    UOp loaded = rebuild(u, held, srcs);
    if (!is_stored_otherwise(u.dtype())) return loaded;
    if (!u.dtype().is_bool()) return builder_.bitcast(loaded, u.dtype());
    return builder_.not_equal(loaded, builder_.integer(held, 0));
  }
  UOp to_memory(UOp value, DType held) {
    UOp form = stored(value);
    if (form.dtype() == held || form.dtype().is_index()) return form;
    return form.dtype().is_bool() ? builder_.cast(form, held) : builder_.bitcast(form, held);
  }
  UOp store(UOp u) {
    Sources srcs = {stored(u.src(0))};
    for (UOp s : u.srcs().subspan(1)) srcs.push_back(to_memory(s, srcs[0].dtype()));
    return rebuild(u, u.dtype(), srcs);
  }

  // A node whose own dtype the target has; its sources may be emulated.
  UOp plain(UOp u) {
    if (u.is(Op::Load)) return load(u);
    if (u.is(Op::Store)) return store(u);
    if (u.is(Op::Bitcast)) return builder_.bitcast(stored(u.src(0)), u.dtype());
    Sources srcs = wides(u);
    if (!core::is_elementwise(u.op())) return rebuild(u, u.dtype(), srcs);
    DType t = u.dtype();
    CHECK(t.is_bool() || t.is_index() || caps_.has(t), "the target has no arithmetic on {}",
          t.str());
    bool same = std::equal(srcs.begin(), srcs.end(), u.srcs().begin());
    UOp made = builder_.make(u.op(), u.dtype(), srcs);
    return same && made.op() == u.op() ? u : made;
  }

  NarrowValue emulated(UOp u) {
    const DType t = u.dtype(), f32 = core::dtypes::f32.with_lanes(t.lanes);
    switch (u.op()) {
      case Op::Const: return {builder_.number(f32, u.const_float()), {}};
      case Op::Load: return {{}, load(u)};
      case Op::Bitcast: return {{}, bitcast(u)};
      case Op::Cast: return cast(u);
      case Op::Where: return where(u);
      case Op::Reduce: {
        UOp reduced = rebuild(u, f32, wides(u));
        if (u.reduce_op() == Op::Max) return {reduced, {}};
        return {{}, round_to_stored(builder_, t, reduced)};
      }
      default: break;
    }
    CHECK(core::is_elementwise(u.op()), "{} of {} cannot be computed in f32", core::name_of(u.op()),
          t.str());
    Sources srcs = wides(u);
    // Keeps absolute values as one operation: the negation may have been rounded by itself.
    if (u.is(Op::Max) && u.src(1).is(Op::Neg) && u.src(1).src(0) == u.src(0))
      srcs[1] = builder_.neg(srcs[0]);
    UOp value = builder_.make(u.op(), f32, srcs);
    if (is_exact(u.op(), t)) return {value, {}};
    return {{}, round_to_stored(builder_, t, value)};
  }

  // The f32 result is already one of the narrow dtype's. Where infinity saturates or there is no -0
  // the operation may give a value that the dtype lacks.
  static bool is_exact(Op op, DType t) {
    if (t.scalar == core::Scalar::F8E5M2) return false;
    bool one_zero = t.scalar == core::Scalar::F8E4M3FNUZ || t.scalar == core::Scalar::F8E5M2FNUZ;
    return op == Op::Max || (!one_zero && (op == Op::Neg || op == Op::Trunc));
  }

  UOp bitcast(UOp u) {
    UOp bits = stored(u.src(0));
    return builder_.bitcast(bits, stored_dtype(u.dtype(), caps_));
  }
  NarrowValue cast(UOp u) {
    UOp from = u.src(0);
    if (from.dtype() == u.dtype()) return {wide(from), values_[from.id()].stored};
    if (has_forms(from)) return {{}, round_to_stored(builder_, u.dtype(), wide(from))};
    return {{}, cast_to_stored(builder_, u.dtype(), wide(from))};
  }
  // If both values are available in stored form, selects in stored form: a copy converts nothing.
  NarrowValue where(UOp u) {
    UOp condition = wide(u.src(0)), x = u.src(1), y = u.src(2);
    bool at_hand =
        (values_[x.id()].stored || x.is_const()) && (values_[y.id()].stored || y.is_const());
    if (at_hand) {
      UOp stored_x = stored(x), stored_y = stored(y);
      return {{}, builder_.select(condition, stored_x, stored_y)};
    }
    UOp wide_x = wide(x), wide_y = wide(y);
    return {builder_.select(condition, wide_x, wide_y), {}};
  }

  OpBuilder builder_;
  const Caps& caps_;
  std::vector<NarrowValue> values_;  // by id of the old node
};

}  // namespace

UOp decompose(core::Rewriter& rewriter, UOp sink, const Caps& caps) {
  return Decomposer(rewriter, caps).run(sink);
}

}  // namespace doorbell::codegen
