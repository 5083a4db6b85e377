// The product's kernel is built for each number of parts, and planned.
#include "codegen/opt/split_depth.h"

#include <array>
#include <tuple>
#include <vector>

#include "codegen/opt/group_plan.h"
#include "codegen/opt/tensor_core_plan.h"
#include "core/rewrite/rewriter.h"
#include "core/rules/rules.h"

namespace doorbell::codegen {

using core::AxisType;
using core::Op;
using core::UOp;

namespace {

constexpr i64 kMostParts = 32, kLeastDepth = 256;
constexpr f64 kWorthParts = 1 << 26;  // multiply-adds
// Outputs of a group that are enough for it: more of them than the target has cores need no parts.
constexpr f64 kLargeBlock = 64 * 128;
constexpr f64 kItemsOfCore = 256;  // of Caps::busy_items
// From the end of a kernel to the start of the next: about 2 us. In it a core multiplies and adds
// so often in a cycle, at most, by matrix instructions of a wave and without.
constexpr f64 kLaunchCycles = 4000, kMatrixMacs = 1024, kLaneMacs = 64;
// Of a byte of memory, in multiply-adds (tensor_core_time.cc, group_tile_plan.cc).
constexpr f64 kMatrixElement = 32, kLaneByte = 2;

// sum over k of x[b, m, k] * y[b, k, n], a part of k for each.
class PartKernel {
 public:
  PartKernel(const core::ProductShape& p, i64 parts)
      : rw_(arena_, core::simplify_rules()), p_(p), deep_(p.depth / parts) {
    for (const i64 size : {p.batches, parts, p.rows, p.columns}) outputs_.push_back(loop(size));
    depth_ = arena_.range(next_++, AxisType::Reduce, deep_);
  }

  KernelInfo info() {
    const auto [batch, part, row, column] =
        std::tuple(outputs_[0], outputs_[1], outputs_[2], outputs_[3]);
    UOp at = mul_add(part, deep_, depth_);
    UOp x = load(1, p_.rows, batch, row, at, p_.rows_by_depth);
    UOp y = load(2, p_.columns, batch, column, at, p_.columns_by_depth);
    UOp product = arena_.make(Op::Mul, p_.sum, {x, y});
    const i64 how[] = {static_cast<i64>(Op::Add), 0};
    UOp sum = arena_.make(Op::Reduce, p_.sum, std::array{product, depth_}, how);
    const i64 parts = p_.depth / deep_;
    UOp to = mul_add(mul_add(mul_add(batch, parts, part), p_.rows, row), p_.columns, column);
    UOp out = param(0, p_.sum, p_.batches * parts * p_.rows * p_.columns);
    UOp place = arena_.make(Op::Index, p_.sum, {out, to});
    std::vector<UOp> end{arena_.make(Op::Store, core::dtypes::void_, {place, sum})};
    for (UOp r : outputs_)
      if (r.is(Op::Range)) end.push_back(r);
    UOp effect = arena_.make(Op::End, core::dtypes::void_, end);
    return analyse(arena_, arena_.make(Op::Sink, core::dtypes::void_, {effect}));
  }

 private:
  UOp loop(i64 size) {
    return size == 1 ? rw_.index(0) : arena_.range(next_++, AxisType::Loop, size);
  }
  UOp mul_add(UOp a, i64 b, UOp c) {
    UOp product = rw_.mul(a, b);
    return rw_.add(product, c);
  }
  UOp param(i64 slot, core::DType t, i64 count) {
    return arena_.make(Op::Param, t, {}, {slot, count});
  }
  UOp load(i64 slot, i64 size, UOp batch, UOp along, UOp depth, bool by_depth) {
    UOp outer = mul_add(batch, by_depth ? size : p_.depth, by_depth ? along : depth);
    UOp at = mul_add(outer, by_depth ? p_.depth : size, by_depth ? depth : along);
    UOp memory = param(slot, p_.operand, p_.batches * size * p_.depth);
    UOp place = arena_.make(Op::Index, p_.operand, {memory, at});
    UOp value = arena_.make(Op::Load, p_.operand, {place});
    return p_.operand == p_.sum ? value : arena_.make(Op::Cast, p_.sum, {value});
  }

  core::Arena arena_;
  core::Rewriter rw_;
  const core::ProductShape& p_;
  const i64 deep_;
  i64 next_ = 0;
  std::vector<UOp> outputs_;
  UOp depth_;
};

// In multiply-adds on a full target; by matrix instructions or without.
struct Time {
  f64 work = 1e300;
  bool by_matrices = false;
};

Time time_of(const core::ProductShape& p, i64 parts, const Caps& caps) {
  PartKernel kernel(p, parts);
  const KernelInfo info = kernel.info();
  const f64 work = static_cast<f64>(p.batches * p.rows * p.columns) * static_cast<f64>(p.depth);
  f64 each = 1e300;
  if (!detail::tensor_core_plan(info, caps, &each).empty()) return {each * work, true};
  if (!detail::group_tile_plan(info, caps, &each).empty()) return {each * work, false};
  return {};
}

// Of storing the parts' sums, of the kernel that loads and adds them, and of its launch.
f64 sum_time(const core::ProductShape& p, i64 parts, const Caps& caps, bool by_matrices) {
  const f64 sums = static_cast<f64>(p.batches * p.rows * p.columns * parts);
  const f64 bytes = 2 * sums * static_cast<f64>(p.sum.bytes());
  const f64 cores = static_cast<f64>(caps.busy_items) / kItemsOfCore;
  const f64 launch = kLaunchCycles * cores * (by_matrices ? kMatrixMacs : kLaneMacs);
  const f64 byte = by_matrices ? kMatrixElement / static_cast<f64>(p.operand.bytes()) : kLaneByte;
  return bytes * byte + launch;
}

}  // namespace

i64 depth_parts(const core::ProductShape& p, const Caps& caps) {
  const f64 outputs = static_cast<f64>(p.batches * p.rows * p.columns);
  const f64 cores = static_cast<f64>(caps.busy_items) / kItemsOfCore;
  if (!caps.has_local || outputs >= cores * kLargeBlock ||
      outputs * static_cast<f64>(p.depth) < kWorthParts || p.depth < 2 * kLeastDepth)
    return 1;
  i64 best = 1;
  Time least = time_of(p, 1, caps);
  if (least.work == 1e300) return 1;
  for (i64 parts = 2; parts <= kMostParts && p.depth / parts >= kLeastDepth; parts *= 2) {
    if (p.depth % parts) break;
    Time t = time_of(p, parts, caps);
    t.work += sum_time(p, parts, caps, t.by_matrices);
    if (t.work < least.work) least = t, best = parts;
  }
  return best;
}

}  // namespace doorbell::codegen
