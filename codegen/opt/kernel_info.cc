// One walk over the kernel's graph that gathers ranges, accesses, reductions and arithmetic.
#include "codegen/opt/kernel_info.h"

#include <algorithm>
#include <bit>

#include "base/util/check.h"

namespace doorbell::codegen {

using core::Arena;
using core::Op;
using core::UOp;

f64 weight(UOp operation) {
  switch (operation.op()) {
    case Op::FDiv:
    case Op::Recip:
    case Op::Sqrt: return 5;
    case Op::CDiv:
    case Op::CMod:
    case Op::FloorDiv:
    case Op::FloorMod: return 10;
    case Op::Exp2:
    case Op::Log2: return 15;
    case Op::Sin:
    case Op::Pow: return 40;
    default: return 1;
  }
}

namespace {

f64 trips_of(const KernelInfo& info, u64 mask) {
  f64 trips = 1;
  for (; mask; mask &= mask - 1) {
    i64 size = info.size(std::countr_zero(mask));
    trips *= size > 0 ? static_cast<f64>(size) : 16;  // a symbolic size: assumed
  }
  return trips;
}

void add_range(KernelInfo& info, UOp range) {
  usize id = static_cast<usize>(range.range_id());
  CHECK(id < 64, "range id {} is above 63", id);
  if (info.ranges.size() <= id) info.ranges.resize(id + 1);
  RangeInfo& r = info.ranges[id];
  r.range = range;
  r.size = range.src(0).is_const() ? range.range_size() : 0;
  r.reduce = range.axis_type() == core::AxisType::Reduce;
}

void add_access(KernelInfo& info, UOp index, bool store) {
  Access a;
  a.index = index;
  a.memory = index.src(0);
  a.store = store;
  a.affine = to_affine(index.src(1));
  a.gate_mask = index.nsrc() > 2 ? index.src(2).range_mask() : 0;
  a.mask = index.src(1).range_mask() | a.gate_mask;
  a.bytes = index.dtype().bytes();
  info.accesses.push_back(std::move(a));
}

void add_work(KernelInfo& info, u64 mask, f64 ops) {
  for (Work& w : info.work) {
    if (w.mask == mask) {
      w.ops += ops;
      return;
    }
  }
  info.work.push_back({mask, ops});
}

// A product that only feeds a sum becomes a fused multiply-add.
bool fuses_with_sum(UOp reduce) {
  return reduce.reduce_op() == Op::Add && reduce.src(0).is(Op::Mul) && reduce.dtype().is_float();
}

// Bytes of the accessed elements, each once: the extent of the address, capped by the memory.
f64 footprint(const KernelInfo& info, const Access& a) {
  f64 elements = trips_of(info, a.mask & ~a.gate_mask) * trips_of(info, a.gate_mask);
  UOp memory = a.memory;
  if (memory.is(Op::Param) && memory.narg() > 1 && memory.arg(1) > 0) {
    elements = std::min(elements, static_cast<f64>(memory.arg(1)));
  }
  return elements * static_cast<f64>(a.bytes);
}

}  // namespace

const ReduceInfo* KernelInfo::main_reduce() const {
  const ReduceInfo* best = nullptr;
  for (const ReduceInfo& r : reduces) {
    if (!best || r.trips > best->trips) best = &r;
  }
  return best;
}

KernelInfo analyse(Arena& arena, UOp sink) {
  KernelInfo info;
  info.order = core::topological_order(arena, {&sink, 1});
  for (UOp u : info.order) {
    if (u.is(Op::Range)) add_range(info, u);
  }
  for (UOp u : info.order) {
    if (u.is(Op::Load)) {
      add_access(info, u.src(0), false);
    } else if (u.is(Op::Store)) {
      add_access(info, u.src(0), true);
    } else if (u.is(Op::End)) {
      for (usize i = 1; i < u.nsrc(); ++i) info.output_mask |= u64{1} << u.src(i).range_id();
    } else if (u.is(Op::Reduce)) {
      ReduceInfo r{u, 0, u.src(0).range_mask(), 1};
      for (usize i = 1; i < u.nsrc(); ++i) r.closed |= u64{1} << u.src(i).range_id();
      r.mask |= r.closed;
      r.trips = trips_of(info, r.mask);
      info.reduces.push_back(r);
      f64 ops = fuses_with_sum(u) ? 0.5 : 1;  // the product is counted already
      add_work(info, r.mask, ops);
      info.flops += r.trips;
    } else if (core::is_elementwise(u.op()) && !u.dtype().is_index()) {
      bool address = u.dtype().is_bool() && u.src(0).dtype().is_index();
      f64 ops = address ? 0.5 : weight(u);
      if (u.is(Op::Mul) && u.dtype().is_float()) ops = 0.5;
      add_work(info, u.range_mask(), ops);
      if (!address && !u.is(Op::Cast) && !u.is(Op::Bitcast)) {
        info.flops += trips_of(info, u.range_mask());
      }
    }
  }
  for (const Access& a : info.accesses) info.bytes += footprint(info, a);
  return info;
}

}  // namespace doorbell::codegen
