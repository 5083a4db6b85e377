// Small queries about memory in a linear program, for all renderers.
#pragma once

#include <algorithm>

#include "codegen/linear/multiple.h"
#include "codegen/linear/program.h"
#include "core/uop/uop.h"

namespace doorbell::codegen {

// The Param, DefinePrivate, DefineLocal or DefineReg behind an Index, After or the memory itself.
inline core::UOp memory_of(core::UOp u) {
  while (u.is(core::Op::Index) || u.is(core::Op::After)) u = u.src(0);
  return u;
}

// The alignment of an access's address in bytes, as far as it is known. A kernel's own arrays are
// aligned to 64 bytes.
inline i64 known_alignment(const LinearProgram& program, core::UOp index, core::DType access) {
  const i64 bytes = access.element().bytes();
  const i64 base = memory_of(index).is(core::Op::Param) ? program.param_alignment : 64;
  return std::max(bytes, std::min(base, known_multiple(index.src(1)) * bytes));
}

// The gate of what an asynchronous Store copies, apart from its own; null: there is none.
inline core::UOp async_source_gate(core::UOp store) {
  core::UOp to = store.src(0), from = store.src(1).src(0);
  if (from.nsrc() < 3 || (to.nsrc() > 2 && to.src(2) == from.src(2))) return {};
  return from.src(2);
}

// No value of `a op b` leaves the type by the bounds of the sources, so the sum cannot wrap.
inline bool cannot_wrap(core::UOp u) {
  core::DType t = u.dtype();
  if (!t.is_signed_int() || u.nsrc() != 2) return false;
  core::UOp a = u.src(0), b = u.src(1);
  __extension__ using i128 = __int128;
  i128 low, high;
  switch (u.op()) {
    case core::Op::Add: low = i128{a.vmin()} + b.vmin(), high = i128{a.vmax()} + b.vmax(); break;
    case core::Op::Sub: low = i128{a.vmin()} - b.vmax(), high = i128{a.vmax()} - b.vmin(); break;
    case core::Op::Mul: {
      i128 p[4] = {i128{a.vmin()} * b.vmin(), i128{a.vmin()} * b.vmax(), i128{a.vmax()} * b.vmin(),
                   i128{a.vmax()} * b.vmax()};
      low = high = p[0];
      for (i128 v : p) {
        low = v < low ? v : low;
        high = v > high ? v : high;
      }
      break;
    }
    default: return false;
  }
  i128 limit = i128{1} << (t.bits() - 1);
  return low >= -limit && high < limit;
}

}  // namespace doorbell::codegen
