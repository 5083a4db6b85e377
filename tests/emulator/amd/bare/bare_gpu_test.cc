// The emulated GPU's blocks by their registers, misused; tests/drivers/amd_emulated/pci_test.cc has
// the right use, tests/emulator/amd/mutation/boot_mutation_test.cc each bit of it changed.
#include "emulator/amd/bare/bare_gpu.h"

#include <cstring>

#include <gtest/gtest.h>

#include "base/os/host.h"
#include "emulator/amd/bare/made_tables.h"
#include "emulator/amd/machine.h"

namespace doorbell::emu::amdgpu {
namespace {

using amd::hw::Reg;

struct BareGpuTest : ::testing::Test {
  std::vector<Report> reports;
  std::unique_ptr<Machine> machine;

  BareGpuTest() {
    MachineOptions options{.gpus = {"gfx1100"}, .bare = true};
    options.report = [this](const Report& report) { reports.push_back(report); };
    machine = *Machine::create(std::move(options));
  }
  BareGpu& gpu() { return machine->bare_gpu(0); }
  u32 read(Reg reg) { return gpu().read_register(offset(reg)); }
  void write(Reg reg, u32 value) { gpu().write_register(offset(reg), value); }
  void expect(const char* id) {
    ASSERT_FALSE(reports.empty()) << "nothing is reported, expected " << id;
    EXPECT_STREQ(reports.back().check->id, id) << reports.back().message;
    reports.clear();
  }
  static u64 offset(Reg reg) {
    const amd::hw::RegisterPlace& place = amd::hw::place_of(reg, amd::hw::BareChip::Gc11);
    return (bases_of(place.block)[place.segment] + place.offset) * 4;
  }
};

TEST_F(BareGpuTest, TellsItsMemoryAndNothingOfUnknownRegisters) {
  EXPECT_EQ(gpu().read_register(0xde3 * 4), 24560u);  // MiB of a Radeon RX 7900 XTX
  EXPECT_EQ(gpu().read_register(0x7777 * 4), ~u32{0});
  expect("AMD-PCI-001");
  gpu().write_register(0x7777 * 4, 1);
  expect("AMD-PCI-001");
}

// RCC_DEV0_EPF0_RCC_DOORBELL_APER_EN has one bit. [nbio_4_3_0_sh_mask.h]
TEST_F(BareGpuTest, SeesBitsThatNoFieldHas) {
  write(Reg::RccDev0Epf0RccDoorbellAperEn, 1);
  EXPECT_TRUE(reports.empty());
  write(Reg::RccDev0Epf0RccDoorbellAperEn, 3);
  expect("AMD-PCI-006");
}

// The window of tinygrad's _read_vram(): MM_INDEX_HI 6, MM_INDEX 0, MM_DATA 1.
TEST_F(BareGpuTest, HasAWindowToAllOfItsMemory) {
  const u64 at = (u64{5} << 31) + 0x1230;
  const u32 word = 0x12345678;
  std::memcpy(gpu().device().memory->at(at), &word, sizeof word);
  gpu().write_register(6 * 4, 5);
  gpu().write_register(0, 0x80001230);
  EXPECT_EQ(gpu().read_register(4), word);
  gpu().write_register(4, 7);
  EXPECT_EQ(*reinterpret_cast<u32*>(gpu().device().memory->at(at)), 7u);
  EXPECT_TRUE(reports.empty());
  gpu().write_register(0, 0x1230);  // a register, which nobody reaches so
  EXPECT_EQ(gpu().read_register(4), ~u32{0});
  expect("AMD-PCI-001");
  gpu().write_register(0, 0x80000000);
  gpu().write_register(6 * 4, 0x1000);  // beyond its memory
  gpu().write_register(4, 1);
  expect("AMD-PCI-001");
}

TEST_F(BareGpuTest, ResizesItsRegionWhenNobodyHasItMapped) {
  EXPECT_EQ(gpu().shown_sizes(), 0xff00u);  // 256 MiB to 32 GiB
  const u64 large = gpu().shown_address();
  EXPECT_FALSE(gpu().resize(7));
  EXPECT_FALSE(gpu().resize(16));
  ASSERT_TRUE(gpu().resize(8));
  EXPECT_EQ(gpu().shown_bytes(), u64{256} << 20);
  EXPECT_NE(gpu().shown_address(), large);
  EXPECT_TRUE(reports.empty());
  gpu().note_mapped(1);
  EXPECT_TRUE(gpu().resize(9));
  expect("AMD-PCI-007");
  gpu().note_mapped(-1);
}

TEST_F(BareGpuTest, SleepsUntilItsFirmwareIsThere) {
  write(Reg::ScratchReg7, 5);
  EXPECT_EQ(read(Reg::ScratchReg7), 5u);
  EXPECT_TRUE(reports.empty());
  write(Reg::GcvmContext0Cntl, 1);
  expect("AMD-GFX-001");
  write(Reg::CpHqdActive, 1);
  expect("AMD-GFX-001");
  EXPECT_EQ(read(Reg::RlcRlcsBootloadStatus), 0u);
}

TEST_F(BareGpuTest, TakesTheSecurityProcessorsPartsInOrder) {
  write(Reg::Mp0SmnC2pmsg64, amd::hw::kPspCreateRing);  // before there is an operating system
  expect("AMD-PSP-002");
  write(Reg::Mp0SmnC2pmsg67, 16);
  expect("AMD-PSP-003");
  write(Reg::Mp0SmnC2pmsg36, 0x80001);
  write(Reg::Mp0SmnC2pmsg35, 0x80000);  // no firmware is there
  expect("AMD-PSP-001");
  EXPECT_EQ(read(Reg::Mp0SmnC2pmsg81), 0u);
  // The operating system itself first.
  const auto files = make_firmware_files(*find_node("gfx1100"));
  const std::vector<u8>& file = files.at("psp_13_0_0_sos.bin");
  for (usize at = 36; at < 36 + 8 * 16; at += 16) {
    u32 words[4];
    std::memcpy(words, file.data() + at, sizeof words);
    if (words[0] == 1)
      std::memcpy(gpu().device().memory->at(0x100000), file.data() + 256 + words[2], words[3]);
  }
  write(Reg::Mp0SmnC2pmsg35, 0x20000);
  expect("AMD-PSP-001");
  EXPECT_EQ(read(Reg::Mp0SmnC2pmsg81), 0u);
}

TEST_F(BareGpuTest, AnswersLate) {
  const auto files = make_firmware_files(*find_node("gfx1100"));
  const std::vector<u8>& file = files.at("psp_13_0_0_sos.bin");
  u32 words[4];
  std::memcpy(words, file.data() + 36, sizeof words);
  std::memcpy(gpu().device().memory->at(0x100000), file.data() + 256 + words[2], words[3]);
  write(Reg::Mp0SmnC2pmsg36, 0x80001);
  EXPECT_EQ(read(Reg::Mp0SmnC2pmsg35), 0x80000000u);
  write(Reg::Mp0SmnC2pmsg35, 0x80000);
  EXPECT_EQ(read(Reg::Mp0SmnC2pmsg35), 0u);
  EXPECT_EQ(read(Reg::Mp0SmnC2pmsg35), 0u);
  EXPECT_EQ(read(Reg::Mp0SmnC2pmsg35), 0x80000000u);
  EXPECT_TRUE(reports.empty());
}

TEST_F(BareGpuTest, AnswersNoMessageWithoutThePowerControllersFirmware) {
  write(Reg::Mp1SmnC2pmsg66, 2);
  expect("AMD-SMU-001");
  EXPECT_EQ(read(Reg::Mp1SmnC2pmsg90), 0u);
}

TEST_F(BareGpuTest, WantsAHubThatIsSetUp) {
  write(Reg::MmvmInvalidateEng17Req, 0xf80001);
  expect("AMD-GMC-004");
  EXPECT_EQ(read(Reg::MmvmInvalidateEng17Ack), 0u);
}

TEST_F(BareGpuTest, GivesTheSemaphoreToOne) {
  EXPECT_EQ(read(Reg::MmvmInvalidateEng17Sem), 1u);
  EXPECT_EQ(read(Reg::MmvmInvalidateEng17Sem), 0u);
  write(Reg::MmvmInvalidateEng17Sem, 0);
  EXPECT_EQ(read(Reg::MmvmInvalidateEng17Sem), 1u);
}

TEST_F(BareGpuTest, PassesNoDoorbellOnBeforeItsPortIsOpen) {
  gpu().ring(3 * 8, 8, 64);
  ASSERT_EQ(reports.size(), 2u);
  EXPECT_STREQ(reports[0].check->id, "AMD-PCI-004");
  EXPECT_STREQ(reports[1].check->id, "AMD-DB-005");
}

TEST_F(BareGpuTest, IsOneClients) {
  EXPECT_TRUE(gpu().take());
  EXPECT_FALSE(gpu().take());
  gpu().give_back();
  EXPECT_TRUE(gpu().take());
}

// Board firmware of MP0 14 has taken the memory for firmware, and reads its table of versions from
// a part of its own.
TEST(BareGpuOfGc12, BootsInItsOwnOrder) {
  std::vector<Report> reports;
  MachineOptions options{.gpus = {"gfx1201"}, .bare = true};
  options.report = [&](const Report& report) { reports.push_back(report); };
  const auto machine = *Machine::create(std::move(options));
  BareGpu& gpu = machine->bare_gpu(0);
  const auto offset = [](Reg reg) {
    const amd::hw::RegisterPlace& place = amd::hw::place_of(reg, amd::hw::BareChip::Gc12);
    return (bases_of(place.block)[place.segment] + place.offset) * 4;
  };
  const auto files = make_firmware_files(*find_node("gfx1201"));
  const std::vector<u8>& file = files.at("psp_14_0_3_sos.bin");
  // Gives the boot loader this part with this command; whether it took it.
  const auto load = [&](u32 part, u32 command) {
    for (usize at = 36; at < 36 + 9 * 16; at += 16) {
      u32 words[4];
      std::memcpy(words, file.data() + at, sizeof words);
      if (words[0] == part)
        std::memcpy(gpu.device().memory->at(0x100000), file.data() + 256 + words[2], words[3]);
    }
    for (int turn = 0; turn < 3; ++turn) (void)gpu.read_register(offset(Reg::Mp0SmnC2pmsg35));
    gpu.write_register(offset(Reg::Mp0SmnC2pmsg36), 0x80001);
    gpu.write_register(offset(Reg::Mp0SmnC2pmsg35), command);
    return std::exchange(reports, {}).empty();
  };
  EXPECT_TRUE(load(3, 0x80000));
  EXPECT_FALSE(load(3, 0x10000000));  // the key database once more, as MP0 13 has it
  EXPECT_TRUE(load(5, 0x10000000));
  EXPECT_TRUE(files.contains("gc_12_0_1_pfp.bin") && files.contains("gc_12_0_1_me.bin"));
  EXPECT_TRUE(files.contains("sdma_7_0_1.bin") && files.contains("smu_14_0_3.bin"));
}

}  // namespace
}  // namespace doorbell::emu::amdgpu
