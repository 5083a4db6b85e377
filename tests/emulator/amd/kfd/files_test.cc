// The emulated machine as files.
#include <cerrno>

#include "tests/emulator/amd/kfd/client.h"

namespace doorbell::emu::amdgpu::testing {

using namespace amd::hw;
namespace {

using FilesTest = ClientTest;

TEST_F(FilesTest, TopologyIsRead) {
  EXPECT_EQ(*os::read_text(*files_, "/sys/devices/virtual/kfd/kfd/topology/nodes/1/gpu_id"),
            std::to_string(id(0)) + "\n");
  EXPECT_EQ(*os::read_text(*files_, "/sys/class/kfd/kfd/topology/nodes/2/gpu_id"),
            std::to_string(id(1)) + "\n")
      << "through the class";
  EXPECT_EQ(*files_->list("/sys/devices/virtual/kfd/kfd/topology/nodes"),
            (std::vector<std::string>{"0", "1", "2"}));
  EXPECT_EQ(*files_->list("/dev/dri"), (std::vector<std::string>{"renderD128", "renderD129"}));
  EXPECT_EQ(
      *os::read_text(*files_, "/sys/class/drm/renderD128/device/ip_discovery/die/0/11/0/major"),
      "11\n");
}

// libdrm takes two descriptors for one device's unless both have a primary node, of another name.
// [libdrm amdgpu_device.c fd_compare(), xf86drm.c drmGetMinorNameForFD()]
TEST_F(FilesTest, EachDeviceHasItsPrimaryNode) {
  for (u32 index : {0, 1})
    EXPECT_EQ(*files_->list(fmt::format("/sys/dev/char/226:{}/device/drm", 128 + index)),
              (std::vector<std::string>{fmt::format("card{}", index),
                                        fmt::format("renderD{}", 128 + index)}));
}

TEST_F(FilesTest, OurFoldersHoldNothingOfTheHosts) {
  EXPECT_EQ(files_->open("/dev/dri/renderD140", os::Access::ReadWrite).error().os_errno, ENOENT);
  EXPECT_FALSE(files_->exists("/dev/dri/card0"));
  EXPECT_FALSE(files_->exists("/sys/devices/virtual/kfd/kfd/topology/nodes/3"));
  EXPECT_TRUE(files_->exists("/sys/devices/virtual/kfd/kfd/topology/nodes/2"));
  EXPECT_EQ(files_->list("/dev/kfd").error().os_errno, ENOTDIR);
}

TEST_F(FilesTest, TheRestIsTheHosts) {
  EXPECT_TRUE(files_->exists("/proc/self/status"));
  EXPECT_FALSE(os::read_text(*files_, "/proc/self/status")->empty());
  EXPECT_FALSE(files_->list("/sys")->empty());
}

TEST_F(FilesTest, TextsAreReadOnly) {
  const char* path = "/sys/class/kfd/kfd/topology/generation_id";
  EXPECT_EQ(files_->open(path, os::Access::ReadWrite).error().os_errno, EACCES);
  std::unique_ptr<os::File> file = std::move(*files_->open(path, os::Access::Read));
  EXPECT_FALSE(file->write_at(0, {}));
  EXPECT_FALSE(file->map({.size = 4096}));
  EXPECT_EQ(file->ioctl(1, nullptr).error().os_errno, ENOTTY);
}

TEST_F(FilesTest, OnlyBuffersAndDoorbellsAreMapped) {
  acquire();
  Memory memory = allocate(0x4000);
  EXPECT_FALSE(render_[0]->map({.size = 0x8000, .offset = memory.offset})) << "beyond the buffer";
  EXPECT_FALSE(render_[0]->map({.size = 0x1000, .offset = memory.offset + 0x4000}));
  EXPECT_FALSE(render_[1]->map({.size = 0x1000, .offset = memory.offset})) << "another GPU's node";
  EXPECT_FALSE(render_[0]->map({.size = 0x1000, .offset = memory.offset + 0x3000}))
      << "the kernel looks for the very offset";
  EXPECT_FALSE(render_[0]->map({.size = 0x1000, .offset = memory.offset, .shared = false}));
  EXPECT_TRUE(render_[0]->map({.size = 0x1000, .offset = memory.offset})) << "a part of it";
  EXPECT_EQ(checks().count(kHostMap), 5u);
  EXPECT_FALSE(kfd_->map({.size = 0x2000}));
  const u64 doorbells = kfd().devices()[0]->doorbells;
  EXPECT_TRUE(kfd_->map_registers({.size = 0x2000, .offset = doorbells}));
  EXPECT_EQ(kfd_->map_registers({.size = 0x1000, .offset = doorbells}).error().os_errno, EINVAL);
  EXPECT_EQ(kfd_->map_registers({.size = 0x2000, .offset = doorbells + 0x1000}).error().os_errno,
            ENODEV);
  EXPECT_FALSE(kfd_->map_registers({.size = 0x4000, .offset = 0}));
  EXPECT_FALSE(kfd_->map_registers({.size = 0x2000, .offset = u64{1} << 62}));
}

TEST_F(FilesTest, DrmSaysWhoItIs) {
  std::string name(16, '\0');
  DrmVersion version{.name_len = 3, .name = reinterpret_cast<u64>(name.data())};
  ASSERT_TRUE(render_[0]->ioctl(kRequest<DrmVersion>, &version));
  EXPECT_EQ(version.version_major, 3);
  EXPECT_EQ(version.name_len, 6u) << "the whole length";
  EXPECT_EQ(name.substr(0, 4), std::string("amd\0", 4)) << "as much as there is room for";

  DrmDeviceInfo info;
  DrmAmdgpuInfo query{.return_pointer = reinterpret_cast<u64>(&info),
                      .return_size = sizeof info,
                      .query = kDrmInfoDevInfo};
  ASSERT_TRUE(render_[0]->ioctl(kRequest<DrmAmdgpuInfo>, &query));
  EXPECT_EQ(info.device_id, 29772u);
  EXPECT_EQ(info.num_shader_engines, 6u);
  EXPECT_EQ(info.cu_active_number, 96u);
  EXPECT_EQ(info.cu_bitmap[1][3], 0xffu) << "engine 5, array 1";
  query.query = 0x7777;
  EXPECT_EQ(render_[0]->ioctl(kRequest<DrmAmdgpuInfo>, &query).error().os_errno, EINVAL);
}

class PackageFilesTest : public ClientTest {
 protected:
  PackageFilesTest() : ClientTest({.gpus = {"gfx942:CPX:1", "gfx942"}, .checks = "warn"}) {}
};

// 304, whether the package is one GPU or eight. [linux gfx_v9_4_3.c gfx_v9_4_3_get_cu_info()]
TEST_F(PackageFilesTest, DrmCountsTheComputeUnitsOfAllXccs) {
  for (const auto& node : render_) {
    DrmDeviceInfo info;
    DrmAmdgpuInfo query{.return_pointer = reinterpret_cast<u64>(&info),
                        .return_size = sizeof info,
                        .query = kDrmInfoDevInfo};
    ASSERT_TRUE(node->ioctl(kRequest<DrmAmdgpuInfo>, &query));
    EXPECT_EQ(info.cu_active_number, 304u);
  }
}

}  // namespace
}  // namespace doorbell::emu::amdgpu::testing
