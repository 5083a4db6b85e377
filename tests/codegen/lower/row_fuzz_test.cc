// Random kernels over rows (reductions one after another, some with a reduction in their body)
// under the plans of random targets, against the interpreter of kernels. Prints the seed of what
// fails.
#include <gtest/gtest.h>

#include <random>

#include "codegen/lower/lower.h"
#include "codegen/opt/heuristic.h"
#include "tests/codegen/support/group_caps.h"
#include "tests/codegen/support/kernels.h"
#include "tests/codegen/support/run_linear.h"

namespace doorbell::codegen {
namespace {

using core::KernelAst;
using core::Op;
using core::UOp;

class RowKernel {
 public:
  explicit RowKernel(u32 seed) : random_(seed) {}
  KernelAst make();
  Caps caps();
  std::vector<i64> counts;  // elements by slot

 private:
  usize pick(usize n) { return random_() % n; }
  i64 one_of(std::initializer_list<i64> values) { return values.begin()[pick(values.size())]; }
  UOp param(i64 count) {
    counts.push_back(count);
    return k_.param(static_cast<i64>(counts.size()) - 1, count);
  }
  // What the row holds at column `c`: an element, or the product of two vectors.
  UOp element(UOp c);
  UOp combine(UOp a, UOp b) {
    constexpr Op kOps[] = {Op::Sub, Op::Add, Op::Max};
    return k_.op(kOps[pick(3)], a, b);
  }

  std::mt19937 random_;
  KernelBuilder k_;
  UOp row_, x_, y_;
  i64 columns_ = 1, inner_ = 0;
};

UOp RowKernel::element(UOp c) {
  if (inner_ == 0) return k_.load(x_, k_.add(k_.mul(row_, columns_), c));
  UOp d = k_.reduced(inner_);
  UOp left = k_.load(x_, k_.add(k_.mul(row_, inner_), d));
  UOp right = k_.load(y_, k_.add(k_.mul(c, inner_), d));
  return k_.reduce(Op::Add, k_.mul(left, right), {d});
}

KernelAst RowKernel::make() {
  i64 outer = one_of({1, 2, 5}), rows = one_of({1, 3, 8});
  columns_ = one_of({1, 2, 10, 33, 64, 100});
  inner_ = pick(4) == 0 ? one_of({2, 3, 4}) : 0;
  UOp b = k_.loop(outer), r = k_.loop(rows);
  bool is_row_result = pick(4) == 0;
  UOp c = is_row_result ? UOp() : k_.loop(columns_);
  row_ = k_.add(k_.mul(b, rows), r);
  UOp out = param(outer * rows * (c ? columns_ : 1));
  x_ = param(outer * rows * (inner_ ? inner_ : columns_));
  if (inner_) y_ = param(columns_ * inner_);
  UOp bias = param(columns_), total;
  for (usize i = 0, n = 1 + pick(3); i < n; ++i) {
    UOp at = k_.reduced(columns_), value = element(at);
    if (pick(3) == 0) value = combine(value, k_.load(bias, at));
    if (total) value = combine(value, total);
    total = k_.reduce(pick(2) ? Op::Max : Op::Add, value, {at});
  }
  if (!c) return k_.store(out, row_, total, {b, r});
  UOp value = combine(combine(element(c), total), k_.load(bias, c));
  return k_.store(out, k_.add(k_.mul(row_, columns_), c), value, {b, r, c});
}

Caps RowKernel::caps() {
  Caps caps = group_caps();
  caps.max_local = one_of({1, 4, 32, 64, 256});
  caps.max_local_axis[0] = one_of({0, 16, 256});
  caps.max_local_axis[1] = one_of({0, 8, 64});
  caps.vector_bytes = static_cast<int>(one_of({0, 4, 8, 16}));
  caps.masked_access = pick(2) != 0;
  caps.fast_shared = pick(2) != 0;
  caps.narrow_index = pick(4) != 0;
  caps.busy_items = one_of({1, 64, 32768});
  caps.max_shared_bytes = one_of({256, 2048, 16384});
  return caps;
}

void run_one(u32 seed) {
  RowKernel kernel(seed);
  KernelAst ast = kernel.make();
  Caps caps = kernel.caps();
  core::Arena arena, merged_arena;
  KernelInfo info = merged_info(ast, merged_arena);
  LinearProgram program = lower(ast, caps, arena, {});
  const BothOutputs outputs = run_both(ast, program, kernel.counts, seed);
  ASSERT_EQ(outputs.got, outputs.expected)
      << "seed " << seed << " plan " << print(choose_group_plan(info, caps));
}

TEST(RowFuzz, RandomRowsInWorkGroups) {
  for (u32 seed = 1; seed <= 80; ++seed) {
    try {
      run_one(seed);
    } catch (const std::exception& e) {
      FAIL() << "seed " << seed << ": " << e.what();
    }
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace doorbell::codegen
