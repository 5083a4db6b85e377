// The lowered form of stage_local.cc's rings: tile number & (buffers - 1).
#include "codegen/linear/ring.h"

#include <bit>

namespace doorbell::codegen {

using core::Op;
using core::UOp;

bool is_buffer_number(UOp u, UOp range) {
  return u.is(Op::And) && u.src(0) == range && u.src(1).is_const() && u.src(1).const_int() > 0 &&
         std::has_single_bit(static_cast<u64>(u.src(1).const_int()) + 1);
}

i64 buffers_of_loop(UOp range, std::span<const UOp> body) {
  i64 buffers = 1;
  bool has_barrier = false;
  for (UOp u : body) {
    if (u.is(Op::End) && u.src(u.nsrc() - 1) == range) break;
    has_barrier |= u.is(Op::Barrier);
    if (!is_buffer_number(u, range)) continue;
    if (buffers > 1 && u.src(1).const_int() + 1 != buffers) return 1;
    buffers = u.src(1).const_int() + 1;
  }
  const UOp trips = range.src(0);
  return has_barrier && trips.is_const() && trips.const_int() % buffers == 0 ? buffers : 1;
}

}  // namespace doorbell::codegen
