// Contractions under random blockings, whose blocks need not divide the axes, against the
// interpreter of kernels (core/eval/interpret.h). Prints the seed of what fails.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <random>

#include "codegen/lower/lower.h"
#include "core/uop/print.h"
#include "tests/codegen/support/cpu_caps.h"
#include "tests/codegen/support/kernels.h"
#include "tests/codegen/support/run_linear.h"

namespace doorbell::codegen {
namespace {

using core::KernelAst;
using core::Op;
using core::UOp;

constexpr i64 kLeft = 1, kRight = 2;  // slots of the operands

Caps contraction_caps() {
  Caps caps = cpu_caps(32);
  caps.host_threads = true;
  return caps;
}

class RandomContraction {
 public:
  explicit RandomContraction(u32 seed) : random_(seed) {}

  KernelAst make() {
    const i64 batch = 1 + pick(3), m = pick(6) ? 2 + pick(30) : 1, n = 2 + pick(30);
    const i64 depth = 2 + pick(40);
    UOp b = k_.loop(batch), i = k_.loop(m), j = k_.loop(n), k = k_.reduced(depth);
    UOp out = k_.param(0, batch * m * n, type_), left = k_.param(kLeft, batch * m * depth, type_);
    UOp right = k_.param(kRight, batch * depth * n, type_), bias = k_.param(3, n, type_);
    UOp x = k_.load(left, pick(2) ? at(b, m, i, depth, k) : at(b, depth, k, m, i));
    UOp y = k_.load(right, pick(2) ? at(b, depth, k, n, j) : at(b, n, j, depth, k));
    UOp value = k_.reduce(Op::Add, body(x, y), {k});
    if (pick(2)) value = k_.add(value, k_.load(bias, j));
    // Long epilogues are not repeated for each register.
    for (i64 times = pick(2) * 12; times > 0; --times)
      value = k_.op(times % 2 ? Op::Max : Op::Add, value, number(-times));
    counts = {batch * m * n, batch * m * depth, batch * depth * n, n};
    UOp to = at(b, m, i, n, j);
    if (pick(3)) return k_.store(out, to, value, {b, i, j});
    // With what is made of the result, and memory of its own, as an optimiser's moments are.
    counts.insert(counts.end(), 2, counts[0]);
    UOp moment = k_.load(k_.param(4, counts[0], type_), to);
    return k_.store({{out, k_.mul(value, moment)}, {k_.param(5, counts[0], type_), value}}, to,
                    {b, i, j});
  }

  Plan plan(const KernelInfo& info) {
    i64 axes[3] = {-1, -1, -1};  // of the left operand, of the right one, of both
    u64 masks[2] = {0, 0};
    for (const Access& a : info.accesses)
      if (!a.store && a.memory.arg(0) <= kRight) masks[a.memory.arg(0) - 1] = a.mask;
    for (usize id = 0; id < info.ranges.size(); ++id) {
      if (!info.ranges[id].range) continue;
      const bool first = masks[0] >> id & 1, second = masks[1] >> id & 1;
      if (first && second && !info.ranges[id].reduce) continue;
      axes[info.ranges[id].reduce ? 2 : first ? 0 : 1] = static_cast<i64>(id);
    }
    const i64 rows = 1 + pick(5), lanes = i64{2} << pick(3), unroll = 1 + pick(3);
    const i64 mt = rows * (1 + pick(4)), nt = lanes * (1 + pick(3));
    const i64 kc = unroll * (1 + pick(info.size(axes[2])));
    const bool single_row = axes[0] < 0;
    Plan p{{OptOp::Tile, axes[2], kc},
           {OptOp::Tile, axes[1], nt},
           {OptOp::Vector, axes[1], lanes},
           {OptOp::Unroll, axes[2], unroll}};
    if (!single_row) p.push_back({OptOp::Tile, axes[0], mt});
    if (!single_row) p.push_back({OptOp::Upcast, axes[0], rows});
    for (i64 slot : {kLeft, kRight})
      if (pick(3) && !(single_row && slot == kLeft)) p.push_back({OptOp::Stage, slot, 1});
    for (int operand : {0, 1})
      if (pick(2) && axes[operand] >= 0) p.push_back({OptOp::Thread, axes[operand], 1 + pick(4)});
    return p;
  }

  std::vector<i64> counts;  // elements by slot

 private:
  i64 pick(i64 n) { return static_cast<i64>(random_() % static_cast<u32>(n)); }
  UOp number(i64 value) { return k_.arena().const_of(type_, value); }
  UOp at(UOp b, i64 rows, UOp row, i64 columns, UOp column) {
    return k_.add(k_.mul(k_.add(k_.mul(b, rows), row), columns), column);
  }
  // Some are not zero where both operands are, some are not a product of one factor of each.
  UOp body(UOp x, UOp y) {
    switch (pick(5)) {
      case 0: return k_.mul(k_.add(x, number(1)), y);
      case 1: return k_.mul(k_.op(Op::Max, x, number(0)), k_.mul(y, number(2)));
      case 2: return k_.add(k_.mul(x, y), number(3));
      case 3: return k_.add(k_.mul(x, y), k_.op(Op::Max, x, number(1)));
      default: return k_.mul(x, y);
    }
  }

  std::mt19937 random_;
  KernelBuilder k_;
  const core::DType type_ = pick(4) ? core::dtypes::f32 : core::dtypes::i32;
};

// The bits of integers may be those of a NaN.
std::vector<i32> integers(std::span<const f32> values) {
  std::vector<i32> made;
  for (f32 value : values) made.push_back(std::bit_cast<i32>(value));
  return made;
}

void run_one(u32 seed) {
  RandomContraction contraction(seed);
  KernelAst ast = contraction.make();
  core::Arena arena, merged_arena;
  const Plan plan = contraction.plan(merged_info(ast, merged_arena));
  const LinearProgram program = lower(ast, contraction_caps(), arena, {.plan = &plan});
  const BothOutputs outputs = run_both(ast, program, contraction.counts, seed);
  const bool is_equal = ast.sink.src(0).src(0).src(1).dtype().is_float()
                            ? outputs.got == outputs.expected
                            : integers(outputs.got) == integers(outputs.expected);
  ASSERT_TRUE(is_equal) << "seed " << seed << " plan " << print(plan) << "\n"
                        << core::print(*ast.arena, ast.sink);
}

TEST(ContractionFuzz, RandomBlockings) {
  for (u32 seed = 1; seed <= 400; ++seed) {
    try {
      run_one(seed);
    } catch (const std::exception& e) {
      FAIL() << "seed " << seed << ": " << e.what();
    }
    if (testing::Test::HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace doorbell::codegen
