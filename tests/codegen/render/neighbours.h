// A small program of work groups by hand: local memory, a barrier, a loop and a variable. The same
// for each renderer of GPUs.
#pragma once

#include "tests/codegen/render/cpu_kernel.h"

namespace doorbell::codegen::testing {

inline core::UOp special_item(ProgramBuilder& b, core::SpecialKind kind, i64 extent) {
  return b.op(core::Op::Special, core::dtypes::i32, {}, {static_cast<i64>(kind), 0, extent});
}

// out[i] = sqrt(in of the neighbour in the group), through local memory, n times over.
inline void fill_neighbours(ProgramBuilder& b) {
  const i64 name = core::intern_name("n");
  b.program.variables = {name};
  b.program.grid_groups[0] = 4, b.program.group_items[0] = 64;
  core::UOp out = b.param(core::dtypes::f32, 256, true), in = b.param(core::dtypes::f32, 256);
  core::UOp n = b.op(core::Op::Variable, core::dtypes::i32, {}, {name, 1, 10});
  core::UOp group = special_item(b, core::SpecialKind::GroupId, 4),
            local = special_item(b, core::SpecialKind::LocalId, 64);
  core::UOp first =
      b.op(core::Op::Mul, core::dtypes::i32, {group, b.number(64, core::dtypes::i32)});
  core::UOp at = b.op(core::Op::Add, core::dtypes::i32, {first, local});
  core::UOp tile = b.op(core::Op::DefineLocal, core::dtypes::f32, {}, {0, 64});
  core::UOp barrier = b.op(core::Op::Barrier, core::dtypes::void_,
                           {b.store(b.index(tile, local), b.load(b.index(in, at)))});
  core::UOp filled = b.op(core::Op::After, core::dtypes::f32, {tile, barrier});
  core::UOp other = b.op(core::Op::Xor, core::dtypes::i32, {local, b.number(1, core::dtypes::i32)});
  core::UOp i = b.range(0, n);
  core::UOp root = b.op(core::Op::Sqrt, core::dtypes::f32, {b.load(b.index(filled, other))});
  b.end(b.store(b.index(out, at), root), i);
}

}  // namespace doorbell::codegen::testing
