// Sums of products of the parts of two u32 words, the first part in the low bits: of two bf16, or
// of four bytes, unsigned ones of the first word and signed ones of the second. CPUs have
// instructions that add such a sum to another one (VDPBF16PS, VPDPBUSD; Caps::dot_products). It is
// no op: programs have its arithmetic (opt/tile_dots.cc makes it), and a renderer for such CPUs
// finds it there.
//
// x and y are the words:
//   sum  = (product(0) + product(1)) + ...
//   product(n) = Cast(part(x, n)) * Cast(part(y, n))
//   part(w, n) = Bitcast(Cast(w >> n * bits of a part))
// Unsigned parts have no Bitcast, and the last of them needs no Cast to 8 bits.
#pragma once

#include <optional>

#include "core/uop/uop.h"

namespace doorbell::codegen {

// Of vectors; a word that all lanes share is a scalar.
struct Dot {
  core::UOp x, y;
};
std::optional<Dot> find_dot(core::UOp sum);

}  // namespace doorbell::codegen
