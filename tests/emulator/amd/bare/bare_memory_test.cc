// Page tables that a test writes, walked by the emulated GPU: when a translation holds, and what is
// refused. Entries are the kernel's words (AMDGPU_PTE_* of amdgpu_vm.h): valid 1, system 2, snooped
// 4, executable 0x10, readable 0x20, writable 0x40, fragment at 7, MTYPE at 48, a page in a
// directory 1 << 54.
#include "emulator/amd/bare/bare_memory.h"

#include <cstring>

#include <gtest/gtest.h>

namespace doorbell::emu::amdgpu {
namespace {

constexpr u64 kBytes = u64{64} << 20, kFirst = u64{1} << 45;
constexpr u64 kPage = 0x61, kReadOnly = 0x21, kHugePage = kPage | u64{1} << 54;

struct BareMemoryTest : ::testing::Test {
  Checks checks{Level::Error};
  BusMemory bus;
  Device device;
  std::vector<Report> reports;
  std::unique_ptr<BareMemory> memory;

  BareMemoryTest() {
    checks.listen([this](const Report& report) { reports.push_back(report); });
    device.memory = *Backing::create(kBytes);
    start(amd::hw::BareChip::Gc11);
  }
  void start(amd::hw::BareChip chip) {
    memory = std::make_unique<BareMemory>(device, checks, bus, kBytes, chip);
    memory->set_context({.table = 0, .first_va = kFirst, .last_va = (u64{1} << 47) - 1});
    // A table of each level; the lowest is at 0x3000.
    put(0, 0, 0x1001);
    put(0x1000, 0, 0x2001);
    put(0x2000, 0, 0x3001);
  }
  void put(u64 table, u64 index, u64 entry) {
    std::memcpy(memory->at(table + index * 8), &entry, sizeof entry);
  }
  void flush_and_invalidate() {
    memory->flush();
    memory->invalidate(true);
  }
  u8* at(u64 offset, u64 bytes = 1) { return device.space.at(kFirst + offset, bytes, false); }
  void expect_one(const char* id) {
    ASSERT_EQ(reports.size(), 1u);
    EXPECT_STREQ(reports[0].check->id, id) << reports[0].message;
    reports.clear();
  }
};

TEST_F(BareMemoryTest, TranslatesPagesOfAllSizes) {
  put(0x3000, 1, 0x400000 | kPage);
  put(0x2000, 1, 0x800000 | kHugePage | 9 << 7);
  put(0x3000, 2, 0x500000 | kReadOnly);
  flush_and_invalidate();
  EXPECT_EQ(at(0x1000), memory->at(0x400000));
  EXPECT_EQ(at(0x200000 + 0x12345), memory->at(0x812345));
  EXPECT_EQ(at(0x2000), memory->at(0x500000));
  EXPECT_EQ(device.space.at(kFirst + 0x2000, 1, true), nullptr);
  EXPECT_EQ(at(0x3000), nullptr);
  EXPECT_TRUE(reports.empty());
}

// GC 12: MTYPE at 54, and every page 1 << 63, of the lowest tables too.
TEST_F(BareMemoryTest, TranslatesPagesOfGc12) {
  constexpr u64 kMarked = u64{1} << 63, kUncached = u64{3} << 54;
  start(amd::hw::BareChip::Gc12);
  put(0x3000, 1, 0x400000 | kPage | kMarked | kUncached);
  put(0x2000, 1, 0x800000 | kPage | kMarked | 9 << 7);
  flush_and_invalidate();
  EXPECT_EQ(at(0x1000), memory->at(0x400000));
  EXPECT_EQ(at(0x200000 + 0x12345), memory->at(0x812345));
  EXPECT_TRUE(reports.empty());
  put(0x3000, 2, 0x500000 | kPage);  // not marked
  memory->flush();
  expect_one("AMD-GMC-001");
  put(0x3000, 2, 0);
  put(0x2000, 1, 0x800000 | kHugePage);  // as GC 11 has it: a policy, and a table that cannot be
  memory->flush();
  expect_one("AMD-GMC-001");
}

// GC 9.4.3: MTYPE at 57, BFS 9 at 59 in front of tables of 2 MiB, of which those that are
// translated further say so at 56, and pages do not. [gmc_v9_0.c gmc_v9_0_get_vm_pde()]
TEST_F(BareMemoryTest, TranslatesPagesOfGc94) {
  constexpr u64 kLargeBelow = u64{9} << 59, kFurther = u64{1} << 56, kUncached = u64{3} << 57;
  start(amd::hw::BareChip::Gc94);
  put(0x1000, 0, 0x2001 | kLargeBelow);
  put(0x2000, 0, 0x3001 | kFurther);
  put(0x3000, 1, 0x400000 | kPage | kUncached);
  put(0x2000, 1, 0x800000 | kPage | 9 << 7);
  flush_and_invalidate();
  EXPECT_EQ(at(0x1000), memory->at(0x400000));
  EXPECT_EQ(at(0x200000 + 0x12345), memory->at(0x812345));
  EXPECT_TRUE(reports.empty());
  for (const auto& [table, index, entry] :
       {std::tuple{u64{0x2000}, 1, 0x800000 | kHugePage}, std::tuple{u64{0x1000}, 0, u64{0x2001}},
        std::tuple{u64{0}, 0, 0x1001 | kFurther},
        std::tuple{u64{0x3000}, 1, 0x400000 | kPage | kFurther},
        std::tuple{u64{0x3000}, 1, 0x400000 | kPage | kLargeBelow}}) {
    u64 before = 0;
    std::memcpy(&before, memory->at(table + index * 8), sizeof before);
    put(table, index, entry);
    memory->flush();
    ASSERT_FALSE(reports.empty()) << std::hex << entry;
    EXPECT_STREQ(reports[0].check->id, "AMD-GMC-001");
    reports.clear();
    put(table, index, before);
  }
}

TEST_F(BareMemoryTest, KeepsTranslationsUntilTheyAreInvalidated) {
  put(0x3000, 1, 0x400000 | kPage);
  flush_and_invalidate();
  put(0x3000, 1, 0);
  put(0x3000, 2, 0x500000 | kPage);
  memory->flush();
  EXPECT_EQ(at(0x1000), memory->at(0x400000));
  EXPECT_EQ(at(0x2000), nullptr);
  EXPECT_NE(memory->mapped_now(kFirst + 0x2000), nullptr);
  EXPECT_EQ(memory->mapped_now(kFirst + 0x1000), nullptr);
  memory->invalidate(true);
  EXPECT_EQ(at(0x1000), nullptr);
  EXPECT_EQ(at(0x2000), memory->at(0x500000));
  EXPECT_TRUE(reports.empty());
}

TEST_F(BareMemoryTest, SeesNothingThatIsNotFlushed) {
  memory->flush();
  put(0x3000, 1, 0x400000 | kPage);
  memory->invalidate(true);
  EXPECT_EQ(at(0x1000), nullptr);
  expect_one("AMD-GMC-003");
}

// A kernel may be running on what stays.
TEST_F(BareMemoryTest, KeepsTheRangesOfWhatStays) {
  put(0x3000, 1, 0x400000 | kPage);
  flush_and_invalidate();
  const Range* before = device.space.find(kFirst + 0x1000);
  put(0x3000, 2, 0x401000 | kPage);  // its neighbour, here and there
  flush_and_invalidate();
  EXPECT_EQ(device.space.find(kFirst + 0x1000), before);
  EXPECT_TRUE(before->mapped);
  put(0x3000, 2, 0);
  flush_and_invalidate();
  EXPECT_EQ(device.space.find(kFirst + 0x1000), before);
  EXPECT_EQ(at(0x2000), nullptr);
}

TEST_F(BareMemoryTest, RefusesEntriesThatCannotBe) {
  for (const u64 entry :
       {0x400000 | kPage | u64{1} << 52, 0x400000 | kPage | u64{1} << 60, 0x400000 | kPage | u64{8},
        0x400000 | kHugePage, u64{0x41}, kBytes | kPage}) {
    put(0x3000, 1, entry);
    memory->flush();
    expect_one("AMD-GMC-001");
    EXPECT_EQ(memory->mapped_now(kFirst + 0x1000), nullptr) << std::hex << entry;
    reports.clear();
  }
  put(0x3000, 1, 0);
  put(0x2000, 1, 0x801000 | kHugePage);  // on no 2 MiB
  memory->flush();
  expect_one("AMD-GMC-001");
  put(0x2000, 1, kBytes | 1);  // a table behind the memory
  memory->flush();
  expect_one("AMD-GMC-001");
}

TEST_F(BareMemoryTest, ReachesPinnedMemoryAndNoOther) {
  std::vector<u8> host(3 * 4096);
  u8* const page = reinterpret_cast<u8*>((reinterpret_cast<u64>(host.data()) + 4095) & ~u64{4095});
  bus.pin(page, 4096);
  const u64 address = *bus.address_of(reinterpret_cast<u64>(page));
  put(0x3000, 1, address | kPage | 6 | u64{3} << 48);
  flush_and_invalidate();
  EXPECT_EQ(at(0x1000), page);
  EXPECT_EQ(device.space.find(kFirst + 0x1000)->type, (MemoryType{Place::Host, Caching::Uncached}));
  EXPECT_TRUE(reports.empty());
  memory->host_unpinned(page, 4096);
  bus.unpin(page);
  EXPECT_EQ(at(0x1000), nullptr);
  expect_one("AMD-PCI-003");
  memory->flush();
  expect_one("AMD-PCI-003");
}

TEST_F(BareMemoryTest, ReachesTheBusAsItsMasterOnly) {
  bus.set_window(u64{1} << 40, 4096, memory->at(0x700000), 1);
  put(0x3000, 1, u64{1} << 40 | kPage | 2);
  memory->flush();
  memory->invalidate(false);
  expect_one("AMD-PCI-002");
  EXPECT_EQ(device.space.find(kFirst + 0x1000)->type.place, Place::Peer);
}

TEST(BusMemoryTest, ScattersWhatIsOnePieceInTheProcess) {
  BusMemory bus;
  constexpr u64 kRun = u64{64} << 10;
  u8* const host = reinterpret_cast<u8*>(u64{1} << 30);
  bus.pin(host, 5 * kRun);
  const auto address = [&](u64 offset) {
    return *bus.address_of(reinterpret_cast<u64>(host) + offset);
  };
  EXPECT_EQ(address(kRun), address(0) - kRun);
  EXPECT_EQ(address(kRun + 4096), address(kRun) + 4096);
  EXPECT_EQ(address(4 * kRun), address(kRun) + 4 * kRun);  // it has no other half
  for (u64 offset = 0; offset < 5 * kRun; offset += 4096)
    EXPECT_EQ(bus.find(address(offset))->host, host + offset);
  EXPECT_FALSE(bus.address_of(reinterpret_cast<u64>(host) + 5 * kRun));
  EXPECT_FALSE(bus.find(address(4 * kRun) + kRun));
  const u64 first = address(0);
  bus.unpin(host);
  EXPECT_FALSE(bus.find(first));
}

}  // namespace
}  // namespace doorbell::emu::amdgpu
