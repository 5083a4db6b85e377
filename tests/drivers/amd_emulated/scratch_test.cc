// Private memory that grows while a queue runs, on the weakest hardware: a command processor that
// has the old place must never be asked to use the new one.
#include <chrono>
#include <cstring>
#include <mutex>
#include <thread>

#include "tests/drivers/amd_emulated/emulated_test.h"

namespace doorbell::amd {
namespace {

struct ScratchTest : EmulatedTest, ::testing::WithParamInterface<Options::Packets> {};

core::Binary kernel_with_private(u32 bytes) {
  core::Binary binary = compiled_kernel();
  constexpr usize kDescriptor = 0x300;  // .rodata; private_segment_fixed_size: its second word
  std::memcpy(&binary.image[kDescriptor + 4], &bytes, sizeof bytes);
  return binary;
}

TEST_P(ScratchTest, GrowsBetweenLaunches) {
  for (bool adversarial : {false, true}) {
    boot({.gpus = {"gfx1100"}, .adversarial = adversarial});
    std::unique_ptr<AmdDevice> device = open(0, {.packets = GetParam()});
    Ref<Buffer> a = *Buffer::allocate(*device, 128), b = *Buffer::allocate(*device, 128);
    const core::BufferView views[] = {{a.get(), 0}, {b.get(), 0}};
    std::vector<std::unique_ptr<core::Program>> programs;
    u32 round = 0;
    for (const u32 bytes : {0u, 64u, 64u, 1024u, 0u, 8192u}) {
      programs.push_back(*device->load(kernel_with_private(bytes)));
      std::array<u32, 32> in, out{};
      in.fill(++round);
      ASSERT_TRUE(a->copy_in(in.data(), sizeof in));
      // The ones before, too: their packets stay what they were.
      for (const auto& program : programs) ASSERT_TRUE(program->launch(views, {}));
      const Result<void> copied = b->copy_out(out.data(), sizeof out);
      ASSERT_TRUE(copied) << copied.error().message;
      for (u32 value : out) ASSERT_EQ(value, round + 7) << bytes;
    }
    EXPECT_EQ(machine->checks().errors(), 0u);
  }
}

// An AQL queue has one area for all its launches: a thread that waits for the queue's lock with the
// area of its kernel must not bring it once a larger one is there.
TEST_P(ScratchTest, GrowsForThreadsAtOnce) {
  constexpr u32 kRounds = 40;
  for (u32 round = 0; round < kRounds; ++round) {
    boot({.gpus = {"gfx1100"}});
    std::unique_ptr<AmdDevice> device = open(0, {.packets = GetParam()});
    std::unique_ptr<core::Program> small, large;
    {
      std::unique_lock lock(device->compute_queue().mutex());
      const std::jthread late([&] { small = *device->load(kernel_with_private(128)); });
      while (device->scratch().item_bytes == 0) std::this_thread::yield();
      // It sleeps by now; the next submission is likely to run before it.
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      lock.unlock();
      large = *device->load(kernel_with_private(8192));
    }
    Ref<Buffer> a = *Buffer::allocate(*device, 128), b = *Buffer::allocate(*device, 128);
    const core::BufferView views[] = {{a.get(), 0}, {b.get(), 0}};
    ASSERT_TRUE(large->launch(views, {}));
    const Result<void> done = device->synchronize();
    ASSERT_TRUE(done) << "round " << round << ": " << done.error().message;
  }
}

INSTANTIATE_TEST_SUITE_P(Queues, ScratchTest,
                         ::testing::Values(Options::Packets::Pm4, Options::Packets::Aql),
                         [](const auto& info) {
                           return info.param == Options::Packets::Aql ? "Aql" : "Pm4";
                         });

}  // namespace
}  // namespace doorbell::amd
