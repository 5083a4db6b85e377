// Where the depth of a product is split over groups: an estimate, so that these are examples.
#include "codegen/opt/split_depth.h"

#include <gtest/gtest.h>

#include "codegen/render/amd_caps.h"
#include "codegen/render/nv_caps.h"

namespace doorbell::codegen {
namespace {

namespace dt = core::dtypes;

core::ProductShape product(i64 rows, i64 columns, i64 depth, core::DType t = dt::f16) {
  return {t, t.is_float() ? dt::f32 : dt::i32, 1, rows, columns, depth, true, false};
}

Caps amd(std::string_view chip, i64 units = 0) {
  return amd_caps(*amd::hw::find_chip(chip), units);
}

TEST(SplitDepth, FewRowsFillTheTarget) {
  EXPECT_EQ(depth_parts(product(64, 4096, 4096), amd("gfx942")), 16);
  EXPECT_EQ(depth_parts(product(64, 4096, 4096), amd("gfx1201")), 4);
  EXPECT_EQ(depth_parts(product(64, 4096, 4096, dt::i8), nv_caps(*nv::hw::find_chip("sm_80"))), 16);
}

TEST(SplitDepth, NotWhereItDoesNotPay) {
  EXPECT_EQ(depth_parts(product(4096, 4096, 4096), amd("gfx942")), 1);   // blocks enough
  EXPECT_EQ(depth_parts(product(64, 4096, 4096), amd("gfx942", 1)), 1);  // one compute unit
  EXPECT_EQ(depth_parts(product(64, 4096, 256), amd("gfx942")), 1);      // not deep
  EXPECT_EQ(depth_parts(product(16, 1024, 1024), amd("gfx942")), 1);     // a launch takes longer
  EXPECT_EQ(depth_parts(product(64, 4096, 4099), amd("gfx942")), 1);     // no parts
  Caps loops = amd("gfx942");
  loops.has_local = false;
  EXPECT_EQ(depth_parts(product(64, 4096, 4096), loops), 1);
}

}  // namespace
}  // namespace doorbell::codegen
