// Windows are found by comparing coefficients of addresses.
#include "codegen/opt/windows.h"

#include <algorithm>
#include <bit>

namespace doorbell::codegen::detail {

using core::UOp;

bool varies_with_sum(UOp u, i64 a, i64 b) {
  const u64 both = u64{1} << a | u64{1} << b;
  if (!(u.range_mask() & both)) return true;
  if (u.dtype().is_index()) {
    const Affine affine = to_affine(u);
    const auto of_a = affine.coefficient(a), of_b = affine.coefficient(b);
    return of_a && of_b && *of_a == *of_b;
  }
  return u.nsrc() > 0 &&
         std::ranges::all_of(u.srcs(), [&](UOp s) { return varies_with_sum(s, a, b); });
}

namespace {

// Whether the access varies with the axes only by their sum, and with that.
bool slides(const Access& a, const Window& w) {
  if (a.store || !(a.mask >> w.tap & 1) || !(a.mask >> w.along & 1)) return false;
  return varies_with_sum(a.index.src(1), w.tap, w.along) &&
         (a.index.nsrc() < 3 || varies_with_sum(a.index.src(2), w.tap, w.along));
}

}  // namespace

Windows find_windows(const KernelInfo& info, u64 taps) {
  for (const Access& a : info.accesses) {
    Windows found{{}, &a};
    for (u64 left = taps; left; left &= left - 1) {
      for (u64 m = info.output_mask; m; m &= m - 1) {
        const Window w{std::countr_zero(left), std::countr_zero(m)};
        if (!slides(a, w)) continue;
        found.list.push_back(w);
        break;
      }
    }
    if (taps && found.list.size() == static_cast<usize>(std::popcount(taps))) return found;
  }
  return {};
}

}  // namespace doorbell::codegen::detail
