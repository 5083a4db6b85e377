// The driver on an emulated machine: what faults, hangs and peers look like from a program.
#include "tests/drivers/amd_emulated/emulated_test.h"

namespace doorbell::amd {
namespace {

using Values = std::array<u32, 32>;

Values counting() {
  Values values;
  for (u32 i = 0; i < values.size(); ++i) values[i] = i;
  return values;
}

using FaultsTest = EmulatedTest;

void expect_works(AmdDevice& device) {
  const Values in = counting();
  Values out{};
  Ref<Buffer> a = *Buffer::allocate(device, sizeof in), b = *Buffer::allocate(device, sizeof in);
  ASSERT_TRUE(a->copy_in(in.data(), sizeof in));
  Result<std::unique_ptr<core::Program>> program = device.load(compiled_kernel());
  ASSERT_TRUE(program) << program.error().message;
  const core::BufferView views[] = {{a.get(), 0}, {b.get(), 0}};
  ASSERT_TRUE((*program)->launch(views, {}));
  ASSERT_TRUE(b->copy_out(out.data(), sizeof out));
  for (u32 i = 0; i < out.size(); ++i) ASSERT_EQ(out[i], i + 7);
}

TEST_F(FaultsTest, RunsAKernelOfAnotherCompiler) { expect_works(*open(0)); }

TEST_F(FaultsTest, NamesKernelAndBufferOfAFaultAndLetsOthersGoOn) {
  std::unique_ptr<AmdDevice> first = open(0), second = open(1);
  auto program = *first->load(compiled_kernel());
  Ref<Buffer> a = *Buffer::allocate(*first, 4096);
  u64 gone = 0;
  {
    Ref<Buffer> b = *Buffer::allocate(*first, 8192);
    gone = b->memory().address;
  }
  first->allocator().flush();
  core::Allocation freed;
  freed.address = gone;
  freed.bytes = 8192;
  Ref<Buffer> stale = Buffer::wrap(*first, freed);
  const core::BufferView views[] = {{a.get(), 0}, {stale.get(), 64}};
  ASSERT_TRUE(program->launch(views, {}));
  Result<void> done = first->synchronize();
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().kind, ErrorKind::DeviceLost);
  const std::string& message = done.error().message;
  EXPECT_NE(message.find(fmt::format("memory fault at {:#x}, in what was a buffer ({:#x}, 8192 "
                                     "bytes), 0 bytes in: the page is not present",
                                     gone, gone)),
            std::string::npos)
      << message;
  EXPECT_NE(message.find("AMD compute queue at position 1 of 1, kernel kernel"), std::string::npos)
      << message;
  // The emulator knows the instruction.
  EXPECT_NE(message.find("the emulator: GPU 0, queue 0"), std::string::npos) << message;
  EXPECT_FALSE(program->launch(views, {}));
  expect_works(*second);
}

TEST_F(FaultsTest, TellsWhatAHangingQueueWaitsFor) {
  std::unique_ptr<AmdDevice> device = open(0, {.timeout_ns = 50'000'000});
  const hcq::Signal never = *kfd->signals().make();
  hcq::Queue& queue = device->compute_queue();
  auto commands = queue.make_commands();
  commands->wait(never.address(), 5);
  ASSERT_TRUE(queue.submit(*commands));
  Result<void> done = queue.synchronize();
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().kind, ErrorKind::Timeout);
  EXPECT_NE(done.error().message.find("AMD compute queue hangs: position 1 of 1 not reached"),
            std::string::npos)
      << done.error().message;
  EXPECT_NE(done.error().message.find(fmt::format(
                "it waits until {:#x} is 5 or more, and that is 0", never.address().value)),
            std::string::npos)
      << done.error().message;
  never.store(5);
  EXPECT_TRUE(queue.synchronize());
}

TEST_F(FaultsTest, CopiesBetweenPeersOnTheirQueues) {
  std::unique_ptr<AmdDevice> first = open(0), second = open(1);
  const Values in = counting();
  Values out{};
  Ref<Buffer> here = *Buffer::allocate(*first, sizeof in);
  Ref<Buffer> there = *Buffer::allocate(*second, sizeof in);
  ASSERT_TRUE(here->copy_in(in.data(), sizeof in));
  Result<hcq::GpuAddr> seen = first->address_of(*there);
  ASSERT_TRUE(seen) << seen.error().message;
  auto commands = first->copy_queue().make_commands();
  commands->copy(*seen, here->memory().address, sizeof in);
  const hcq::Point point = *first->copy_queue().submit(*commands);
  // The other one waits for it on its own queue.
  auto nothing = second->copy_queue().make_commands();
  ASSERT_TRUE(second->copy_queue().submit(*nothing, hcq::Fence(point)));
  ASSERT_TRUE(there->copy_out(out.data(), sizeof out));
  EXPECT_EQ(out, in);
}

}  // namespace
}  // namespace doorbell::amd
