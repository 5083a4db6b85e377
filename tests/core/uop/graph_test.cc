// Counting, identity, shapes and the release of tensor-graph nodes.
#include "core/uop/graph.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace doorbell::core {
namespace {

UOpRef constant(i64 v) { return TensorGraph::make(Op::Const, dtypes::i32, {}, {v}); }
UOpRef buffer(i64 id, std::initializer_list<i64> dims) {
  std::vector<i64> args{id, 0, 0};
  args.insert(args.end(), dims);
  return TensorGraph::make(Op::Buffer, dtypes::f32, std::span<const UOp>(), args);
}

TEST(TensorGraph, EqualPartsAreOneNodeWhileOwned) {
  i64 before = TensorGraph::live_nodes();
  {
    UOpRef a = constant(7), b = constant(7);
    EXPECT_EQ(a, b);
    EXPECT_EQ(TensorGraph::live_nodes(), before + 1);
  }
  EXPECT_EQ(TensorGraph::live_nodes(), before);
}

TEST(TensorGraph, ShapesBroadcastFromTheRight) {
  UOpRef x = buffer(1, {2, 3, 1}), y = buffer(2, {4});
  UOpRef z = TensorGraph::make(Op::Add, dtypes::f32, {*x, *y});
  ASSERT_EQ(z->ndim(), 3u);
  EXPECT_EQ(z->dim(0), Dim(2));
  EXPECT_EQ(z->dim(1), Dim(3));
  EXPECT_EQ(z->dim(2), Dim(4));
  UOpRef sum = TensorGraph::make(Op::Reduce, dtypes::f32, {*z}, {static_cast<i64>(Op::Add), 0b101});
  EXPECT_EQ(sum->dim(0), Dim(1));
  EXPECT_EQ(sum->dim(1), Dim(3));
  EXPECT_EQ(sum->dim(2), Dim(1));
}

TEST(TensorGraph, SymbolicDimsComeFromSources) {
  UOpRef x = buffer(3, {10});
  UOpRef n = TensorGraph::make(Op::Variable, dtypes::index, {}, {intern_name("n"), 1, 10});
  UOpRef start = TensorGraph::make(Op::Const, dtypes::index, {}, {0});
  UOpRef y = TensorGraph::make(Op::Shrink, dtypes::f32, {*x, *n}, {0, kDynamicDim});
  EXPECT_FALSE(y->dim(0).is_const());
  EXPECT_EQ(y->dim(0).expr(), *n);
  EXPECT_EQ(y->dim(0).max(), 10);
}

TEST(TensorGraph, FreesAMillionNodeChain) {
  i64 before = TensorGraph::live_nodes();
  {
    UOpRef x = buffer(4, {2});
    for (int i = 0; i < 1000000; ++i) x = TensorGraph::make(Op::Neg, dtypes::f32, {*x});
    EXPECT_EQ(TensorGraph::live_nodes(), before + 1000001);
  }
  EXPECT_EQ(TensorGraph::live_nodes(), before);
}

TEST(TensorGraph, RealizedIsSetOnceAndKeptAlive) {
  i64 before = TensorGraph::live_nodes();
  {
    UOpRef x = buffer(5, {2});
    UOpRef y = TensorGraph::make(Op::Neg, dtypes::f32, {*x});
    {
      UOpRef held = buffer(6, {2}), late = buffer(7, {2});
      EXPECT_EQ(TensorGraph::set_realized(*y, *held), *held);
      EXPECT_EQ(TensorGraph::set_realized(*y, *late), *held);
    }
    EXPECT_EQ(TensorGraph::realized(*y).arg(0), 6);
  }
  EXPECT_EQ(TensorGraph::live_nodes(), before);
}

TEST(TensorGraph, ThreadsShareAndFreeTheSameNodes) {
  i64 before = TensorGraph::live_nodes();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([] {
      for (int round = 0; round < 2000; ++round) {
        UOpRef x = constant(round % 7);
        for (int i = 0; i < 5; ++i) x = TensorGraph::make(Op::Neg, dtypes::i32, {*x});
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(TensorGraph::live_nodes(), before);
}

}  // namespace
}  // namespace doorbell::core
