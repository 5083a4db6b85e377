// Devices: opening, submissions as the channel gets them, and what ends one.
#include "drivers/nv/device.h"

#include <gtest/gtest.h>

#include <cstring>

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
