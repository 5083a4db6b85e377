// Buffers outlive their owners until the work on them is done.
#include "hcq/memory/keeper.h"

#include <gtest/gtest.h>

#include "tests/hcq/support/kernels.h"

namespace doorbell::hcq {
namespace {

TEST(Keeper, HoldsBuffersUntilTheFenceIsDone) {
  auto device = testing::make_cpu(0, {.threads = 1});
  const Signal go = *device->signals().make();
  auto commands = device->compute_queue().make_commands();
  commands->wait(go.address(), 1);
  Keeper keeper;
  {
    const core::Ref<core::Buffer> buffers[] = {*core::Buffer::allocate(*device, 1000)};
    commands->write(testing::address(buffers[0]->host()), 7);
    auto point = device->compute_queue().submit(*commands);
    ASSERT_OK(point);
    const Fence fence(*point);
    EXPECT_FALSE(fence.done());
    keeper.keep(fence, {buffers});
  }
  keeper.sweep();
  EXPECT_EQ(keeper.count(), 1u);
  EXPECT_EQ(device->allocator().stats().in_use, 1000);
  cpu::raise(go.cell(), 1);
  ASSERT_OK(device->synchronize());
  keeper.sweep();
  EXPECT_EQ(keeper.count(), 0u);
  EXPECT_EQ(device->allocator().stats().in_use, 0);
}

TEST(Keeper, KeepsNothingForWorkThatIsDone) {
  auto device = testing::make_cpu(0, {.threads = 1});
  Keeper keeper;
  const core::Ref<core::Buffer> buffers[] = {*core::Buffer::allocate(*device, 8)};
  keeper.keep(Fence(device->compute_queue().last()), {buffers});
  keeper.keep(Fence(), {buffers});
  EXPECT_EQ(keeper.count(), 0u);
}

}  // namespace
}  // namespace doorbell::hcq
