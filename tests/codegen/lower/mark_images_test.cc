// Which parameters may be images: a program of loads, each of which is right or wrong in one way.
#include "codegen/lower/mark_images.h"

#include <functional>

#include "tests/codegen/render/cpu_kernel.h"

namespace doorbell::codegen::testing {
namespace {

using core::Op;
using core::UOp;
namespace dt = core::dtypes;

// What mark_images says of a program with one output and one input of `count`, which `fill` reads.
bool marks(const std::function<void(ProgramBuilder&, UOp input, UOp texel)>& fill,
           i64 texels = 1024, i64 count = 64, core::DType dtype = dt::f32, bool written = false) {
  ProgramBuilder b;
  b.param(dt::f32, count, true);
  const UOp input = b.param(dtype, count, written);
  const UOp i = b.range(0, b.number(count / 4));
  fill(b, input, b.op(Op::Mul, dt::i64, {i, b.number(4)}));
  Caps caps;
  caps.image_texels = texels;
  mark_images(caps, &b.program);
  EXPECT_FALSE(b.program.params[0].image);
  return b.program.params[1].image;
}

void read_texels(ProgramBuilder& b, UOp input, UOp texel) { b.load(b.index(input, texel), 4); }

TEST(MarkImages, GroupsOfFourAtMultiplesOfFour) {
  EXPECT_TRUE(marks(read_texels));
  EXPECT_TRUE(marks([](ProgramBuilder& b, UOp input, UOp texel) {
    const UOp gate = b.op(Op::CmpLt, dt::bool_, {texel, b.number(8)});
    b.load(b.gated(input, texel, gate), 4);
  }));
}

TEST(MarkImages, AnyOtherLoadForbidsIt) {
  EXPECT_FALSE(marks([](ProgramBuilder&, UOp, UOp) {}));
  EXPECT_FALSE(marks([](ProgramBuilder& b, UOp input, UOp texel) {
    read_texels(b, input, texel);
    b.load(b.index(input, texel));
  }));
  EXPECT_FALSE(marks([](ProgramBuilder& b, UOp input, UOp texel) {
    b.load(b.index(input, texel));
    read_texels(b, input, texel);
  }));
  EXPECT_FALSE(marks([](ProgramBuilder& b, UOp input, UOp texel) {
    b.load(b.index(input, b.op(Op::Add, dt::i64, {texel, b.number(2)})), 4);
  }));
  EXPECT_FALSE(
      marks([](ProgramBuilder& b, UOp input, UOp texel) { b.load(b.index(input, texel), 8); }));
}

TEST(MarkImages, LimitsAndKinds) {
  EXPECT_TRUE(marks(read_texels, 16));
  EXPECT_FALSE(marks(read_texels, 15));
  EXPECT_FALSE(marks(read_texels, 0));
  EXPECT_FALSE(marks(read_texels, 1024, 64, dt::i32));
  EXPECT_FALSE(marks(read_texels, 1024, 64, dt::f32, true));
}

}  // namespace
}  // namespace doorbell::codegen::testing
