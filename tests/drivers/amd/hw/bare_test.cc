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
#include "drivers/amd/hw/bare/page_table.h"
#include "tests/support/golden.h"

namespace doorbell::amd::hw {
namespace {

std::vector<u8> table(const std::string& name) {
  std::ifstream file(testing::source_path("tests/fuzz/corpus/amd_discovery/" + name),
                     std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void expect_places(const std::string& discovery_table, BareChip chip, const std::string& golden) {
  const Result<Discovery> discovery = read_discovery(table(discovery_table));
  ASSERT_TRUE(discovery) << discovery.error().message;
  EXPECT_EQ(discovery->chip(), chip);
  std::istringstream lines(testing::read_source("tests/drivers/amd/hw/data/" + golden));
  std::map<std::string, u64> theirs;
  for (std::string name, address; lines >> name >> address;)
    theirs[name] = std::stoull(address, nullptr, 16);
  usize compared = 0;
  for (usize i = 0; i < kRegisters; ++i) {
    const RegisterPlace& place = places_of(chip)[i];
    if (place.name.empty() || place.block == Block::SmuIo) continue;  // that one the kernel's alone
    const Result<u64> ours = discovery->address_of(static_cast<Reg>(i));
    ASSERT_TRUE(ours) << ours.error().message;
    ASSERT_TRUE(theirs.contains(std::string(place.name))) << place.name;
    EXPECT_EQ(*ours, theirs[std::string(place.name)]) << place.name;
    ++compared;
  }
  EXPECT_EQ(compared, theirs.size());
}

TEST(BareRegisters, LieWhereTinygradHasThem) {
  expect_places("navi31", BareChip::Gc11, "gc_11_0_0_registers.txt");
  expect_places("navi48", BareChip::Gc12, "gc_12_0_0_registers.txt");
  expect_places("mi300x", BareChip::Gc94, "gc_9_4_3_registers.txt");
}

TEST(BareRegisters, FieldsAreTinygradsWords) {
  // AM_GMC.flush_tlb(vmid=0), enable_vm_addressing() with its 0x1800000, init_hub() of "GC".
  EXPECT_EQ(word_of(InvalidateRequest{.vmids = 1}), 0xf80001u);
  EXPECT_EQ(
      word_of(VmContextControl{.enable = true, .depth = 3, .faults = kAllFaults, .unk_31_23 = 3}),
      0x1fffe07u);
  EXPECT_EQ(word_of(VmContextControlGc12{
                .enable = true, .depth = 3, .faults = kAllFaults, .unk_31_24 = 1}),
            0x1fffc07u);
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
  // The same of 9.4.3, which has SLOT_BASED_WPTR elsewhere, on the first XCC and on others; and of
  // its other functions: flush_tlb(), enable_vm_addressing(), init_hub(), _config_mec(),
  // SH_MEM_CONFIG of init_hw(), the copy engine's doorbells.
  EXPECT_EQ(word_of(HqdPqControlGc94{
                .size = 17, .rptr_block_size = 5, .queue_full_en = true, .slot_based_wptr = 2}),
            0x4004511u);
  EXPECT_EQ(word_of(HqdPqControlGc94{.size = 17,
                                     .rptr_block_size = 5,
                                     .queue_full_en = true,
                                     .slot_based_wptr = 2,
                                     .no_update_rptr = true}),
            0xc004511u);
  EXPECT_EQ(word_of(InvalidateRequestGc94{.vmids = 1}), 0x7c0001u);
  EXPECT_EQ(word_of(VmContextControl{
                .enable = true, .depth = 2, .block_size = 9, .faults = kAllFaults, .unk_31_23 = 3}),
            0x1fffe4du);
  EXPECT_EQ(kL2Control3Gc94, 0x8014800cu);
  EXPECT_EQ(kMecStopGc94, 0x50110010u);
  EXPECT_EQ(kShMemConfigGc94, 0x1118u);
  EXPECT_EQ(word_of(DoorbellRange{.offset = 512, .size = 20}), 0x5200u);
  EXPECT_EQ(word_of(DoorbellEntry{
                .enable = true, .awid = 0xe, .offset = 0xe, .size = 4, .address_31_28 = 1}),
            0x1008071du);
  EXPECT_EQ(word_of(HqdDoorbellControl{.offset = 6, .enable = true}), 0x40000018u);
  EXPECT_EQ(word_of(CopyRingControl{.enable = true,
                                    .size_log2 = 14,
                                    .poll_write_pointer = true,
                                    .write_read_pointer = true,
                                    .read_pointer_timer = 4,
                                    .privileged = true}),
            0x84181du);
}

// AM_GMC.get_pte_flags() of tinygrad, for 11.0.0 and 12.0.1, beside an address; the kernel's in
// amdgpu_vm.h: VALID 1, SYSTEM 2, SNOOPED 4, EXECUTABLE 0x10, READABLE 0x20, WRITEABLE 0x40.
TEST(PageEntries, AreTinygradsWords) {
  const auto expect = [](const PageEntry& entry, u64 gc11, u64 gc12) {
    EXPECT_EQ(bits_of(entry, BareChip::Gc11), gc11);
    EXPECT_EQ(bits_of(entry, BareChip::Gc12), gc12);
    for (const BareChip chip : {BareChip::Gc11, BareChip::Gc12})
      EXPECT_EQ(bits_of(entry_of(bits_of(entry, chip), chip), chip), bits_of(entry, chip));
  };
  PageEntry page{.valid = true, .executable = true, .readable = true, .writable = true};
  expect({.valid = true, .address = 0x5000}, 0x5001, 0x5001);
  page.address = 0x123456000;
  // The lowest tables' pages: GC 12 marks them.
  EXPECT_EQ(bits_of(page, BareChip::Gc11), 0x0000'0001'2345'6071u);
  page.is_pte = true;
  EXPECT_EQ(bits_of(page, BareChip::Gc12), 0x8000'0001'2345'6071u);
  page.policy = MemoryPolicy::Uncached;
  page.is_system = page.snooped = true;
  page.fragment = 4;
  EXPECT_EQ(bits_of(page, BareChip::Gc12), 0x80c0'0001'2345'6277u);
  page.is_pte = false;
  EXPECT_EQ(bits_of(page, BareChip::Gc11), 0x0003'0001'2345'6277u);
  // 2 MiB and 1 GiB.
  page = {.valid = true, .executable = true, .readable = true, .writable = true, .fragment = 9};
  page.is_pte = true;
  expect(page, 0x0040'0000'0000'04f1, 0x8000'0000'0000'04f1);
  page.fragment = 18;
  page.address = u64{1} << 30;
  expect(page, 0x0040'0000'4000'0971, 0x8000'0000'4000'0971);
  // Of 9.4.3: pages of 4 KiB, 2 MiB and 1 GiB, uncached ones, and tables of levels 0 to 2.
  PageEntry small{.valid = true, .executable = true, .readable = true, .writable = true};
  small.address = 0x5000;
  small.policy = MemoryPolicy::Uncached;
  EXPECT_EQ(bits_of(small, BareChip::Gc94), 0x0600'0000'0000'5071u);
  EXPECT_FALSE(marks_page(BareChip::Gc94, 3));
  EXPECT_FALSE(marks_page(BareChip::Gc94, 2));
  EXPECT_TRUE(marks_page(BareChip::Gc94, 1));
  PageEntry large{.valid = true, .executable = true, .readable = true, .writable = true};
  large.fragment = 18;
  large.is_pte = true;
  EXPECT_EQ(bits_of(large, BareChip::Gc94), 0x0040'0000'0000'0971u);
  EXPECT_EQ(bits_of(table_entry(0x7000, BareChip::Gc94, 0), BareChip::Gc94), 0x7001u);
  EXPECT_EQ(bits_of(table_entry(0x7000, BareChip::Gc94, 1), BareChip::Gc94),
            0x4800'0000'0000'7001u);
  EXPECT_EQ(bits_of(table_entry(0x7000, BareChip::Gc94, 2), BareChip::Gc94),
            0x0100'0000'0000'7001u);
  EXPECT_EQ(reserved_page_bits(BareChip::Gc94), 0x00bf'0000'0000'0000u);
  EXPECT_EQ(reserved_page_bits(BareChip::Gc11), 0xffb8'0000'0000'0000u);
  EXPECT_EQ(reserved_page_bits(BareChip::Gc12), 0x7f3f'0000'0000'0000u);
}

// Bytes that tinygrad's ctypes of the kernel's psp_gfx_if.h make of the same values: a frame, and
// the words of each command that are not 0, by their byte.
using NonZero = std::map<usize, u32>;
template <class T>
NonZero words_in(const T& record) {
  std::array<u32, sizeof(T) / sizeof(u32)> words;
  std::memcpy(words.data(), &record, sizeof record);
  NonZero found;
  for (usize i = 0; i < words.size(); ++i)
    if (words[i] != 0) found[i * sizeof(u32)] = words[i];
  return found;
}

TEST(PspRecords, AreTinygradsWords) {
  PspFrame frame;
  frame.cmd_buf_addr_lo = 0x3000;
  frame.cmd_buf_addr_hi = 0x80;
  frame.fence_addr_lo = 0x4000;
  frame.fence_addr_hi = 0x80;
  frame.fence_value = 0x11;
  EXPECT_EQ(words_in(frame),
            (NonZero{{0, 0x3000}, {4, 0x80}, {12, 0x4000}, {16, 0x80}, {20, 0x11}}));
  const auto command = [](PspCommand id, std::initializer_list<u32> arguments) {
    PspCommandBuffer buffer;
    buffer.cmd_id = id;
    std::copy(arguments.begin(), arguments.end(), buffer.arguments);
    return buffer;
  };
  const u32 mec = static_cast<u32>(PspFirmware::Rs64Mec);
  EXPECT_EQ(words_in(command(PspCommand::LoadIpFw, {0x100000, 0x80, 0x1234, mec})),
            (NonZero{{8, 6}, {28, 0x100000}, {32, 0x80}, {36, 0x1234}, {40, 0x59}}));
  EXPECT_EQ(words_in(command(PspCommand::SetupTmr,
                             {0x200000, 0x80, 0x400000, kTmrVirtualAddress, 0x200000})),
            (NonZero{{8, 5}, {28, 0x200000}, {32, 0x80}, {36, 0x400000}, {40, 2}, {44, 0x200000}}));
  EXPECT_EQ(words_in(command(PspCommand::LoadToc, {0x100000, 0x80, 0x500})),
            (NonZero{{8, 0x20}, {28, 0x100000}, {32, 0x80}, {36, 0x500}}));
  PspCommandBuffer answer = command(PspCommand::AutoloadRlc, {});
  answer.status = 0x15;
  answer.tmr_size = 0x7700;
  EXPECT_EQ(words_in(answer), (NonZero{{8, 0x21}, {864, 0x15}, {880, 0x7700}}));
}

// The kernel's numbers, in tinygrad's am.py: GFX_FW_TYPE_*, PSP_FW_TYPE_PSP_*, PSP_BL__LOAD_*.
TEST(PspRecords, NumberFirmwareAsTheKernel) {
  const std::pair<PspFirmware, u32> firmware[] = {{PspFirmware::RlcV, 7},
                                                  {PspFirmware::RlcG, 8},
                                                  {PspFirmware::Smu, 18},
                                                  {PspFirmware::RlcRestoreGpm, 20},
                                                  {PspFirmware::RlcRestoreSrm, 21},
                                                  {PspFirmware::RlcRestoreCntl, 22},
                                                  {PspFirmware::RlcP, 25},
                                                  {PspFirmware::RlcIram, 26},
                                                  {PspFirmware::RlcDramBoot, 48},
                                                  {PspFirmware::ImuI, 68},
                                                  {PspFirmware::ImuD, 69},
                                                  {PspFirmware::SdmaTh0, 71},
                                                  {PspFirmware::SdmaTh1, 72},
                                                  {PspFirmware::Rs64Pfp, 87},
                                                  {PspFirmware::Rs64Me, 88},
                                                  {PspFirmware::Rs64Mec, 89},
                                                  {PspFirmware::Rs64PfpP0Stack, 90},
                                                  {PspFirmware::Rs64MeP0Stack, 92},
                                                  {PspFirmware::Rs64MecP0Stack, 94}};
  for (const auto& [ours, theirs] : firmware) EXPECT_EQ(static_cast<u32>(ours), theirs);
  // AM_PSP.init_hw(): the parts and commands of the boot loader, of MP0 13 and 14.
  using Step = std::pair<u32, u32>;
  const auto steps = [](BareChip chip) {
    std::vector<Step> all;
    for (const PspBootStep& step : boot_steps_of(chip))
      all.emplace_back(static_cast<u32>(step.part), static_cast<u32>(step.command));
    return all;
  };
  std::vector<Step> theirs{{3, 0x80000}, {3, 0x10000000}, {2, 0x10000},  {7, 0xb0000},
                           {8, 0xd0000}, {9, 0xc0000},    {10, 0xe0000}, {1, 0x20000}};
  EXPECT_EQ(steps(BareChip::Gc11), theirs);
  theirs[1].first = 5;
  // The kernel's alone: PSP_FW_TYPE_PSP_IPKEYMGR_DRV, PSP_BL__LOAD_IPKEYMGRDRV.
  theirs.insert(theirs.end() - 1, {11, 0xf0000});
  EXPECT_EQ(steps(BareChip::Gc12), theirs);
  EXPECT_EQ(kPspCreateRing, 0x20000u);
  EXPECT_EQ(kPspDestroyRings, 0x30000u);
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

TEST(DiscoveryTest, TellsTheChip) {
  EXPECT_EQ(read_discovery(table("navi48"))->chip(), BareChip::Gc12);
  EXPECT_EQ(read_discovery(table("two_dies"))->chip(), BareChip::Gc94);
  EXPECT_EQ(Discovery{}.chip(), std::nullopt);
}

// Of XCC 2, which is instance 3 as 1 is harvested, and of the second memory hub.
TEST(DiscoveryTest, FindsRegistersOfInstances) {
  const Result<Discovery> discovery = read_discovery(table("mi300x"));
  ASSERT_TRUE(discovery) << discovery.error().message;
  EXPECT_EQ(discovery->count(Block::Gc), 7u);
  EXPECT_EQ(discovery->find(Block::Gc, 2)->instance, 3);
  EXPECT_EQ(*discovery->address_of(Reg::GrbmGfxCntl, 2), 0x182022u);
  EXPECT_EQ(*discovery->address_of(Reg::MmvmL2Cntl, 1), 0x101ab60u);
  EXPECT_FALSE(discovery->address_of(Reg::GrbmGfxCntl, 7));
  EXPECT_FALSE(discovery->address_of(Reg::CpMecRs64Cntl));
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

// sdma_firmware_header_v3_0: ucode_size_bytes at 40.
TEST(FirmwareTest, FindsTheCopyEnginesImageOfVersionThree) {
  FileMaker file(3, 0);
  file.put(36, 256);
  file.put(40, 48);
  const Result<FirmwareFile> read = read_firmware(FirmwareKind::Sdma, file.bytes);
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_EQ(read->images.size(), 1u);
  EXPECT_EQ(read->images[0].type, PspFirmware::SdmaTh0);
  EXPECT_EQ(read->images[0].bytes.data(), file.bytes.data() + 256);
  EXPECT_EQ(read->images[0].bytes.size(), 48u);
  file.put16(8, 4);
  EXPECT_EQ(read_firmware(FirmwareKind::Sdma, file.bytes).error().kind, ErrorKind::Unsupported);
}

// gfx_firmware_header_v1_0: jt_offset at 36, jt_size at 40, both in words;
// sdma_firmware_header_v1_0 is the common header; smc_firmware_header_v2_1: pptable_count at 36,
// pptable_entry_offset at 40, and entries of id, offset, bytes.
TEST(FirmwareTest, FindsTheImagesOfOlderHeaders) {
  FileMaker mec(1, 0);
  mec.put(36, 12);
  mec.put(40, 4);
  const Result<FirmwareFile> code = read_firmware(FirmwareKind::Mec, mec.bytes);
  ASSERT_TRUE(code) << code.error().message;
  ASSERT_EQ(code->images.size(), 2u);
  EXPECT_EQ(code->images[0].type, PspFirmware::CpMec);
  EXPECT_EQ(code->images[0].bytes.size(), 48u);
  EXPECT_EQ(code->images[1].type, PspFirmware::CpMecMe1);
  EXPECT_EQ(code->images[1].bytes.data(), mec.bytes.data() + 256 + 48);
  EXPECT_EQ(code->images[1].bytes.size(), 16u);
  mec.put(40, 17);
  EXPECT_FALSE(read_firmware(FirmwareKind::Mec, mec.bytes));

  const Result<FirmwareFile> copies = read_firmware(FirmwareKind::Sdma, FileMaker(1, 0).bytes);
  ASSERT_TRUE(copies) << copies.error().message;
  ASSERT_EQ(copies->images.size(), 4u);
  EXPECT_EQ(copies->images[0].type, PspFirmware::Sdma0);
  EXPECT_EQ(copies->images[3].type, PspFirmware::Sdma3);
  EXPECT_EQ(copies->images[3].bytes.size(), 64u);

  FileMaker smu(2, 1);
  smu.put(36, 3);
  smu.put(40, 100);
  smu.put(100, 0x50325341);
  smu.put(104, 300);
  smu.put(108, 8);
  smu.put(112, 0x50325358);
  smu.put(116, 320);
  smu.put(120, 24);
  smu.put(124, 0x50325303);
  smu.put(128, 344);
  smu.put(132, 12);
  const Result<FirmwareFile> table = read_firmware(FirmwareKind::P2s, smu.bytes);
  ASSERT_TRUE(table) << table.error().message;
  ASSERT_EQ(table->images.size(), 1u);
  EXPECT_EQ(table->images[0].type, PspFirmware::P2sTable);
  EXPECT_EQ(table->images[0].bytes.data(), smu.bytes.data() + 320);
  EXPECT_EQ(table->images[0].bytes.size(), 24u);
  const Result<FirmwareFile> other =
      read_firmware(FirmwareKind::P2s, smu.bytes, p2s_table_of(0x74a5));
  ASSERT_TRUE(other) << other.error().message;
  ASSERT_EQ(other->images.size(), 1u);
  EXPECT_EQ(other->images[0].bytes.data(), smu.bytes.data() + 344);
  EXPECT_EQ(other->images[0].bytes.size(), 12u);
}

// [smu_v13_0_6_ppt.c smu_v13_0_6_init_microcode(); pci.ids: 74a1 MI300X, 74a5 MI325X, 74a9 MI300X
// HF]
TEST(FirmwareTest, ThePowerControllersTableIsThatOfThePciDevice) {
  EXPECT_EQ(p2s_table_of(0x74a1), 0x50325358u);
  EXPECT_EQ(p2s_table_of(0x74a5), 0x50325303u);
  EXPECT_EQ(p2s_table_of(0x74a9), 0x50325358u);
}

TEST(FirmwareTest, FindsTheFrontProcessorsImages) {
  FileMaker file(2, 0);
  file.put(36, 32);
  file.put(44, 16);
  file.put(48, 300);
  file.put(52, 0x3000);
  const Result<FirmwareFile> pfp = read_firmware(FirmwareKind::Pfp, file.bytes);
  ASSERT_TRUE(pfp) << pfp.error().message;
  EXPECT_EQ(pfp->entry, 0x3000u);
  EXPECT_EQ(pfp->images[0].type, PspFirmware::Rs64Pfp);
  EXPECT_EQ(pfp->images[1].type, PspFirmware::Rs64PfpP0Stack);
  const Result<FirmwareFile> me = read_firmware(FirmwareKind::Me, file.bytes);
  EXPECT_EQ(me->images[0].type, PspFirmware::Rs64Me);
  EXPECT_EQ(me->images[1].type, PspFirmware::Rs64MeP0Stack);
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
