// Collectives of each process's own tensors, against what is computed from the ranks by hand.
#include "tests/dist/support.h"

namespace doorbell::test {
namespace {

i64 count() { return dist::world_size(); }

// {rank, rank + 1, rank + 2, ...}
Tensor own(i64 elements, DType dtype = dtypes::f32) {
  std::vector<f64> values;
  for (i64 i = 0; i < elements; ++i) values.push_back(static_cast<f64>(dist::rank() + i));
  return Tensor::from_data(values, {elements}).cast(dtype).contiguous();
}

TEST(Collectives, AllReduceOfEachDtype) {
  for (DType dtype : {dtypes::f32, dtypes::f64, dtypes::f16, dtypes::bf16, dtypes::i8, dtypes::u8,
                      dtypes::i16, dtypes::i32, dtypes::i64, dtypes::u64}) {
    const Tensor sum = dist::all_reduce(own(5, dtype));
    EXPECT_EQ(sum.dtype(), dtype);
    EXPECT_EQ(sum.device(), own(1).device());
    const f64 ranks = static_cast<f64>(count() * (count() - 1) / 2);
    const std::vector<f64> found = values_of(sum);
    for (i64 i = 0; i < 5; ++i)
      EXPECT_EQ(found[static_cast<usize>(i)], ranks + static_cast<f64>(count() * i)) << i;
  }
}

TEST(Collectives, AllReduceByOtherOps) {
  EXPECT_EQ(values_of(dist::all_reduce(own(2), dist::ReduceOp::Max)),
            (std::vector<f64>{count() - 1.0, static_cast<f64>(count())}));
  EXPECT_EQ(values_of(dist::all_reduce(own(2), dist::ReduceOp::Min)), (std::vector<f64>{0, 1}));
  f64 product = 1;
  for (i64 i = 0; i < count(); ++i) product *= static_cast<f64>(i + 1);
  EXPECT_EQ(values_of(dist::all_reduce(own(2), dist::ReduceOp::Product)),
            (std::vector<f64>{0, product}));
  EXPECT_EQ(values_of(dist::all_reduce(own(1), dist::ReduceOp::Mean))[0],
            static_cast<f64>(count() - 1) / 2);
}

// Bools combine as logic; a NaN of one process is everyone's.
TEST(Collectives, AllReduceOfBoolsAndNan) {
  const bool last = dist::rank() == count() - 1;
  const Tensor one =
      Tensor::from_data(std::vector<f64>{last ? 1.0 : 0.0, 1}, {2}).cast(dtypes::bool_);
  EXPECT_EQ(values_of(dist::all_reduce(one, dist::ReduceOp::Max)), (std::vector<f64>{1, 1}));
  const Tensor odd = Tensor::from_data(std::vector<f64>{last ? std::nan("") : 3.0}, {1});
  EXPECT_TRUE(std::isnan(values_of(dist::all_reduce(odd, dist::ReduceOp::Max))[0]));
}

// 4,000 sums of 2^-8 more: bf16 sums would lose all but the first few.
TEST(Collectives, NarrowFloatsAreSummedAsF32) {
  const Tensor x = Tensor::full({3}, dist::rank() == 0 ? 256.0 : 1.0, {.dtype = dtypes::bf16});
  const f64 exact = 256.0 + static_cast<f64>(count() - 1);
  const f64 rounded = values_of(Tensor::full({1}, exact, {.dtype = dtypes::bf16}))[0];
  EXPECT_EQ(values_of(dist::all_reduce(x)), std::vector<f64>(3, rounded));
}

TEST(Collectives, GatherScatterAndTranspose) {
  const Tensor all = dist::all_gather(own(3));
  ASSERT_EQ(all.shape().values(), (std::vector<i64>{count(), 3}));
  const std::vector<f64> found = values_of(all);
  for (i64 r = 0; r < count(); ++r)
    for (i64 i = 0; i < 3; ++i)
      EXPECT_EQ(found[static_cast<usize>(r * 3 + i)], static_cast<f64>(r + i));

  const Tensor part = dist::reduce_scatter(own(2 * count()));
  const f64 ranks = static_cast<f64>(count() * (count() - 1) / 2);
  for (i64 i = 0; i < 2; ++i)
    EXPECT_EQ(values_of(part)[static_cast<usize>(i)],
              ranks + static_cast<f64>(count() * (2 * dist::rank() + i)));

  const Tensor column = dist::all_to_all(own(count()));
  for (i64 r = 0; r < count(); ++r)
    EXPECT_EQ(values_of(column)[static_cast<usize>(r)], static_cast<f64>(r + dist::rank()));
}

TEST(Collectives, BroadcastFromEach) {
  for (int from = 0; from < dist::world_size(); ++from)
    EXPECT_EQ(values_of(dist::broadcast(own(2), from)),
              (std::vector<f64>{static_cast<f64>(from), from + 1.0}));
}

TEST(Collectives, SendAndReceive) {
  if (dist::world_size() < 2) return;
  const i64 large = (i64{16} << 20) / 4 + 5;  // more than one message
  for (const i64 elements : {i64{3}, large}) {
    if (dist::rank() == 0) dist::send(Tensor::arange(elements, {.dtype = dtypes::f32}), 1);
    if (dist::rank() == 1) {
      const Tensor got = dist::recv({elements}, 0);
      EXPECT_EQ(got[elements - 1].item<f32>(), static_cast<f32>(elements - 1));
    }
  }
  dist::barrier();
}

TEST(Collectives, GradientsGoBack) {
  Tensor x = own(4).requires_grad();
  (dist::all_reduce(x) * Tensor::arange(4, {.dtype = dtypes::f32})).sum().backward();
  EXPECT_EQ(values_of(x.grad()), (std::vector<f64>{0, 1, 2, 3}));
}

TEST(Collectives, RefusesWhatMeansNothing) {
  const auto message = [](auto run) {
    try {
      run();
    } catch (const Error& error) {
      return error.message;
    }
    return std::string("no error");
  };
  const std::string last = std::to_string(count() - 1);
  EXPECT_EQ(message([] { dist::broadcast(own(1), 99); }), "rank 99: ranks are 0 to " + last);
  EXPECT_EQ(message([] { own(1).to("CPU@99"); }), "device 'CPU@99': ranks are 0 to " + last);
  EXPECT_EQ(message([] { dist::send(own(1), dist::rank()); }),
            "rank " + std::to_string(dist::rank()) + " is this process itself");
  if (count() > 1) {
    EXPECT_EQ(message([] { dist::to_local(own(1)); }),
              "a tensor of shape (1) on " + own(1).device() + " has no part in this process");
  }
}

}  // namespace
}  // namespace doorbell::test
