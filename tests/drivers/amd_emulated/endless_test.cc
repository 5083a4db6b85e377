// Waves that never end, where somebody watches: the kernel driver resets what it cannot preempt,
// and informs the process by an event, which the driver reports with the waves' positions.
#include "tests/drivers/amd_emulated/emulated_test.h"
#include "tests/emulator/support/compile_amdgpu.h"

namespace doorbell::amd {
namespace {

constexpr const char* kEndless = R"(
target triple = "amdgcn-amd-amdhsa"
define amdgpu_kernel void @endless(ptr addrspace(1) %out) #0 {
  br label %spin
spin:
  br label %spin
}
attributes #0 = { "amdgpu-flat-work-group-size"="1,1" "amdgpu-no-implicitarg-ptr" }
)";

struct EndlessTest : EmulatedTest, ::testing::WithParamInterface<bool> {};

TEST_P(EndlessTest, WavesThatNeverEndAreAHang) {
  const bool lockstep = GetParam();
  boot({.gpus = {"gfx1100"}, .lockstep = lockstep, .hang_after = u64{1} << 22});
  // In lockstep a doorbell runs the machine until it rests.
  std::unique_ptr<AmdDevice> device = open(0, {.timeout_ns = 60'000'000'000});
  core::Binary binary;
  binary.name = "endless";
  binary.image = *testing::compile_ir(kEndless, "gfx1100");
  binary.param_count = 1;
  std::unique_ptr<core::Program> program = *device->load(binary);
  Ref<Buffer> out = *Buffer::allocate(*device, 8);
  const core::BufferView views[] = {{out.get(), 0}};
  ASSERT_TRUE(program->launch(views, {}));
  const Result<void> done = device->synchronize();
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().kind, ErrorKind::DeviceLost);
  const std::string& message = done.error().message;
  EXPECT_NE(message.find("the GPU hangs; all of it was reset"), std::string::npos) << message;
  EXPECT_NE(message.find("1 wave: 1 at endless+0x"), std::string::npos) << message;
  bool named = false;
  for (const emu::Report& report : machine->checks().reports())
    named |= std::string_view(report.check->id) == "AMD-LIVE-001";
  EXPECT_TRUE(named);
}

// Given up, the waves are taken off the hardware where they are; the queue runs what comes next.
TEST_P(EndlessTest, WavesThatAreGivenUp) {
  if (GetParam()) GTEST_SKIP() << "in lockstep a doorbell runs the machine until it rests";
  for (const auto packets : {Options::Packets::Pm4, Options::Packets::Aql}) {
    boot({.gpus = {"gfx1100"}});
    std::unique_ptr<AmdDevice> device = open(0, {.packets = packets});
    core::Binary binary;
    binary.name = "endless";
    binary.image = *testing::compile_ir(kEndless, "gfx1100");
    binary.param_count = 1;
    std::unique_ptr<core::Program> program = *device->load(binary);
    Ref<Buffer> out = *Buffer::allocate(*device, 8);
    const core::BufferView views[] = {{out.get(), 0}};
    u64 seven = 7, got = 0;
    for (int round = 0; round < 3; ++round) {
      ASSERT_TRUE(program->launch(views, {}));
      ASSERT_TRUE(program->launch(views, {}));  // behind it in the ring
      hcq::Queue& queue = device->compute_queue();
      const hcq::Position position = queue.last().position;
      queue.abandon();
      EXPECT_TRUE(queue.idle());
      EXPECT_TRUE(queue.was_abandoned(position));
      EXPECT_EQ(queue.wait(position).error().kind, ErrorKind::Timeout);
      // By the compute queue, too.
      auto commands = queue.make_commands();
      commands->write(out->memory().address, ++seven);
      ASSERT_TRUE(queue.submit(*commands));
      const Result<void> done = device->synchronize();
      ASSERT_TRUE(done) << done.error().message;
      ASSERT_TRUE(out->copy_out(&got, 8));
      EXPECT_EQ(got, seven);
    }
    for (const emu::Report& report : machine->checks().reports())
      ADD_FAILURE() << to_string(report);
  }
}

INSTANTIATE_TEST_SUITE_P(Machines, EndlessTest, ::testing::Bool(), [](const auto& info) {
  return std::string(info.param ? "Lockstep" : "Threads");
});

}  // namespace
}  // namespace doorbell::amd
