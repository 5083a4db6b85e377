// Buffers outlive their owners until the work on them is done.
#include "hcq/memory/in_flight_resources.h"

#include <gtest/gtest.h>

#include "tests/hcq/support/kernels.h"

namespace doorbell::hcq {
namespace {

TEST(InFlightResources, HoldsBuffersUntilTheFenceIsDone) {
  auto device = testing::make_cpu(0, {.threads = 1});
  const Signal go = *device->signals().make();
  auto commands = device->compute_queue().make_commands();
  commands->wait(go.address(), 1);
  InFlightResources resources;
  {
    const core::Ref<core::Buffer> buffers[] = {*core::Buffer::allocate(*device, 1000)};
    commands->write(testing::address(buffers[0]->host()), 7);
    auto point = device->compute_queue().submit(*commands);
    ASSERT_OK(point);
    const Fence fence(*point);
    EXPECT_FALSE(fence.done());
    resources.keep(fence, {buffers});
  }
  resources.sweep();
  EXPECT_EQ(resources.count(), 1u);
  EXPECT_EQ(device->allocator().stats().in_use, 1000);
  raise(go.cell(), 1);
  ASSERT_OK(device->synchronize());
  resources.sweep();
  EXPECT_EQ(resources.count(), 0u);
  EXPECT_EQ(device->allocator().stats().in_use, 0);
}

TEST(InFlightResources, KeepsNothingForWorkThatIsDone) {
  auto device = testing::make_cpu(0, {.threads = 1});
  InFlightResources resources;
  const core::Ref<core::Buffer> buffers[] = {*core::Buffer::allocate(*device, 8)};
  resources.keep(Fence(device->compute_queue().last()), {buffers});
  resources.keep(Fence(), {buffers});
  EXPECT_EQ(resources.count(), 0u);
}

}  // namespace
}  // namespace doorbell::hcq
