// Which tiles are copied as boxes of tensors, and by which maps. That the copies are right, the
// tests of tensor_core_test.cc show.
#include "codegen/linear/tensor_copy.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "codegen/lower/lower.h"
#include "codegen/render/nv_caps.h"
#include "tests/codegen/support/kernels.h"
#include "tests/codegen/support/tensor_copies.h"

namespace doorbell::codegen {
namespace {

namespace dt = core::dtypes;

Caps with_maps() { return nv_caps(*nv::hw::find_chip("sm_90"), {.tensor_maps = true}); }

// A batch of products with few rows: maps with the sizes of the tensors, whose boxes run past their
// ends; one thread copies, and nothing else is copied.
TEST(TensorCopies, BoxesAreCopiedByMaps) {
  core::Arena arena;
  const core::KernelAst kernel = narrow_product_kernel(dt::f16, {3, 100, 200, 192}, true);
  const LinearProgram program = lower(kernel, with_maps(), arena);
  ASSERT_TRUE(std::ranges::any_of(program.ops, reads_local)) << program.plan;
  EXPECT_EQ(std::ranges::count_if(program.ops, is_async_store), 0);
  EXPECT_EQ(std::ranges::count_if(program.ops, is_async_batch), 0);
  ASSERT_EQ(program.tensor_maps.size(), 2u);
  for (const core::TensorMap& map : program.tensor_maps) {
    const i64 rows = map.slot == 1 ? 100 : 200;
    EXPECT_EQ(map.offset, 0);
    EXPECT_EQ(map.element_bytes, 2);
    ASSERT_EQ(map.dimensions.size(), 4u);
    EXPECT_EQ(map.dimensions[0], (core::TensorMap::Dimension{64, 2, 64}));
    EXPECT_EQ(map.dimensions[1].size, rows);
    EXPECT_EQ(map.dimensions[1].stride, 384);
    EXPECT_EQ(map.dimensions[2], (core::TensorMap::Dimension{3, rows * 384, 1}));
    EXPECT_EQ(map.dimensions[3].size, 3);  // runs of 64 elements
    EXPECT_EQ(map.dimensions[3].stride, 128);
  }
}

// Rows along the output: a box has all runs of 128 bytes of a tile where the tensor's rows end with
// one; else each run is a box.
TEST(TensorCopies, BoxesHaveSeveralRuns) {
  using Dimension = core::TensorMap::Dimension;
  for (const i64 n : {512, 520}) {
    core::Arena arena;
    const core::KernelAst kernel = narrow_product_kernel(dt::f16, {1, 256, n, 512}, false);
    const Plan plan{{OptOp::Rows, 0, 37}, {OptOp::Columns, 1, 37}, {OptOp::Depth, 2, 37},
                    {OptOp::Local, 0, 2}, {OptOp::Tile, 2, 64},    {OptOp::Stage, 1, 3},
                    {OptOp::Stage, 2, 3}};
    const LinearProgram program = lower(kernel, with_maps(), arena, {.plan = &plan});
    const auto map = std::ranges::find(program.tensor_maps, 2, &core::TensorMap::slot);
    ASSERT_NE(map, program.tensor_maps.end()) << n;
    const std::vector<Dimension> runs{{64, 2, 64}, {512, 1024, 64}, {8, 128, 4}},
        rows{{520, 2, 64}, {512, 1040, 64}};
    EXPECT_EQ(map->dimensions, n == 512 ? runs : rows);
    const auto copies = std::ranges::count_if(
        program.ops, [&](core::UOp u) { return is_tensor_copy(u) && tensor_map_of(u) == *map; });
    EXPECT_EQ(copies, n == 512 ? 2 : 8);  // before the loop, and in it
  }
}

// Memory that begins at any element; a target that has no maps.
TEST(TensorCopies, BoxesNeedAlignedMemoryAndMaps) {
  const core::KernelAst kernel = narrow_product_kernel(dt::f16, {1, 256, 256, 192}, true);
  core::Arena arena;
  Caps without = with_maps();
  without.tensor_copies = false;
  EXPECT_TRUE(lower(kernel, without, arena).tensor_maps.empty());
  EXPECT_TRUE(lower(kernel, with_maps(), arena, {.aligned = false}).tensor_maps.empty());
  const LinearProgram boxed = lower(kernel, with_maps(), arena);
  EXPECT_FALSE(boxed.tensor_maps.empty()) << boxed.plan;
  const LinearProgram copied = lower(kernel, without, arena);
  EXPECT_GT(std::ranges::count_if(copied.ops, is_async_store), 0);
}

// What the interpreter of linear programs finds.
TEST(TensorCopies, WaitsAreForTheirPhase) {
  core::Arena arena;
  const core::UOp memory = arena.make(core::Op::DefineLocal, dt::f16, {}, {0, 16});
  const core::ScalarValue before{core::Scalar::F16, 1}, after{core::Scalar::F16, 2};
  SharedMemory shared;
  TensorCopies copies;
  shared.at(memory, 3, 0, true) = before;
  copies.start(0, 4, 2, {{memory, 3, 0, after}});
  EXPECT_THROW(copies.wait(0, 0, shared), InternalError);  // bytes that never come
  EXPECT_THROW(copies.start(0, 0, 4, {}), InternalError);  // more than are expected
  copies.start(0, 0, 2, {});
  copies.wait(0, 1, shared);  // the phase before: nothing is there
  EXPECT_EQ(shared.at(memory, 3, 0, false).bits, before.bits);
  copies.wait(0, 0, shared);
  EXPECT_EQ(shared.at(memory, 3, 0, false).bits, after.bits);
  EXPECT_THROW(copies.wait(0, 1, shared), InternalError);  // of nobody
}

}  // namespace
}  // namespace doorbell::codegen
