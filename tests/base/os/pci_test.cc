// PCI devices and pinned memory over files of a test. The texts have the form that
// torvalds/linux drivers/pci/pci-sysfs.c gives them: resource_show(), vendor_show().
#include "base/os/pci.h"

#include <cerrno>
#include <cstring>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/os/forwarded_files.h"
#include "base/os/host.h"
#include "base/os/pci_driver.h"
#include "base/os/pinned_memory.h"
#include "tests/support/fake_system.h"

namespace doorbell::os {
namespace {

const std::string kDevices = "/sys/bus/pci/devices/";

// Regions of 32 GiB of memory, 256 MiB of doorbells, ports, 1 MiB of registers, and the ROM.
constexpr const char* kRegions =
    "0x0000007800000000 0x0000007fffffffff 0x000000000014220c\n"
    "0x0000000000000000 0x0000000000000000 0x0000000000000000\n"
    "0x0000008000000000 0x000000800fffffff 0x000000000014220c\n"
    "0x0000000000000000 0x0000000000000000 0x0000000000000000\n"
    "0x000000000000f000 0x000000000000f0ff 0x0000000000040101\n"
    "0x00000000fcb00000 0x00000000fcbfffff 0x0000000000040200\n"
    "0x00000000fcc00000 0x00000000fcc1ffff 0x0000000000046200\n";

struct PciTest : ::testing::Test {
  ::doorbell::testing::FakeFiles files;

  void add(const std::string& address, const char* vendor) {
    const std::string folder = kDevices + address;
    EXPECT_TRUE(files.make_folders(folder));
    files.add(folder + "/vendor", vendor);
    files.add(folder + "/device", "0x744c\n");
    files.add(folder + "/class", "0x030000\n");
    files.add(folder + "/resource", kRegions);
    files.add(folder + "/config", std::string("\x02\x10\x4c\x74\x03\x00\x10\x00", 8));
  }
};

TEST_F(PciTest, ListsTheDevicesOfAVendor) {
  add("0000:03:00.0", "0x1002\n");
  add("0000:00:1f.0", "0x8086\n");
  add("0000:01:00.0", "0x1002\n");
  const auto ids = list_pci(files, 0x1002);
  ASSERT_TRUE(ids) << ids.error().message;
  ASSERT_EQ(ids->size(), 2u);
  EXPECT_EQ((*ids)[0].address, "0000:01:00.0");
  EXPECT_EQ((*ids)[1].device, 0x744c);
  EXPECT_EQ((*ids)[1].class_code, 0x030000u);
}

TEST_F(PciTest, HasNoDevicesWithoutABus) { EXPECT_TRUE(list_pci(files, 0x1002)->empty()); }

TEST_F(PciTest, ReadsRegionsAndBecomesABusMaster) {
  add("0000:03:00.0", "0x1002\n");
  auto device = PciDevice::open(files, {.address = "0000:03:00.0"});
  ASSERT_TRUE(device) << device.error().message;
  EXPECT_EQ((*device)->regions()[0].address, 0x7800000000u);
  EXPECT_EQ((*device)->regions()[0].bytes, u64{32} << 30);
  EXPECT_EQ((*device)->regions()[1].bytes, 0u);
  EXPECT_EQ((*device)->regions()[5].bytes, u64{1} << 20);
  EXPECT_FALSE((*device)->map_memory(1));
  ASSERT_TRUE((*device)->set_bus_master(true));
  EXPECT_EQ(*(*device)->read_config(kPciCommand), 7);
  ASSERT_TRUE((*device)->set_bus_master(false));
  EXPECT_EQ(*(*device)->read_config(kPciCommand), 3);
}

TEST_F(PciTest, LeavesADeviceToTheKernelsDriver) {
  add("0000:03:00.0", "0x1002\n");
  files.add(kDevices + "0000:03:00.0/driver", "");
  const auto device = PciDevice::open(files, {.address = "0000:03:00.0"});
  ASSERT_FALSE(device);
  EXPECT_EQ(device.error().kind, ErrorKind::Busy);
  EXPECT_NE(device.error().message.find("echo 0000:03:00.0 > "), std::string::npos);
}

TEST_F(PciTest, RefusesLinesThatAreNoRegions) {
  add("0000:03:00.0", "0x1002\n");
  for (const char* text : {"", "0x10\n", "0x10 0x\n", "0x10 0x5 0x0\n", "16 32 0\n"}) {
    files.add(kDevices + "0000:03:00.0/resource", text);
    EXPECT_FALSE(PciDevice::open(files, {.address = "0000:03:00.0"})) << text;
  }
}

// ---- the kernel's driver ------------------------------------------------------------------------

// A device whose driver lets go of it when its address is written, if it ever does.
struct Driven final : ForwardedFiles {
  Driven(::doorbell::testing::FakeFiles& texts, bool lets_go)
      : ForwardedFiles(texts), lets_go(lets_go) {}
  const bool lets_go;
  std::string written;

  struct Unbind final : File {
    explicit Unbind(Driven& owner) : owner(owner) {}
    Result<usize> read_at(u64, std::span<u8>) override { return fail_errno(EACCES, "read"); }
    Result<void> write_at(u64, std::span<const u8> bytes) override {
      owner.written.assign(bytes.begin(), bytes.end());
      return {};
    }
    Result<u64> size() override { return u64{4096}; }
    Result<Mapping> map(const MapRequest&) override { return Mapping(); }
    Result<int> ioctl(unsigned long, void*) override { return 0; }
    int descriptor() const override { return -1; }
    Driven& owner;
  };
  bool exists(const std::string& path) override {
    if (path.ends_with("/driver")) return !lets_go || written.empty();
    return ForwardedFiles::exists(path);
  }
  Result<FileStatus> status(const std::string& path) override {
    FileStatus status{.kind = FileStatus::Kind::Folder};
    status.path = "/sys/bus/pci/drivers/amdgpu";
    return path.ends_with("/driver") ? status : ForwardedFiles::status(path);
  }
  Result<std::unique_ptr<File>> open(const std::string& path, Access access) override {
    if (path == kDevices + "0000:03:00.0/driver/unbind") return std::make_unique<Unbind>(*this);
    return ForwardedFiles::open(path, access);
  }
};

TEST_F(PciTest, TakesADeviceFromItsDriver) {
  add("0000:03:00.0", "0x1002\n");
  for (const bool lets_go : {true, false}) {
    Driven driven(files, lets_go);
    EXPECT_EQ(*driver_of_pci(driven, "0000:03:00.0"), "amdgpu");
    const Result<std::string> taken = unbind_pci(driven, "0000:03:00.0");
    EXPECT_EQ(driven.written, "0000:03:00.0");
    EXPECT_EQ(taken ? *taken : taken.error().message,
              lets_go ? "amdgpu" : "PCI device 0000:03:00.0 stays with the kernel's amdgpu");
  }
}

TEST_F(PciTest, TakesNoDeviceThatNoDriverHas) {
  add("0000:03:00.0", "0x1002\n");
  EXPECT_EQ(unbind_pci(files, "0000:03:00.0").error().kind, ErrorKind::Invalid);
  EXPECT_EQ(unbind_pci(files, "0000:04:00.0").error().kind, ErrorKind::NotFound);
}

// ---- sizes of regions ---------------------------------------------------------------------------

// Region 0 has 256 MiB to 16 GiB, as the bitmap of pci-sysfs.c __resource_resize_show() tells it,
// and the bridge room for 2^room MiB.
struct Resizable final : ForwardedFiles {
  Resizable(::doorbell::testing::FakeFiles& texts, unsigned room)
      : ForwardedFiles(texts), texts(texts), room(room) {}
  ::doorbell::testing::FakeFiles& texts;
  const unsigned room;
  std::vector<std::string> written;

  struct Sizes final : File {
    explicit Sizes(Resizable& owner) : owner(owner) {}
    Result<usize> read_at(u64 offset, std::span<u8> into) override {
      const std::string_view text = "0000000000007f00\n";
      const usize count = offset >= text.size() ? 0 : std::min(into.size(), text.size() - offset);
      std::memcpy(into.data(), text.data() + offset, count);
      return count;
    }
    Result<void> write_at(u64, std::span<const u8> bytes) override {
      owner.written.emplace_back(bytes.begin(), bytes.end());
      const unsigned bit = static_cast<unsigned>(std::stoi(owner.written.back()));
      if (bit > owner.room) return fail_errno(ENOSPC, "no room for 2^{} MiB", bit);
      std::string lines = kRegions;
      const std::string first = fmt::format("{:#018x} {:#018x}", u64{1} << 40,
                                            (u64{1} << 40) + (u64{1} << (bit + 20)) - 1);
      lines.replace(0, first.size(), first);
      owner.texts.add(kDevices + "0000:03:00.0/resource", lines);
      return {};
    }
    Result<u64> size() override { return u64{4096}; }
    Result<Mapping> map(const MapRequest&) override { return Mapping(); }
    Result<int> ioctl(unsigned long, void*) override { return 0; }
    int descriptor() const override { return -1; }
    Resizable& owner;
  };
  Result<std::unique_ptr<File>> open(const std::string& path, Access access) override {
    if (path.ends_with("/resource0_resize")) return std::make_unique<Sizes>(*this);
    return ForwardedFiles::open(path, access);
  }
};

struct Resizing {
  unsigned room;
  u64 wanted;
  std::vector<std::string> written;
  u64 bytes;
};

TEST_F(PciTest, MakesARegionAsLargeAsThereIsRoom) {
  constexpr u64 kGiB = u64{1} << 30;
  const Resizing cases[] = {
      {14, 4 * kGiB, {"12"}, 4 * kGiB},
      {14, 3 * kGiB, {"12"}, 4 * kGiB},
      {10, 4 * kGiB, {"12", "11", "10"}, kGiB},
      {14, 24 * kGiB, {"14"}, 16 * kGiB},  // the device's largest
      {7, kGiB, {"10", "9"}, kGiB / 4},
  };
  for (const Resizing& one : cases) {
    add("0000:03:00.0", "0x1002\n");
    std::string small = kRegions;
    small.replace(0, 37, "0x0000007800000000 0x000000780fffffff");
    files.add(kDevices + "0000:03:00.0/resource", small);
    files.add(kDevices + "0000:03:00.0/resource0_resize", "");
    Resizable sizes(files, one.room);
    auto device = PciDevice::open(sizes, {.address = "0000:03:00.0"});
    ASSERT_TRUE(device) << device.error().message;
    const Result<void> enlarged = (*device)->enlarge_region(0, one.wanted);
    EXPECT_EQ(enlarged.has_value(), one.bytes >= one.wanted) << one.wanted;
    EXPECT_EQ(sizes.written, one.written);
    EXPECT_EQ((*device)->regions()[0].bytes, one.bytes);
    if (one.room == 10) {
      EXPECT_NE(enlarged.error().message.find("has 1024 MiB of 4096: no room for 2^11 MiB"),
                std::string::npos)
          << enlarged.error().message;
    }
  }
}

TEST_F(PciTest, LeavesARegionThatHasOneSize) {
  add("0000:03:00.0", "0x1002\n");
  auto device = *PciDevice::open(files, {.address = "0000:03:00.0"});
  const Result<void> enlarged = device->enlarge_region(0, u64{64} << 30);
  ASSERT_FALSE(enlarged);
  EXPECT_NE(enlarged.error().message.find("one size only"), std::string::npos);
  EXPECT_EQ(device->regions()[0].bytes, u64{32} << 30);
}

// ---- pinned memory ------------------------------------------------------------------------------

// Memory of the host, and a page map that the test writes.
struct PageMap final : ForwardedFiles {
  explicit PageMap(Files& texts) : ForwardedFiles(texts) {}
  u64 first_entry = 0, stride = 1;
  u64 offset = 0;  // of the last read

  struct Entries final : File {
    explicit Entries(PageMap& owner) : owner(owner) {}
    Result<usize> read_at(u64 offset, std::span<u8> into) override {
      owner.offset = offset;
      u64* const entries = reinterpret_cast<u64*>(into.data());
      for (usize i = 0; i < into.size() / 8; ++i)
        entries[i] = owner.first_entry == 0 ? u64{1} << 63 : owner.first_entry + i * owner.stride;
      return into.size();
    }
    Result<void> write_at(u64, std::span<const u8>) override { return {}; }
    Result<u64> size() override { return u64{0}; }
    Result<Mapping> map(const MapRequest&) override { return Mapping(); }
    Result<int> ioctl(unsigned long, void*) override { return 0; }
    int descriptor() const override { return -1; }
    PageMap& owner;
  };
  Result<std::unique_ptr<File>> open(const std::string& path, Access access) override {
    if (path == "/proc/self/pagemap") return std::make_unique<Entries>(*this);
    return ForwardedFiles::open(path, access);
  }
  Result<Mapping> map_anonymous(const MapRequest& request) override {
    EXPECT_TRUE(request.locked && request.populate && request.shared);
    MapRequest unlocked = request;
    unlocked.locked = false;
    return host_files().map_anonymous(unlocked);
  }
};

TEST_F(PciTest, PinsMemoryAndJoinsPagesThatFollowEachOther) {
  const u64 page = host_page_bytes();
  PageMap map(files);
  map.first_entry = u64{1} << 63 | 0x1234;
  const auto memory = PinnedMemory::allocate(map, 3 * page - 5, true);
  ASSERT_TRUE(memory) << memory.error().message;
  ASSERT_EQ(memory->ranges().size(), 1u);
  EXPECT_EQ(memory->ranges()[0].address, 0x1234 * page);
  EXPECT_EQ(memory->ranges()[0].bytes, 3 * page);
  EXPECT_EQ(map.offset, reinterpret_cast<u64>(memory->bytes().data()) / page * 8);
  map.stride = 2;
  EXPECT_EQ(PinnedMemory::allocate(map, 3 * page, true)->ranges().size(), 3u);
}

TEST_F(PciTest, SaysWhatPinningTakes) {
  PageMap map(files);
  const auto hidden = PinnedMemory::allocate(map, 4096, true);
  ASSERT_FALSE(hidden);
  EXPECT_EQ(hidden.error().kind, ErrorKind::Permission);
  ASSERT_TRUE(files.make_folders("/proc/sys/vm"));
  files.add("/proc/sys/vm/compact_unevictable_allowed", "1\n");
  const auto moved = PinnedMemory::allocate(map, 4096, true);
  ASSERT_FALSE(moved);
  EXPECT_NE(moved.error().message.find("echo 0 > /proc/sys/vm"), std::string::npos);
}

}  // namespace
}  // namespace doorbell::os
