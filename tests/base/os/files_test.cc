// The real files, and the whole-file helpers over files that fail when told to. The same
// expectations run over the real and the fake doors, so that the fake stays a fair stand-in.
#include "base/os/files.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
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

// A folder on the disk, for what only the real doors know: links, modes, what is no regular file.
class ReplaceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = ::testing::TempDir() + "doorbell_replace_XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    // A mkdtemp() folder is its owner's alone, and a test below writes as somebody else.
    std::filesystem::permissions(folder_, std::filesystem::perms(0777));
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string at(const std::string& name) const { return folder_ + "/" + name; }
  Result<void> replace(const std::string& path, std::string_view text = "new") {
    return replace_file(host_files(), path, bytes_of(text), 1);
  }
  std::string refusal(const std::string& path) {
    const Result<void> done = replace(path);
    return done ? "accepted" : done.error().message;
  }
  static std::string content(const std::string& path) {
    Result<std::string> text = read_text(host_files(), path);
    return text ? *text : text.error().message;
  }
  static mode_t mode_of(const std::string& path) {
    struct stat status{};
    EXPECT_EQ(lstat(path.c_str(), &status), 0) << path;
    return status.st_mode;
  }
  std::vector<std::string> names() const { return *host_files().list(folder_); }

  std::string folder_;
};

TEST_F(ReplaceTest, LinksStayAndLeadToTheNewContent) {
  ASSERT_TRUE(host_files().make_folders(at("inner")));
  ASSERT_TRUE(replace(at("inner/file"), "old"));
  ASSERT_EQ(symlink("inner/file", at("first").c_str()), 0) << "relative, to another folder";
  ASSERT_EQ(symlink(at("first").c_str(), at("second").c_str()), 0) << "absolute, to a link";
  ASSERT_EQ(symlink("inner", at("folder").c_str()), 0);
  ASSERT_TRUE(replace(at("second"), "new"));
  EXPECT_EQ(content(at("inner/file")), "new");
  ASSERT_TRUE(replace(at("folder/file"), "newer"));
  EXPECT_EQ(content(at("inner/file")), "newer");
  for (const char* link : {"first", "second", "folder"}) EXPECT_TRUE(S_ISLNK(mode_of(at(link))));
  EXPECT_EQ(names(), (std::vector<std::string>{"first", "folder", "inner", "second"}));
  EXPECT_EQ(*host_files().list(at("inner")), std::vector<std::string>{"file"});
}

TEST_F(ReplaceTest, ALinkToNothingMakesWhatItNames) {
  ASSERT_EQ(symlink("missing", at("link").c_str()), 0);
  ASSERT_TRUE(replace(at("link"), "made"));
  EXPECT_EQ(content(at("missing")), "made");
  EXPECT_TRUE(S_ISLNK(mode_of(at("link"))));
  ASSERT_EQ(symlink("circle", at("circle").c_str()), 0);
  EXPECT_EQ(refusal(at("circle")), "stat " + at("circle") + ": Too many levels of symbolic links");
}

TEST_F(ReplaceTest, ModesStay) {
  for (const mode_t mode : {0600u, 0640u, 0755u, 0666u}) {
    ASSERT_TRUE(replace(at("file"), "old"));
    ASSERT_EQ(chmod(at("file").c_str(), mode), 0);
    ASSERT_TRUE(replace(at("file"), "new"));
    EXPECT_EQ(mode_of(at("file")) & 07777, mode);
    EXPECT_EQ(content(at("file")), "new");
  }
  const mode_t before = umask(027);
  ASSERT_TRUE(replace(at("fresh")));
  umask(before);
  EXPECT_EQ(mode_of(at("fresh")) & 07777, mode_t{0640}) << "a new file's is the umask's";
}

TEST_F(ReplaceTest, OwnersStay) {
  if (geteuid() != 0) GTEST_SKIP() << "only root gives files away";
  ASSERT_TRUE(replace(at("file"), "old"));
  ASSERT_EQ(chown(at("file").c_str(), 1234, 4321), 0);
  ASSERT_EQ(chmod(at("file").c_str(), 04755), 0);
  ASSERT_TRUE(replace(at("file"), "new"));
  struct stat status{};
  ASSERT_EQ(stat(at("file").c_str(), &status), 0);
  EXPECT_EQ(status.st_uid, 1234u);
  EXPECT_EQ(status.st_gid, 4321u);
  EXPECT_EQ(status.st_mode & 07777, mode_t{04755});
}

TEST_F(ReplaceTest, WhatIsNoRegularFileIsLeftAlone) {
  ASSERT_EQ(mkfifo(at("fifo").c_str(), 0600), 0);
  EXPECT_EQ(refusal(at("fifo")), "write " + at("fifo") + ": it is a FIFO, expected a regular file");
  EXPECT_TRUE(S_ISFIFO(mode_of(at("fifo"))));
  EXPECT_EQ(refusal(folder_), "write " + folder_ + ": Is a directory");
  ASSERT_EQ(symlink("/dev/null", at("null").c_str()), 0);
  EXPECT_EQ(refusal(at("null")),
            "write " + at("null") + ": it is a device node, expected a regular file");
  EXPECT_TRUE(S_ISLNK(mode_of(at("null"))));
  EXPECT_EQ(refusal("/dev/full"), "write /dev/full: it is a device node, expected a regular file");
  EXPECT_TRUE(S_ISCHR(mode_of("/dev/full")));
  EXPECT_EQ(names(), (std::vector<std::string>{"fifo", "null"}));
}

TEST_F(ReplaceTest, WhatIsNoRegularFileIsNotRead) {
  ASSERT_EQ(mkfifo(at("fifo").c_str(), 0600), 0);
  EXPECT_EQ(content(at("fifo")), "read " + at("fifo") + ": it is a FIFO, expected a regular file")
      << "nor waited for";
  EXPECT_EQ(content(folder_), "read " + folder_ + ": Is a directory");
  EXPECT_EQ(map_file(host_files(), folder_).error().message,
            "read " + folder_ + ": Is a directory");
  EXPECT_EQ(map_file(host_files(), "/dev/zero").error().message,
            "read /dev/zero: it is a device node, expected a regular file");
}

TEST_F(ReplaceTest, FoldersThatAreMissingAreNamed) {
  const std::string missing = at("missing"), inside = missing + "/file";
  EXPECT_EQ(refusal(inside),
            "write " + inside + ": folder " + missing + ": No such file or directory");
  ASSERT_TRUE(replace(at("file"), "old"));
  const std::string below = at("file/inner");
  EXPECT_EQ(refusal(below), "write " + below + ": folder " + at("file") + ": Not a directory");
  EXPECT_EQ(content(at("file")), "old");
}

TEST_F(ReplaceTest, NamesAsLongAsTheSystemTakes) {
  const std::string name(255, 'n');
  ASSERT_TRUE(replace(at(name), "long"));
  EXPECT_EQ(content(at(name)), "long");
  EXPECT_EQ(names(), std::vector<std::string>{name});
}

// Root may write anywhere: it becomes somebody else for as long as this lives.
struct AsNobody {
  bool was_root = geteuid() == 0;
  AsNobody() {
    if (was_root) become(65534);
  }
  ~AsNobody() {
    if (was_root) become(0);
  }
  static void become(uid_t user) { EXPECT_EQ(seteuid(user), 0); }
};

TEST_F(ReplaceTest, WhatMayNotBeWrittenKeepsItsContent) {
  ASSERT_TRUE(replace(at("file"), "old"));
  ASSERT_EQ(chmod(at("file").c_str(), 0444), 0);
  {
    AsNobody nobody;
    EXPECT_EQ(refusal(at("file")), "write " + at("file") + ": Permission denied")
        << "though the folder would allow a rename";
  }
  ASSERT_EQ(chmod(at("file").c_str(), 0666), 0);
  ASSERT_EQ(chmod(folder_.c_str(), 0555), 0);
  {
    AsNobody nobody;
    EXPECT_NE(refusal(at("file")).find(".partial: Permission denied"), std::string::npos)
        << "a folder that takes no second file";
  }
  ASSERT_EQ(chmod(folder_.c_str(), 0777), 0);
  EXPECT_EQ(content(at("file")), "old");
  EXPECT_EQ(names(), std::vector<std::string>{"file"});
}

TEST(Files, HostReadsFilesThatSayTheyAreEmpty) {
  if (!host_files().exists("/proc/self/status")) GTEST_SKIP() << "no /proc here";
  EXPECT_TRUE(read_text(host_files(), "/proc/self/status")->starts_with("Name:"));
}

}  // namespace
}  // namespace doorbell::os
