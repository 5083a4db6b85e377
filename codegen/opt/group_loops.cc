// Ranges, numbers of items, local memory and barriers of a kernel's groups. What they are for:
// apply_groups.cc, stage_local.cc.
#include "codegen/opt/group_loops.h"

#include <algorithm>

#include "base/util/check.h"
#include "codegen/linear/program.h"
#include "codegen/linear/tensor_copy.h"

namespace doorbell::codegen::detail {

using core::AxisType;
using core::Op;
using core::UOp;

UOp GroupLoops::range(AxisType type, UOp size) {
  UOp r = make_range(type, size);
  if (r.is(Op::Range)) ranges.push_back(r);
  return r;
}

UOp GroupLoops::item(i64 axis) {
  if (item_count[axis] == 1) return rw.index(0);
  return rw.make(Op::Special, core::dtypes::index, {},
                 {static_cast<i64>(core::SpecialKind::LocalId), axis, item_count[axis]});
}

UOp GroupLoops::item_number(i64 but) {
  UOp number = rw.index(0);
  for (i64 axis = 3; axis-- > 0;) {
    if (axis != but) number = mul_add(number, item_count[axis], item(axis));
  }
  return number;
}

UOp GroupLoops::wave() {
  const i64 items = caps.simd.wave_items, waves = (all_items() + items - 1) / items;
  if (waves == 1) return rw.index(0);
  return rw.make(Op::Special, core::dtypes::index, {},
                 {static_cast<i64>(core::SpecialKind::LocalId), kWaveAxis, waves});
}

UOp GroupLoops::define_local(core::DType t, i64 count, i64 alignment) {
  absl::InlinedVector<i64, 3> args{next_local++, count};
  if (alignment > 0) args.push_back(alignment);
  return add_local(t, args);
}

UOp GroupLoops::define_mbarriers(i64 count) {
  const i64 args[] = {next_local++, count, kMbarrierAlignment, 1};
  return add_local(core::dtypes::u64, args);
}

UOp GroupLoops::add_local(core::DType t, std::span<const i64> args) {
  UOp made = rw.make(Op::DefineLocal, t, {}, args);
  local_bytes = local_array_start(made, local_bytes) + local_array_bytes(made);
  const i64 most = std::max(caps.max_shared_bytes, caps.max_dynamic_shared_bytes);
  CHECK(caps.max_shared_bytes == 0 || local_bytes <= most, "{} bytes of local memory, at most {}",
        local_bytes, most);
  return made;
}

UOp GroupLoops::after(UOp memory, std::initializer_list<UOp> effects) {
  absl::InlinedVector<UOp, 4> srcs{memory};
  srcs.insert(srcs.end(), effects);
  return rw.make(Op::After, memory.dtype(), srcs);
}

// Matrix instructions that read local memory see what is stored before any barrier of the kernel.
UOp GroupLoops::barrier(std::span<const UOp> after, i64 pending) {
  absl::InlinedVector<i64, 2> args;
  if (pending >= 0 || reads_local) args.push_back(std::max<i64>(pending, 0));
  if (reads_local) args.push_back(1);
  return rw.make(Op::Barrier, core::dtypes::void_, after, args);
}

}  // namespace doorbell::codegen::detail
