// Random kernels under random plans against the interpreter of kernels (core/eval/interpret.h),
// which shares nothing with lowering. Prints the seed of what fails.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <random>

#include "codegen/lower/lower.h"
#include "core/uop/print.h"
#include "tests/codegen/support/group_caps.h"
#include "tests/codegen/support/kernels.h"
#include "tests/codegen/support/run_linear.h"

namespace doorbell::codegen {
namespace {

using core::KernelAst;
using core::Op;
using core::UOp;

Caps fuzz_caps(bool masked) {
  Caps caps;
  caps.ops.set();
  caps.dtypes.set();
  caps.storage_dtypes.set();
  caps.masked_access = masked;
  caps.host_threads = true;
  caps.vector_bytes = 32;
  return caps;
}

bool is_local(const Opt& o) { return o.op == OptOp::Local; }

Caps fuzz_group_caps(bool masked) {
  Caps caps = group_caps();
  caps.masked_access = masked;
  caps.max_local_axis[2] = 64;
  caps.max_shared_bytes = 256 << 10;
  if (masked) caps.max_global[0] = 8, caps.max_global[1] = caps.max_global[2] = 1 << 12;
  return caps;
}

class RandomKernel {
 public:
  explicit RandomKernel(u32 seed) : random_(seed) {}

  KernelAst make() {
    usize loops = 1 + pick(3), reduced = pick(3);
    UOp at = k_.arena().index(0);
    i64 count = 1;
    for (usize i = 0; i < loops; ++i) {
      i64 n = size();
      outputs_.push_back(k_.loop(n));
      at = k_.add(k_.mul(at, n), outputs_.back());
      count *= n;
    }
    std::vector<UOp> visible = outputs_, closed;
    for (usize i = 0; i < reduced; ++i) closed.push_back(k_.reduced(size()));
    visible.insert(visible.end(), closed.begin(), closed.end());
    UOp value = expression(visible, 3);
    if (!closed.empty()) {
      value = reduce(value, closed);
      // Another one in the same loops, of some other elements.
      if (pick(3) == 0) value = k_.mul(value, reduce(expression(visible, 2), closed));
      value = k_.add(value, expression(outputs_, 1));
    }
    return finish(count, at, value);
  }

  // Work items for some of the axes, which need not divide them. One axis of each reduction may be
  // a Group's.
  Plan group_plan(const KernelInfo& info) {
    Plan p;
    i64 items = 64, grouped = 0;
    bool lanes = false, staged = pick(2) && info.reduces.size() == 1;
    for (usize i = 0; i < info.ranges.size(); ++i) {
      if (!info.ranges[i].range) continue;
      i64 axis = static_cast<i64>(i);
      bool reduced = info.ranges[i].reduce;
      if (!lanes && pick(4) == 0) p.push_back({OptOp::Vector, axis, 4}), lanes = true;
      if (pick(2)) p.push_back({reduced ? OptOp::Unroll : OptOp::Upcast, axis, i64(1 + pick(3))});
      if (reduced && !grouped && pick(2)) {
        grouped = i64{1} << pick(6);
        while (grouped > items) grouped /= 2;
        items /= grouped;
        p.push_back({OptOp::Group, axis, grouped});
      }
      i64 amount = divisor(items, static_cast<i64>(1 + pick(9)));
      if (reduced || std::count_if(p.begin(), p.end(), is_local) == 2 || amount == 1) continue;
      p.push_back({OptOp::Local, axis, amount});
      items /= amount;
      i64 inner = amount * amount_of(p, OptOp::Vector, axis) * amount_of(p, OptOp::Upcast, axis);
      if (!staged && pick(3) == 0) p.push_back({OptOp::Tile, axis, 2 * inner});
    }
    if (staged) stage(info, p);
    return p;
  }

  // Tiles of all reduced axes, and what is read with them through local memory.
  void stage(const KernelInfo& info, Plan& p) {
    for (u64 m = info.reduces[0].closed; m; m &= m - 1) {
      i64 axis = std::countr_zero(m);
      i64 inner = amount_of(p, OptOp::Vector, axis) * amount_of(p, OptOp::Unroll, axis) *
                  amount_of(p, OptOp::Group, axis);
      p.push_back({OptOp::Tile, axis, inner * static_cast<i64>(2 + pick(3))});
    }
    const i64 buffers = static_cast<i64>(1 + pick(2));
    for (const Access& a : info.accesses) {
      bool inside = !a.store && a.index.range_mask() & info.reduces[0].closed;
      if (inside && pick(3)) p.push_back({OptOp::Stage, a.memory.arg(0), buffers});
    }
  }

  // A plan that its axes allow; ids after merge_ranges are not known, so sizes are asked of `info`.
  Plan plan(const KernelInfo& info, bool masked) {
    Plan p;
    u64 reduced = 0;
    for (const ReduceInfo& r : info.reduces) reduced |= r.closed;
    u64 inner = info.output_mask | reduced;
    std::vector<i64> axes;
    for (usize i = 0; i < info.ranges.size(); ++i) {
      if (info.ranges[i].range && (inner >> i & 1)) axes.push_back(static_cast<i64>(i));
    }
    if (axes.empty()) return p;
    i64 lanes_axis = axes[pick(axes.size())];
    for (i64 axis : axes) {
      i64 n = info.size(axis), left = n;
      bool is_reduced = reduced >> axis & 1;
      if (axis == lanes_axis && pick(4)) {
        i64 lanes = i64{2} << pick(3);
        if (n % lanes == 0 || masked) {
          p.push_back({OptOp::Vector, axis, lanes});
          left = n % lanes == 0 ? n / lanes : 1;
        }
      }
      i64 unrolled = divisor(left, 6);
      if (unrolled > 1) p.push_back({is_reduced ? OptOp::Unroll : OptOp::Upcast, axis, unrolled});
      left /= unrolled;
      i64 tile = divisor(left, 4);
      if (!is_reduced && tile > 1 && pick(2)) {
        p.push_back({OptOp::Tile, axis, n / left * tile});
        left /= tile;
      }
      i64 parts = divisor(left, 4);
      if (!is_reduced && parts > 1 && !has_opt(p, OptOp::Thread)) {
        p.push_back({OptOp::Thread, axis, parts});
      }
    }
    return p;
  }

 private:
  usize pick(usize n) { return random_() % n; }
  i64 size() {
    constexpr i64 kSizes[] = {1, 2, 3, 4, 5, 6, 8, 12};
    return kSizes[pick(8)];
  }
  i64 divisor(i64 n, i64 limit) {
    i64 d = 1 + static_cast<i64>(pick(static_cast<usize>(limit)));
    while (n % d) --d;
    return d;
  }
  UOp leaf(const std::vector<UOp>& ranges) {
    if (ranges.empty() || pick(8) == 0) return k_.arena().const_of(core::dtypes::f32, 2);
    if (pick(8) == 0) {
      return k_.arena().make(Op::Cast, core::dtypes::f32, {ranges[pick(ranges.size())]});
    }
    UOp at = k_.arena().index(0);
    i64 count = 1;
    UOp gate;
    for (UOp r : ranges) {
      if (pick(4) == 0) continue;
      i64 n = r.range_size(), extent = n;
      UOp x = r;
      switch (pick(6)) {
        case 0: x = k_.add(k_.mul(x, -1), n - 1); break;
        case 1: x = k_.op(Op::FloorDiv, x, k_.arena().index(2)); break;
        case 2: x = k_.op(Op::FloorMod, x, k_.arena().index(3)); break;
        case 3: {
          x = k_.add(x, -1);
          UOp on = k_.ge(x, 0);
          gate = gate ? k_.op(Op::And, gate, on) : on;
          break;
        }
        case 4: x = k_.mul(x, 2), extent = 2 * n; break;
        default: break;
      }
      at = k_.add(k_.mul(at, extent), x);
      count *= extent;
    }
    UOp memory = k_.param(next_param_++, count);
    counts.push_back(count);
    return k_.load(memory, at, gate);
  }
  UOp reduce(UOp value, std::span<const UOp> closed) {
    std::vector<UOp> srcs{value};
    srcs.insert(srcs.end(), closed.begin(), closed.end());
    i64 args[2] = {static_cast<i64>(pick(2) ? Op::Add : Op::Max), 0};
    return k_.arena().make(Op::Reduce, value.dtype(), srcs, args);
  }
  UOp expression(const std::vector<UOp>& ranges, int depth) {
    if (depth == 0 || pick(4) == 0) return leaf(ranges);
    UOp a = expression(ranges, depth - 1);
    UOp b = expression(ranges, depth - 1);
    switch (pick(4)) {
      case 0: return k_.op(Op::Max, a, b);
      case 1: {
        if (ranges.empty()) return a;
        UOp r = ranges[pick(ranges.size())];
        UOp c = k_.lt(r, r.range_size() / 2);
        return k_.arena().make(Op::Where, core::dtypes::f32, {c, a, b});
      }
      case 2: return k_.mul(a, b);
      default: return k_.add(a, b);
    }
  }
  KernelAst finish(i64 count, UOp at, UOp value) {
    counts.insert(counts.begin(), count);
    UOp out = k_.param(0, count);
    UOp place = k_.arena().make(Op::Index, out.dtype(), {out, at});
    UOp store = k_.arena().make(Op::Store, core::dtypes::void_, {place, value});
    std::vector<UOp> srcs{store};
    srcs.insert(srcs.end(), outputs_.begin(), outputs_.end());
    return k_.finish(k_.arena().make(Op::End, core::dtypes::void_, srcs));
  }

  std::mt19937 random_;
  KernelBuilder k_;
  std::vector<UOp> outputs_;
  i64 next_param_ = 1;

 public:
  std::vector<i64> counts;  // elements by slot
};

void run_one(u32 seed, bool groups) {
  RandomKernel kernel(seed);
  KernelAst ast = kernel.make();
  bool masked = seed % 2;
  core::Arena arena, merged_arena;
  KernelInfo info = merged_info(ast, merged_arena);
  Plan plan = groups ? kernel.group_plan(info) : kernel.plan(info, masked);
  LowerOptions options;
  if (seed % 4) options.plan = &plan;
  LinearProgram program =
      lower(ast, groups ? fuzz_group_caps(masked) : fuzz_caps(masked), arena, options);
  const BothOutputs outputs = run_both(ast, program, kernel.counts, seed);
  ASSERT_EQ(outputs.got, outputs.expected) << "seed " << seed << " plan " << print(plan) << "\n"
                                           << core::print(*ast.arena, ast.sink);
}

void run_all(u32 seeds, bool groups) {
  for (u32 seed = 1; seed <= seeds; ++seed) {
    try {
      run_one(seed, groups);
    } catch (const std::exception& e) {
      FAIL() << "seed " << seed << ": " << e.what();
    }
    if (testing::Test::HasFatalFailure()) return;
  }
}

TEST(LowerFuzz, RandomKernelsUnderRandomPlans) { run_all(1500, false); }

TEST(LowerFuzz, RandomKernelsInWorkGroups) { run_all(600, true); }

}  // namespace
}  // namespace doorbell::codegen
