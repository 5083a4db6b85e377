// Bits of constants.
#include "codegen/render/constants.h"

#include <bit>

#include "core/eval/float_format.h"

namespace doorbell::codegen {

u64 constant_bits(core::UOp u) {
  core::DType t = u.dtype();
  if (t.is_float())
    return core::float_bits(t.scalar, core::round_to_format(t.scalar, u.const_float()));
  u64 bits = static_cast<u64>(u.const_int());
  return t.bits() == 64 ? bits : bits & ((u64{1} << t.bits()) - 1);
}

}  // namespace doorbell::codegen
