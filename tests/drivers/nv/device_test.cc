// Devices: opening, submissions as the channel gets them, and what ends one.
#include "drivers/nv/device.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include "drivers/nv/compute_commands.h"
#include "drivers/nv/hw/host/user_control.h"
#include "drivers/nv/hw/rm/notification.h"
#include "drivers/nv/hw/stream/stream.h"
#include "tests/drivers/nv/test_device.h"

namespace doorbell::nv {
namespace {

struct NvDeviceTest : DeviceTest {
  // The channel that was made first is the compute queue's.
  hw::ChannelParameters channel() {
    for (const auto& [handle, object] : fake->objects)
      if (object.class_id == static_cast<u32>(hw::find_classes("sm_86")->channel))
        return *hw::unpack<hw::ChannelParameters>(object.parameters, fake->abi());
    return {};
  }
  u32 put() {
    u32 value = 0;
    const hw::ChannelParameters made = channel();
    std::memcpy(&value, fake->at(made.gp_fifo_offset + made.userd_offset[0] + hw::kUserdGpPut), 4);
    return value;
  }
  // Entry `index` of the ring as text, with what it leads to.
  std::string entry(u32 index) {
    std::vector<u32> words(2);
    std::memcpy(words.data(), fake->at(channel().gp_fifo_offset + index * u64{8}), 8);
    return hw::stream_text(hw::StreamKind::Gpfifo,
                           hw::usual_subchannels(*hw::find_classes("sm_86")), words,
                           [&](u64 address, u32 count) -> std::optional<std::vector<u32>> {
                             std::vector<u32> read(count);
                             std::memcpy(read.data(), fake->at(address), count * usize{4});
                             return read;
                           });
  }
};

TEST_F(NvDeviceTest, BindsItsClasses) {
  open();
  EXPECT_EQ(put(), 1u);
  EXPECT_NE(entry(0).find("SET_OBJECT subchannel=1 class_id=AMPERE_COMPUTE_B"), std::string::npos)
      << entry(0);
  EXPECT_EQ(device->spec().arch, "sm_86");
}

TEST_F(NvDeviceTest, RefusesAnotherChip) {
  fake = std::make_unique<testing::FakeNvk>();
  nvk = *Nvk::open(*fake);
  core::DeviceSpec spec;
  spec.name = "NV";
  spec.arch = "sm_90";
  EXPECT_EQ(NvDevice::open(spec, nvk, {}).error().message, "GPU 0 is a sm_86, DEV asks for sm_90");
  spec.arch = "";
  spec.ordinal = 1;
  EXPECT_EQ(NvDevice::open(spec, nvk, {}).error().message,
            "NV: GPU index 1 out of range (1 present)");
}

TEST_F(NvDeviceTest, LaunchesAreOneEntry) {
  open();
  auto program = *device->load(scale("sm_86", {3, 1, 1}, {64, 1, 1}));
  const u32 before = put();
  const core::Ref<core::Buffer> a = *core::Buffer::allocate(*device, 768);
  const core::BufferView views[] = {{a.get(), 0}, {a.get(), 256}};
  const i64 variables[] = {7};
  finish(device->copy_queue());
  ASSERT_TRUE(program->launch(views, variables));
  EXPECT_EQ(put(), before + 1);
  const std::string text = entry(before);
  EXPECT_NE(text.find("QMD QMD_GROUP_ID=0x3f"), std::string::npos) << text;
  EXPECT_NE(text.find("GRID_WIDTH=3 "), std::string::npos) << text;
  EXPECT_NE(text.find("operation=Release release_wfi payload_64bit"), std::string::npos) << text;
  finish(device->compute_queue());
}

// 100,000 bytes, the kernel's own 256, and 1 KiB that the system reserves are 0x18c00 in units of
// 128. A configuration counts units of 4 KiB from 1: 100 KiB of shared memory.
TEST_F(NvDeviceTest, LaunchesHaveTheirSharedMemory) {
  open();
  core::Binary binary = scale("sm_86", {3, 1, 1}, {64, 1, 1});
  binary.dynamic_shared_bytes = 100'000;
  auto program = *device->load(binary);
  const u32 before = put();
  const core::Ref<core::Buffer> a = *core::Buffer::allocate(*device, 768);
  const core::BufferView views[] = {{a.get(), 0}, {a.get(), 256}};
  const i64 variables[] = {7};
  finish(device->copy_queue());
  ASSERT_TRUE(program->launch(views, variables));
  const std::string text = entry(before);
  EXPECT_NE(text.find(" SHARED_MEMORY_SIZE=0x18c00 "), std::string::npos) << text;
  EXPECT_NE(text.find(" TARGET_SM_CONFIG_SHARED_MEM_SIZE=0x1a "), std::string::npos) << text;
  finish(device->compute_queue());
}

TEST_F(NvDeviceTest, LocalMemoryGrows) {
  open();
  const u32 before = put();
  auto program = *device->load(scale("sm_86", {3, 1, 1}, {64, 1, 1}));
  EXPECT_EQ(put(), before + 1);
  // 0x240 bytes a thread, 32 threads, 48 warps, 2 SMs: rounded up.
  EXPECT_NE(entry(before).find("SET_SHADER_LOCAL_MEMORY_NON_THROTTLED_A subchannel=1 size_upper=0 "
                               "size_lower=0x1b0000 max_sm_count=0xff"),
            std::string::npos)
      << entry(before);
  auto again = *device->load(scale("sm_86", {3, 1, 1}, {64, 1, 1}));
  EXPECT_EQ(put(), before + 1);
}

TEST_F(NvDeviceTest, KernelsThatDoNotFitAreRefused) {
  open();
  core::Binary binary = scale("sm_86", {3, 1, 1}, {64, 32, 1});
  EXPECT_EQ(device->load(binary).error().message,
            "kernel scale has blocks of 64 x 32 x 1 threads, NV runs at most 1024");
  binary = scale("sm_120", {3, 1, 1}, {64, 1, 1});
  EXPECT_EQ(device->load(binary).error().message, "kernel scale is for sm_120, NV is a sm_86");
  binary = scale("sm_86", {3, 1, 1}, {64, 1, 1});
  binary.variable_count = 2;
  EXPECT_EQ(device->load(binary).error().message,
            "kernel scale takes 3 parameters, 2 buffers and 2 variables were expected");
  binary = scale("sm_86", {3, 1, 1}, {64, 1, 1});
  binary.dynamic_shared_bytes = 100 << 10;
  EXPECT_EQ(device->load(binary).error().message,
            "kernel scale needs 103680 bytes of shared memory, NV has 102400");
}

TEST_F(NvDeviceTest, DiesOfWhatRmReports) {
  open();
  auto program = *device->load(scale("sm_86", {3, 1, 1}, {64, 1, 1}));
  const core::Ref<core::Buffer> a = *core::Buffer::allocate(*device, 768);
  const core::BufferView views[] = {{a.get(), 0}, {a.get(), 256}};
  const i64 variables[] = {7};
  finish(device->copy_queue());
  finish(device->compute_queue());
  ASSERT_TRUE(program->launch(views, variables));
  const hw::Notification notification{.info32 = 31, .status = 0xffff};
  std::memcpy(fake->memory.at(channel().object_error).host, &notification, sizeof notification);
  Result<void> done = device->synchronize();
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().kind, ErrorKind::DeviceLost);
  EXPECT_EQ(done.error().message,
            "NV compute queue: the driver stopped the channel, Xid 31 (MMU fault), kernel scale of "
            "position 3");
  EXPECT_FALSE(program->launch(views, variables));
}

TEST_F(NvDeviceTest, NamesTheKernelThatHangs) {
  open();
  auto program = *device->load(scale("sm_86", {3, 1, 1}, {64, 1, 1}));
  const core::Ref<core::Buffer> a = *core::Buffer::allocate(*device, 768);
  const core::BufferView views[] = {{a.get(), 0}, {a.get(), 256}};
  const i64 variables[] = {7};
  finish(device->copy_queue());
  finish(device->compute_queue());
  ASSERT_TRUE(program->launch(views, variables));
  const hcq::Point last = device->compute_queue().last();
  const Result<void> done = device->compute_queue().wait(last.position, 1'000'000);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().kind, ErrorKind::Timeout);
  EXPECT_NE(
      done.error().message.find("NV compute queue hangs: position 3 of 3 not reached in 1 ms"),
      std::string::npos)
      << done.error().message;
  EXPECT_TRUE(done.error().message.ends_with("it runs kernel scale of position 3"))
      << done.error().message;
  finish(device->compute_queue());
}

// What is launched there has a grid of its own, so that it can be told apart.
TEST_F(NvDeviceTest, LaunchesTheFormForUnalignedBuffers) {
  open();
  core::Binary binary = scale("sm_86", {3, 1, 1}, {64, 1, 1});
  int compiled = 0;
  binary.param_alignment = 16;
  binary.unaligned = [&]() -> Result<core::Binary> {
    ++compiled;
    return scale("sm_86", {5, 1, 1}, {64, 1, 1});
  };
  auto program = *device->load(binary);
  const core::Ref<core::Buffer> a = *core::Buffer::allocate(*device, 1024);
  const i64 variables[] = {7};
  finish(device->copy_queue());
  const auto launched = [&](i64 offset) {
    const core::BufferView views[] = {{a.get(), 0}, {a.get(), offset}};
    const u32 at = put();
    EXPECT_TRUE(program->launch(views, variables));
    return entry(at);
  };
  EXPECT_NE(launched(272).find("GRID_WIDTH=3 "), std::string::npos);
  EXPECT_EQ(compiled, 0);
  EXPECT_NE(launched(260).find("GRID_WIDTH=5 "), std::string::npos);
  EXPECT_NE(launched(4).find("GRID_WIDTH=5 "), std::string::npos);
  EXPECT_EQ(compiled, 1);
  finish(device->compute_queue());
}

// The memory that a slot stands for is aligned; the offset in it need not be.
TEST_F(NvDeviceTest, RecordsTheFormForUnalignedBuffers) {
  open();
  core::Binary binary = scale("sm_86", {3, 1, 1}, {64, 1, 1});
  binary.param_alignment = 16;
  binary.unaligned = [&]() -> Result<core::Binary> {
    return scale("sm_86", {5, 1, 1}, {64, 1, 1});
  };
  auto program = *device->load(binary);
  const auto width = [&](u64 offset) {
    ComputeCommands commands(*device);
    const hcq::Operand buffers[] = {u64{0x1000}, hcq::Operand::of_slot(0) + offset};
    const hcq::Operand variables[] = {u64{7}};
    commands.exec({program.get(), buffers, variables});
    const usize bank = 0x80;  // words
    return hw::Qmd::from_words(hw::QmdVersion::V3_0, commands.data().subspan(bank, 64))
        ->get(hw::QmdField::GridWidth);
  };
  EXPECT_EQ(width(32), 3u);
  EXPECT_EQ(width(36), 5u);
}

// A call would free what is the parent's, and a signal would unblock the parent's waiters.
TEST_F(NvDeviceTest, ForkedChildrenLeaveTheDeviceToTheParent) {
  open();
  finish(device->copy_queue());
  const hcq::Timeline::SignalValue last =
      device->compute_queue().timeline().signal_at(device->compute_queue().last().position);
  const u64 before = last.signal.value();
  const pid_t child = fork();
  if (child == 0) {
    alarm(30);
    const usize calls = fake->calls.size();
    device.reset();
    nvk.reset();
    _exit(fake->calls.size() == calls ? 7 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 7) << status;
  EXPECT_EQ(last.signal.value(), before);
  finish(device->compute_queue());
}

TEST_F(NvDeviceTest, AsksForTheInterruptsOfItsChannels) {
  open();
  const auto event = fake->parameters_of<hw::EventParameters>(hw::kEventOsEvent);
  // NV2080_NOTIFIERS_FIFO_EVENT_MTHD | NV01_EVENT_NONSTALL_INTR | NV01_EVENT_WITHOUT_EVENT_DATA
  EXPECT_EQ(event.notify_index, 0x18000023u);
  EXPECT_EQ(event.event_class, 0x79u);
  EXPECT_EQ(fake->objects.at(event.src_resource).class_id, hw::SubdeviceParameters::kClass);
  EXPECT_EQ(static_cast<int>(event.data), fake->event_file);
}

TEST_F(NvDeviceTest, BlocksUntilAnInterrupt) {
  open();
  finish(device->copy_queue());
  const hcq::Point last = device->compute_queue().last();
  // The first interrupt is another queue's.
  fake->on_wait = [&](u64) {
    if (fake->waits == 2) finish(device->compute_queue());
  };
  EXPECT_TRUE(device->compute_queue().wait(last.position));
  EXPECT_EQ(fake->waits, 2);
}

TEST_F(NvDeviceTest, DiesWhileItBlocks) {
  open();
  finish(device->copy_queue());
  const hcq::Point last = device->compute_queue().last();
  fake->on_wait = [&](u64) {
    const hw::Notification notification{.info32 = 13, .status = 0xffff};
    std::memcpy(fake->memory.at(channel().object_error).host, &notification, sizeof notification);
  };
  Result<void> done = device->compute_queue().wait(last.position);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().kind, ErrorKind::DeviceLost);
  EXPECT_EQ(fake->waits, 1);
}

// As in sandboxes that do not know the call.
TEST_F(NvDeviceTest, LooksAtSignalsWhereRmGivesNoEvent) {
  fake = std::make_unique<testing::FakeNvk>();
  fake->refuse["ALLOC_OS_EVENT"] = hw::RmStatus::NotSupported;
  open_fake();
  const hcq::Point last = device->compute_queue().last();
  EXPECT_EQ(device->compute_queue().wait(last.position, 100'000'000).error().kind,
            ErrorKind::Timeout);
  finish(device->compute_queue());
  EXPECT_TRUE(device->compute_queue().wait(last.position));
  EXPECT_EQ(fake->waits, 0);
}

TEST_F(NvDeviceTest, LeavesNothing) {
  open();
  const std::weak_ptr<Nvk> process = nvk;
  device.reset();
  nvk.reset();
  EXPECT_TRUE(process.expired());
  EXPECT_TRUE(fake->objects.empty());
  EXPECT_TRUE(fake->memory.empty());
}

}  // namespace
}  // namespace doorbell::nv
