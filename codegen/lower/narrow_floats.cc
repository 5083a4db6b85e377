// Conversions between f32 and the narrow formats: the target's own Cast where it stores the format,
// otherwise the bit arithmetic of codegen/render/narrow_float.h as nodes.
#include "codegen/lower/narrow_floats.h"

#include "codegen/render/narrow_float.h"

namespace doorbell::codegen {

using core::DType;
using core::Scalar;
using core::UOp;

namespace {

// The emitter of narrow_float.h that makes nodes: values are u32, masks Bool.
struct NodeLane {
  using Value = UOp;
  using Mask = UOp;
  OpBuilder& b;

  Value constant(u32 v) { return b.integer(core::dtypes::u32, v); }
  Value band(Value x, Value y) { return b.bit_and(x, y); }
  Value bor(Value x, Value y) { return b.bit_or(x, y); }
  Value add(Value x, Value y) { return b.add(x, y); }
  Value shl(Value x, u32 n) { return b.shl(x, n); }
  Value shr(Value x, u32 n) { return b.shr(x, n); }
  Value fadd(Value x, Value y) {
    Value first = as_float(x);
    return as_bits(b.add(first, as_float(y)));
  }
  Value fmul(Value x, Value y) {
    Value first = as_float(x);
    return as_bits(b.mul(first, as_float(y)));
  }
  Mask less(Value x, Value y) { return b.less(x, y); }
  Value select(Mask m, Value x, Value y) { return b.select(m, x, y); }
  Value as_float(Value x) { return b.bitcast(x, core::dtypes::f32); }
  Value as_bits(Value x) { return b.bitcast(x, core::dtypes::u32); }
};

bool is_stored(DType t, const Caps& caps) {
  return caps.storage_dtypes[static_cast<usize>(t.scalar)];
}

// An f32 that rounds to any narrower float as `x` itself does: if f32 cannot represent x, the
// neighbour whose last bit is odd (Boldo and Melquiond, "Emulation of FMA and correctly rounded
// sums", 2008).
UOp cast_to_odd_f32(OpBuilder& b, UOp x) {
  const DType f32 = core::dtypes::f32, u32 = core::dtypes::u32;
  UOp nearest = b.cast(x, f32);
  UOp back = b.cast(nearest, x.dtype());
  UOp zero = x.dtype().is_float() ? b.number(x.dtype(), 0) : b.integer(x.dtype(), 0);
  UOp inexact = b.not_equal(back, x);
  UOp is_below = b.less(back, x);
  UOp is_negative = b.less(x, zero);
  UOp away = b.cast(b.equal(is_below, is_negative), u32);  // from zero
  UOp bits = b.bitcast(nearest, u32);
  UOp toward_zero = b.sub(bits, away);
  UOp odd = b.bit_or(toward_zero, b.integer(u32, 1));
  return b.bitcast(b.select(inexact, odd, bits), f32);
}

bool fits_f32(UOp x) {
  DType t = x.dtype();
  if (t.is_float()) return t.scalar != Scalar::F64;
  constexpr i64 kExact = i64{1} << 24;
  return t.bits() <= 16 || (x.vmin() >= -kExact && x.vmax() <= kExact);
}

}  // namespace

DType stored_dtype(DType t, const Caps& caps) {
  if (t.is_index() || t.scalar == Scalar::Void || is_stored(t, caps)) return t;
  return unsigned_like(t);
}

UOp round_to_stored(OpBuilder& b, DType t, UOp f32) {
  if (is_stored(t, b.caps())) return b.cast(f32, t);
  NodeLane lane{b};
  UOp bits = narrow_from_f32(lane, b.bitcast(f32, core::dtypes::u32), narrow_float(t.scalar));
  return b.cast(bits, unsigned_like(t));
}

UOp stored_from_wide(OpBuilder& b, DType t, UOp wide) { return round_to_stored(b, t, wide); }

UOp wide_from_stored(OpBuilder& b, DType t, UOp stored) {
  if (is_stored(t, b.caps())) return b.cast(stored, core::dtypes::f32);
  NodeLane lane{b};
  UOp bits = b.cast(stored, core::dtypes::u32);
  const bool flushes = b.caps().flushes_subnormals;
  return b.bitcast(f32_from_narrow(lane, bits, narrow_float(t.scalar), flushes), core::dtypes::f32);
}

UOp cast_to_stored(OpBuilder& b, DType t, UOp value) {
  if (is_stored(t, b.caps())) return b.cast(value, t);
  UOp wide = fits_f32(value) ? b.cast(value, core::dtypes::f32) : cast_to_odd_f32(b, value);
  return round_to_stored(b, t, wide);
}

}  // namespace doorbell::codegen
