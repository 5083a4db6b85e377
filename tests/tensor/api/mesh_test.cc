// Tensors over meshes of devices: what lies where, and that all of it gives what one device gives.
#include "tensor/dist/mesh.h"

#include <gtest/gtest.h>

#include "tensor/engine/realize.h"
#include "tensor/jit/jit.h"
#include "tensor/nn/optim.h"
#include "tests/tensor/reference.h"

namespace doorbell::test {
namespace {

using dist::distribute_tensor;
using dist::MeshPlacements;
using dist::placements_of;
using dist::Replicate;
using dist::Shard;

const dist::Mesh kMesh{"CPU,CPU:1,CPU:2,CPU:3", {2, 2}};

// Whole numbers, so that the order of sums does not matter.
Tensor numbers(std::vector<i64> shape, u32 seed) {
  return (Array::noise(std::move(shape), seed).tensor() * 8).round().realize();
}
Tensor over(const Tensor& x, const MeshPlacements& placements) {
  return distribute_tensor(x, kMesh, placements);
}
void expect_same(const Tensor& actual, const Tensor& expected) {
  ASSERT_EQ(actual.shape().str(), expected.shape().str());
  EXPECT_EQ(actual.to_vector<f32>(), expected.to_vector<f32>());
}
const MeshPlacements kPlacements[] = {
    {Replicate(), Replicate()}, {Shard(0), Replicate()}, {Replicate(), Shard(0)},
    {Shard(1), Replicate()},    {Replicate(), Shard(1)}, {Shard(0), Shard(1)},
    {Shard(1), Shard(0)},       {Shard(0), Shard(0)},    {Shard(1), Shard(1)},
};

TEST(Mesh, SaysHowItLies) {
  const Tensor x = numbers({4, 8}, 1);
  for (const MeshPlacements& placements : kPlacements) {
    const Tensor y = over(x, placements);
    EXPECT_EQ(placements_of(y, kMesh), placements);
    expect_same(y, x);
    EXPECT_EQ(y.str(), x.str());
  }
  EXPECT_EQ(over(x, {Shard(-1), Replicate()}).shard_axis(), 1);
  EXPECT_EQ(over(x, {Shard(0), Shard(0)}).shard_axis(), 0);
  EXPECT_EQ(
      message_of([&] { over(x, {Shard(0), Shard(1)}).shard_axis(); }),
      "a tensor on CPU,CPU:1,CPU:2,CPU:3 lies in parts along axes 0 over 2 1 over 2: along more "
      "than one axis");
  EXPECT_EQ(placements_of(x.shard(kMesh.devices, 1), kMesh), (MeshPlacements{Shard(1), Shard(1)}));
}

TEST(Mesh, EachPartHasItsWindow) {
  const Tensor x = Tensor::arange(16, {.dtype = dtypes::f32}).reshape({4, 4}).realize();
  const Tensor y = over(x, {Shard(1), Shard(0)}).contiguous().realize();
  std::vector<std::vector<f32>> parts;
  for (core::UOp part : core::TensorGraph::realized(*y.uop()).srcs()) {
    std::vector<f32> values(4);
    engine::read_bytes(part, std::as_writable_bytes(std::span(values)));
    parts.push_back(values);
  }
  EXPECT_EQ(parts, (std::vector<std::vector<f32>>{
                       {0, 1, 4, 5}, {8, 9, 12, 13}, {2, 3, 6, 7}, {10, 11, 14, 15}}));
}

TEST(Mesh, RefusesWhatMeansNothing) {
  const Tensor x = numbers({4, 6}, 1);
  EXPECT_EQ(message_of([&] { over(x, {Shard(0)}); }), "1 placements for a mesh of 2 axes");
  EXPECT_EQ(message_of([&] { over(x, {Shard(1), Shard(1)}); }),
            "axis 1 of shape (4, 6) has 6 elements, which 4 devices cannot share evenly");
  EXPECT_EQ(message_of([&] { over(x, {dist::Partial(), Shard(1)}); }),
            "a whole tensor placed as summands: only from_local() has them");
  EXPECT_EQ(message_of([&] { distribute_tensor(x, {"CPU,CPU:1", {2, 2}}, {Shard(0), Shard(1)}); }),
            "2 devices for a mesh of 4");
  EXPECT_EQ(message_of([&] { placements_of(x, kMesh); }),
            "a tensor on CPU, expected the mesh's devices CPU,CPU:1,CPU:2,CPU:3");
}

TEST(Mesh, EveryPlacementBecomesEveryOther) {
  const Tensor x = numbers({4, 8}, 2);
  for (const MeshPlacements& from : kPlacements)
    for (const MeshPlacements& to : kPlacements) {
      const Tensor y = over(over(x, from).contiguous().realize(), to).contiguous();
      EXPECT_EQ(placements_of(y, kMesh), to);
      expect_same(y, x);
    }
  // To and from other devices.
  for (const MeshPlacements& from : kPlacements) {
    const Tensor y = over(x, from).contiguous().realize();
    expect_same(y.shard("CPU:4,CPU:5", 1), x);
    expect_same(y.to("CPU:5"), x);
    expect_same(over(x.shard("CPU:4,CPU:5", 0).contiguous().realize(), from), x);
  }
  // Meshes of which neither divides the other.
  const std::string six = "CPU,CPU:1,CPU:2,CPU:3,CPU:4,CPU:5";
  const Tensor z = numbers({6, 6}, 3);
  const Tensor a = distribute_tensor(z, {six, {2, 3}}, {Shard(0), Shard(1)}).contiguous().realize();
  const Tensor b = distribute_tensor(a, {six, {3, 2}}, {Shard(0), Shard(1)});
  expect_same(b.contiguous(), z);
  expect_same(a + b, z + z);
}

TEST(Mesh, OperationsOnAllPlacements) {
  const Tensor x = numbers({4, 8}, 4), y = numbers({4, 8}, 5);
  using Function = Tensor (*)(const Tensor&, const Tensor&);
  const Function functions[] = {
      [](const Tensor& a, const Tensor& b) { return a * 2 + b; },
      [](const Tensor& a, const Tensor& b) { return a.sum(0) + b.max(0); },
      [](const Tensor& a, const Tensor& b) { return a.sum() * b.sum(1); },
      [](const Tensor& a, const Tensor& b) { return a.matmul(b.t()); },
      [](const Tensor& a, const Tensor& b) { return a.t().matmul(b); },
      [](const Tensor& a, const Tensor& b) { return a.flip(0) - b.flip(1); },
      [](const Tensor& a, const Tensor& b) { return a.pad({{3, 1}, {1, 0}}).sum(1) + b.sum(); },
      [](const Tensor& a, const Tensor& b) { return Tensor::cat({a, b}, 0); },
      [](const Tensor& a, const Tensor& b) {
        return a.reshape({8, 4}).cumsum(0) + b.reshape({8, 4});
      },
  };
  for (usize i = 0; i < std::size(functions); ++i)
    for (const MeshPlacements& left : kPlacements)
      for (const MeshPlacements& right : {kPlacements[1], kPlacements[4], kPlacements[6]}) {
        SCOPED_TRACE(i);
        expect_same(functions[i](over(x, left), over(y, right)), functions[i](x, y));
      }
}

// A batch in parts over one mesh axis, weights over the other.
struct Learnt {
  std::vector<f64> losses;
  Tensor first, second;
};
Learnt learn(bool is_over_mesh) {
  Tensor w1 = numbers({8, 6}, 6) / 16, w2 = numbers({4, 8}, 7) / 16;
  for (Tensor* w : {&w1, &w2}) {
    *w = w->contiguous().realize();
    w->requires_grad();
  }
  if (is_over_mesh) {
    dist::distribute_tensor_(w1, kMesh, {Replicate(), Shard(0)});
    dist::distribute_tensor_(w2, kMesh, {Replicate(), Shard(1)});
  }
  nn::Adam optimizer(std::vector<Tensor>{w1, w2}, 1e-2);
  auto step = jit([&](const Tensor& x, const Tensor& y) {
    optimizer.zero_grad();
    const Tensor loss = (x.matmul(w1.t()).tanh().matmul(w2.t()) - y).square().mean();
    loss.backward();
    optimizer.step();
    return loss;
  });
  Learnt learnt;
  TrainingScope training;
  for (u32 i = 0; i < 5; ++i) {
    Tensor x = numbers({8, 6}, 10 + i), y = numbers({8, 4}, 20 + i);
    if (is_over_mesh) x = over(x, {Shard(0), Replicate()}), y = over(y, {Shard(0), Replicate()});
    learnt.losses.push_back(step(x.contiguous().realize(), y.contiguous().realize()).item<f32>());
  }
  learnt.first = w1, learnt.second = w2;
  return learnt;
}

TEST(Mesh, DataAndTensorParallelLearnsWhatOneDeviceLearns) {
  const Learnt alone = learn(false), shared = learn(true);
  for (usize i = 0; i < alone.losses.size(); ++i)
    EXPECT_NEAR(shared.losses[i], alone.losses[i], 1e-4 * alone.losses[i]) << "step " << i;
  EXPECT_EQ(placements_of(shared.first, kMesh), (MeshPlacements{Replicate(), Shard(0)}));
  EXPECT_EQ(placements_of(shared.second, kMesh), (MeshPlacements{Replicate(), Shard(1)}));
  for (const auto& [found, expected] :
       {std::pair(shared.first, alone.first), std::pair(shared.second, alone.second)}) {
    const std::vector<f32> values = expected.to_vector<f32>();
    expect_values(found, {values.begin(), values.end()}, 1e-4, 1e-5);
  }
}

TEST(Mesh, DrawsWhatOneDeviceDraws) {
  Tensor::manual_seed(5);
  const Tensor expected = Tensor::zeros({4, 8}).rand_like().realize();
  Tensor::manual_seed(5);
  expect_same(over(Tensor::zeros({4, 8}).realize(), {Shard(1), Shard(0)}).rand_like(), expected);
}

}  // namespace
}  // namespace doorbell::test
