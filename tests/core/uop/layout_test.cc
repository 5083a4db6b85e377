// Layouts as numbers, by literals that follow from the header's text.
#include "core/uop/layout.h"

#include <gtest/gtest.h>

namespace doorbell::core {
namespace {

using Numbers = std::vector<i64>;

TEST(Layout, OfOneMeshAxisIsTheAxis) {
  EXPECT_EQ(layout_of(MeshAxes{{4, 1}}), 1);
  EXPECT_EQ(layout_of(MeshAxes{{4, kReplicated}}), kReplicated);
  EXPECT_EQ(mesh_axes_of(2, 4), (MeshAxes{{4, 2}}));
  EXPECT_EQ(mesh_axes_of(kReplicated, 4), (MeshAxes{{4, kReplicated}}));
}

TEST(Layout, OfSeveralMeshAxes) {
  // 128, then {2, axis 0 + 1} in bits 8 to 24, then {3, copies} in bits 25 to 41.
  const MeshAxes axes{{2, 0}, {3, kReplicated}};
  EXPECT_EQ(layout_of(axes), 128 | i64{2 | 1 << 12} << 8 | i64{3} << 25);
  EXPECT_EQ(mesh_axes_of(layout_of(axes), 6), axes);
}

TEST(Layout, NeighboursThatLieAlikeAreOne) {
  EXPECT_EQ(layout_of(MeshAxes{{2, 0}, {3, 0}}), 0);
  EXPECT_EQ(layout_of(MeshAxes{{2, kReplicated}, {3, kReplicated}}), kReplicated);
  EXPECT_EQ(layout_of(MeshAxes{{1, 5}, {3, 0}}), 0);
  EXPECT_EQ(mesh_axes_of(layout_of(MeshAxes{{2, 0}, {3, 0}, {2, 1}}), 12),
            (MeshAxes{{6, 0}, {2, 1}}));
}

TEST(Layout, WhatCannotBeSaidIsCopies) {
  const MeshAxes axes{{2, 0}, {2, 1}, {2, 0}, {2, 1}};
  EXPECT_EQ(mesh_axes_of(layout_of(axes), 16), (MeshAxes{{2, 0}, {2, 1}, {4, kReplicated}}));
}

TEST(Layout, MeshesAreMadeAlike) {
  MeshAxes flat{{4, 0}}, rows{{2, 1}, {2, kReplicated}};
  EXPECT_TRUE(refine(&flat, &rows));
  EXPECT_EQ(flat, (MeshAxes{{2, 0}, {2, 0}}));
  MeshAxes two_by_three{{2, 0}, {3, 1}}, three_by_two{{3, 0}, {2, 1}};
  EXPECT_FALSE(refine(&two_by_three, &three_by_two));
  EXPECT_EQ(two_by_three, (MeshAxes{{2, 0}, {3, 1}}));
}

TEST(Layout, WindowsOfParts) {
  // 2 x 2 devices; axis 0 in halves over the second mesh axis, axis 1 over the first.
  const MeshAxes axes{{2, 1}, {2, 0}};
  const i64 sizes[] = {4, 6};
  const PartWindow window = window_of_part(sizes, axes, 1);
  EXPECT_EQ(window.first, (Numbers{2, 0}));
  EXPECT_EQ(window.size, (Numbers{2, 3}));
  // Axis 0 in quarters over two mesh axes, with copies between: the first divides first.
  const MeshAxes nested{{2, 0}, {3, kReplicated}, {2, 0}};
  const i64 four[] = {4};
  Numbers firsts;
  for (i64 part = 0; part < 12; ++part)
    firsts.push_back(window_of_part(four, nested, part).first[0]);
  EXPECT_EQ(firsts, (Numbers{0, 1, 0, 1, 0, 1, 2, 3, 2, 3, 2, 3}));
}

}  // namespace
}  // namespace doorbell::core
