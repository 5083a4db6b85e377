// Sorting and what follows from it, einsum, resampling, against the standard library and loops.
#include <algorithm>
#include <numeric>

#include "tests/tensor/reference.h"

namespace doorbell::test {
namespace {

TEST(Sort, MatchesStableSort) {
  for (i64 length : {1, 2, 3, 8, 13, 40}) {
    SCOPED_TRACE(length);
    Array x = Array::noise({2, length}, 3);
    for (double& value : x.values) value = std::round(value * 6);  // with equals
    for (bool descending : {false, true}) {
      Array values{x.shape, {}}, places{x.shape, {}};
      for (i64 row = 0; row < 2; ++row) {
        std::vector<i64> order(static_cast<usize>(length));
        std::iota(order.begin(), order.end(), 0);
        std::stable_sort(order.begin(), order.end(), [&](i64 a, i64 b) {
          return descending ? x.at({row, a}) > x.at({row, b}) : x.at({row, a}) < x.at({row, b});
        });
        for (i64 i : order) {
          values.values.push_back(x.at({row, i}));
          places.values.push_back(static_cast<double>(i));
        }
      }
      const Picked sorted = x.tensor().sort(-1, descending);
      expect_exact(sorted.values, values);
      expect_exact(sorted.indices, places);
    }
  }
}

TEST(Sort, OtherAxesDtypesAndNaN) {
  expect_values(Tensor::of({{3, 1}, {2, 5}, {1, 4}}).sort(0).values, {1, 1, 2, 4, 3, 5});
  expect_values(Tensor::of({200, 3, 255, 0}, {.dtype = dtypes::u8}).sort().values,
                {0, 3, 200, 255});
  const Tensor odd = Tensor::from_data(std::vector<float>{NAN, INFINITY, -INFINITY, 1, NAN}, {5});
  expect_values(odd.sort().values, {-INFINITY, 1, INFINITY, NAN, NAN});
  expect_values(odd.sort().indices, {2, 3, 1, 0, 4});
  expect_values(odd.sort(0, true).indices, {0, 4, 1, 3, 2});
  expect_values(Tensor::of({true, false, true}).sort().values, {0, 1, 1});
  expect_values(Tensor::zeros({0}).sort().values, {});
}

TEST(Sort, TopKAndPermutations) {
  const Tensor x = Tensor::of({5.0, 1.0, 9.0, 3.0});
  const Picked top = x.topk(2);
  expect_values(top.values, {9, 5});
  expect_values(top.indices, {2, 0});
  expect_values(x.topk(1, 0, false).values, {1});
  EXPECT_EQ(message_of([&] { x.topk(5); }), "top 5 of axis -1 of shape (4)");
  Tensor::manual_seed(1);
  std::vector<int> order = Tensor::randperm(50).to_vector<int>();
  EXPECT_FALSE(std::is_sorted(order.begin(), order.end()));
  std::sort(order.begin(), order.end());
  for (int i = 0; i < 50; ++i) EXPECT_EQ(order[static_cast<usize>(i)], i);
}

TEST(Sort, MaskedSelect) {
  const Tensor x = Tensor::of({{1.0, 2.0}, {3.0, 4.0}});
  expect_values(x.masked_select(x > 1.5, 3), {2, 3, 4});
  expect_values(x.masked_select(x > 1.5, 5, -1), {2, 3, 4, -1, -1});
  expect_values(x.masked_select(x > 1.5, 2), {2, 3});
}

TEST(Einsum, MatchesLoops) {
  const Array a = Array::noise({2, 3}, 1), b = Array::noise({3, 4}, 2), s = Array::noise({3, 3}, 3);
  expect_close(Tensor::einsum("ij,jk->ki", {a.tensor(), b.tensor()}),
               Array::make({4, 2}, [&](auto& at) {
                 double sum = 0;
                 for (i64 j = 0; j < 3; ++j) sum += a.at({at[1], j}) * b.at({j, at[0]});
                 return sum;
               }));
  expect_close(Tensor::einsum("ii->i", {s.tensor()}),
               Array::make({3}, [&](auto& at) { return s.at({at[0], at[0]}); }));
  expect_close(Tensor::einsum("ii", {s.tensor()}),
               {{}, {s.at({0, 0}) + s.at({1, 1}) + s.at({2, 2})}});
  expect_close(Tensor::einsum("ba", {a.tensor()}),
               Array::make({3, 2}, [&](auto& at) { return a.at({at[1], at[0]}); }));
  expect_close(Tensor::einsum("ij, jk, ik ->", {a.tensor(), b.tensor(), Tensor::ones({2, 4})}),
               {{}, {[&] {
                  double sum = 0;
                  for (i64 i = 0; i < 2; ++i)
                    for (i64 j = 0; j < 3; ++j)
                      for (i64 k = 0; k < 4; ++k) sum += a.at({i, j}) * b.at({j, k});
                  return sum;
                }()}});
  EXPECT_EQ(message_of([&] { Tensor::einsum("ij,ij", {a.tensor(), b.tensor()}); }),
            "einsum \"ij,ij\": axis i has sizes 2 and 3");
  EXPECT_EQ(message_of([&] { Tensor::einsum("ij->z", {a.tensor()}); }),
            "einsum \"ij->z\": the result names an axis that no operand has, or one twice");
  EXPECT_EQ(message_of([&] { Tensor::einsum("i.j", {a.tensor()}); }),
            "einsum \"i.j\": expected letters, commas, ... and one ->");
}

TEST(Resample, PadsFromInside) {
  const Tensor x = Tensor::of({1, 2, 3, 4});
  expect_values(x.pad({{2, 3}}, {.mode = PadMode::Reflect}), {3, 2, 1, 2, 3, 4, 3, 2, 1});
  expect_values(x.pad({{2, 1}}, {.mode = PadMode::Replicate}), {1, 1, 1, 2, 3, 4, 4});
  expect_values(x.pad({{1, 4}}, {.mode = PadMode::Circular}), {4, 1, 2, 3, 4, 1, 2, 3, 4});
  EXPECT_EQ(message_of([&] { x.pad({{4, 0}}, {.mode = PadMode::Reflect}); }),
            "padding of 4 and 0 from inside axis 0 of shape (4)");
}

TEST(Resample, WindowsAndGrids) {
  const Array x = Array::noise({2, 7, 3}, 1);
  expect_exact(x.tensor().unfold(1, 3, 2), Array::make({2, 3, 3, 3}, [&](const Place& at) {
                 return x.at({at[0], at[1] * 2 + at[3], at[2]});
               }));
  const std::vector<Tensor> grid = meshgrid({Tensor::of({1, 2}), Tensor::of({3, 4, 5})});
  expect_values(grid[0], {1, 1, 1, 2, 2, 2});
  expect_values(grid[1], {3, 4, 5, 3, 4, 5});
}

// Expected values are PyTorch's torch.nn.functional.interpolate.
TEST(Resample, Interpolates) {
  const Tensor x = Tensor::of({1.0, 2.0, 3.0, 4.0}).reshape({1, 1, 4});
  expect_values(x.interpolate({8}, {.mode = Resample::Linear}),
                {1, 1.25, 1.75, 2.25, 2.75, 3.25, 3.75, 4});
  expect_values(x.interpolate({7}, {.mode = Resample::Linear, .align_corners = true}),
                {1, 1.5, 2, 2.5, 3, 3.5, 4});
  expect_values(x.interpolate({6}), {1, 1, 2, 3, 3, 4});
  expect_values(x.interpolate({2}, {.mode = Resample::NearestExact}), {2, 4});
  expect_values(
      Tensor::of({{1.0, 2.0}, {3.0, 4.0}}).interpolate({4, 2}, {.mode = Resample::Linear}),
      {1, 2, 1.5, 2.5, 2.5, 3.5, 3, 4});
  const Tensor wide =
      Tensor::of({0.0, 1.0}, {.dtype = dtypes::f64}).interpolate({7}, {.mode = Resample::Linear});
  EXPECT_NEAR(wide.to_vector<double>()[2], 3 / 14.0, 1e-15);
}

// PyTorch's: rounded after each axis, the last first, halves up, and held within the range.
TEST(Resample, RoundsIntegers) {
  const Tensor x = Tensor::of({{0, 255, 7}, {9, 100, 251}}, {.dtype = dtypes::u8});
  const auto to = [&](Resample mode, bool align) {
    return x.interpolate({3, 5}, {.mode = mode, .align_corners = align});
  };
  expect_values(to(Resample::Linear, false),
                {0, 102, 255, 106, 7, 5, 74, 178, 149, 129, 9, 45, 100, 191, 251});
  expect_values(to(Resample::Linear, true),
                {0, 128, 255, 131, 7, 5, 92, 178, 154, 129, 9, 55, 100, 176, 251});
  expect_values(to(Resample::Bicubic, false),
                {0, 124, 255, 115, 0, 0, 75, 178, 161, 128, 0, 26, 87, 206, 255});
  expect_values(to(Resample::Bicubic, true),
                {0, 151, 255, 155, 7, 5, 96, 178, 170, 129, 9, 40, 100, 184, 251});
  // Where PyTorch has no integers: means and signed integers are rounded likewise.
  expect_values(x.interpolate({1, 2}, {.mode = Resample::Area}), {91, 153});
  const Tensor signed_x = Tensor::of({-7, -4, 3, 8});
  expect_values(signed_x.interpolate({8}, {.mode = Resample::Linear}),
                {-7, -6, -5, -2, 1, 4, 7, 8});
  expect_values(signed_x.interpolate({2}, {.mode = Resample::Area}), {-5, 6});
}

TEST(ScatterReduce, CombinesWhatMeets) {
  const Tensor x = Tensor::of({1.0, 2.0, 3.0}), index = Tensor::of({0, 0, 2}),
               src = Tensor::of({5.0, -1.0, 4.0});
  const auto run = [&](Combine combine, bool self) {
    return x.scatter_reduce(0, index, src, combine, self);
  };
  expect_values(run(Combine::Sum, true), {5, 2, 7});
  expect_values(run(Combine::Sum, false), {4, 2, 4});
  expect_values(run(Combine::Product, true), {-5, 2, 12});
  expect_values(run(Combine::Max, true), {5, 2, 4});
  expect_values(run(Combine::Min, false), {-1, 2, 4});
  expect_values(run(Combine::Mean, true), {5.0 / 3, 2, 3.5});
  expect_values(run(Combine::Mean, false), {2, 2, 4});
}

TEST(Normalize, ByAnyNorm) {
  const Tensor x = Tensor::of({{3.0, 4.0}, {0.0, 0.0}});
  expect_values(x.normalize(), {0.6, 0.8, 0, 0});
  expect_values(x.normalize(1), {3.0 / 7, 4.0 / 7, 0, 0});
}

}  // namespace
}  // namespace doorbell::test
