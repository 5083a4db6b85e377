// OpBuilder: makes elementwise nodes from the operations that a target has. Missing ones are
// decomposed in op_builder.cc, divide.cc, transcendental.h and threefry.h. For dtypes without
// arithmetic on the target see narrow_floats.h; for the pass over a kernel decompose.h.
#pragma once

#include "codegen/caps.h"
#include "core/rewrite/rewriter.h"

namespace doorbell::codegen {

class OpBuilder {
 public:
  OpBuilder(core::Rewriter& rewriter, const Caps& caps) : rewriter_(rewriter), caps_(caps) {}

  core::Rewriter& rewriter() { return rewriter_; }
  const Caps& caps() const { return caps_; }

  // The value of `op` (any of groups Unary, Binary, Ternary) from ops of the target. Nodes of dtype
  // Index are made as they are.
  core::UOp make(core::Op op, core::DType dtype, std::span<const core::UOp> srcs);
  core::UOp make(core::Op op, core::DType dtype, std::initializer_list<core::UOp> srcs) {
    return make(op, dtype, std::span(srcs.begin(), srcs.size()));
  }

  core::UOp number(core::DType dtype, f64 value);   // of a float dtype
  core::UOp integer(core::DType dtype, u64 value);  // of an int dtype or Bool; wraps
  core::UOp add(core::UOp x, core::UOp y) { return make(core::Op::Add, x.dtype(), {x, y}); }
  core::UOp sub(core::UOp x, core::UOp y) { return make(core::Op::Sub, x.dtype(), {x, y}); }
  core::UOp mul(core::UOp x, core::UOp y) { return make(core::Op::Mul, x.dtype(), {x, y}); }
  core::UOp div(core::UOp x, core::UOp y) { return make(core::Op::FDiv, x.dtype(), {x, y}); }
  core::UOp neg(core::UOp x) { return make(core::Op::Neg, x.dtype(), {x}); }
  core::UOp trunc(core::UOp x) { return make(core::Op::Trunc, x.dtype(), {x}); }
  // x * y + z, rounded once or twice.
  core::UOp mul_add(core::UOp x, core::UOp y, core::UOp z) {
    return make(core::Op::MulAcc, x.dtype(), {x, y, z});
  }
  core::UOp less(core::UOp x, core::UOp y) { return compare(core::Op::CmpLt, x, y); }
  core::UOp equal(core::UOp x, core::UOp y) { return compare(core::Op::CmpEq, x, y); }
  core::UOp not_equal(core::UOp x, core::UOp y) { return compare(core::Op::CmpNe, x, y); }
  core::UOp is_nan(core::UOp x) { return not_equal(x, x); }
  core::UOp select(core::UOp condition, core::UOp x, core::UOp y) {
    return make(core::Op::Where, x.dtype(), {condition, x, y});
  }
  core::UOp bit_and(core::UOp x, core::UOp y) { return make(core::Op::And, x.dtype(), {x, y}); }
  core::UOp bit_or(core::UOp x, core::UOp y) { return make(core::Op::Or, x.dtype(), {x, y}); }
  core::UOp bit_xor(core::UOp x, core::UOp y) { return make(core::Op::Xor, x.dtype(), {x, y}); }
  core::UOp bit_and(core::UOp x, u64 mask) { return bit_and(x, integer(x.dtype(), mask)); }
  core::UOp shl(core::UOp x, core::UOp n) { return make(core::Op::Shl, x.dtype(), {x, n}); }
  core::UOp shr(core::UOp x, core::UOp n) { return make(core::Op::Shr, x.dtype(), {x, n}); }
  core::UOp shl(core::UOp x, u64 n) { return shl(x, integer(x.dtype(), n)); }
  core::UOp shr(core::UOp x, u64 n) { return shr(x, integer(x.dtype(), n)); }
  core::UOp cast(core::UOp x, core::DType to) { return make(core::Op::Cast, to, {x}); }
  core::UOp bitcast(core::UOp x, core::DType to) { return make(core::Op::Bitcast, to, {x}); }

 private:
  core::UOp compare(core::Op op, core::UOp x, core::UOp y) {
    return make(op, core::dtypes::bool_.with_lanes(x.dtype().lanes), {x, y});
  }
  core::UOp native(core::Op op, core::DType dtype, std::span<const core::UOp> srcs);
  core::UOp make_bool(core::Op op, core::DType dtype, std::span<const core::UOp> srcs);
  core::UOp make_int(core::Op op, core::DType dtype, std::span<const core::UOp> srcs);
  core::UOp make_float(core::Op op, core::DType dtype, std::span<const core::UOp> srcs);
  core::UOp make_in_f32(core::Op op, core::DType dtype, std::span<const core::UOp> srcs);
  core::UOp make_comparison(core::Op op, core::DType dtype, std::span<const core::UOp> srcs);
  core::UOp float_max(core::UOp x, core::UOp y);
  static bool negates(core::UOp x, core::UOp y);  // x is -y
  core::UOp float_abs(core::UOp x);
  core::UOp float_trunc(core::UOp x);
  core::UOp float_neg(core::UOp x);

  core::Rewriter& rewriter_;
  const Caps& caps_;
};

// FloorDiv, FloorMod, CDiv, CMod and multiplication by a power of two, of integers. Null if the
// target's own op is as good (CDiv, CMod, Mul).
core::UOp decompose_division(OpBuilder& builder, core::Op op, core::UOp x, core::UOp y);
core::UOp multiply_by_power_of_two(OpBuilder& builder, core::UOp x, core::UOp y);

// The unsigned and signed integer dtypes of as many bits.
core::DType unsigned_like(core::DType dtype);
core::DType signed_like(core::DType dtype);

}  // namespace doorbell::codegen
