// The DISK device: parts of files as memory, with bounds that the file sets.
#include "drivers/disk/device.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "base/os/host.h"
#include "core/device/stored_file.h"

namespace doorbell::disk {
namespace {

class DiskDeviceTest : public testing::Test {
 protected:
  DiskDeviceTest() : device_(spec()) { std::ofstream(path_, std::ios::binary) << "0123456789"; }
  ~DiskDeviceTest() override { std::filesystem::remove(path_); }

  static core::DeviceSpec spec() {
    core::DeviceSpec spec;
    spec.name = "DISK";
    return spec;
  }
  core::Ref<core::Buffer> part(i64 offset, i64 bytes, core::FileUse use = core::FileUse::Write) {
    return *core::part_of_file(device_, *core::open_stored(os::host_files(), path_, use), offset,
                               bytes);
  }

  const std::string path_ = testing::TempDir() + "disk_device_test";
  DiskDevice device_;
};

TEST_F(DiskDeviceTest, HasNoMemoryWithoutAFileAndRunsNothing) {
  EXPECT_EQ(core::Buffer::allocate(device_, 4).error().message,
            "4 bytes on DISK without a file: name one, as in \"DISK:/path\"");
  core::Binary binary;
  binary.name = "k";
  EXPECT_EQ(device_.load(binary).error().message, "DISK keeps files and runs no kernel: k");
  EXPECT_TRUE(device_.synchronize());
}

TEST_F(DiskDeviceTest, ReadsAndWritesItsPart) {
  char text[4] = {};
  const core::Ref<core::Buffer> middle = part(3, 4);
  ASSERT_TRUE(middle->copy_out(text, 3, 1));
  EXPECT_STREQ(text, "456");
  ASSERT_TRUE(middle->copy_in("ab", 2, 2));
  EXPECT_EQ(middle->copy_in("ab", 2, 3).error().message,
            "2 bytes at offset 3 of a buffer of 4 bytes");
  ASSERT_TRUE(core::copy_between(*part(0, 2), 0, *middle, 2, 2));
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(std::ifstream(path_).rdbuf()), {}),
            "ab234ab789");
}

TEST_F(DiskDeviceTest, RefusesWhatTheFileHasNot) {
  const auto file = *core::open_stored(os::host_files(), path_, core::FileUse::Read);
  EXPECT_EQ(core::part_of_file(device_, file, 8, 3).error().message,
            "file " + path_ + " has 10 bytes, expected 3 from byte 8 on");
  EXPECT_EQ(core::part_of_file(device_, file, INT64_MAX, INT64_MAX).error().kind,
            ErrorKind::Invalid);
  EXPECT_EQ(part(0, 1, core::FileUse::Read)->copy_in("a", 1).error().kind, ErrorKind::Permission);
  const core::Ref<core::Buffer> all = part(0, 10);
  std::filesystem::resize_file(path_, 4);
  char text[10];
  EXPECT_EQ(all->copy_out(text, 10).error().message,
            "file " + path_ + " ends at byte 4 now, expected at least 10 bytes");
  EXPECT_EQ(all->copy_in(text, 10).error().message,
            "file " + path_ + " has 4 bytes now, expected at least 10");
}

}  // namespace
}  // namespace doorbell::disk
