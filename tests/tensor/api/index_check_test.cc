// The setting CHECK_INDEX at every entry: what it refuses, and what it lets through as before.
#include <functional>

#include "core/util/config.h"
#include "runtime/doorbell.h"
#include "tests/tensor/reference.h"

namespace doorbell::test {
namespace {

const core::Overrides kChecked{.check_index = true};

bool runs() { return Tensor::zeros({1}).contiguous().realize().device() != "NULL"; }

Tensor wide(i64 index) { return Tensor::full({1}, index, {.dtype = dtypes::i64}); }

struct Case {
  const char* name;
  std::function<Tensor(const Tensor& index)> run;  // index of shape (1)
  i64 lowest, size, axis;
};

std::vector<Case> cases() {
  const Tensor x = Tensor::arange(12).reshape({3, 4}).float_();
  const Tensor row = x[{Slice(0, 1)}];
  auto assigned = [x](const std::vector<Index>& indices) {
    Tensor y = x.clone();
    y.set_at(indices, 1);
    return y;
  };
  return {
      {"x[index]", [=](const Tensor& i) { return x[i]; }, -3, 3, 0},
      {"x[:, index]", [=](const Tensor& i) { return x[{Slice(), i}]; }, -4, 4, 1},
      {"x[None, 1, index]", [=](const Tensor& i) { return x[{None, 1, i}]; }, -4, 4, 1},
      {"x[2, index]", [=](const Tensor& i) { return x[{Tensor::of({2}), i}]; }, -4, 4, 1},
      {"x[index, 0]", [=](const Tensor& i) { return x[{i, Tensor::of({0})}]; }, -3, 3, 0},
      {"x[index] = 1", [=](const Tensor& i) { return assigned({i}); }, -3, 3, 0},
      {"x[1:, i] = 1", [=](const Tensor& i) { return assigned({Slice(1, None), i}); }, -4, 4, 1},
      {"gather", [=](const Tensor& i) { return x.gather(1, i.reshape({1, 1})); }, 0, 4, 1},
      {"gather -2", [=](const Tensor& i) { return x.gather(-2, i.reshape({1, 1})); }, 0, 3, 0},
      {"scatter", [=](const Tensor& i) { return x.scatter(0, i.reshape({1, 1}), 7); }, 0, 3, 0},
      {"scatter add",
       [=](const Tensor& i) { return x.scatter(0, i.reshape({1, 1}), 7, Combine::Sum); }, 0, 3, 0},
      {"scatter_add", [=](const Tensor& i) { return x.scatter_add(1, i.reshape({1, 1}), row); }, 0,
       4, 1},
      {"scatter_reduce",
       [=](const Tensor& i) {
         return x.scatter_reduce(1, i.reshape({1, 1}), row, Combine::Max, false);
       },
       0, 4, 1},
      {"one_hot", [](const Tensor& i) { return i.one_hot(5); }, 0, 5, 1},
      {"max_unpool2d",
       [](const Tensor& i) {
         return Tensor::ones({1, 1, 1, 1}).max_unpool2d(i.reshape({1, 1, 1, 1}));
       },
       0, 4, 2},
      {"Embedding", [](const Tensor& i) { return nn::Embedding(4, 2)(i); }, 0, 4, 0},
      {"cross_entropy", [=](const Tensor& i) { return row.cross_entropy(i); }, 0, 4, 1},
      {"nll_loss", [=](const Tensor& i) { return row.log_softmax().nll_loss(i); }, 0, 4, 1},
      {"sparse_categorical_crossentropy",
       [=](const Tensor& i) { return row.sparse_categorical_crossentropy(i); }, 0, 4, 1},
  };
}

TEST(IndexCheck, EveryEntryNamesIndexSizeAndAxis) {
  if (!runs()) GTEST_SKIP() << "NULL computes nothing";
  core::Context context(kChecked);
  for (const Case& entry : cases()) {
    for (const i64 index : {entry.lowest - 1, entry.size, i64{1} << 40, -(i64{1} << 40)}) {
      const std::string expected = "index " + std::to_string(index) + " is out of range for axis " +
                                   std::to_string(entry.axis) + " of size " +
                                   std::to_string(entry.size);
      EXPECT_EQ(message_of([&] { entry.run(wide(index)); }), expected) << entry.name;
    }
  }
}

TEST(IndexCheck, PlacesThatThereAreGiveWhatTheyGiveUnchecked) {
  if (!runs()) GTEST_SKIP() << "NULL computes nothing";
  for (const Case& entry : cases()) {
    if (std::string(entry.name) == "Embedding") continue;  // of other weights at each call
    for (const i64 index : {entry.lowest, entry.size - 1}) {
      const std::vector<float> plain = entry.run(wide(index)).float_().flatten().to_vector<float>();
      core::Context context(kChecked);
      EXPECT_EQ(entry.run(wide(index)).float_().flatten().to_vector<float>(), plain) << entry.name;
    }
  }
}

TEST(IndexCheck, IsOffByDefault) {
  for (const Case& entry : cases()) EXPECT_NO_THROW(entry.run(wide(entry.size))) << entry.name;
}

TEST(IndexCheck, AnyDtypeOfIntegers) {
  if (!runs()) GTEST_SKIP() << "NULL computes nothing";
  core::Context context(kChecked);
  const Tensor x = Tensor::arange(3);
  const std::vector<DType> all = {dtypes::i8, dtypes::i16, dtypes::i32, dtypes::i64,
                                  dtypes::u8, dtypes::u16, dtypes::u32, dtypes::u64};
  for (const DType dtype : all) {
    expect_values(x[Tensor::of({2, 0}, {.dtype = dtype})], {2, 0});
    EXPECT_EQ(message_of([&] { x[Tensor::of({0, 3, 1}, {.dtype = dtype})]; }),
              "index 3 is out of range for axis 0 of size 3");
  }
  const Tensor huge = Tensor::full({2}, Number(~u64{0}), {.dtype = dtypes::u64});
  EXPECT_EQ(message_of([&] { x[huge]; }),
            "index 18446744073709551615 is out of range for axis 0 of size 3");
}

TEST(IndexCheck, NoIndicesAreAllInRange) {
  core::Context context(kChecked);
  const Tensor none = Tensor::zeros({0}, {.dtype = dtypes::i32});
  EXPECT_EQ(Tensor::arange(3)[none].shape(), Shape({0}));
  EXPECT_EQ(Tensor::zeros({0, 2})[none].shape(), Shape({0, 2}));
  EXPECT_EQ(Tensor::arange(3).gather(0, none).shape(), Shape({0}));
  EXPECT_EQ(Tensor::arange(3).scatter(0, none, 7).shape(), Shape({3}));
}

TEST(IndexCheck, IgnoredLabelsMayBeAnything) {
  if (!runs()) GTEST_SKIP() << "NULL computes nothing";
  core::Context context(kChecked);
  const Tensor logits = Tensor::zeros({2, 2});
  const LossOptions ignoring{.ignore_index = -100};
  EXPECT_NEAR(logits.cross_entropy(Tensor::of({1, -100}), ignoring).item<float>(), 0.693147f, 1e-5);
  EXPECT_EQ(message_of([&] { logits.cross_entropy(Tensor::of({-1, -100}), ignoring); }),
            "index -1 is out of range for axis 1 of size 2");
  EXPECT_EQ(message_of([&] { logits.nll_loss(Tensor::of({-100, 2}), ignoring); }),
            "index 2 is out of range for axis 1 of size 2");
}

// Each call is checked, the ones that would be replayed too, and one captured before.
TEST(IndexCheck, JittedFunctionsAreCheckedAtEachCall) {
  if (!runs()) GTEST_SKIP() << "NULL computes nothing";
  const Tensor x = Tensor::arange(3);
  auto pick = jit([&](const Tensor& index) { return x[index]; });
  const Tensor inside = Tensor::of({2}), outside = Tensor::of({3});
  {
    core::Context context(kChecked);
    for (int i = 0; i < 3; ++i) {
      expect_values(pick(inside), {2});
      EXPECT_EQ(message_of([&] { pick(outside); }), "index 3 is out of range for axis 0 of size 3");
    }
    EXPECT_FALSE(pick.is_captured());
  }
  for (int i = 0; i < 3; ++i) expect_values(pick(outside), {0});
  EXPECT_TRUE(pick.is_captured());
  core::Context context(kChecked);
  EXPECT_EQ(message_of([&] { pick(outside); }), "index 3 is out of range for axis 0 of size 3");
  expect_values(pick(inside), {2});
}

TEST(IndexCheck, IndicesOnSeveralDevices) {
  core::Context context(kChecked);
  const Tensor labels = Tensor::of({0, 1, 2, 1}, {.device = "CPU"}).shard({"CPU", "CPU:1"}, 0);
  const Tensor logits = Tensor::zeros({4, 2}, {.device = "CPU"}).shard({"CPU", "CPU:1"}, 0);
  EXPECT_EQ(message_of([&] { logits.cross_entropy(labels); }),
            "index 2 is out of range for axis 1 of size 2");
}

TEST(IndexCheck, NothingIsCheckedWhereNothingRuns) {
  core::Context context(kChecked);
  const Tensor x = Tensor::arange(3).to("NULL"), index = Tensor::of({9}).to("NULL");
  EXPECT_EQ(x[index].shape(), Shape({1}));
}

}  // namespace
}  // namespace doorbell::test
