// Reductions over the same loops are expanded together, into one nest of loops with all their
// registers.
#include <algorithm>
#include <array>
#include <bit>

#include "codegen/linear/program.h"
#include "codegen/lower/expander.h"
#include "codegen/lower/shared_loops.h"
#include "core/eval/eval.h"

namespace doorbell::codegen {

using core::DType;
using core::Op;
using core::UOp;

// The contribution of one iteration of the reduced loops: all unrolled values of the body.
Expander::UOps Expander::closed_values(UOp reduce, i64 n, u64 mask, u64 closed) {
  u64 both = mask | closed;
  UOp body = reduce.src(0);
  u64 body_mask = of(body).mask;
  UOps values;
  // Combination n of `mask` with each combination of `closed`: rebuild the joint number.
  for (i64 c = 0, end = count(closed); c < end; ++c) {
    i64 joint = 0, stride = 1, rest_n = n, rest_c = c;
    for (u64 m = both; m;) {
      int id = 63 - std::countl_zero(m);
      m &= ~(u64{1} << id);
      i64& rest = closed >> id & 1 ? rest_c : rest_n;
      joint += rest % sizes_[id] * stride;
      rest /= sizes_[id];
      stride *= sizes_[id];
    }
    values.push_back(value(body, project(joint, both, both & body_mask), body_mask));
  }
  return values;
}

// A product that adds to `start`, which may be null. `ends`: it ends a batch, where there are any.
UOp Expander::chain_product(UOp product, UOp start, bool ends) {
  const UOp sum = start ? start : product.src(2);
  absl::InlinedVector<i64, 6> args(product.args().begin(), product.args().end());
  if (reads_local(product) && !ends) args[1] = kSameBatch;
  const UOp srcs[] = {product.src(0), product.src(1), sum};
  return arena_.make(Op::Wmma, product.dtype(), srcs, args);
}

// start op v0 op v1 ...: one after the other, so that products fuse into multiply-adds. `ends`: the
// last product ends a batch.
UOp Expander::combine(UOp reduce, UOp start, const UOps& values, bool ends) {
  for (usize i = 0; i < values.size(); ++i) {
    UOp v = values[i];
    const bool short_sums = v.is(Op::Wmma) && tensor_core(v.arg(0)).short_sums;
    if (v.is(Op::Wmma) && !short_sums) {
      start = chain_product(v, start, ends && i + 1 == values.size());
      continue;
    }
    UOp pair[2] = {start, v};
    start = start ? lanes_.elementwise(reduce.reduce_op(), reduce.dtype(), pair) : v;
  }
  return start;
}

Expander::Accumulation Expander::begin_reduce(UOp u) {
  Accumulation a{u, 0, unrolled(u.range_mask()), {}, {}};
  for (UOp r : u.srcs().subspan(1)) a.closed |= u64{1} << r.range_id();
  for (i64 i = 0, n = count(a.mask); i < n; ++i)
    a.parts.push_back(closed_values(u, i, a.mask, unrolled(a.closed)));
  // A value that does not vary with the reduced Vector range still counts once for each lane.
  if (!(a.closed & vector_mask_)) return a;
  const u16 width = static_cast<u16>(vector_range(a.closed).range_size());
  for (UOps& part : a.parts)
    for (UOp& v : part) v = lanes_.splat(v, width);
  return a;
}

// Registers: set before the loops, once in each iteration of the loops around them.
void Expander::accumulate(std::span<const UOp> around, std::span<const UOp> loops, Accumulation* a,
                          UOps* updates) {
  const UOp u = a->reduce;
  for (const UOps& values : a->parts) {
    u16 lanes = 1;
    for (UOp v : values) lanes = std::max(lanes, v.dtype().lanes);
    const DType t = u.dtype().with_lanes(lanes);
    UOps here{arena_.make(Op::DefineReg, t, {}, {next_register_++})};
    here.insert(here.end(), around.begin(), around.end());
    UOp before = here.size() == 1 ? here[0] : arena_.make(Op::After, t, here);
    const core::ScalarValue identity = core::reduce_identity(u.reduce_op(), u.dtype());
    UOp start = lanes_.splat(rw_.constant(u.dtype(), identity), lanes);
    UOps inside{before, arena_.make(Op::Store, core::dtypes::void_, {before, start})};
    inside.insert(inside.end(), loops.begin(), loops.end());
    UOp held = arena_.make(Op::After, t, inside), old = arena_.make(Op::Load, t, {held});
    UOp sum = combine(u, old, values, &values == &a->parts.back());
    updates->push_back(arena_.make(Op::Store, core::dtypes::void_, {held, sum}));
    a->registers.push_back(before);
  }
}

// Reductions over the same loops, none of which needs the result of another.
void Expander::expand_reduces(std::span<const UOp> reduces) {
  const std::vector<UOp> loops = loops_of(reduces[0], unrolled_mask_ | vector_mask_);
  std::vector<Accumulation> all;
  for (UOp u : reduces) all.push_back(begin_reduce(u));
  UOp end;
  if (u64 outside = 0; !loops.empty()) {
    UOps around, updates;
    for (UOp u : reduces) outside |= u.range_mask() & ~(unrolled_mask_ | vector_mask_);
    for (; outside; outside &= outside - 1) around.push_back(ranges_[std::countr_zero(outside)]);
    for (Accumulation& a : all) accumulate(around, loops, &a, &updates);
    UOps srcs{updates[0]};
    if (updates.size() > 1) srcs[0] = arena_.make(Op::Group, core::dtypes::void_, updates);
    srcs.insert(srcs.end(), loops.begin(), loops.end());
    end = arena_.make(Op::End, core::dtypes::void_, srcs);
  }
  for (const Accumulation& a : all) {
    absl::InlinedVector<i64, 1> how;
    if (reads_local(a.parts[0][0])) how.push_back(kFinished);
    Instances x{{}, a.mask};
    for (usize i = 0; i < a.parts.size(); ++i) {
      UOp result = end ? UOp() : combine(a.reduce, UOp(), a.parts[i], true);
      if (end) {
        const UOp reg = a.registers[i], done = arena_.make(Op::After, reg.dtype(), {reg, end});
        result = arena_.make(Op::Load, reg.dtype(), std::array{done}, how);
      }
      if (a.closed & vector_mask_) result = lanes_.horizontal(a.reduce.reduce_op(), result);
      x.values.push_back(result);
    }
    add(a.reduce, std::move(x));
  }
}

}  // namespace doorbell::codegen
