// What starts a GPU without a kernel driver, against words of others: registers' addresses as
// tinygrad (a9069c1, runtime/support/amd.py AMDReg over the tables of ROCm/ROCK-Kernel-Driver) puts
// them, discovery tables and MQD values made with its ctypes of the kernel's structs. Firmware
// files are written here by the offsets of torvalds/linux amdgpu_ucode.h.
#include <cstring>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "drivers/amd/hw/bare/discovery.h"
#include "drivers/amd/hw/bare/fields.h"
#include "drivers/amd/hw/bare/firmware.h"
#include "drivers/amd/hw/bare/interrupts.h"
#include "drivers/amd/hw/bare/mqd.h"
#include "tests/support/golden.h"

namespace doorbell::amd::hw {
namespace {

std::vector<u8> table(const std::string& name) {
  std::ifstream file(testing::source_path("tests/fuzz/corpus/amd_discovery/" + name),
                     std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(BareRegisters, LieWhereTinygradHasThem) {
  const Result<Discovery> discovery = read_discovery(table("navi31"));
  ASSERT_TRUE(discovery) << discovery.error().message;
  std::istringstream lines(
      testing::read_source("tests/drivers/amd/hw/data/gc_11_0_0_registers.txt"));
  std::map<std::string, u64> theirs;
  for (std::string name, address; lines >> name >> address;)
    theirs[name] = std::stoull(address, nullptr, 16);
  usize compared = 0;
  for (usize i = 0; i < kRegisters; ++i) {
    const RegisterPlace& place = kRegisterPlaces[i];
    if (place.block == Block::SmuIo) continue;  // of the kernel's alone
    const Result<u64> ours = discovery->address_of(static_cast<Reg>(i));
    ASSERT_TRUE(ours) << ours.error().message;
    ASSERT_TRUE(theirs.contains(std::string(place.name))) << place.name;
    EXPECT_EQ(*ours, theirs[std::string(place.name)]) << place.name;
    ++compared;
  }
  EXPECT_EQ(compared, theirs.size());
}

TEST(BareRegisters, FieldsAreTinygradsWords) {
  // AM_GMC.flush_tlb(vmid=0), enable_vm_addressing() with its 0x1800000, init_hub() of "GC".
  EXPECT_EQ(word_of(InvalidateRequest{.vmids = 1}), 0xf80001u);
  EXPECT_EQ(
      word_of(VmContextControl{.enable = true, .depth = 3, .faults = kAllFaults, .unk_31_23 = 3}),
      0x1fffe07u);
  EXPECT_EQ(word_of(L1TlbControl{.enable = true,
                                 .system_access_mode = 3,
                                 .advanced_driver_model = true,
                                 .memory_policy = 3}),
            0x1859u);
  EXPECT_EQ(word_of(L2Control{.enable = true, .page_out = true, .identity_mode = 1}), 0x80801u);
  // AM_SOC.doorbell_enable(port=0, awid=3, awaddr=3) and of SDMA; _grbm_select(me=1, queue=1).
  EXPECT_EQ(word_of(DoorbellEntry{.enable = true, .awid = 3, .address_31_28 = 3}), 0x30000007u);
  EXPECT_EQ(word_of(DoorbellEntry{
                .enable = true, .awid = 0xe, .offset = 512, .size = 4, .address_31_28 = 3}),
            0x3009001du);
  EXPECT_EQ(word_of(GrbmSelect{.me = 1, .queue = 1}), 0x104u);
  // AM_GFX.setup_ring() for a ring of 1 MiB, AQL and PM4; AM_SDMA.setup_ring() for 64 KiB.
  EXPECT_EQ(word_of(HqdPqControl{.size = 17, .rptr_block_size = 5}), 0x511u);
  EXPECT_EQ(word_of(HqdPqControl{.size = 17,
                                 .rptr_block_size = 5,
                                 .queue_full_en = true,
                                 .slot_based_wptr = 2,
                                 .no_update_rptr = true}),
            0x8084511u);
  EXPECT_EQ(word_of(HqdDoorbellControl{.offset = 6, .enable = true}), 0x40000018u);
  EXPECT_EQ(word_of(CopyRingControl{.enable = true,
                                    .size_log2 = 14,
                                    .poll_write_pointer = true,
                                    .write_read_pointer = true,
                                    .read_pointer_timer = 4,
                                    .privileged = true}),
            0x84181du);
}

// An entry as the kernel decodes it: amdgpu_ih_decode_iv_helper().
TEST(Interrupts, AreReadWordByWord) {
  const Words<InterruptEntry> words{0x0007b514, 1, 2, 0x00021234, 0xaa, 0xbb, 0xcc, 0xdd};
  const InterruptEntry entry = decode<InterruptEntry>(words);
  EXPECT_EQ(entry.client, kClientGrbmCp);
  EXPECT_EQ(entry.source, kSourceEndOfPipe);
  EXPECT_EQ(entry.ring, 7);
  EXPECT_EQ(entry.pasid, 0x1234);
  EXPECT_EQ(entry.node, 2);
  EXPECT_EQ(entry.context0, 0xaau);
  EXPECT_EQ(entry.context3, 0xddu);
}

TEST(DiscoveryTest, TellsBlocksAndTheGraphicsCore) {
  const Result<Discovery> discovery = read_discovery(table("navi31"));
  ASSERT_TRUE(discovery) << discovery.error().message;
  const IpInstance* gc = discovery->find(Block::Gc);
  ASSERT_NE(gc, nullptr);
  EXPECT_EQ(to_string(gc->version), "11.0.0");
  EXPECT_EQ(gc->bases, (std::vector<u64>{0x1260, 0xa000, 0x1c000, 0x2402c00}));
  EXPECT_EQ(discovery->count(Block::Gc), 1u);
  EXPECT_EQ(discovery->graphics.engines, 6u);
  EXPECT_EQ(discovery->graphics.arrays_per_engine, 2u);
  EXPECT_EQ(discovery->graphics.units_per_array, 8u);
  EXPECT_EQ(discovery->graphics.waves_per_simd, 16u);
}

TEST(DiscoveryTest, LeavesOutWhatIsHarvestedOnSeveralDies) {
  const Result<Discovery> discovery = read_discovery(table("two_dies"));
  ASSERT_TRUE(discovery) << discovery.error().message;
  EXPECT_EQ(discovery->blocks.size(), 4u);
  EXPECT_EQ(discovery->count(Block::Gc), 3u);
  EXPECT_TRUE(discovery->blocks[1].is_harvested);
  EXPECT_EQ(discovery->blocks[2].die, 1);
  EXPECT_EQ(discovery->blocks[3].bases[0], 0x200002000u);  // of 64 bits
  EXPECT_EQ(discovery->graphics.units_per_array, 10u);
  EXPECT_FALSE(discovery->address_of(Reg::IhRbCntl));  // there is no OSSSYS
}

TEST(DiscoveryTest, RefusesWhatIsCutOrChanged) {
  const std::vector<u8> whole = table("navi31");
  EXPECT_FALSE(read_discovery({}));
  for (usize bytes = 0; bytes < 400; ++bytes)
    EXPECT_FALSE(read_discovery(std::span(whole).first(bytes))) << bytes;
  std::vector<u8> changed = whole;
  changed[0xa0] ^= 1;  // of a block
  const Result<Discovery> read = read_discovery(changed);
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().message.find("add up"), std::string::npos) << read.error().message;
}

// ---- firmware -----------------------------------------------------------------------------------

struct FileMaker {
  std::vector<u8> bytes = std::vector<u8>(512);
  void put16(usize at, u16 value) { std::memcpy(bytes.data() + at, &value, 2); }
  void put(usize at, u32 value) { std::memcpy(bytes.data() + at, &value, 4); }
  FileMaker(u16 major, u16 minor) {
    put(0, 512);
    put(4, 256);
    put16(8, major);
    put16(10, minor);
    put(16, 0x77);
    put(20, 64);
    put(24, 256);
  }
};

TEST(FirmwareTest, FindsTheComputeProcessorsImages) {
  FileMaker file(2, 0);
  file.put(36, 32);
  file.put(44, 16);
  file.put(48, 300);
  file.put(52, 0x8000);
  file.put(56, 0x1);
  const Result<FirmwareFile> read = read_firmware(FirmwareKind::Mec, file.bytes);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->version, 0x77u);
  EXPECT_EQ(read->entry, 0x1'0000'8000u);
  ASSERT_EQ(read->images.size(), 2u);
  EXPECT_EQ(read->images[0].type, PspFirmware::Rs64Mec);
  EXPECT_EQ(read->images[0].bytes.data(), file.bytes.data() + 256);
  EXPECT_EQ(read->images[0].bytes.size(), 32u);
  EXPECT_EQ(read->images[1].bytes.data(), file.bytes.data() + 300);
}

TEST(FirmwareTest, FindsTheImagesOfEachVersionOfTheRlc) {
  FileMaker file(2, 3);
  const std::pair<usize, u32> parts[] = {{156, 256}, {164, 272}, {180, 288}, {196, 304}};
  for (const auto& [at, offset] : parts) {
    file.put(at, 16);
    file.put(at + 4, offset);
  }
  const Result<FirmwareFile> newest = read_firmware(FirmwareKind::Rlc, file.bytes);
  ASSERT_TRUE(newest) << newest.error().message;
  ASSERT_EQ(newest->images.size(), 5u);
  EXPECT_EQ(newest->images[0].type, PspFirmware::RlcIram);
  EXPECT_EQ(newest->images[2].type, PspFirmware::RlcP);
  EXPECT_EQ(newest->images[2].bytes.data(), file.bytes.data() + 288);
  EXPECT_EQ(newest->images[4].type, PspFirmware::RlcG);
  file.put16(10, 2);
  EXPECT_EQ(read_firmware(FirmwareKind::Rlc, file.bytes)->images.size(), 3u);
  file.put16(10, 9);
  EXPECT_EQ(read_firmware(FirmwareKind::Rlc, file.bytes).error().kind, ErrorKind::Unsupported);
}

TEST(FirmwareTest, FindsThePartsOfTheSecurityProcessor) {
  FileMaker file(2, 0);
  file.put(32, 2);
  file.put(36, 1);  // SOS
  file.put(44, 8);
  file.put(48, 24);
  file.put(52, 3);  // KDB
  file.put(60, 40);
  file.put(64, 8);
  const Result<std::vector<PspImage>> parts = read_psp_file(file.bytes);
  ASSERT_TRUE(parts) << parts.error().message;
  ASSERT_EQ(parts->size(), 2u);
  EXPECT_EQ((*parts)[0].part, PspPart::Sos);
  EXPECT_EQ((*parts)[0].bytes.data(), file.bytes.data() + 264);
  EXPECT_EQ((*parts)[1].part, PspPart::Kdb);
  file.put(48, 1000);
  EXPECT_FALSE(read_psp_file(file.bytes));
  file.put(0, 511);
  EXPECT_FALSE(read_psp_file(file.bytes));
}

}  // namespace
}  // namespace doorbell::amd::hw
