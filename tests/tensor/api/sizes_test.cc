// Sizes and numbers near 2^31, 2^32 and 2^63: right, or refused at the call with both values. What
// is huge here is never stored: views of a few elements, of which a few are read.
#include <cstdint>

#include "core/device/counters.h"
#include "tests/tensor/reference.h"

namespace doorbell::test {
namespace {

constexpr i64 k2to31 = i64{1} << 31, k2to32 = i64{1} << 32, k2to40 = i64{1} << 40;
constexpr u64 k2to63 = u64{1} << 63;

using Ints = std::vector<i64>;
using Unsigned = std::vector<u64>;

Tensor places(const Ints& at) { return Tensor::from_data(at, {static_cast<i64>(at.size())}); }
Ints read(const Tensor& x) { return x.to_vector<i64>(); }

TEST(Sizes, RangesCountBeyond32Bits) {
  const Tensor x = Tensor::arange(k2to31 + 3);
  EXPECT_EQ(x.dtype(), dtypes::i64);
  EXPECT_EQ(x.numel(), k2to31 + 3);
  EXPECT_EQ(x[k2to31 + 1].item<i64>(), k2to31 + 1);
  EXPECT_EQ(read(x[{Slice(-2, None)}]), (Ints{k2to31 + 1, k2to31 + 2}));
  const Tensor steps = Tensor::arange(-5, 3 * k2to40, 3);
  EXPECT_EQ(steps.numel(), k2to40 + 2);
  EXPECT_EQ(read(steps[{Slice(k2to40 - 1, None)}]),
            (Ints{3 * k2to40 - 8, 3 * k2to40 - 5, 3 * k2to40 - 2}));
  const Tensor down = Tensor::arange(k2to32, -1, -1);
  EXPECT_EQ(read(down[places({0, 1, k2to32})]), (Ints{k2to32, k2to32 - 1, 0}));
  EXPECT_EQ(read(Tensor::arange(INT64_MIN, INT64_MAX, i64{1} << 62)),
            (Ints{INT64_MIN, -(i64{1} << 62), 0, i64{1} << 62}));
}

TEST(Sizes, RangesOfUnsigned) {
  const Tensor x = Tensor::arange(k2to63 - 1, k2to63 + 2);
  EXPECT_EQ(x.dtype(), dtypes::u64);
  EXPECT_EQ(x.to_vector<u64>(), (Unsigned{k2to63 - 1, k2to63, k2to63 + 1}));
  EXPECT_EQ(Tensor::arange(~u64{0}, ~u64{0} - 4, -2).to_vector<u64>(),
            (Unsigned{~u64{0}, ~u64{0} - 2}));
}

// NumPy's and PyTorch's values.
TEST(Sizes, RangesOfDoublesAreComputedInDoubles) {
  const TensorOptions f64s{.dtype = dtypes::f64};
  EXPECT_EQ(Tensor::linspace(0.1, 1, 2, f64s).to_vector<double>(), (std::vector<double>{0.1, 1}));
  EXPECT_EQ(Tensor::linspace(0.1, 1, 1, f64s).to_vector<double>(), (std::vector<double>{0.1}));
  EXPECT_EQ(Tensor::arange(0.1, 1, 0.3, f64s).to_vector<double>(),
            (std::vector<double>{0.1, 0.4, 0.7}));
  EXPECT_EQ(Tensor::full({1}, 0.1, f64s).item<double>(), 0.1);
  const TensorOptions i64s{.dtype = dtypes::i64};
  EXPECT_EQ(read(Tensor::linspace(0, 16777217, 2, i64s)), (Ints{0, 16777217}));
  EXPECT_EQ(read(Tensor::linspace(0, 16777217, 2, {.dtype = dtypes::i32})), (Ints{0, 16777217}));
  EXPECT_EQ(read(Tensor::linspace(-9007199254740991, 9007199254740991, 3, i64s)),
            (Ints{-9007199254740991, 0, 9007199254740991}));
  EXPECT_EQ(read(Tensor::arange(16777216.5, 16777220, 1, i64s)),
            (Ints{16777216, 16777217, 16777218, 16777219}));
  // The ends of what f32 cannot count.
  const Tensor x = Tensor::linspace(0, 1, 33554434);
  EXPECT_EQ(x[-1].item<float>(), 1);
  EXPECT_EQ(read(Tensor::of({1.5, 16777217}, {.dtype = dtypes::i32})), (Ints{1, 16777217}));
  EXPECT_EQ(read(Tensor::of({0.5, 9007199254740993}, i64s)), (Ints{0, 9007199254740993}));
}

TEST(Sizes, PicksBeyond32Bits) {
  const Tensor x = Tensor::of({7}).expand({k2to32 + 5});
  EXPECT_EQ(read(x[places({0, k2to32 + 2})]), (Ints{7, 7}));
  EXPECT_EQ(read(x[places({k2to32 + 5, -k2to32 - 5, -k2to32 - 6, INT64_MIN, INT64_MAX})]),
            (Ints{0, 7, 0, 0, 0}));
  EXPECT_EQ(read(x[Tensor::of({-1, 5})]), (Ints{7, 7}));  // i32
  EXPECT_EQ(read(x[Tensor::of({4294967295, 5}, {.dtype = dtypes::u32})]), (Ints{7, 7}));
  EXPECT_EQ(read(x[Tensor::of({~u64{0}, 5}, {.dtype = dtypes::u64})]), (Ints{0, 7}));
  const Tensor y = Tensor::arange(k2to31 + 3);
  EXPECT_EQ(read(y[places({0, k2to31 + 2, -1})]), (Ints{0, k2to31 + 2, k2to31 + 2}));
  EXPECT_EQ(read(y.gather(0, places({5, k2to31 + 1}))), (Ints{5, k2to31 + 1}));
  EXPECT_EQ(read(y[{{k2to31, 1}}]), (Ints{k2to31, 1}));
  // Of memory, repeated: the place in it is computed from the place that is asked for.
  const Tensor held = Tensor::of({1, 2, 3, 4}).repeat({k2to31});
  EXPECT_EQ(read(held[places({k2to32 + 1, -1, k2to32 + k2to32 - 1})]), (Ints{2, 4, 4}));
}

// The place on the joined axes is computed in the dtype of the index no more.
TEST(Sizes, PicksOnSeveralAxesOrWithNarrowIndices) {
  const Tensor row = Tensor::arange(i64{1} << 20);
  const Tensor table = row.unsqueeze(0).expand({i64{1} << 20, i64{1} << 20});
  EXPECT_EQ(read(table[{Tensor::of({1048575, 5}), Tensor::of({1048574, -1})}]),
            (Ints{1048574, 1048575}));
  const Tensor x = Tensor::arange(300 * 300).reshape({300, 300}).contiguous();
  const TensorOptions u8s{.dtype = dtypes::u8}, i8s{.dtype = dtypes::i8};
  EXPECT_EQ(read(x[{Tensor::of({2, 255}, u8s), Tensor::of({5, 254}, u8s)}]),
            (Ints{605, 255 * 300 + 254}));
  EXPECT_EQ(read(x[{Tensor::of({-1, 3}, i8s), Tensor::of({-2, 100}, i8s)}]),
            (Ints{299 * 300 + 298, 1000}));
  EXPECT_EQ(read(x.reshape({-1})[Tensor::of({-1, 7}, i8s)]), (Ints{89999, 7}));
}

TEST(Sizes, MovementBeyond32Bits) {
  const Tensor x = Tensor::arange(k2to32 + 4);
  EXPECT_EQ(read(x.flip(0)[{Slice(0, 2)}]), (Ints{k2to32 + 3, k2to32 + 2}));
  EXPECT_EQ(read(x.reshape({2, -1})[{1, Slice(0, 2)}]), (Ints{k2to31 + 2, k2to31 + 3}));
  EXPECT_EQ(read(x.reshape({-1, 4}).transpose(0, 1)[{3, -1}]), (Ints{k2to32 + 3}));
  EXPECT_EQ(read(x.pad({{k2to32, 1}})[places({k2to32 - 1, k2to32 + 9, 2 * k2to32 + 3})]),
            (Ints{0, 9, k2to32 + 3}));
  EXPECT_EQ(read(x[{Slice(1, None, k2to31)}]), (Ints{1, k2to31 + 1, k2to32 + 1}));
  EXPECT_EQ(read(Tensor::of({1, 2, 3}).repeat({k2to31})[{Slice(k2to32, k2to32 + 3)}]),
            (Ints{2, 3, 1}));
  EXPECT_EQ(read(Tensor::of({1, 2}).repeat_interleave(k2to32, 0)[places({k2to32 - 1, k2to32})]),
            (Ints{1, 2}));
  const Tensor held = Tensor::of({1, 2, 3}).repeat({k2to31});
  EXPECT_EQ(read(held.roll({k2to31}, {0})[places({0, k2to31, -1})]), (Ints{2, 1, 1}));
  EXPECT_EQ(read(Tensor::cat({held, held + 3}, 0)[places({3 * k2to31 - 1, 3 * k2to31, -1})]),
            (Ints{3, 4, 6}));
}

// What does not vary is counted, not walked through.
TEST(Sizes, ReductionsBeyond32Bits) {
  const Tensor x = Tensor::of({3}, {.dtype = dtypes::i64}).expand({k2to40});
  EXPECT_EQ(x.sum().item<i64>(), 3 * k2to40);
  EXPECT_EQ(x.cast(dtypes::f64).mean().item<double>(), 3);
  EXPECT_EQ(x[{Slice(0, k2to32 + 1)}].sum().item<i64>(), 3 * (k2to32 + 1));
  EXPECT_EQ(Tensor::ones({k2to40}, {.dtype = dtypes::u64}).sum().item<u64>(), u64{1} << 40);
}

TEST(Sizes, RandomIntegersOf64Bits) {
  Tensor::manual_seed(11);
  const Tensor x = Tensor::randint(0, k2to40, {1000});
  EXPECT_EQ(x.dtype(), dtypes::i64);
  EXPECT_TRUE(((x >= 0) & (x < k2to40)).all().item<bool>());
  EXPECT_GT((x > k2to32).sum().item<int>(), 900);
  EXPECT_EQ(Tensor::randint(0, k2to31, {3}).dtype(), dtypes::i32);
  const Tensor all = Tensor::randint(INT64_MIN, INT64_MAX, {1000});
  EXPECT_NEAR((all < 0).sum().item<int>(), 500, 80);
  EXPECT_NEAR((all < -(i64{1} << 62)).sum().item<int>(), 250, 70);
  EXPECT_EQ(message_of([] { Tensor::randint(0, k2to40, {3}, {.dtype = dtypes::i32}); }),
            "randint from 0 to 1099511627776 does not fit int32");
  EXPECT_EQ(message_of([] { Tensor::randint(-1, 3, {3}, {.dtype = dtypes::u8}); }),
            "randint from -1 to 3 does not fit uint8");
  EXPECT_EQ(message_of([] { Tensor::zeros({2}, {.dtype = dtypes::i8}).randint_like(0, 129); }),
            "randint from 0 to 129 does not fit int8");
  EXPECT_EQ(Tensor::zeros({2}, {.dtype = dtypes::u8}).randint_like(0, 256).dtype(), dtypes::u8);
}

TEST(Sizes, NumbersOf2To63) {
  constexpr u64 kLarge = 0xFEDCBA9876543210;
  EXPECT_EQ(Tensor::of({kLarge}).dtype(), dtypes::u64);
  EXPECT_EQ(Tensor::of({kLarge, 1}).to_vector<u64>(), (Unsigned{kLarge, 1}));
  EXPECT_EQ(Tensor::of({kLarge}, {.dtype = dtypes::u64}).item<u64>(), kLarge);
  EXPECT_EQ(Tensor::full({2}, kLarge).to_vector<u64>(), (Unsigned{kLarge, kLarge}));
  EXPECT_EQ(Tensor::full({}, kLarge, {.dtype = dtypes::f32}).item<float>(), 0x1.fdb976p63f);
  EXPECT_EQ(Tensor::of({kLarge}, {.dtype = dtypes::f32}).item<float>(), 0x1.fdb976p63f);
  EXPECT_EQ(Tensor::of({kLarge}, {.dtype = dtypes::f64}).item<double>(), 0x1.fdb97530eca86p63);
  EXPECT_EQ(Tensor::of({kLarge, 0.5})[0].item<float>(), 0x1.fdb976p63f);
  EXPECT_EQ(Tensor::full({}, 0x1p63, {.dtype = dtypes::u64}).item<u64>(), k2to63);
  const Tensor x = Tensor::of({1, 2}, {.dtype = dtypes::u64});
  EXPECT_EQ((x + k2to63).dtype(), dtypes::u64);
  EXPECT_EQ((x + k2to63).to_vector<u64>(), (Unsigned{k2to63 + 1, k2to63 + 2}));
  EXPECT_EQ((k2to63 - x).to_vector<u64>(), (Unsigned{k2to63 - 1, k2to63 - 2}));
  EXPECT_EQ((x < k2to63).to_vector<bool>(), (std::vector<bool>{true, true}));
  EXPECT_EQ((x.neg() % k2to63).to_vector<u64>(), (Unsigned{k2to63 - 1, k2to63 - 2}));
  EXPECT_EQ(x.full_like(kLarge)[0].item<u64>(), kLarge);
  EXPECT_EQ(doorbell::where(x == 1, kLarge, x).to_vector<u64>(), (Unsigned{kLarge, 2}));
  EXPECT_EQ((Tensor::of({true}) + k2to63).item<u64>(), k2to63 + 1);
  EXPECT_EQ((Tensor::of({1.0}) * k2to63).item<float>(), 0x1p63f);
}

TEST(Sizes, NumbersThatDoNotFitAreRefused) {
  EXPECT_EQ(message_of([] { Tensor::of({1}) + k2to63; }), "9223372036854775808 does not fit int32");
  EXPECT_EQ(message_of([] { Tensor::full({2}, k2to63, {.dtype = dtypes::i64}); }),
            "9223372036854775808 does not fit int64");
  EXPECT_EQ(message_of([] { Tensor::of({~u64{0}, 1}, {.dtype = dtypes::u8}); }),
            "18446744073709551615 does not fit uint8");
  EXPECT_EQ(message_of([] { Tensor::of({k2to63, -1}); }),
            "9223372036854775808 does not fit a dtype that holds -1 too");
}

TEST(Sizes, CountsThatDoNotFitAreRefused) {
  const i64 large = i64{1} << 32;
  const std::string most = " does not fit: it has more than 4611686018427387903 elements";
  EXPECT_EQ(message_of([&] { Tensor::ones({large, large}); }),
            "shape (4294967296, 4294967296)" + most);
  EXPECT_EQ(message_of([&] { Tensor::of({1}).expand({INT64_MAX}); }),
            "shape (9223372036854775807)" + most);
  EXPECT_EQ(message_of([&] { Tensor::empty({large, large}); }),
            "size 4294967296 * 4294967296 does not fit 64 bits");
  EXPECT_EQ(message_of([&] { Tensor::empty({large, large / 4}); }),
            "shape (4294967296, 1073741824)" + most);
  EXPECT_EQ(message_of([&] { Tensor::ones({large, 1}) + Tensor::ones({large}); }),
            "shape (4294967296, 4294967296)" + most);
  EXPECT_EQ(message_of([&] { Tensor::of({1, 2}).repeat({INT64_MAX}); }),
            "size 2 * 9223372036854775807 does not fit 64 bits");
  EXPECT_EQ(message_of([&] { Tensor::of({1, 2}).pad({{INT64_MAX / 4, INT64_MAX / 2}}); }),
            "shape (6917529027641081856)" + most);
  EXPECT_EQ(message_of([&] { Tensor::of({1, 2}).pad({{1, INT64_MAX}}); }),
            "size 3 + 9223372036854775807 does not fit 64 bits");
  EXPECT_EQ(message_of([&] { Tensor::arange(0.0, 1e30, 1e-3); }),
            "shape (9223372036854775807)" + most);
  EXPECT_EQ(message_of([&] { Tensor::arange(0.0, NAN); }), "arange from 0 to nan by 1");
  EXPECT_EQ(message_of([&] { Tensor::of({1, 2}).repeat_interleave({INT64_MAX, 1}, 0); }),
            "size 9223372036854775807 + 1 does not fit 64 bits");
  EXPECT_EQ(message_of([&] { Tensor::of({1, 2}).repeat_interleave({i64{1} << 55, 1}, 0); }),
            "no memory for 36028797018963969 repeated places");
  EXPECT_EQ(message_of([&] {
              Tensor::ones({1, 1, 9, 9}).max_pool2d({5, 5}, {.dilation = {i64{1} << 61}});
            }),
            "kernel size 5 (stride 5, dilation 2305843009213693952) on an axis of 9 (padding "
            "included)");
  // No elements are no count, however long the other axes.
  EXPECT_EQ(Tensor::ones({0, large, large}).numel(), 0);
  EXPECT_EQ(Tensor::ones({large, large, 0}).nbytes(), 0);
}

TEST(Sizes, BytesAreCountedIn64Bits) {
  const Tensor x = Tensor::ones({i64{1} << 61});
  EXPECT_EQ(x.numel(), i64{1} << 61);
  EXPECT_EQ(message_of([&] { x.nbytes(); }),
            "the size of 2305843009213693952 elements of float32 does not fit 64 bits");
  EXPECT_EQ(message_of([&] { x.contiguous().realize(); }),
            "2305843009213693952 elements of float32 are more than any memory holds");
  EXPECT_EQ(x.cast(dtypes::u8).nbytes(), i64{1} << 61);
  EXPECT_EQ(Tensor::ones({k2to31}).nbytes(), 4 * k2to31);
}

TEST(Sizes, HugeTensorsArePrintedByTheirEnds) {
  EXPECT_EQ(Tensor::of({1}).expand({k2to31 + 3}).str(), "tensor([1, 1, 1, ..., 1, 1, 1])");
  EXPECT_EQ(Tensor::ones({k2to31, k2to31 / 2 - 1}).str(),
            "tensor([[1., 1., 1., ..., 1., 1., 1.],\n"
            "        [1., 1., 1., ..., 1., 1., 1.],\n"
            "        [1., 1., 1., ..., 1., 1., 1.],\n"
            "        ...,\n"
            "        [1., 1., 1., ..., 1., 1., 1.],\n"
            "        [1., 1., 1., ..., 1., 1., 1.],\n"
            "        [1., 1., 1., ..., 1., 1., 1.]])");
  EXPECT_EQ(Tensor::arange(k2to32).str(),
            "tensor([         0,          1,          2, ..., 4294967293, 4294967294,\n"
            "        4294967295], dtype=int64)");
  EXPECT_EQ((Tensor::arange(k2to40).reshape({-1, 8}) + 1).str(),
            "tensor([[            1,             2,             3, ...,             6,\n"
            "                     7,             8],\n"
            "        [            9,            10,            11, ...,            14,\n"
            "                    15,            16],\n"
            "        [           17,            18,            19, ...,            22,\n"
            "                    23,            24],\n"
            "        ...,\n"
            "        [1099511627753, 1099511627754, 1099511627755, ..., 1099511627758,\n"
            "         1099511627759, 1099511627760],\n"
            "        [1099511627761, 1099511627762, 1099511627763, ..., 1099511627766,\n"
            "         1099511627767, 1099511627768],\n"
            "        [1099511627769, 1099511627770, 1099511627771, ..., 1099511627774,\n"
            "         1099511627775, 1099511627776]], dtype=int64)");
  const Tensor held = Tensor::of({true, false}).repeat({k2to40});
  EXPECT_EQ(held.str(), "tensor([ True, False,  True, ..., False,  True, False])");
  const Tensor zeros = Tensor::full({2000}, -0.0).contiguous();
  EXPECT_EQ(zeros.str(), "tensor([-0., -0., -0., ..., -0., -0., -0.])");
}

TEST(Sizes, PrintingReadsWhatItShows) {
  const Tensor x = Tensor::arange(1 << 20).reshape({1 << 10, 1 << 10}).contiguous().realize();
  const i64 before = core::counters.bytes_accessed;
  EXPECT_EQ(x.str().substr(0, 40), "tensor([[      0,       1,       2, ...,");
  EXPECT_LT(core::counters.bytes_accessed - before, 4096);
}

// Steps of planning are counted by the nodes that it makes.
TEST(Sizes, PlanningDoesNotGrowWithSizes) {
  const auto nodes_of = [](const Tensor& x) {
    const i64 before = core::counters.arena_nodes;
    (void)x.to_bytes();
    const i64 made = core::counters.arena_nodes - before;
    EXPECT_GT(made, 0);
    return made;
  };
  for (i64 n : {k2to31 - 1, k2to32 + 1, k2to40 - 87, (i64{1} << 59) + 1}) {
    const Tensor x = Tensor::arange(n);
    EXPECT_LT(nodes_of(x[places({0, 1, n - 1})]), 5000) << n;
    EXPECT_LT(nodes_of(x.flip(0)[{Slice(1, 3)}]), 5000) << n;
    EXPECT_LT(nodes_of(Tensor::ones({n}).sum()), 5000) << n;
  }
}

}  // namespace
}  // namespace doorbell::test
