// Tensors on several devices: every kind of operation on parts and copies gives what it gives on
// one device.
#include <gtest/gtest.h>

#include <optional>
#include <span>

#include "core/device/counters.h"
#include "core/util/config.h"
#include "tests/tensor/reference.h"

namespace doorbell::test {
namespace {

const Devices kTwo{"CPU", "CPU:1"};
const Devices kFour{"CPU", "CPU:1", "CPU:2", "CPU:3"};

using Names = std::vector<std::string>;

Tensor noise(std::vector<i64> shape, u32 seed) {
  return Array::noise(std::move(shape), seed).tensor();
}

// The same bits.
void expect_same(const Tensor& actual, const Tensor& expected) {
  ASSERT_EQ(actual.shape().str(), expected.shape().str());
  EXPECT_EQ(actual.to_bytes(), expected.to_bytes());
}

struct Work {
  i64 kernels, copies;
  bool operator==(const Work&) const = default;
};
template <class Run>
Work work_of(Run run) {
  const i64 kernels = core::counters.kernels, copies = core::counters.copies;
  run();
  return {core::counters.kernels - kernels, core::counters.copies - copies};
}

TEST(Multi, SaysWhereItIs) {
  const Tensor x = noise({4, 6}, 1);
  EXPECT_EQ(x.devices(), (Names{"CPU"}));
  EXPECT_EQ(x.shard_axis(), std::nullopt);
  const Tensor copies = x.to(kTwo);
  EXPECT_EQ(copies.device(), "CPU,CPU:1");
  EXPECT_EQ(copies.devices(), (Names{"CPU", "CPU:1"}));
  EXPECT_EQ(copies.shard_axis(), std::nullopt);
  const Tensor rows = x.shard(kFour, 0), columns = x.shard(kTwo, -1);
  EXPECT_EQ(rows.shard_axis(), 0);
  EXPECT_EQ(columns.shard_axis(), 1);
  EXPECT_EQ(rows.shape().str(), "(4, 6)");
  for (const Tensor& y : {copies, rows, columns}) expect_same(y, x);
  EXPECT_EQ(rows.str(), x.str());
}

TEST(Multi, RefusesWhatCannotBeShared) {
  const Tensor x = noise({5, 4}, 1);
  EXPECT_EQ(message_of([&] { x.shard(kTwo, 0); }),
            "axis 0 of shape (5, 4) has 5 elements, which 2 devices cannot share evenly");
  EXPECT_EQ(message_of([&] { x.shard(kTwo, 2); }), "axis 2 of a tensor with 2 axes");
  EXPECT_EQ(message_of([&] { x.shard({"CPU:1", "CPU:1"}, 1); }), "device CPU:1 is named twice");
  const Tensor halves = x.shard(kTwo, 1);
  EXPECT_EQ(message_of([&] { x + halves; }),
            "tensors are on devices CPU and CPU,CPU:1; move one with to() or shard_like()");
  EXPECT_EQ(message_of([&] { noise({5, 4}, 1).shard(kFour, 1) + halves; }),
            "tensors are on devices CPU,CPU:1,CPU:2,CPU:3 and CPU,CPU:1; move one with to() or "
            "shard_like()");
  EXPECT_EQ(message_of([&] { doorbell::where(Tensor::full({}, 1) == 1, x, halves); }),
            "tensors are on devices CPU and CPU,CPU:1; move one with to() or shard_like()");
  EXPECT_EQ(message_of([&] { noise({4}, 1).shard_like(halves); }),
            "shape (4) cannot be split as shape (5, 4) is along axis 1");
}

TEST(Multi, MovesBetweenPlacements) {
  const Tensor x = noise({8, 4, 12}, 3);
  const auto lay = [](const Tensor& t, i64 how) {
    if (how < 0) return t.to(kFour);
    return how < 3 ? t.shard(kFour, how) : t.to("CPU:2");
  };
  for (i64 from = -1; from < 4; ++from) {
    for (i64 to = -1; to < 4; ++to) {
      SCOPED_TRACE(std::to_string(from) + " to " + std::to_string(to));
      Tensor first = lay(x, from);
      first.realize();
      expect_same(lay(first, to), x);
      expect_same(lay(lay(x * 2, from) * 3, to), x * 2 * 3);
    }
  }
  const Tensor other = x.shard(kTwo, 2).shard({"CPU:3", "CPU:2"}, 0);
  EXPECT_EQ(other.devices(), (Names{"CPU:3", "CPU:2"}));
  expect_same(other.shard_like(x.shard(kFour, 1)), x);
}

// ---- every kind of operation, on x (8, 4, 12) and y (8, 4, 12)

struct Case {
  const char* name;
  Tensor (*run)(const Tensor& x, const Tensor& y);
};
#define CASE(expression) \
  {#expression,          \
   [](const Tensor& x, [[maybe_unused]] const Tensor& y) -> Tensor { return expression; }}

const Case kElementwise[] = {
    CASE(x + y),
    CASE(x * 2 - y / 3),
    CASE(doorbell::where(x < y, x, 0.5)),
    CASE((x * 8).cast(dtypes::i32).mod(5)),
    CASE(x.exp2().cast(dtypes::f16)),
    CASE(x.bitcast(dtypes::u32) ^ y.bitcast(dtypes::u32)),
    CASE(x.relu() + y.detach().sigmoid()),
    CASE(x + Tensor::arange(12) * 0.25),
    CASE(x* Tensor::arange(8).reshape({8, 1, 1})),
    CASE(x + y.sum(0, {.keepdim = true})),
    CASE(x.contiguous() * y.contiguous()),
    CASE(x.maximum(y).clone()),
    CASE(Tensor::rand({8, 4, 12}).full_like(3) + x),
};

const Case kReductions[] = {
    CASE(x.sum()),
    CASE(x.sum(0) + 1),
    CASE(x.sum(1)),
    CASE(x.sum({0, 2})),
    CASE(x.max(0, {.keepdim = true}) - y.min(0, {.keepdim = true})),
    CASE(x.max(2)),
    CASE((x + 2).prod(1)),
    CASE(((x + 2) * 0.5).prod(0)),
    CASE((x > 0.9).any(0)),
    CASE((x > -0.9).all({0, 1})),
    CASE(x.mean(0)),
    CASE(x.var({0, 2})),
    CASE(x.softmax(0)),
    CASE(x.softmax(2)),
    CASE(x.log_softmax(1)),
    CASE(x.argmax(0)),
    CASE(x.argmin(2)),
    CASE(x.cumsum(0)),
    CASE(x.cumsum(1)),
    CASE(x.logsumexp(0)),
    CASE(x.cast(dtypes::f16).sum({0, 1})),
};

const Case kMovements[] = {
    CASE(x.reshape({32, 12})),
    CASE(x.reshape({8, 48})),
    CASE(x.reshape({4, 2, 4, 12})),
    CASE(x.reshape({8, 4, 4, 3})),
    CASE(x.reshape({-1})),
    CASE(x.reshape({96, 4})),
    CASE(x.reshape({1, 8, 2, 2, 12, 1})),
    CASE(x.permute({2, 0, 1})),
    CASE(x.transpose(0, 2) + 1),
    CASE(x.unsqueeze(0).expand({3, 8, 4, 12})),
    CASE(x.unsqueeze(2).expand({8, 4, 5, 12})),
    CASE(x.pad({{1, 3}, {0, 0}, {0, 0}})),
    CASE(x.pad({{0, 0}, {2, 2}, {1, 0}})),
    CASE(x.pad({{4, 4}, {0, 4}, {12, 0}}, {.value = 2})),
    CASE(x.pad({{1, 0}, {0, 0}, {0, 2}}, {.mode = PadMode::Reflect})),
    CASE((x[{Slice(2, 6)}])),
    CASE((x[{Slice(1, 4)}])),
    CASE((x[{Slice(), Slice(0, 2), Slice(3, 11)}])),
    CASE((x[{Slice(0, 4), Slice(1, 3), Slice(4, 12)}])),
    CASE((x[{3, Slice(), -1}])),
    CASE((x[{Slice(None, None, -1), Slice(None, None, 2)}])),
    CASE(x.flip(0)),
    CASE(x.flip({1, 2})),
    CASE(x.roll(3, 0)),
    CASE(x.roll(2, 2)),
    CASE(Tensor::cat({x, y}, 0)),
    CASE(Tensor::cat({x, y}, 1)),
    CASE(Tensor::stack({x, y}, 0)),
    CASE(x.repeat({2, 1, 1})),
    CASE(x.repeat_interleave(2, 0)),
    CASE(x.split(2, 0)[1]),
    CASE(x.unfold(2, 3, 3)),
    CASE(x.tril()),
};

const Case kProducts[] = {
    CASE(x.matmul(y.transpose(1, 2))),
    CASE(x.reshape({32, 12}).matmul(y.reshape({32, 12}).t())),
    CASE(x.reshape({32, 12}).t().matmul(y.reshape({32, 12}))),
    CASE(Tensor::einsum("abc,abd->cd", {x, y})),
    CASE(x.gather(0, (y * 3).abs().cast(dtypes::i32))),
    CASE(x.gather(2, (y * 3).abs().cast(dtypes::i32))),
    CASE(x.scatter_add(1, (y * 2).abs().cast(dtypes::i32), y)),
    CASE((x[(y.sum({1, 2}) * 2).abs().cast(dtypes::i32).mod(8)])),
    CASE(x.sort(0).values),
    CASE(x.sort(2).indices),
    CASE(x.unsqueeze(1).conv2d(y[{Slice(0, 1)}].reshape({2, 1, 2, 12}), {.padding = {1, 6}})),
    CASE(x.unsqueeze(1).max_pool2d({2, 2})),
    CASE(x.unsqueeze(0).avg_pool2d({2, 3})),
    CASE(x.layernorm(-1)),
    CASE(x.interpolate({8}, {.mode = Resample::Linear})),
    CASE(x.scaled_dot_product_attention(y, x, {.is_causal = true})),
    CASE(x.reshape({32, 12}).cross_entropy(y.reshape({32, 12}).softmax(1))),
    CASE(x.reshape({32, 12}).sparse_categorical_crossentropy(
        (y.reshape({32, 12}).sum(1) * 3).abs().cast(dtypes::i32).mod(12))),
};

// -1: a copy on each device; otherwise the axis.
std::optional<i64> axis_of(i64 how) { return how < 0 ? std::nullopt : std::optional<i64>(how); }

// All cases of a way to lay out x and y are one realisation: it is compiling that takes the time.
void expect_as_on_one_device(std::span<const Case> cases) {
  const Array a = Array::noise({8, 4, 12}, 7), b = Array::noise({8, 4, 12}, 8);
  std::vector<Tensor> expected;
  for (const Case& one : cases) expected.push_back(one.run(a.tensor(), b.tensor()));
  Tensor::realize(expected);
  constexpr i64 kWays[][2] = {{-1, -1}, {0, 0}, {1, 1}, {2, 2}, {0, -1}, {1, 2}};
  for (const auto& [x_axis, y_axis] : kWays) {
    SCOPED_TRACE("x along " + std::to_string(x_axis) + ", y along " + std::to_string(y_axis));
    const Tensor x = a.tensor().shard(kFour, axis_of(x_axis));
    const Tensor y = b.tensor().shard(kFour, axis_of(y_axis));
    std::vector<Tensor> results;
    for (const Case& one : cases) results.push_back(one.run(x, y));
    Tensor::realize(results);
    for (usize i = 0; i < cases.size(); ++i) {
      SCOPED_TRACE(cases[i].name);
      EXPECT_EQ(results[i].devices().size(), 4u);
      EXPECT_EQ(results[i].dtype(), expected[i].dtype());
      // Sums over devices add in another order; f16 keeps 11 bits.
      const f64 relative = expected[i].dtype() == dtypes::f16 ? 2e-3 : 1e-5;
      expect_close(results[i], {expected[i].shape().values(), expected[i].to_vector<double>()},
                   relative, 2e-6);
    }
  }
}

TEST(MultiOps, Elementwise) { expect_as_on_one_device(kElementwise); }
TEST(MultiOps, Reductions) { expect_as_on_one_device(kReductions); }
TEST(MultiOps, Movements) { expect_as_on_one_device(kMovements); }
TEST(MultiOps, Products) { expect_as_on_one_device(kProducts); }

}  // namespace
}  // namespace doorbell::test
