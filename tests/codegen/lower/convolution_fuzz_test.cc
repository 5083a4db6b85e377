// Convolutions and the gradients of their weights, blocked at random over joined axes, against the
// interpreter of kernels (core/eval/interpret.h). Prints the seed of what fails.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <utility>

#include "codegen/lower/lower.h"
#include "codegen/opt/window_tile.h"
#include "core/uop/print.h"
#include "tests/codegen/support/cpu_caps.h"
#include "tests/codegen/support/kernels.h"
#include "tests/codegen/support/run_linear.h"

namespace doorbell::codegen {
namespace {

using core::KernelAst;
using core::Op;
using core::UOp;

Caps convolution_caps() {
  Caps caps = cpu_caps(32);
  caps.host_threads = true;
  return caps;
}

struct Case {
  KernelAst ast;
  std::vector<i64> counts;  // elements by slot
};

class RandomConvolution {
 public:
  explicit RandomConvolution(u32 seed) : random_(seed) {}

  // out[b, o, y, x] = sum over i, ky, kx of w[o, i, ky, kx] image[b, i, y s + ky - p, x s + kx - p]
  // or out[o, i, ky, kx] = sum over b, y, x of the same image and gradient[b, o, y, x]
  Case make() {
    const i64 batch = 1 + pick(3), in = 1 + pick(4), out = 2 + pick(6), stride = 1 + pick(2);
    const i64 rows = 1 + pick(3), columns = 1 + pick(3), pad = pick(std::min(rows, columns));
    const i64 height = rows + pick(9), width = columns + 1 + pick(9);
    const i64 ys = (height + 2 * pad - rows) / stride + 1;
    const i64 xs = (width + 2 * pad - columns) / stride + 1;
    const bool of_weights = pick(2);
    const auto loop = [&](i64 size, bool reduced) {
      return reduced ? k_.reduced(size) : k_.loop(size);
    };
    UOp b = loop(batch, of_weights), o = k_.loop(out), i = loop(in, !of_weights);
    UOp y = loop(ys, of_weights), x = loop(xs, of_weights);
    UOp ky = loop(rows, !of_weights), kx = loop(columns, !of_weights);
    UOp sy = k_.add(k_.add(k_.mul(y, stride), ky), -pad);
    UOp sx = k_.add(k_.add(k_.mul(x, stride), kx), -pad);
    UOp gate;
    if (pad > 0)
      gate = k_.op(Op::And, k_.op(Op::And, k_.ge(sy, 0), k_.lt(sy, height)),
                   k_.op(Op::And, k_.ge(sx, 0), k_.lt(sx, width)));
    const i64 images = batch * in * height * width, weights = out * in * rows * columns;
    const i64 results = batch * out * ys * xs;
    UOp w_at = at({{o, out}, {i, in}, {ky, rows}, {kx, columns}});
    UOp r_at = at({{b, batch}, {o, out}, {y, ys}, {x, xs}});
    UOp image =
        k_.load(k_.param(1, images), at({{b, batch}, {i, in}, {sy, height}, {sx, width}}), gate);
    if (pick(3) == 0) image = k_.op(Op::Max, image, k_.arena().const_of(core::dtypes::f32, 0));
    if (of_weights) {
      UOp product = k_.mul(image, k_.load(k_.param(2, results), r_at));
      UOp sum = k_.reduce(Op::Add, product, {b, y, x});
      return finish(w_at, sum, {o, i, ky, kx}, {weights, images, results});
    }
    UOp product = k_.mul(image, k_.load(k_.param(2, weights), w_at));
    UOp sum = k_.reduce(Op::Add, product, {i, ky, kx});
    return finish(r_at, sum, {b, o, y, x}, {results, images, weights});
  }

  // With A and B in either role. Empty where one of the axes is a single value.
  Plan plan(const KernelInfo& info) {
    const std::vector<detail::Contraction> all = detail::find_contractions(info);
    if (all.empty()) return {};
    const detail::Contraction& c = all[static_cast<usize>(pick(static_cast<i64>(all.size())))];
    if (!c.i.exists() || !c.j.exists()) return {};
    const i64 lanes = i64{2} << pick(3), unroll = 1 + pick(3), whole = info.size(c.i.id());
    const i64 rows = pick(2) ? 1 + pick(5) : whole;
    const i64 mt = pick(2) ? rows * (1 + pick(4)) : rows * whole;
    const i64 tap = info.size(c.k.id());
    i64 kc = unroll * (pick(2) ? tap * (1 + pick(4)) : 1 + pick(c.k.size));
    if (c.k.is_joined() && pick(2))
      kc = unroll * tap * info.size(c.k.ids[c.k.ids.size() - 2]) * (1 + pick(2));
    Plan p{{OptOp::Tile, c.k.id(), kc},
           {OptOp::Tile, c.j.id(), lanes * (1 + pick(3))},
           {OptOp::Vector, c.j.id(), lanes},
           {OptOp::Unroll, c.k.id(), unroll},
           {OptOp::Tile, c.i.id(), mt},
           {OptOp::Upcast, c.i.id(), rows},
           {OptOp::Stage, 1, 1},
           {OptOp::Stage, 2, 1}};
    for (const detail::JoinedAxis* axis : {&c.i, &c.j, &c.k})
      for (usize n = axis->ids.size(); n-- > 1;)
        p.push_back({OptOp::Join, axis->id(), axis->ids[n - 1]});
    for (const detail::JoinedAxis* axis : {&c.i, &c.j})
      if (pick(2)) p.push_back({OptOp::Thread, axis->id(), 1 + pick(4)});
    windows += detail::window_tile(info, c.a->index, *c.a, c.i, mt, c.k, kc).has_value();
    return p;
  }

  int windows = 0;  // plans whose A is a tile that windows slide over

 private:
  i64 pick(i64 n) { return static_cast<i64>(random_() % static_cast<u32>(n)); }

  // Of some the sum and what is made of it are stored, with memory of its own.
  Case finish(UOp to, UOp sum, std::initializer_list<UOp> ranges, std::vector<i64> counts) {
    const i64 count = counts[0];
    UOp out = k_.param(0, count);
    if (pick(3)) return {k_.store(out, to, sum, ranges), counts};
    counts.insert(counts.end(), 2, count);
    UOp moment = k_.load(k_.param(3, count), to);
    return {k_.store({{out, k_.mul(sum, moment)}, {k_.param(4, count), sum}}, to, ranges), counts};
  }

  // The place of an element, the last axis contiguous.
  UOp at(std::initializer_list<std::pair<UOp, i64>> axes) {
    UOp sum = k_.arena().index(0);
    for (const auto& [number, size] : axes) sum = k_.add(k_.mul(sum, size), number);
    return sum;
  }

  std::mt19937 random_;
  KernelBuilder k_;
};

// How many plans there were, and how many of them with windows.
struct Tried {
  int blocked = 0, windows = 0;
};

void run_one(u32 seed, Tried* tried) {
  RandomConvolution convolution(seed);
  const Case made = convolution.make();
  core::Arena arena, merged_arena;
  const Plan plan = convolution.plan(merged_info(made.ast, merged_arena));
  if (plan.empty()) return;
  ++tried->blocked, tried->windows += convolution.windows;
  const LinearProgram program = lower(made.ast, convolution_caps(), arena, {.plan = &plan});
  const BothOutputs outputs = run_both(made.ast, program, made.counts, seed);
  EXPECT_EQ(outputs.got, outputs.expected) << "seed " << seed << " plan " << print(plan) << "\n"
                                           << core::print(*made.ast.arena, made.ast.sink);
}

TEST(ConvolutionFuzz, RandomBlockings) {
  Tried tried;
  for (u32 seed = 1; seed <= 300; ++seed) {
    try {
      run_one(seed, &tried);
    } catch (const std::exception& e) {
      FAIL() << "seed " << seed << ": " << e.what();
    }
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GT(tried.blocked, 150);
  EXPECT_GT(tried.windows, 30);
}

}  // namespace
}  // namespace doorbell::codegen
