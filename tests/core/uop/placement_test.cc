// Where values on several devices are: the rules, op by op, as literals.
#include "core/uop/placement.h"

#include <gtest/gtest.h>

#include "tests/core/schedule/tensor_reference.h"

namespace doorbell::core {
namespace {
using namespace test;  // NOLINT

const u16 kDevices[] = {0, 1};

// A value of this shape over devices 0, 1 and so on.
UOpRef over(const Sizes& shape, i64 layout, i64 devices) {
  const Sizes own = window_of_part(shape, mesh_axes_of(layout, devices), 0).size;
  std::vector<UOpRef> owners;
  std::vector<UOp> parts;
  for (i64 device = 0; device < devices; ++device) {
    owners.push_back(buffer(own, dtypes::f32, device));
    parts.push_back(*owners.back());
  }
  return TensorGraph::make(Op::Multi, dtypes::f32, parts, {&layout, 1});
}
UOpRef split(const Sizes& shape, i64 axis) { return over(shape, axis, 2); }
i64 axis_of(const UOpRef& x) {
  EXPECT_TRUE(is_placement(x->device()));
  return placement_of(x->device()).layout;
}

TEST(Placement, IsInternedByDevicesAndAxis) {
  const u16 other[] = {1, 0};
  const u16 rows = intern_placement(kDevices, 0);
  EXPECT_EQ(intern_placement(kDevices, 0), rows);
  EXPECT_NE(intern_placement(kDevices, 1), rows);
  EXPECT_NE(intern_placement(other, 0), rows);
  EXPECT_EQ(with_layout(rows, kReplicated), intern_placement(kDevices, kReplicated));
  EXPECT_TRUE(devices_compatible(rows, with_layout(rows, 2)));
  EXPECT_TRUE(devices_compatible(rows, 0));
  EXPECT_FALSE(devices_compatible(rows, 1));
  EXPECT_FALSE(devices_compatible(rows, intern_placement(other, 0)));
  EXPECT_FALSE(devices_compatible(1, 2));
}

TEST(Placement, OfStoredParts) {
  const UOpRef x = split({6, 4}, 0);
  EXPECT_EQ(shape_of(*x), (Sizes{6, 4}));
  EXPECT_EQ(x->device(), intern_placement(kDevices, 0));
  EXPECT_EQ(shape_of(*split({6, 4}, kReplicated)), (Sizes{6, 4}));
}

TEST(Placement, OfElementwise) {
  const UOpRef rows = split({4, 6}, 0), columns = split({6}, 0), copies = split({6}, kReplicated);
  EXPECT_EQ(axis_of(add(rows, constant(1))), 0);
  EXPECT_EQ(axis_of(add(copies, rows)), 0);
  EXPECT_EQ(axis_of(add(copies, copies)), kReplicated);
  EXPECT_EQ(axis_of(add(copies, columns)), 0);
  // Along axis 1 of the result; the larger source stays where it is.
  EXPECT_EQ(axis_of(add(columns, split({4, 6}, kReplicated))), 1);
  EXPECT_EQ(axis_of(add(columns, rows)), 0);
  EXPECT_EQ(axis_of(add(split({4, 1}, 0), columns)), 1);
}

TEST(Placement, OfReductions) {
  const UOpRef x = split({4, 6}, 0);
  EXPECT_EQ(axis_of(sum(x, 1)), kReplicated);
  EXPECT_EQ(axis_of(sum(x, 2)), 0);
  EXPECT_EQ(axis_of(sum(x, 3)), kReplicated);
}

TEST(Placement, OfReshapes) {
  const auto reshaped = [](i64 axis, const Sizes& to) {
    return axis_of(reshape(split({4, 6, 8}, axis), to));
  };
  EXPECT_EQ(reshaped(0, {24, 8}), 0);
  EXPECT_EQ(reshaped(0, {2, 2, 6, 8}), 0);
  EXPECT_EQ(reshaped(0, {1, 4, 48}), 1);
  EXPECT_EQ(reshaped(1, {4, 48}), 1);
  EXPECT_EQ(reshaped(1, {4, 2, 3, 8}), 1);
  EXPECT_EQ(reshaped(2, {24, 4, 2}), 1);
  // Elements of a part would lie apart, or the axis that begins there cannot be halved.
  EXPECT_EQ(reshaped(1, {24, 8}), kReplicated);
  EXPECT_EQ(reshaped(1, {4, 3, 2, 8}), kReplicated);
  EXPECT_EQ(reshaped(2, {192}), kReplicated);
}

TEST(Placement, OfOtherMovements) {
  const UOpRef x = split({4, 6}, 0);
  EXPECT_EQ(axis_of(permute(x, {1, 0})), 1);
  EXPECT_EQ(axis_of(expand(x, {3, 4, 6})), 1);
  EXPECT_EQ(axis_of(pad(x, {{0, 0}, {1, 1}})), 0);
  EXPECT_EQ(axis_of(pad(x, {{1, 1}, {0, 0}})), 0);
  EXPECT_EQ(axis_of(pad(x, {{1, 0}, {0, 0}})), kReplicated);
  EXPECT_EQ(axis_of(shrink(x, {{0, 4}, {1, 2}})), 0);
  EXPECT_EQ(axis_of(shrink(x, {{1, 3}, {0, 6}})), 0);
  EXPECT_EQ(axis_of(shrink(x, {{1, 2}, {0, 6}})), kReplicated);
  EXPECT_EQ(axis_of(flip(x, 1)), 0);
  EXPECT_EQ(axis_of(contiguous(x)), 0);
  EXPECT_EQ(axis_of(cast(x, dtypes::i32)), 0);
}

TEST(Placement, OfMoves) {
  const UOpRef x = buffer({4, 6});
  const UOpRef rows = TensorGraph::make(Op::Shard, dtypes::f32, {*x}, {0, 0, 1});
  EXPECT_EQ(rows->device(), intern_placement(kDevices, 0));
  EXPECT_EQ(shape_of(*rows), (Sizes{4, 6}));
  EXPECT_EQ(copy(rows, 1)->device(), 2);
  EXPECT_EQ(axis_of(assign(split({4, 6}, 1), rows)), 1);
}

// A value of this shape over a mesh of 2 x 2 devices.
UOpRef over_mesh(const Sizes& shape, i64 first, i64 second) {
  return over(shape, layout_of(MeshAxes{{2, first}, {2, second}}), 4);
}
// Over the mesh axes as they were, where the layout has not made one of them.
std::vector<i64> axes_of(const UOpRef& x) {
  MeshAxes own = mesh_axes_of(axis_of(x), 4), mesh{{2, kReplicated}, {2, kReplicated}};
  EXPECT_TRUE(refine(&own, &mesh));
  return {own[0].axis, own[1].axis};
}
using Axes = std::vector<i64>;

TEST(Placement, OverMeshAxesOfEachSource) {
  const UOpRef rows = over_mesh({4, 8}, 0, kReplicated);
  EXPECT_EQ(shape_of(*rows), (Sizes{4, 8}));
  EXPECT_EQ(axes_of(rows), (Axes{0, kReplicated}));
  // Each mesh axis by itself.
  EXPECT_EQ(axes_of(add(rows, over_mesh({8}, kReplicated, 0))), (Axes{0, 1}));
  EXPECT_EQ(axes_of(add(rows, over_mesh({4, 8}, kReplicated, kReplicated))),
            (Axes{0, kReplicated}));
  // The larger one where both say something.
  EXPECT_EQ(axes_of(add(rows, over_mesh({8}, 0, kReplicated))), (Axes{0, kReplicated}));
  // A size that four cannot share stays in two.
  const UOpRef two = over_mesh({2, 8}, 0, kReplicated);
  EXPECT_EQ(axes_of(add(two, over_mesh({2, 8}, kReplicated, 0))), (Axes{0, kReplicated}));
  EXPECT_EQ(axes_of(add(rows, over_mesh({4, 8}, kReplicated, 0))), (Axes{0, 0}));
}

TEST(Placement, OverMeshAxesOfMovesAndSums) {
  const UOpRef x = over_mesh({4, 6, 8}, 0, 2);
  EXPECT_EQ(axes_of(permute(x, {2, 0, 1})), (Axes{1, 0}));
  EXPECT_EQ(axes_of(sum(x, 1)), (Axes{kReplicated, 2}));
  EXPECT_EQ(axes_of(sum(x, 5)), (Axes{kReplicated, kReplicated}));
  EXPECT_EQ(axes_of(reshape(x, {24, 8})), (Axes{0, 1}));
  EXPECT_EQ(axes_of(reshape(x, {4, 48})), (Axes{0, kReplicated}));
  // What elements move along becomes copies over that mesh axis alone.
  EXPECT_EQ(axes_of(flip(x, 4)), (Axes{0, kReplicated}));
  EXPECT_EQ(axes_of(shrink(x, {{0, 2}, {0, 6}, {0, 8}})), (Axes{kReplicated, 2}));
}

// A batch in parts over one mesh axis, a weight over the other: the product is in parts over both,
// the weight's gradient is summed over the first.
TEST(Placement, OverMeshAxesOfMatrixProducts) {
  const UOpRef x = over_mesh({4, 6}, 0, kReplicated), w = over_mesh({6, 8}, kReplicated, 1);
  const UOpRef y = matmul(x, w);
  EXPECT_EQ(axes_of(y), (Axes{0, 1}));
  EXPECT_EQ(axes_of(matmul(permute(x, {1, 0}), y)), (Axes{kReplicated, 1}));
  EXPECT_EQ(axes_of(matmul(y, permute(w, {1, 0}))), (Axes{0, kReplicated}));
}

}  // namespace
}  // namespace doorbell::core
