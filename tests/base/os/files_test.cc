// The real files, and the whole-file helpers over files that fail when told to. The same
// expectations run over the real and the fake doors, so that the fake stays a fair stand-in.
#include "base/os/files.h"

#include <cerrno>
#include <cstdlib>
#include <functional>

#include <gtest/gtest.h>

#include "base/os/host.h"
#include "tests/support/fake_system.h"

namespace doorbell::os {
namespace {

std::span<const u8> bytes_of(std::string_view text) {
  return {reinterpret_cast<const u8*>(text.data()), text.size()};
}

class FilesTest : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (std::string_view(GetParam()) == "host") {
      files_ = &host_files();
      std::string pattern = ::testing::TempDir() + "doorbell_files_XXXXXX";
      ASSERT_NE(mkdtemp(pattern.data()), nullptr);
      folder_ = pattern;
    } else {
      files_ = &fake_;
      folder_ = "/test";
      ASSERT_TRUE(fake_.make_folders(folder_));
    }
  }
  void TearDown() override {
    if (files_ != &host_files()) return;
    for (const char* name : {"/a/b/two", "/a/b/one", "/a/b", "/a", "/one", "/two", ""})
      static_cast<void>(files_->remove(folder_ + name));
  }

  ::doorbell::testing::FakeFiles fake_;
  Files* files_ = nullptr;
  std::string folder_;
};

TEST_P(FilesTest, MissingFileKeepsItsErrno) {
  Result<std::vector<u8>> read = read_file(*files_, folder_ + "/none");
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().kind, ErrorKind::NotFound);
  EXPECT_EQ(read.error().os_errno, ENOENT);
  EXPECT_EQ(std::string(read.error().what()),
            "open " + folder_ + "/none: No such file or directory");
  EXPECT_EQ(files_->open(folder_ + "/none", Access::ReadWrite).error().os_errno, ENOENT);
  EXPECT_EQ(files_->rename(folder_ + "/none", folder_ + "/two").error().os_errno, ENOENT);
  EXPECT_EQ(files_->remove(folder_ + "/none").error().os_errno, ENOENT);
  EXPECT_EQ(files_->list(folder_ + "/none").error().os_errno, ENOENT);
  EXPECT_FALSE(files_->exists(folder_ + "/none"));
}

TEST_P(FilesTest, ReplacesAndReadsBack) {
  ASSERT_TRUE(replace_file(*files_, folder_ + "/one", bytes_of("first content"), 1));
  ASSERT_TRUE(replace_file(*files_, folder_ + "/one", bytes_of("second"), 2));
  EXPECT_EQ(*read_text(*files_, folder_ + "/one"), "second");
  EXPECT_EQ(*files_->list(folder_), std::vector<std::string>{"one"}) << "a partial file is left";
}

TEST_P(FilesTest, MapsWholeFiles) {
  ASSERT_TRUE(replace_file(*files_, folder_ + "/one", bytes_of("mapped"), 1));
  Mapping mapping = std::move(*map_file(*files_, folder_ + "/one"));
  EXPECT_EQ(std::string(mapping.bytes().begin(), mapping.bytes().end()), "mapped");
  ASSERT_TRUE(replace_file(*files_, folder_ + "/two", {}, 1));
  EXPECT_EQ(map_file(*files_, folder_ + "/two")->size(), 0u);
}

TEST_P(FilesTest, ReadsAtOffsetsUntilTheEnd) {
  ASSERT_TRUE(replace_file(*files_, folder_ + "/one", bytes_of("0123456789"), 1));
  std::unique_ptr<File> file = std::move(*files_->open(folder_ + "/one", Access::Read));
  std::array<u8, 4> buffer{};
  EXPECT_EQ(*file->read_at(8, buffer), 2u);
  EXPECT_EQ(buffer[1], '9');
  EXPECT_EQ(*file->read_at(10, buffer), 0u);
  EXPECT_EQ(*file->size(), 10u);
  EXPECT_EQ(file->ioctl(0x1234, nullptr).error().os_errno, ENOTTY);
}

TEST_P(FilesTest, RegistersAreMappedMemoryWhereNobodyTraps) {
  ASSERT_TRUE(replace_file(*files_, folder_ + "/one", bytes_of("0123456789"), 1));
  std::unique_ptr<File> file = std::move(*files_->open(folder_ + "/one", Access::Read));
  MappedRegisters registers = std::move(*file->map_registers({.size = 8, .shared = false}));
  EXPECT_TRUE(registers.mmio.is_mapped());
  EXPECT_EQ(registers.mmio.size(), 8u);
  EXPECT_EQ(registers.mmio.read32(4), 0x37363534u) << "\"4567\"";
}

TEST_P(FilesTest, MakesAndListsFolders) {
  ASSERT_TRUE(files_->make_folders(folder_ + "/a/b"));
  ASSERT_TRUE(files_->make_folders(folder_ + "/a/b")) << "those that exist are fine";
  ASSERT_TRUE(replace_file(*files_, folder_ + "/a/b/two", bytes_of("2"), 1));
  ASSERT_TRUE(replace_file(*files_, folder_ + "/a/b/one", bytes_of("1"), 1));
  EXPECT_EQ(*files_->list(folder_ + "/a/b"), (std::vector<std::string>{"one", "two"}));
  EXPECT_EQ(*files_->list(folder_), std::vector<std::string>{"a"});
  EXPECT_FALSE(replace_file(*files_, folder_ + "/c/one", bytes_of("1"), 1)) << "no such folder";
}

TEST_P(FilesTest, AnonymousMemoryIsZeroAndWritable) {
  Mapping memory = std::move(*files_->map_anonymous({.size = 8192, .writable = true}));
  ASSERT_EQ(memory.size(), 8192u);
  EXPECT_EQ(memory.data()[8191], 0);
  memory.data()[8191] = 7;
  Mapping moved = std::move(memory);
  EXPECT_EQ(moved.data()[8191], 7);
  EXPECT_FALSE(memory);
}

INSTANTIATE_TEST_SUITE_P(Doors, FilesTest, ::testing::Values("host", "fake"),
                         [](const auto& info) { return std::string(info.param); });

TEST(Files, FullDiskLeavesTheOldContent) {
  ::doorbell::testing::FakeFiles files;
  files.add("/cache/key", "old");
  files.fail_writes_after = 2;
  Result<void> replaced = replace_file(files, "/cache/key", bytes_of("new content"), 1);
  ASSERT_FALSE(replaced);
  EXPECT_EQ(replaced.error().os_errno, ENOSPC);
  EXPECT_EQ(files.text("/cache/key"), "old");
  EXPECT_EQ(files.files.size(), 1u) << "the partial file is left";
}

TEST(Files, HostReadsFilesThatSayTheyAreEmpty) {
  if (!host_files().exists("/proc/self/status")) GTEST_SKIP() << "no /proc here";
  EXPECT_TRUE(read_text(host_files(), "/proc/self/status")->starts_with("Name:"));
}

}  // namespace
}  // namespace doorbell::os
