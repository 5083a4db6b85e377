// Axes join where they are one in the result, from the innermost outwards.
#include "codegen/opt/contraction.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

#include "codegen/linear/dot.h"

namespace doorbell::codegen::detail {

using core::Op;
using core::UOp;

constexpr i64 kRun = 16;

void JoinedAxis::prepend(const KernelInfo& info, i64 id) {
  ids.insert(ids.begin(), id);
  size *= info.size(id);
  mask |= u64{1} << id;
}

JoinedAxis joined_axis(const KernelInfo& info, const Plan& plan, i64 axis) {
  JoinedAxis made;
  if (axis < 0) return made;
  made.prepend(info, axis);
  for (const Opt& o : plan)
    if (o.op == OptOp::Join && o.axis == axis) made.prepend(info, o.amount);
  return made;
}

bool is_linear(const KernelInfo& info, const Access& access, const JoinedAxis& axis, i64 step) {
  for (usize n = axis.ids.size(); n-- > 0; step *= info.size(axis.ids[n]))
    if (access.affine.coefficient(axis.ids[n]) != step) return false;
  return !(axis.is_joined() && access.gate_mask & axis.mask);
}

i64 transposed_run(const KernelInfo& info, const Access& access, const JoinedAxis& j,
                   const JoinedAxis& k, i64 depth) {
  const i64 step = access.affine.coefficient(j.id()).value_or(1), run = std::gcd(depth, kRun);
  const bool fits = access.bytes == 4 && access.gate_mask == 0 && !j.is_joined() && step > 1;
  return fits && run >= kRun / 2 && is_linear(info, access, k, 1) ? run : 1;
}

i64 vector_piece(const KernelInfo& info, const Access& access, const JoinedAxis& axis, i64 most) {
  if (!axis.is_joined() || is_linear(info, access, axis, 1)) return most;
  const i64 size = info.size(axis.id());
  return size % most == 0 ? most : std::gcd(most, size & -size);
}

namespace {

constexpr i64 kLongEnough = 16;

// By an instruction of vectors. Of 64 bits few CPUs have one, and narrower sums are rare.
bool is_multiplied(core::DType t) { return t.is_float() || (t.is_int() && t.bits() == 32); }

bool all_sizes_constant(const KernelInfo& info) {
  for (const RangeInfo& r : info.ranges) {
    if (r.range && r.size == 0) return false;
  }
  return true;
}

// A store, if all are to the same places of memories of one form.
const Access* common_store(const KernelInfo& info) {
  const Access* found = nullptr;
  for (const Access& a : info.accesses) {
    if (!a.store) continue;
    if (found && a.index.src(1) != found->index.src(1)) return nullptr;
    found = &a;
  }
  return found;
}

// The longest of some axes; with a result to look at, all that are contiguous in it with that of
// the least step, unless they are too short. A longer one whose elements are far apart, as the
// batch of images, would be walked across pages.
JoinedAxis axis_of(const KernelInfo& info, u64 mask, const Access* result) {
  JoinedAxis longest, joined;
  for (u64 left = mask; left; left &= left - 1) {
    const i64 id = std::countr_zero(left);
    if (longest.exists() && info.size(id) < longest.size) continue;
    longest = {};
    longest.prepend(info, id);
  }
  if (!result || std::popcount(mask) < 2) return longest;
  const auto step = [&](i64 id) { return result->affine.coefficient(id).value_or(0); };
  for (u64 left = mask; left;) {
    i64 next = -1;
    for (u64 m = left; m; m &= m - 1) {
      const i64 id = std::countr_zero(m);
      if (step(id) > 0 && (next < 0 || step(id) < step(next))) next = id;
    }
    if (next < 0 || (joined.exists() && step(next) != step(joined.id()) * joined.size)) break;
    joined.prepend(info, next);
    left &= ~(u64{1} << next);
  }
  return joined.size >= std::min(longest.size, kLongEnough) ? joined : longest;
}

}  // namespace

i64 parts_of_word(const KernelInfo& info, const Caps& caps, const Contraction& c) {
  const UOp reduce = info.reduces[0].reduce, product = reduce.src(0);
  if (!caps.dot_products || !c.is_plain || !c.i.exists() || !product.is(Op::Mul)) return 1;
  // Words of A are read as they lie.
  if (c.a->affine.coefficient(c.k.id()) != 1 || c.a->affine.coefficient(c.i.id()) == 1) return 1;
  UOp x = product.src(0), y = product.src(1);
  const auto is_of = [&](UOp one, const JoinedAxis& axis) {
    return (one.range_mask() & (c.i.mask | c.j.mask)) == axis.mask;
  };
  if (is_of(x, c.j)) std::swap(x, y);
  if (!x.is(Op::Cast) || !y.is(Op::Cast) || !is_of(x, c.i) || !is_of(y, c.j)) return 1;
  const core::DType left = x.src(0).dtype(), right = y.src(0).dtype();
  if (left == core::dtypes::bf16 && right == left && reduce.dtype() == core::dtypes::f32) return 2;
  const bool bytes = left.is_int() && left.bits() == 8 && right == core::dtypes::i8;
  return bytes && reduce.dtype() == core::dtypes::i32 ? 4 : 1;
}

std::vector<Contraction> find_contractions(const KernelInfo& info) {
  if (info.reduces.size() != 1 || !all_sizes_constant(info)) return {};
  const ReduceInfo& r = info.reduces[0];
  if (r.reduce.reduce_op() != Op::Add || !is_multiplied(r.reduce.dtype())) return {};
  const Access* operands[2];
  int n = 0;
  bool is_plain = std::popcount(r.closed) == 1;
  for (const Access& a : info.accesses) {
    if (a.store || !(a.mask & r.closed)) continue;
    if (n == 2 || (a.mask & r.closed) != r.closed) return {};
    is_plain &= a.gate_mask == 0 && a.affine.others.empty();
    operands[n++] = &a;
  }
  if (n != 2) return {};
  const u64 own0 = operands[0]->mask & ~operands[1]->mask;
  const u64 own1 = operands[1]->mask & ~operands[0]->mask;
  if (std::popcount(own0) != 1 && std::popcount(own1) != 1) return {};
  const Access* result = common_store(info);
  if (!is_plain && (!result || own0 == 0 || own1 == 0)) return {};
  const JoinedAxis axis0 = axis_of(info, own0, is_plain ? nullptr : result);
  const JoinedAxis axis1 = axis_of(info, own1, is_plain ? nullptr : result);
  // The lane axis is the one along which the result is contiguous.
  bool second = !axis0.exists();
  if (axis0.exists() && axis1.exists()) {
    for (const Access& a : info.accesses)
      if (a.store) second = a.affine.coefficient(axis1.id()).value_or(0) == 1;
  }
  JoinedAxis depth;
  for (i64 id = 63; id >= 0; --id)
    if (r.closed >> id & 1) depth.prepend(info, id);
  std::vector<Contraction> found;
  for (bool b_is_second : {second, !second}) {
    Contraction c;
    c.i = b_is_second ? axis0 : axis1, c.j = b_is_second ? axis1 : axis0, c.k = depth;
    c.a = operands[b_is_second ? 0 : 1], c.b = operands[b_is_second ? 1 : 0];
    c.b_along_k = c.b->affine.coefficient(c.j.id()) != 1;
    c.rows_of_dots = is_plain && c.a->affine.coefficient(depth.id()) == 1 &&
                     c.b->affine.coefficient(depth.id()) == 1;
    c.is_plain = is_plain;
    c.scatters = !is_plain && result->affine.coefficient(c.j.id()) != 1;
    c.along_i = c.scatters && result->affine.coefficient(c.i.id()) == 1;
    found.push_back(std::move(c));
    if (is_plain) break;
  }
  return found;
}

i64 panels_together(i64 panels, i64 row_bytes, i64 bytes) {
  constexpr i64 kRow = 256, kMost = 256 << 10;  // bytes of a piece, and of what is packed
  i64 most = 1;
  for (i64 n = 2; n * row_bytes <= kRow && n * bytes <= kMost; ++n)
    if (panels % n == 0) most = n;
  return most;
}

}  // namespace doorbell::codegen::detail
