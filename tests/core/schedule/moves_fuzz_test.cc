// Random chains of movement ops, arithmetic and reductions, scheduled, run and compared with the
// reference. The scheduler's index arithmetic is all in here.
#include <random>

#include <gtest/gtest.h>

#include "tests/core/schedule/tensor_reference.h"

namespace doorbell::core {
namespace {
using namespace test;  // NOLINT

class Chain {
 public:
  explicit Chain(u32 seed) : random_(seed) {}

  // The newest value, and two older ones.
  std::vector<UOpRef> make() {
    std::vector<UOpRef> values{buffer(random_shape())};
    int steps = number(3, 12);
    for (int i = 0; i < steps; ++i) {
      // Mostly the newest value, so that chains are deep; sometimes an older one is read again.
      UOpRef from =
          number(0, 3) > 0 ? values.back() : values[usize(number(0, int(values.size()) - 1))];
      values.push_back(step(from, values));
    }
    return {values.back(), values[values.size() / 2 + 1], values[values.size() / 2]};
  }

 private:
  int number(int least, int most) {
    return std::uniform_int_distribution<int>(least, most)(random_);
  }
  i64 size_of(const Sizes& shape) {
    i64 count = 1;
    for (i64 s : shape) count *= s;
    return count;
  }
  Sizes random_shape() {
    Sizes shape;
    for (int rank = number(1, 4); rank > 0; --rank) shape.push_back(number(1, 5));
    return shape;
  }

  UOpRef step(const UOpRef& a, const std::vector<UOpRef>& values) {
    Sizes shape = shape_of(*a);
    usize rank = shape.size();
    switch (number(0, 10)) {
      case 0:
      case 1: return reshape(a, refactored(size_of(shape)));
      case 2: return permute(a, shuffled(rank));
      case 3: return flip(a, number(0, (1 << rank) - 1));
      case 4: {
        if (size_of(shape) > 200) return flip(a, 1);
        std::vector<std::pair<i64, i64>> around;
        for (usize i = 0; i < rank; ++i) around.emplace_back(number(0, 2), number(0, 2));
        return pad(a, around);
      }
      case 5:
      case 6: {
        std::vector<std::pair<i64, i64>> windows;
        for (i64 s : shape) {
          i64 start = number(0, int(s) - 1);
          windows.emplace_back(start, number(int(start) + 1, int(s)));
        }
        return shrink(a, windows);
      }
      case 7: {
        if (size_of(shape) > 200 || rank > 5) return flip(a, 1);
        for (i64& s : shape) {
          if (s == 1) s = number(1, 3);
        }
        if (number(0, 1)) shape.insert(shape.begin(), number(1, 3));
        return expand(a, shape);
      }
      case 8: {
        // 1 is a padding value that a gated load could not produce.
        return add(a, constant(1));
      }
      case 9:
        return number(0, 1) ? sum(a, number(1, (1 << rank) - 1))
                            : reduce(Op::Max, a, number(1, (1 << rank) - 1));
      default: {
        // With another value of the same shape, or with itself moved.
        for (const UOpRef& v : values) {
          if (number(0, 1) && shape_of(*v) == shape) return binary(Op::Sub, a, v);
        }
        return binary(Op::Max, a, flip(a, number(0, (1 << rank) - 1)));
      }
    }
  }

  Sizes shuffled(usize rank) {
    Sizes order;
    for (usize i = 0; i < rank; ++i) order.push_back(static_cast<i64>(i));
    std::shuffle(order.begin(), order.end(), random_);
    return order;
  }

  // `count` as a product of sizes, in random order, with a few ones.
  Sizes refactored(i64 count) {
    Sizes shape;
    for (i64 prime = 2; count > 1; ++prime) {
      for (; count % prime == 0; count /= prime) {
        if (!shape.empty() && number(0, 1))
          shape[usize(number(0, int(shape.size()) - 1))] *= prime;
        else
          shape.push_back(prime);
      }
    }
    if (shape.empty() || number(0, 2) == 0) shape.push_back(1);
    while (shape.size() > 6) {
      shape[0] *= shape.back();
      shape.pop_back();
    }
    std::shuffle(shape.begin(), shape.end(), random_);
    return shape;
  }

  std::mt19937 random_;
};

void check(std::span<const UOpRef> roots, const ScheduleOptions& options) {
  Scheduled got = schedule_and_run(roots, options);
  ASSERT_EQ(got.outputs.size(), roots.size());
  for (usize i = 0; i < roots.size(); ++i) expect_equal(got.outputs[i], reference(*roots[i]));
}

void check_seed(u32 seed) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::vector<UOpRef> roots = Chain(seed).make();
  for (const UOpRef& root : roots) {
    i64 count = 1;
    for (i64 s : shape_of(*root)) count *= s;
    if (count > 5000) return;
  }
  // A small limit makes cuts, a large one deep fusion.
  ScheduleOptions small, rows;
  small.max_ops = 3;
  small.max_buffers = 4;
  rows.fuse_rows = true;
  check(std::span(roots).first(1), {});
  check(roots, {});
  check(roots, rows);
  check(roots, small);
}

TEST(MovesFuzz, ChainsComputeWhatTheReferenceComputes) {
  for (u32 seed = 1; seed <= 500; ++seed) {
    check_seed(seed);
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace doorbell::core
