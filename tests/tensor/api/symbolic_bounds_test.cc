// Sizes that are bound at run time where they may leave a tensor: slices are clipped, indices,
// windows and padding checked, in each call. Expected values are those of the same numbers, which
// tests/python/test_symbolic.py compares with NumPy.
#include <gtest/gtest.h>

#include "runtime/doorbell.h"
#include "tensor/api/bound_size.h"
#include "tests/tensor/examples.h"
#include "tests/tensor/reference.h"

namespace doorbell::test {
namespace {

Slice to(const Size& size) { return Slice(0, size); }
std::vector<int> ints(const Tensor& x) { return x.to_vector<int>(); }

TEST(Symbolic, SlicesAreClipped) {
  const Variable n("symbolic_n", 0, 9), m("symbolic_m", 0, 9);
  const Tensor x = Tensor::arange(6);
  for (i64 i = 0; i <= 9; ++i) {
    SCOPED_TRACE(i);
    const Size a = n.bind(i);
    const std::pair<Slice, Slice> slices[] = {
        {Slice(a), Slice(i)},
        {Slice(a, None), Slice(i, None)},
        {Slice(a, a + 2), Slice(i, i + 2)},
        {Slice(a - 2, None), Slice(i - 2, None)},  // below 0 from the end
        {Slice(a - 8, a - 3), Slice(i - 8, i - 3)},
        {Slice(0 - a, None), Slice(-i, None)},
        {Slice(2, a), Slice(2, i)},
        {Slice(a, 4), Slice(i, 4)},
    };
    for (usize at = 0; at < std::size(slices); ++at) {
      SCOPED_TRACE(at);
      EXPECT_EQ(ints(x[{slices[at].first}]), ints(x[{slices[at].second}]));
    }
    for (i64 j = 0; j <= 9; ++j)
      EXPECT_EQ(ints(x[{Slice(a, m.bind(j))}]), ints(x[{Slice(i, j)}])) << i << ":" << j;
  }
}

TEST(Symbolic, SlicesOfASymbolicSizeAreClipped) {
  const Variable n("symbolic_n", 0, 6);
  for (i64 i = 0; i <= 6; ++i) {
    SCOPED_TRACE(i);
    const Tensor part = Tensor::arange(6)[to(n.bind(i))], plain = Tensor::arange(6)[to(i)];
    for (const Slice& slice : {Slice(2, None), Slice(-2, None), Slice(None, -1), Slice(1, 9),
                               Slice(-3, -1), Slice(None, None, -1)})
      EXPECT_EQ(ints(part[{slice}]), ints(plain[{slice}]));
  }
  EXPECT_EQ(thrown([&] { Tensor::arange(6)[to(n.bind(3))][{Slice(None, None, 2)}]; }),
            "symbolic slice with a step");
}

TEST(Symbolic, AssignmentThroughAClippedSlice) {
  const Variable n("symbolic_n", 0, 9);
  for (const i64 i : {0, 3, 5, 9}) {
    Tensor x = Tensor::arange(6), plain = Tensor::arange(6);
    x[{Slice(n.bind(i), n.bind(i) + 2)}] = 7;
    plain[{Slice(i, i + 2)}] = 7;
    EXPECT_EQ(ints(x), ints(plain));
  }
}

TEST(Symbolic, IndicesAndWindowsOutsideThrow) {
  const Variable n("symbolic_n", 0, 6);
  const Tensor x = Tensor::arange(6);
  EXPECT_EQ(x[n.bind(5)].item<int>(), 5);
  EXPECT_EQ(x[n.bind(4) - 6].item<int>(), 4);
  EXPECT_EQ(thrown([&] { x[n.bind(6)]; }),
            "index symbolic_n of axis 0 of shape (6): symbolic_n (6 now) is more than 5");
  const Tensor part = x[to(n.bind(4))];
  EXPECT_EQ(part[-4].item<int>(), 0);
  EXPECT_EQ(thrown([&] { part[4]; }),
            "index 4 of axis 0 of shape (symbolic_n): 4 is more than <-1..5> (3 now)");
  EXPECT_EQ(thrown([&] { part[-5]; }),
            "index -5 of axis 0 of shape (symbolic_n): 0 is more than <-5..1> (-1 now)");
  EXPECT_EQ(ints(x.shrink({{2, n.bind(6)}})), (std::vector<int>{2, 3, 4, 5}));
  EXPECT_EQ(thrown([&] { x.shrink({{2, n.bind(1)}}); }),
            "window 2:symbolic_n of axis 0 of shape (6): 2 is more than symbolic_n (1 now)");
  EXPECT_EQ(thrown([&] { part.shrink({{0, 5}}); }),
            "window 0:5 of axis 0 of shape (symbolic_n): 5 is more than symbolic_n (4 now)");
}

TEST(Symbolic, Pads) {
  const Variable n("symbolic_n", 0, 6);
  const Tensor x = Tensor::arange(1, 4);
  for (i64 i = 0; i <= 6; ++i) {
    SCOPED_TRACE(i);
    const Size a = n.bind(i);
    EXPECT_EQ(ints(x.pad({{a, 1}})), ints(x.pad({{i, 1}})));
    EXPECT_EQ(ints(x.pad({{1, a}}, {.value = 9})), ints(x.pad({{1, i}}, {.value = 9})));
    EXPECT_EQ(ints(x.pad({{a, 6 - a}})), ints(x.pad({{i, 6 - i}})));
    const Tensor part = Tensor::arange(6)[to(a)];
    EXPECT_EQ(ints(part.pad({{0, 6 - a}})), ints(Tensor::arange(6)[to(i)].pad({{0, 6 - i}})));
    EXPECT_EQ(ints(part.pad_to({8}, 5)), ints(Tensor::arange(6)[to(i)].pad_to({8}, 5)));
    EXPECT_EQ(ints(x.pad_to({a + 3})), ints(x.pad_to({i + 3})));
  }
  EXPECT_EQ(thrown([&] { x.pad({{0, n.bind(1) - 2}}); }),
            "padding of <-2..4> at axis 0 of shape (3): 0 is more than <-2..4> (-1 now)");
  EXPECT_EQ(thrown([&] { x.pad_to({n.bind(2)}); }),
            "cannot pad shape (3) to (symbolic_n): 3 is more than symbolic_n (2 now)");
  EXPECT_EQ(thrown([&] { x.pad({{n.bind(1), 0}}, {.mode = PadMode::Reflect}); }),
            "size symbolic_n is symbolic, expected a constant");
}

TEST(Symbolic, SizesCompareWithNumbers) {
  const Variable n("symbolic_n", 1, 10), m("symbolic_m", 1, 10);
  const Size a = n.bind(4), b = m.bind(4);
  EXPECT_TRUE(a == 4 && 4 == a && a + 1 == 5u && a != 5 && Size(7) == 7);
  EXPECT_FALSE(a == 5 || a == ~u64{0} || a == -1);
  EXPECT_TRUE(a < 5 && a <= 4 && a > 3 && a >= 4 && 3 < a && a < 100 && a > 0);
  EXPECT_TRUE(a + 1 > a && a < m.bind(5) && a <= b && a >= b);
  // Two sizes are equal where they are for every value.
  EXPECT_FALSE(a == b || a < b || a > b);
  EXPECT_TRUE((a <=> b) == std::weak_ordering::equivalent);
  EXPECT_TRUE(Shape({a, 3}) == Shape({n.bind(4), 3}) && Shape({a, 3}) != Shape({4, 3}));
  const Size unbound = detail::without_bindings(a);
  EXPECT_TRUE(unbound != 4 && unbound < 11 && unbound > 0);
  EXPECT_EQ(thrown([&] { (void)(unbound < 5); }),
            "variable symbolic_n of size symbolic_n is bound to nothing");
}

// What was right for the sizes of the capture is looked at again in each call.
TEST(SymbolicJit, ClippedSlicesAndPads) {
  const Variable n("symbolic_n", 0, 9);
  const Tensor x = Tensor::arange(6).realize();
  auto f = jit([&](const Size& a) {
    return (x[{Slice(a, a + 3)}].sum() * 100 + x[{Slice(a - 4, None)}].sum()).reshape({1}) +
           x.pad({{a, 9 - a}}) * 10000;
  });
  for (const i64 i : {3, 5, 0, 9, 7, 4, 2}) {
    const Tensor expected =
        (x[{Slice(i, i + 3)}].sum() * 100 + x[{Slice(i - 4, None)}].sum()).reshape({1}) +
        x.pad({{i, 9 - i}}) * 10000;
    EXPECT_EQ(ints(f(n.bind(i))), ints(expected)) << i;
  }
}

TEST(SymbolicJit, IndicesOutsideThrowInEachCall) {
  const Variable n("symbolic_n", 0, 9);
  const Tensor x = Tensor::arange(6).realize();
  auto f = jit([&](const Size& a) {
    const Tensor element = x[a];
    return element + x.shrink({{a, a + 1}});
  });
  for (const i64 i : {1, 2, 3, 5}) EXPECT_EQ(f(n.bind(i)).item<int>(), 2 * i);
  EXPECT_TRUE(f.is_captured());
  EXPECT_EQ(thrown([&] { f(n.bind(7)); }),
            "index symbolic_n of axis 0 of shape (6): symbolic_n (7 now) is more than 5");
  EXPECT_EQ(f(n.bind(4)).item<int>(), 8);
}

}  // namespace
}  // namespace doorbell::test
