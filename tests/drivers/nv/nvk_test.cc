// Opening NVIDIA's kernel modules, and the objects of a GPU and its channels.
#include "drivers/nv/kernel/nvk.h"

#include <gtest/gtest.h>

#include <cstring>

#include "drivers/nv/hw/host/user_control.h"
#include "drivers/nv/kernel/nvk_channel.h"
#include "drivers/nv/kernel/nvk_gpu.h"
#include "drivers/nv/kernel/shared_memory.h"
#include "tests/drivers/nv/fake_nvk.h"

namespace doorbell::nv {
namespace {

using testing::FakeNvk;

std::string open_error(FakeNvk& fake) {
  Result<std::unique_ptr<Nvk>> opened = Nvk::open(fake);
  return opened ? "" : opened.error().message;
}

TEST(Nvk, SaysWhatIsMissing) {
  FakeNvk fake;
  fake.files.files.erase("/dev/nvidia-uvm");
  EXPECT_EQ(open_error(fake),
            "/dev/nvidia-uvm does not exist: the kernel module nvidia_uvm is not loaded (modprobe "
            "nvidia-uvm; nvidia-modprobe -u -c 0 makes the node)");
  fake.files.files.erase("/dev/nvidiactl");
  EXPECT_NE(open_error(fake).find("the kernel module nvidia is not loaded"), std::string::npos);
}

TEST(Nvk, SaysThatItMayNot) {
  FakeNvk fake;
  fake.files.read_only.insert("/dev/nvidiactl");
  EXPECT_NE(open_error(fake).find("/dev/nvidiactl cannot be opened: give the user access"),
            std::string::npos);
}

TEST(Nvk, RefusesReleasesThatNobodyCompared) {
  FakeNvk fake("sm_86", "615.12.01");
  EXPECT_NE(open_error(fake).find("NVIDIA's driver is 615.12.01, releases 570 to 610 are known"),
            std::string::npos);
}

TEST(Nvk, TakesTheVersionOfTheProcFileWhereRmDoesNotTell) {
  FakeNvk fake;
  fake.refuse["RM_CONTROL 0x13e"] = hw::RmStatus::NotSupported;
  fake.files.add("/proc/driver/nvidia/version",
                 "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.03  Release "
                 "Build  (dvs-builder@U22-I3)\n");
  Result<std::unique_ptr<Nvk>> nvk = Nvk::open(fake);
  ASSERT_TRUE(nvk) << nvk.error().message;
  EXPECT_EQ((*nvk)->client().version(), "580.159.03");
  EXPECT_EQ((*nvk)->client().abi(), hw::DriverAbi::R580);
}

struct NvkGpuTest : ::testing::Test {
  FakeNvk fake;
  std::unique_ptr<Nvk> nvk = *Nvk::open(fake);
};

TEST_F(NvkGpuTest, KnowsItsChip) {
  NvkGpu& gpu = **nvk->gpu(0);
  EXPECT_EQ(gpu.shape().chip(), "sm_86");
  EXPECT_EQ(gpu.shape().sass_version(), 0x86);
  EXPECT_EQ(gpu.classes().compute, hw::ClassId::AmpereComputeB);
  EXPECT_EQ(gpu.uuid()[0], 0x42);
  EXPECT_EQ(*nvk->gpu(0), &gpu);
}

// Objects go in the opposite order of their making, and none is left.
TEST_F(NvkGpuTest, FreesItsObjects) {
  ASSERT_TRUE(nvk->gpu(0));
  fake.calls.clear();
  nvk.reset();
  const std::vector<std::string> expected = {
      "UVM 26",                // UVM_UNREGISTER_GPU_VASPACE
      "UVM 38",                // UVM_UNREGISTER_GPU
      "RM_FREE class=0xc561",  // AMPERE_USERMODE_A
      "RM_FREE class=0x90f1",  // FERMI_VASPACE_A
      "RM_FREE class=0x2080",  // NV20_SUBDEVICE_0
      "RM_FREE class=0x80",    // NV01_DEVICE_0
      "RM_FREE class=0x41",    // NV01_ROOT_CLIENT
  };
  EXPECT_EQ(fake.calls, expected);
  EXPECT_TRUE(fake.objects.empty());
}

TEST_F(NvkGpuTest, MemoryIsMappedOnce) {
  NvkGpu& gpu = **nvk->gpu(0);
  for (const auto kind : {MemoryKind::Video, MemoryKind::VisibleVideo, MemoryKind::Host}) {
    MemoryRequest request;
    request.bytes = 100;
    request.kind = kind;
    request.low = kind != MemoryKind::Video;
    request.what = "a test";
    std::unique_ptr<NvkMemory> memory = *gpu.allocate(request);
    EXPECT_EQ(memory->bytes(), kind == MemoryKind::Host ? 4096u : 65536u);
    EXPECT_EQ(memory->address() < u64{1} << 40, request.low);
    EXPECT_EQ(memory->host() != nullptr, kind != MemoryKind::Video);
    if (memory->host() != nullptr) {
      EXPECT_EQ(fake.at(memory->address()), memory->host());
    }
    const usize calls = fake.calls.size();
    ASSERT_TRUE(memory->map_to(gpu));
    EXPECT_EQ(fake.calls.size(), calls);
  }
  EXPECT_EQ(fake.memory.size(), 0u);
}

TEST_F(NvkGpuTest, MemoryThatIsRefusedLeavesNothing) {
  NvkGpu& gpu = **nvk->gpu(0);
  fake.refuse["RM_ALLOC class=0x40"] = hw::RmStatus::NoMemory;
  MemoryRequest request;
  request.bytes = 1 << 20;
  request.what = "weights";
  Result<std::unique_ptr<NvkMemory>> memory = gpu.allocate(request);
  ASSERT_FALSE(memory);
  EXPECT_EQ(memory.error().kind, ErrorKind::OutOfMemory);
  EXPECT_EQ(memory.error().message,
            "/dev/nvidia0 has no memory for 1048576 bytes of weights: NV_ESC_RM_ALLOC of video "
            "memory (class 0x40, parent 0xc1d00001) is refused: NV_ERR_NO_MEMORY (0x51)");
  fake.refuse["UVM 33"] = hw::RmStatus::InvalidAddress;
  EXPECT_FALSE(gpu.allocate(request));
  EXPECT_TRUE(fake.memory.empty());
}

struct NvkChannelTest : NvkGpuTest {
  NvkGpu& gpu = **nvk->gpu(0);
  std::unique_ptr<ChannelGroup> group = *ChannelGroup::make(gpu);
  std::unique_ptr<NvkChannel> channel = *NvkChannel::make(*group, gpu.classes().compute, "compute");
};

TEST_F(NvkChannelTest, GivesRmItsMemory) {
  const auto made = fake.parameters_of<hw::ChannelParameters>(0xc56f);
  EXPECT_EQ(made.gp_fifo_entries, NvkChannel::kEntries);
  EXPECT_EQ(fake.at(made.gp_fifo_offset), reinterpret_cast<u8*>(channel->ring().data()));
  EXPECT_EQ(made.userd_memory[0], made.object_buffer);
  EXPECT_EQ(made.userd_offset[0], NvkChannel::kEntries * 8);
  EXPECT_EQ(made.context_share, group->context_share());
  ASSERT_TRUE(group->schedule());
  EXPECT_EQ(fake.calls.back(), "RM_CONTROL 0xa06c0101");
}

TEST_F(NvkChannelTest, IsRungWithItsToken) {
  channel->announce(3);
  const auto made = fake.parameters_of<hw::ChannelParameters>(0xc56f);
  u32 put = 0;
  std::memcpy(&put, fake.at(made.gp_fifo_offset + made.userd_offset[0] + hw::kUserdGpPut), 4);
  EXPECT_EQ(put, 3u);
  EXPECT_EQ(fake.rings, std::vector<u32>{channel->handle() & 0xffff});
}

TEST_F(NvkChannelTest, TellsItsError) {
  EXPECT_FALSE(channel->error());
  const auto made = fake.parameters_of<hw::ChannelParameters>(0xc56f);
  const hw::Notification notification{.info32 = 31, .status = 0xffff};
  std::memcpy(fake.memory.at(made.object_error).host, &notification, sizeof notification);
  ASSERT_TRUE(channel->error());
  EXPECT_EQ(channel->error()->info32, 31u);
  EXPECT_EQ(hw::xid_name(31), "MMU fault");
}

TEST_F(NvkChannelTest, LeavesNothing) {
  const usize before = fake.objects.size();
  channel.reset();
  group.reset();
  EXPECT_LT(fake.objects.size(), before);
  for (const auto& [handle, object] : fake.objects)
    EXPECT_TRUE(object.class_id == hw::kRootClient || object.class_id == 0x80 ||
                object.class_id == 0x2080 || object.class_id == 0x90f1 || object.class_id == 0xc561)
        << object.class_id;
  EXPECT_TRUE(fake.memory.empty());
}

}  // namespace
}  // namespace doorbell::nv
