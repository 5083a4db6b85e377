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

TEST_F(NvkGpuTest, ExportsVideoMemory) {
  NvkGpu& gpu = **nvk->gpu(0);
  std::unique_ptr<NvkMemory> memory = *gpu.allocate({.bytes = 100, .what = "a frame"});
  EXPECT_EQ(*memory->export_dmabuf(), FakeNvk::kExported);
  const hw::ExportDmabuf& call = fake.exported;
  EXPECT_EQ(call.fd, -1);
  EXPECT_EQ(call.client, nvk->client().handle());
  EXPECT_EQ(call.total_objects, 1u);
  EXPECT_EQ(call.num_objects, 1u);
  EXPECT_EQ(call.total_size, 65536u);
  EXPECT_EQ(call.mapping_type, 0);
  EXPECT_EQ(call.handles[0], memory->handle());
  EXPECT_EQ(call.offsets[0], 0u);
  EXPECT_EQ(call.sizes[0], 65536u);
  fake.refuse["EXPORT_DMABUF"] = hw::RmStatus::NotSupported;
  const Result<int> refused = memory->export_dmabuf();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::Unsupported);
  EXPECT_EQ(refused.error().message,
            "nv_ioctl_export_to_dma_buf_fd_t of 65536 bytes to share is refused: "
            "NV_ERR_NOT_SUPPORTED (0x56) by driver 580.105.08 for /dev/nvidia0: the kernel has no "
            "dma-bufs (CONFIG_DMA_SHARED_BUFFER), or the GPU cannot share memory (as in SLI)");
}

TEST_F(NvkGpuTest, ExportsNoMemoryOfTheHost) {
  NvkGpu& gpu = **nvk->gpu(0);
  std::unique_ptr<NvkMemory> memory =
      *gpu.allocate({.bytes = 100, .kind = MemoryKind::Host, .what = "staging"});
  fake.calls.clear();
  const Result<int> refused = memory->export_dmabuf();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::Unsupported);
  EXPECT_NE(refused.error().message.find("the 4096 bytes at 0x"), std::string::npos);
  EXPECT_NE(refused.error().message.find("share video memory only"), std::string::npos);
  EXPECT_TRUE(fake.calls.empty());
}

TEST_F(NvkGpuTest, ImportsByDescriptor) {
  NvkGpu& gpu = **nvk->gpu(0);
  std::unique_ptr<NvkMemory> memory = *gpu.import_dmabuf(5, 5000, "somebody's frame");
  EXPECT_EQ(memory->bytes(), 8192u);
  EXPECT_EQ(memory->host(), nullptr);
  EXPECT_LT(memory->address(), u64{1} << 40);  // an Ampere
  const auto made = fake.parameters_of<hw::OsDescriptorParameters>(0x71);
  EXPECT_EQ(made.descriptor, 5u);
  EXPECT_EQ(made.descriptor_type, 4u);
  EXPECT_EQ(made.limit, 8191u);
  // Of the host's bus, in pieces, cached by the host but not by the GPU. [nvos.h NVOS32_ATTR_*]
  EXPECT_EQ(made.attr >> 25 & 3, 1u);
  EXPECT_EQ(made.attr >> 27 & 3, 1u);
  EXPECT_EQ(made.attr >> 29, 5u);
  EXPECT_EQ(made.attr2 >> 2 & 3, 2u);
  const Result<int> again = memory->export_dmabuf();
  EXPECT_FALSE(again);
  memory.reset();
  EXPECT_TRUE(fake.memory.empty());
}

TEST_F(NvkGpuTest, SaysWhyAnImportFails) {
  NvkGpu& gpu = **nvk->gpu(0);
  fake.refuse["RM_ALLOC class=0x71"] = hw::RmStatus::OperatingSystem;
  const auto refused = gpu.import_dmabuf(5, 4096, "a frame");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message,
            "a dma-buf of 4096 bytes of a frame, descriptor 5: NV_ESC_RM_ALLOC of a dma-buf (class "
            "0x71, parent 0xc1d00001) is refused: NV_ERR_OPERATING_SYSTEM (0x59)");
  fake.calls.clear();
  EXPECT_EQ(gpu.import_dmabuf(0, 4096, "a frame").error().message,
            "descriptor 0 of a frame: RM imports descriptors from 1 on: dup() it");
  EXPECT_EQ(gpu.import_dmabuf(5, u64{1} << 32, "a frame").error().message,
            "a dma-buf of 4294967296 bytes of a frame: RM imports 1 to 4294963200 bytes");
  EXPECT_FALSE(gpu.import_dmabuf(5, 0, "a frame"));
  EXPECT_TRUE(fake.calls.empty());
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
