// The text of tensors. Expected texts are PyTorch's for the same values.
#include <sstream>

#include "tests/tensor/reference.h"

namespace doorbell::test {
namespace {

TEST(Print, Integers) {
  EXPECT_EQ(Tensor::of(7).str(), "tensor(7)");
  EXPECT_EQ(Tensor::of({1, -20}).str(), "tensor([  1, -20])");
  EXPECT_EQ(Tensor::arange(8).reshape({2, 2, 2}).str(),
            "tensor([[[0, 1],\n"
            "         [2, 3]],\n"
            "\n"
            "        [[4, 5],\n"
            "         [6, 7]]])");
}

TEST(Print, Floats) {
  EXPECT_EQ(Tensor::of(1.5).str(), "tensor(1.5000)");
  EXPECT_EQ(Tensor::of({1.0, 2.0}).str(), "tensor([1., 2.])");
  EXPECT_EQ(Tensor::of({0.5, -10.25}).str(), "tensor([  0.5000, -10.2500])");
  EXPECT_EQ(Tensor::of({1e-6, 1.0}).str(), "tensor([1.0000e-06, 1.0000e+00])");
  EXPECT_EQ(Tensor::of({1e10, 1.0}).str(), "tensor([1.0000e+10, 1.0000e+00])");
  const std::vector<float> odd = {NAN, INFINITY, -INFINITY, 1};
  EXPECT_EQ(Tensor::from_data(odd, {4}).str(), "tensor([nan, inf, -inf, 1.])");
}

TEST(Print, OtherDtypesAreNamed) {
  EXPECT_EQ(Tensor::of({true, false}).str(), "tensor([ True, False])");
  EXPECT_EQ(Tensor::of({1}, {.dtype = dtypes::i64}).str(), "tensor([1], dtype=int64)");
  EXPECT_EQ(Tensor::of({0.5}, {.dtype = dtypes::f16}).str(), "tensor([0.5000], dtype=float16)");
  EXPECT_EQ(Tensor::zeros({0}).str(), "tensor([])");
  EXPECT_EQ(Tensor::zeros({2, 0}).str(), "tensor([], size=(2, 0))");
}

TEST(Print, LargeTensorsShowTheirCorners) {
  EXPECT_EQ(Tensor::arange(2000).str(), "tensor([   0,    1,    2, ..., 1997, 1998, 1999])");
  const Tensor table = Tensor::arange(40 * 50).reshape({40, 50});
  EXPECT_EQ(table.str(),
            "tensor([[   0,    1,    2, ...,   47,   48,   49],\n"
            "        [  50,   51,   52, ...,   97,   98,   99],\n"
            "        [ 100,  101,  102, ...,  147,  148,  149],\n"
            "        ...,\n"
            "        [1850, 1851, 1852, ..., 1897, 1898, 1899],\n"
            "        [1900, 1901, 1902, ..., 1947, 1948, 1949],\n"
            "        [1950, 1951, 1952, ..., 1997, 1998, 1999]])");
}

TEST(Print, PartsOnSeveralDevicesAreOne) {
  const Tensor x = Tensor::arange(4000);
  const std::string text = "tensor([   0,    1,    2, ..., 3997, 3998, 3999])";
  EXPECT_EQ(x.shard({"CPU", "CPU:1"}, 0).str(), text);
  EXPECT_EQ(x.shard({"CPU", "CPU:1"}).str(), text);
  const Tensor columns = x.reshape({4, 1000}).shard({"CPU", "CPU:1"}, 1).realize();
  EXPECT_EQ(columns.str(),
            "tensor([[   0,    1,    2, ...,  997,  998,  999],\n"
            "        [1000, 1001, 1002, ..., 1997, 1998, 1999],\n"
            "        [2000, 2001, 2002, ..., 2997, 2998, 2999],\n"
            "        [3000, 3001, 3002, ..., 3997, 3998, 3999]])");
}

TEST(Print, AllBitsOfIntegers) {
  const Tensor x = Tensor::of({9007199254740993, -9007199254740993});
  EXPECT_EQ(x.str(), "tensor([ 9007199254740993, -9007199254740993], dtype=int64)");
  EXPECT_EQ(Tensor::of({u64{18446744073709551615u}, u64{9223372036854775809u}}).str(),
            "tensor([18446744073709551615,  9223372036854775809], dtype=uint64)");
  EXPECT_EQ(Tensor::arange(2000).cast(dtypes::i64).add(i64{9007199254740993}).str(),
            "tensor([9007199254740993, 9007199254740994, 9007199254740995, ...,\n"
            "        9007199254742990, 9007199254742991, 9007199254742992], dtype=int64)");
}

TEST(Print, SymbolicSizesAreThoseTheyAreBoundTo) {
  const Variable n("n", 1, 5000);
  const Tensor x = Tensor::arange(5000).contiguous();
  EXPECT_EQ((x[{Slice(0, n.bind(3))}]).str(), "tensor([0, 1, 2])");
  const Tensor cut = x[{Slice(0, n.bind(2000))}];
  EXPECT_EQ(cut.str(), "tensor([   0,    1,    2, ..., 1997, 1998, 1999])");
}

TEST(Print, LongRowsAreWrapped) {
  EXPECT_EQ(Tensor::arange(25).str(),
            "tensor([ 0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10, 11, 12, 13, 14, 15, 16, 17,\n"
            "        18, 19, 20, 21, 22, 23, 24])");
}

TEST(Print, StreamsWriteTheSame) {
  std::ostringstream out;
  out << Tensor::of({1, 2}) << " " << Tensor::of({1, 2}).shape();
  EXPECT_EQ(out.str(), "tensor([1, 2]) (2)");
}

}  // namespace
}  // namespace doorbell::test
