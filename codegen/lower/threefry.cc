// Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3" (SC11), section 4.2,
// and the rotation and parity constants of Random123's threefry.h (R_32x2_*, SKEIN_KS_PARITY32).
#include "codegen/lower/threefry.h"

namespace doorbell::codegen {

using core::UOp;

namespace {

UOp rotate_left(OpBuilder& b, UOp x, u64 n) {
  UOp high = b.shl(x, n), low = b.shr(x, 32 - n);
  return b.bit_or(high, low);
}

}  // namespace

UOp threefry(OpBuilder& b, UOp counter, UOp key) {
  constexpr core::DType kWord = core::dtypes::u32;
  constexpr u64 kParity = 0x1bd11bda;
  constexpr u64 kRotations[8] = {13, 15, 26, 6, 17, 29, 16, 24};
  auto low = [&](UOp x) { return b.cast(x, kWord); };
  auto high = [&](UOp x) { return b.cast(b.shr(x, 32), kWord); };
  UOp k0 = low(key), k1 = high(key);
  UOp parity = b.bit_xor(k0, k1);
  UOp keys[3] = {k0, k1, b.bit_xor(parity, b.integer(kWord, kParity))};
  UOp x0 = b.add(low(counter), k0);
  UOp x1 = b.add(high(counter), k1);
  for (u64 round = 0; round < 20; ++round) {
    x0 = b.add(x0, x1);
    x1 = b.bit_xor(rotate_left(b, x1, kRotations[round % 8]), x0);
    if (round % 4 != 3) continue;
    u64 injection = round / 4 + 1;
    x0 = b.add(x0, keys[injection % 3]);
    x1 = b.add(x1, b.add(keys[(injection + 1) % 3], b.integer(kWord, injection)));
  }
  UOp upper = b.shl(b.cast(x1, core::dtypes::u64), 32);
  return b.bit_or(upper, b.cast(x0, core::dtypes::u64));
}

}  // namespace doorbell::codegen
