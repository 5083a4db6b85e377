// The cost of making a node: interning alone, finding an existing node, and index arithmetic with
// simplification. items_per_second is nodes (make calls) a second; "visit" is the time per node
// whose rules were tried.
#include <benchmark/benchmark.h>

#include "core/rules/reduce.h"
#include "core/rules/rules.h"
#include "core/rules/validity.h"

namespace doorbell::core {
namespace {

// New nodes: sums of two out of many ranges, straight from the arena.
void intern_new(benchmark::State& state) {
  constexpr i64 kRanges = 64;
  for (auto _ : state) {
    state.PauseTiming();
    auto arena = std::make_unique<Arena>();
    std::vector<UOp> ranges;
    for (i64 i = 0; i < kRanges; ++i) ranges.push_back(arena->range(i, AxisType::Loop, 7 + i));
    state.ResumeTiming();
    for (UOp a : ranges) {
      for (UOp b : ranges) benchmark::DoNotOptimize(arena->make(Op::Add, dtypes::index, {a, b}));
    }
    state.PauseTiming();
    arena.reset();
    state.ResumeTiming();
  }
  state.SetItemsProcessed(state.iterations() * kRanges * kRanges);
}
BENCHMARK(intern_new);

void intern_existing(benchmark::State& state) {
  Arena arena;
  UOp a = arena.range(0, AxisType::Loop, 7), b = arena.range(1, AxisType::Loop, 9);
  for (auto _ : state) benchmark::DoNotOptimize(arena.make(Op::Add, dtypes::index, {a, b}));
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(intern_existing);

// Makes again what was simplified before.
void make_again(benchmark::State& state) {
  Arena arena;
  Rewriter r(arena, simplify_rules());
  UOp a = arena.range(0, AxisType::Loop, 7), b = arena.range(1, AxisType::Loop, 9);
  UOp x = r.add(r.mul(a, 9), b), c = arena.index(9);
  for (auto _ : state) benchmark::DoNotOptimize(r.floordiv(x, c));
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(make_again);

// The index expressions of one access of a padded convolution, with ranges of its own:
// flatten, unflatten through a reshape, gate. Returns the number of makes.
i64 convolution(Rewriter& r, i64 first_range) {
  auto range = [&](i64 id, i64 size) {
    return r.arena().range(first_range + id, AxisType::Loop, size);
  };
  UOp n = range(0, 8), c = range(1, 16), oy = range(2, 32), ox = range(3, 32), ky = range(4, 3),
      kx = range(5, 3);
  UOp y = r.add(r.add(oy, ky), -1), x = r.add(r.add(ox, kx), -1);                        // 4
  UOp valid = r.land(r.land(r.ge(y, 0), r.lt(y, 32)), r.land(r.ge(x, 0), r.lt(x, 32)));  // 9
  UOp flat = r.add(r.mul(r.add(r.mul(r.add(r.mul(n, 16), c), 32), y), 32), x);           // 6
  UOp again = r.add(r.mul(r.floordiv(flat, 1024), 1024), r.floormod(flat, 1024));        // 4
  UOp row = r.floormod(r.floordiv(flat, 32), 32), column = r.floormod(flat, 32);         // 3
  benchmark::DoNotOptimize(again);
  benchmark::DoNotOptimize(r.add(r.mul(row, 32), column));  // 2
  benchmark::DoNotOptimize(valid);
  return 28;
}

void index_arithmetic(benchmark::State& state) {
  i64 makes = 0;
  u64 visits = 0;
  for (auto _ : state) {
    Arena arena;
    Rewriter r(arena, simplify_rules());
    for (i64 i = 0; i < 8; ++i) makes += convolution(r, i * 6);
    visits += r.visits();
  }
  state.SetItemsProcessed(makes);
  state.counters["visit"] = benchmark::Counter(
      static_cast<f64>(visits), benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
  state.counters["visits/make"] = static_cast<f64>(visits) / static_cast<f64>(makes);
}
BENCHMARK(index_arithmetic);

// Float arithmetic that no rule changes: the cost of a rule visit.
void float_visit(benchmark::State& state) {
  i64 makes = 0;
  for (auto _ : state) {
    Arena arena;
    Rewriter r(arena, simplify_rules());
    UOp p = arena.make(Op::Param, dtypes::f32, {}, {0, 64});
    UOp at = arena.make(Op::Index, dtypes::f32, {p, arena.index(0)});
    UOp x = arena.make(Op::Load, dtypes::f32, {at}), y = x;
    for (i64 i = 0; i < 1000; ++i) {
      y = r.mul(x, y);
      y = r.add(y, x);
      makes += 2;
    }
  }
  state.SetItemsProcessed(makes);
}
BENCHMARK(float_visit);

void gated_index(benchmark::State& state) {
  i64 count = 0;
  for (auto _ : state) {
    Arena arena;
    Rewriter r(arena, kernel_rules());
    UOp p = arena.make(Op::Param, dtypes::f32, {}, {0, 1 << 20});
    for (i64 i = 0; i < 20; ++i) {
      UOp oy = arena.range(i * 4, AxisType::Loop, 32),
          ky = arena.range(i * 4 + 1, AxisType::Loop, 3);
      UOp ox = arena.range(i * 4 + 2, AxisType::Loop, 32);
      UOp y = r.add(r.add(oy, ky), -1);
      UOp gate = r.land(r.ge(y, 0), r.lt(y, 32));
      benchmark::DoNotOptimize(
          r.make(Op::Index, dtypes::f32, {p, r.add(r.mul(r.floormod(y, 32), 32), ox), gate}));
      ++count;
    }
  }
  state.SetItemsProcessed(count);
}
BENCHMARK(gated_index);

}  // namespace
}  // namespace doorbell::core

BENCHMARK_MAIN();
