// Bytes to, from, within and between devices.
#include <numeric>

#include "tests/drivers/cuda_emulated/emulated_test.h"

namespace doorbell::cuda {
namespace {

struct CopiesTest : EmulatedTest, ::testing::WithParamInterface<bool> {
  CopiesTest() { boot({.gpus = "sm_90,sm_86", .adversarial = GetParam(), .seed = 3}); }
};

std::vector<u32> numbers(usize count, u32 first) {
  std::vector<u32> made(count);
  std::iota(made.begin(), made.end(), first);
  return made;
}

i64 bytes_of(const std::vector<u32>& values) { return static_cast<i64>(values.size() * 4); }

std::vector<u32> read(const Buffer& buffer, usize count) {
  std::vector<u32> values(count);
  const Result<void> read = buffer.copy_out(values.data(), bytes_of(values));
  EXPECT_TRUE(read) << (read ? "" : read.error().message);
  return values;
}

TEST_P(CopiesTest, ComeBackAsTheyWent) {
  const auto device = open(0);
  // Less than a piece of the staging memory, and more than all of it.
  for (const usize count : {usize{1}, usize{1000}, usize{5} << 20}) {
    const std::vector<u32> sent = numbers(count, 7);
    const Ref<Buffer> first = *Buffer::allocate(*device, bytes_of(sent)),
                      second = *Buffer::allocate(*device, bytes_of(sent));
    ASSERT_TRUE(first->copy_in(sent.data(), bytes_of(sent)));
    ASSERT_TRUE(core::copy_between(*second, 0, *first, 0, bytes_of(sent)));
    EXPECT_EQ(read(*second, count), sent);
  }
}

TEST_P(CopiesTest, GoBetweenDevices) {
  const auto first = open(0), second = open(1);
  const std::vector<u32> sent = numbers(100, 40);
  const Ref<Buffer> from = *Buffer::allocate(*first, bytes_of(sent)),
                    to = *Buffer::allocate(*second, bytes_of(sent));
  ASSERT_TRUE(from->copy_in(sent.data(), bytes_of(sent)));
  const Result<hcq::GpuAddr> seen = second->address_of(*from);
  ASSERT_TRUE(seen) << seen.error().message;
  const auto commands = second->copy_queue().make_commands();
  commands->copy(hcq::GpuAddr{to->memory().address}, *seen, sent.size() * 4);
  const Result<hcq::Point> done = second->copy_queue().submit(*commands, first->fence());
  ASSERT_TRUE(done) << done.error().message;
  ASSERT_TRUE(done->queue->wait(done->position));
  EXPECT_EQ(read(*to, 100), sent);
}

TEST_P(CopiesTest, EmptyMemoryIsMemory) {
  const auto device = open(0);
  const Ref<Buffer> empty = *Buffer::allocate(*device, 0);
  EXPECT_TRUE(empty->copy_in(nullptr, 0));
  EXPECT_NE(empty->memory().address, 0u);
}

// Memory goes back when the work that uses it is done, not before: freeing it earlier would be
// CUDA-MEM-002, an error.
TEST_P(CopiesTest, ReleasedMemoryStaysUntilItsWorkIsDone) {
  const auto device = open(0, {.max_cached = 0});
  hcq::SignalPool signals(device->shared_memory());
  const hcq::Signal start = *signals.make();
  Ref<Buffer> buffer = *Buffer::allocate(*device, 4096);
  const auto commands = device->compute_queue().make_commands();
  commands->wait(start.address(), 1);
  commands->copy(hcq::GpuAddr{buffer->memory().address},
                 hcq::GpuAddr{buffer->memory().address + 2048}, 2048);
  const Result<hcq::Point> done = device->compute_queue().submit(*commands);
  ASSERT_TRUE(done);
  buffer = {};
  start.store(1);
  EXPECT_TRUE(device->synchronize());
}

INSTANTIATE_TEST_SUITE_P(Modes, CopiesTest, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "Adversarial" : "Fast"; });

}  // namespace
}  // namespace doorbell::cuda
