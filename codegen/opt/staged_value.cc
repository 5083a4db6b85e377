// Nodes that depend on the load and on constants only are its own. Where just one of them is read
// by others, that one is the value.
#include "codegen/opt/staged_value.h"

#include <absl/container/flat_hash_set.h>

#include <algorithm>

namespace doorbell::codegen::detail {

using core::Op;
using core::UOp;

namespace {

// Cheaper ones stay in registers: an item uses an element for several products.
constexpr f64 kWorthStaging = 4;

// NVIDIA's GPUs make floats of ints at an eighth to a quarter of the rate of additions [CUDA
// Programming Guide 13, "Arithmetic Instructions", "Throughput of Native Arithmetic Instructions"].
f64 cost(UOp u) {
  const bool converts = u.is(Op::Cast) && u.src(0).dtype().is_int() && u.dtype().is_float();
  return converts ? 4 : weight(u);
}

}  // namespace

StagedValue staged_value(const KernelInfo& info, UOp load) {
  absl::flat_hash_set<u32> own{load.id()};
  const auto is_own = [&](UOp u) { return own.contains(u.id()); };
  StagedValue made{load};
  for (UOp u : info.order) {
    const auto srcs = u.srcs();
    const bool fits = core::is_elementwise(u.op()) && std::ranges::any_of(srcs, is_own) &&
                      std::ranges::all_of(srcs, [&](UOp s) { return s.is_const() || is_own(s); });
    if (!fits) continue;
    own.insert(u.id());
    made.cost += cost(u);
  }
  UOp read;
  for (UOp u : info.order) {
    if (is_own(u)) continue;
    for (UOp s : u.srcs()) {
      if (!is_own(s) || s == read) continue;
      if (read) return {load};
      read = s;
    }
  }
  if (!read || read == load || made.cost < kWorthStaging) return {load};
  made.value = read;
  return made;
}

}  // namespace doorbell::codegen::detail
