// [torvalds/linux drivers/gpu/drm/amd/include/discovery.h, amdgpu_ucode.h; bases of blocks:
// tinygrad a9069c1 runtime/autogen/am/navi_offsets.py, test/mockgpu/am/amgpu.py IP_BASES]
#include "emulator/amd/bare/made_tables.h"

#include <algorithm>
#include <array>
#include <cstring>

#include <fmt/format.h>

#include "base/util/check.h"

namespace doorbell::emu::amdgpu {
namespace {

using amd::hw::Block;
using amd::hw::PspFirmware;
using amd::hw::PspPart;

// Little-endian numbers, one behind the other or put where they belong.
class Bytes {
 public:
  template <class T>
  void put(usize at, T value) {
    if (bytes_.size() < at + sizeof(T)) bytes_.resize(at + sizeof(T));
    std::memcpy(bytes_.data() + at, &value, sizeof value);
  }
  usize size() const { return bytes_.size(); }
  void append(std::span<const u8> more) { bytes_.insert(bytes_.end(), more.begin(), more.end()); }
  void resize(usize size) { bytes_.resize(size); }
  std::vector<u8>& bytes() { return bytes_; }

 private:
  std::vector<u8> bytes_;
};

constexpr u64 kGcBases[] = {0x1260, 0xa000, 0x1c000, 0x2402c00};
constexpr u64 kMmHubBases[] = {0x1a000, 0x2408800};
constexpr u64 kNbioBases[] = {0, 0x14, 0xd20, 0x10400, 0x241b000, 0x4040000};
constexpr u64 kMpBases[] = {0x16000, 0xdc0000, 0xe00000, 0xe40000, 0x243fc00};
constexpr u64 kHdpBases[] = {0xf20, 0x240a400};
constexpr u64 kOssBases[] = {0x10a0, 0x240a000};
constexpr u64 kSmuIoBases[] = {0x16800, 0x16a00, 0x440000, 0x2401000};

// Of GC 9.4.3 we made them: no source tells a real board's, but that those of XCCs are alike in
// their lower 16 bits. [gfx_v9_4_3.c XCC_REG_RANGE_0_LOW, NORMALIZE_XCC_REG_OFFSET()]
constexpr u64 kGc94Gc[] = {0x2000, 0xa000}, kGc94XccStride = 0x80000;
constexpr u64 kGc94Sdma[] = {0x1260}, kGc94SdmaStride = 0x80000;
constexpr u64 kGc94MmHub[] = {0x1a000}, kGc94AidStride = 0x1000000;
constexpr u64 kGc94Nbio[] = {0,         0x14,      0xd20,     0x10400,  0x241a000,
                             0x240f000, 0x241b000, 0x4040000, 0x5040000};

struct MadeBlock {
  Block block;
  IpVersion version;
};

u16 sum_of(std::span<const u8> bytes) {
  u16 sum = 0;
  for (const u8 byte : bytes) sum = static_cast<u16>(sum + byte);
  return sum;
}

void put_block(Bytes& table, Block block, const IpVersion& version, amd::hw::BareChip chip,
               u32 instance) {
  const usize at = table.size();
  const std::vector<u64> bases = bases_of(block, chip, instance);
  table.put<u16>(at, amd::hw::hardware_id(block));
  table.put<u8>(at + 2, static_cast<u8>(instance));
  table.put<u8>(at + 3, static_cast<u8>(bases.size()));
  table.put<u8>(at + 4, static_cast<u8>(version.major));
  table.put<u8>(at + 5, static_cast<u8>(version.minor));
  table.put<u8>(at + 6, static_cast<u8>(version.revision));
  table.put<u8>(at + 7, 0);
  for (usize i = 0; i < bases.size(); ++i)
    table.put<u32>(at + 8 + i * 4, static_cast<u32>(bases[i]));
}

// ---- firmware -----------------------------------------------------------------------------------

constexpr u32 kImageMagic = 0x4d494244;  // "DBIM"
constexpr usize kImageHeader = 24;
constexpr usize kHeaderBytes = 256;  // of every file; images behind it

std::vector<u8> make_image(u32 type, u32 bytes, u64 entry = 0) {
  Bytes image;
  image.put<u32>(0, kImageMagic);
  image.put<u32>(4, type);
  image.put<u32>(8, bytes);
  image.put<u64>(16, entry);
  image.resize(bytes);
  for (usize i = kImageHeader; i < bytes; ++i)
    image.bytes()[i] = static_cast<u8>(i * 7 + type * 13 + i / 251);
  image.put<u32>(12, 0);
  const u32 sum = sum_of(image.bytes());
  image.put<u32>(12, sum);
  return image.bytes();
}
std::vector<u8> make_image(PspFirmware type, u32 bytes, u64 entry = 0) {
  return make_image(static_cast<u32>(type), bytes, entry);
}

// A file with the common header; offsets count from the file's beginning.
class FirmwareMaker {
 public:
  FirmwareMaker(u16 major, u16 minor) {
    file_.put<u32>(4, kHeaderBytes);
    file_.put<u16>(8, major);
    file_.put<u16>(10, minor);
    file_.put<u32>(16, 0xdb01);
    file_.put<u32>(24, kHeaderBytes);
    file_.resize(kHeaderBytes);
  }
  void put(usize at, u32 value) { file_.put<u32>(at, value); }
  // Its offset.
  u32 add(const std::vector<u8>& image) {
    const u32 at = static_cast<u32>(file_.size());
    file_.append(image);
    return at;
  }
  std::vector<u8> finish() {
    file_.put<u32>(20, static_cast<u32>(file_.size() - kHeaderBytes));
    file_.put<u32>(0, static_cast<u32>(file_.size()));
    return file_.bytes();
  }

 private:
  Bytes file_;
};

std::vector<u8> make_psp_file(amd::hw::BareChip chip) {
  FirmwareMaker file(2, 0);
  std::vector<PspPart> parts = {PspPart::Kdb,    PspPart::SysDrv, PspPart::SocDrv, PspPart::IntfDrv,
                                PspPart::DbgDrv, PspPart::RasDrv, PspPart::Sos,    PspPart::Toc};
  if (chip == amd::hw::BareChip::Gc12)
    parts.insert(parts.end(), {PspPart::Spl, PspPart::IpKeyManagerDrv});
  if (chip == amd::hw::BareChip::Gc94) parts = {PspPart::Sos, PspPart::Rl};
  file.put(32, static_cast<u32>(parts.size()));
  usize at = 36;
  for (const PspPart part : parts) {
    const u32 type = static_cast<u32>(part);
    // The list of registers is loaded as firmware is.
    const std::vector<u8> image = part == PspPart::Rl
                                      ? make_image(PspFirmware::RegList, 0x700)
                                      : make_image(kMadePart + type, 512 + 256 * type);
    file.put(at, type);
    file.put(at + 8, file.add(image) - kHeaderBytes);
    file.put(at + 12, static_cast<u32>(image.size()));
    at += 16;
  }
  return file.finish();
}

std::vector<u8> make_sdma_file(amd::hw::BareChip chip) {
  if (chip == amd::hw::BareChip::Gc12) {
    FirmwareMaker file(3, 0);
    const std::vector<u8> code = make_image(PspFirmware::SdmaTh0, 0x900);
    file.put(36, file.add(code));
    file.put(40, static_cast<u32>(code.size()));
    return file.finish();
  }
  FirmwareMaker file(2, 0);
  const std::vector<u8> context = make_image(PspFirmware::SdmaTh0, 0x900);
  const std::vector<u8> control = make_image(PspFirmware::SdmaTh1, 0x700);
  file.add(context);
  file.put(36, static_cast<u32>(context.size()));
  file.put(48, file.add(control));
  file.put(52, static_cast<u32>(control.size()));
  return file.finish();
}

std::vector<u8> make_processor_file(PspFirmware type, PspFirmware stack, u64 entry) {
  FirmwareMaker file(2, 0);
  const std::vector<u8> code = make_image(type, 0x3000, entry);
  const std::vector<u8> data = make_image(stack, 0x500);
  file.put(36, static_cast<u32>(code.size()));
  file.put(40, file.add(code));
  file.put(44, static_cast<u32>(data.size()));
  file.put(48, file.add(data));
  file.put(52, static_cast<u32>(entry));
  return file.finish();
}

std::vector<u8> make_imu_file() {
  FirmwareMaker file(1, 0);
  const std::vector<u8> code = make_image(PspFirmware::ImuI, 0x600);
  const std::vector<u8> data = make_image(PspFirmware::ImuD, 0x300);
  file.put(32, static_cast<u32>(code.size()));
  file.put(36, file.add(code));
  file.put(40, static_cast<u32>(data.size()));
  file.put(44, file.add(data));
  return file.finish();
}

// A list of the run list controller's firmware, whose size and place are at `at` of its header.
struct RlcPart {
  PspFirmware type;
  usize at;
};
std::vector<u8> make_rlc_file_of(u16 minor, std::initializer_list<RlcPart> parts) {
  FirmwareMaker file(2, minor);
  const std::vector<u8> code = make_image(PspFirmware::RlcG, 0x1000);
  file.add(code);
  for (const RlcPart& part : parts) {
    const std::vector<u8> image = make_image(part.type, 0x200 + static_cast<u32>(part.at));
    file.put(part.at, static_cast<u32>(image.size()));
    file.put(part.at + 4, file.add(image));
  }
  std::vector<u8> bytes = file.finish();
  const u32 code_bytes = static_cast<u32>(code.size());
  std::memcpy(bytes.data() + 20, &code_bytes, sizeof code_bytes);
  return bytes;
}

std::vector<u8> make_rlc_file() {
  return make_rlc_file_of(3, {{PspFirmware::RlcIram, 156},
                              {PspFirmware::RlcDramBoot, 164},
                              {PspFirmware::RlcP, 180},
                              {PspFirmware::RlcV, 196}});
}

// Its table is empty. [amdgpu_ucode.h smc_firmware_header_v2_1; tinygrad amdev.py AMFirmware takes
// the v1_0 in it, which a header of version 1 has not]
std::vector<u8> make_smu_file() {
  FirmwareMaker file(2, 1);
  file.add(make_image(PspFirmware::Smu, 0x2000));
  return file.finish();
}

// Two tables of other kinds, and that of this card.
std::vector<u8> make_p2s_file() {
  constexpr u32 kEntries = 64, kOfApus = 0x50325341, kOfCards = 0x50325358, kOfOthers = 0x50325303;
  FirmwareMaker file(2, 1);
  const std::vector<u8> table = make_image(PspFirmware::P2sTable, 0x600);
  const u32 at = file.add(table);
  file.put(36, 3);
  file.put(40, kEntries);
  const u32 entries[] = {kOfApus,   at + 0x10, 0x20, kOfCards, at, static_cast<u32>(table.size()),
                         kOfOthers, at + 0x20, 0x20};
  for (usize i = 0; i < std::size(entries); ++i) file.put(kEntries + i * 4, entries[i]);
  return file.finish();
}

// All engines have one image, whose type is therefore not in it.
std::vector<u8> make_shared_sdma_file() {
  FirmwareMaker file(1, 0);
  file.add(make_image(PspFirmware::Sdma0, 0x900));
  return file.finish();
}

// The jump table lies behind the code.
std::vector<u8> make_old_processor_file() {
  FirmwareMaker file(1, 0);
  const std::vector<u8> code = make_image(PspFirmware::CpMec, 0x3000, kMadeEntry);
  const std::vector<u8> jumps = make_image(PspFirmware::CpMecMe1, 0x100);
  file.add(code);
  file.add(jumps);
  file.put(36, static_cast<u32>(code.size() / 4));
  file.put(40, static_cast<u32>(jumps.size() / 4));
  return file.finish();
}

std::vector<u8> make_old_rlc_file() {
  return make_rlc_file_of(1, {{PspFirmware::RlcRestoreCntl, 116},
                              {PspFirmware::RlcRestoreGpm, 132},
                              {PspFirmware::RlcRestoreSrm, 148}});
}

IpVersion mp_of(const Node& node) {
  switch (*bare_chip(node)) {
    case amd::hw::BareChip::Gc11: return {13, 0, 0};
    case amd::hw::BareChip::Gc12: return {14, 0, 3};
    case amd::hw::BareChip::Gc94: return {13, 0, 6};
  }
  UNREACHABLE("the chip of {}", node.name);
}

// Files of a chip that starts without autoload.
std::map<std::string, std::vector<u8>> make_old_files() {
  return {{"psp_13_0_6_sos.bin", make_psp_file(amd::hw::BareChip::Gc94)},
          {"smu_13_0_6.bin", make_p2s_file()},
          {"sdma_4_4_2.bin", make_shared_sdma_file()},
          {"gc_9_4_3_mec.bin", make_old_processor_file()},
          {"gc_9_4_3_rlc.bin", make_old_rlc_file()}};
}

}  // namespace

std::optional<amd::hw::BareChip> bare_chip(const Node& node) {
  if (node.gc.major == 11 && node.gc.minor == 0 && node.gc.revision == 0)
    return amd::hw::BareChip::Gc11;
  if (node.gc.major == 12 && node.gc.minor == 0) return amd::hw::BareChip::Gc12;
  if (node.gc.major == 9 && node.gc.minor == 4 && node.gc.revision == 3)
    return amd::hw::BareChip::Gc94;
  return std::nullopt;
}

std::span<const u64> bases_of(Block block) {
  switch (block) {
    case Block::Gc:
    case Block::Sdma0: return kGcBases;
    case Block::MmHub: return kMmHubBases;
    case Block::Nbio: return kNbioBases;
    case Block::Mp0:
    case Block::Mp1: return kMpBases;
    case Block::Hdp: return kHdpBases;
    case Block::OssSys: return kOssBases;
    case Block::SmuIo: return kSmuIoBases;
  }
  UNREACHABLE("block {}", static_cast<int>(block));
}

u32 instances_of(Block block, const Node& node) {
  if (bare_chip(node) != amd::hw::BareChip::Gc94) return 1;
  constexpr u32 kAids = 4;
  switch (block) {
    case Block::Gc: return node.xccs;
    case Block::MmHub: return kAids;
    case Block::Sdma0: return node.sdma_engines + node.sdma_xgmi_engines;
    default: return 1;
  }
}

std::vector<u64> bases_of(Block block, amd::hw::BareChip chip, u32 instance) {
  const auto list = [](std::span<const u64> bases, u64 behind) {
    std::vector<u64> moved(bases.begin(), bases.end());
    for (u64& base : moved) base += behind;
    return moved;
  };
  if (chip != amd::hw::BareChip::Gc94) return list(bases_of(block), 0);
  constexpr u32 kXccs = 8;
  switch (block) {
    case Block::Gc: return list(kGc94Gc, instance * kGc94XccStride);
    // Behind those of the XCCs.
    case Block::Sdma0: return list(kGc94Sdma, (kXccs + instance) * kGc94SdmaStride);
    case Block::MmHub: return list(kGc94MmHub, instance * kGc94AidStride);
    case Block::Nbio: return list(kGc94Nbio, 0);
    default: return list(bases_of(block), 0);
  }
}

std::vector<u8> make_discovery_table(const Node& node) {
  // [amdgpu_discovery.c, the cases of these graphics cores and their companions; versions of the
  // companions of 12.0.x as in tinygrad a9069c1 test/mockgpu/am/amgpu.py IP_VERSIONS (of 12.0.0),
  // but for SMUIO's, which it lacks: amdgpu_discovery.c smuio_v14_0_2_funcs]
  const amd::hw::BareChip chip = *bare_chip(node);
  const auto of_chip = [&](IpVersion gc11, IpVersion gc12, IpVersion gc94) {
    return chip == amd::hw::BareChip::Gc11 ? gc11 : chip == amd::hw::BareChip::Gc12 ? gc12 : gc94;
  };
  const IpVersion mp = mp_of(node);
  const MadeBlock blocks[] = {
      {Block::Gc, node.gc},
      {Block::Sdma0, node.sdma},
      {Block::MmHub, of_chip({3, 0, 0}, {4, 1, 0}, {1, 8, 0})},
      {Block::Nbio, node.nbif},
      {Block::Mp0, mp},
      {Block::Mp1, mp},
      {Block::Hdp, of_chip({6, 0, 0}, {7, 0, 0}, {4, 4, 2})},
      {Block::OssSys, of_chip({6, 0, 0}, {7, 0, 0}, {4, 4, 2})},
      {Block::SmuIo, of_chip({13, 0, 6}, {14, 0, 2}, {13, 0, 3})},
  };
  u16 count = 0;
  for (const MadeBlock& block : blocks)
    count = static_cast<u16>(count + instances_of(block.block, node));
  constexpr usize kDiscovery = 0x40, kDie = 0x90;
  Bytes table;
  table.put<u32>(kDiscovery, 0x53445049);
  table.put<u16>(kDiscovery + 4, 4);
  table.put<u16>(kDiscovery + 12, 1);  // dies
  table.put<u16>(kDiscovery + 16, kDie);
  table.put<u16>(kDie + 2, count);
  for (const MadeBlock& block : blocks)
    for (u32 i = 0; i < instances_of(block.block, node); ++i)
      put_block(table, block.block, block.version, chip, i);
  const usize discovery_bytes = table.size() - kDiscovery;
  table.put<u16>(kDiscovery + 6, static_cast<u16>(discovery_bytes));
  const u16 sum = sum_of(std::span(table.bytes()).subspan(kDiscovery));
  const usize graphics = (table.size() + 15) / 16 * 16;
  const bool is_old = chip == amd::hw::BareChip::Gc94;
  const u32 per_array = is_old ? node.cus_per_array : node.cus_per_array / 2;
  table.put<u32>(graphics, 0x4347);
  table.put<u16>(graphics + 4, is_old ? 2 : 1);
  table.put<u32>(graphics + 8, 88);
  table.put<u32>(graphics + 12, engines(node));
  table.put<u32>(graphics + 16, per_array);
  table.put<u32>(graphics + 20, is_old ? node.arrays_per_engine : 0);
  table.put<u32>(graphics + 56, node.wave_size);
  table.put<u32>(graphics + 60, node.waves_per_simd);
  table.put<u32>(graphics + 64, 32);
  table.put<u32>(graphics + 68, 128);
  table.put<u32>(graphics + 76, node.arrays_per_engine);
  table.put<u32>(graphics + 84, 0);
  table.put<u32>(0, 0x28211407);
  table.put<u16>(4, 1);
  table.put<u16>(10, static_cast<u16>(table.size()));
  table.put<u16>(12, kDiscovery);
  table.put<u16>(14, sum);
  table.put<u16>(16, static_cast<u16>(discovery_bytes));
  table.put<u16>(20, static_cast<u16>(graphics));
  table.put<u16>(22, sum_of(std::span(table.bytes()).subspan(graphics)));
  table.put<u16>(24, static_cast<u16>(table.size() - graphics));
  return table.bytes();
}

std::map<std::string, std::vector<u8>> make_firmware_files(const Node& node) {
  const auto name = [](const char* prefix, const IpVersion& version, const char* suffix) {
    return fmt::format("{}_{}_{}_{}{}.bin", prefix, version.major, version.minor, version.revision,
                       suffix);
  };
  const IpVersion mp = mp_of(node);
  const amd::hw::BareChip chip = *bare_chip(node);
  if (chip == amd::hw::BareChip::Gc94) return make_old_files();
  std::map<std::string, std::vector<u8>> files{
      {name("psp", mp, "_sos"), make_psp_file(chip)},
      {name("smu", mp, ""), make_smu_file()},
      {name("sdma", node.sdma, ""), make_sdma_file(chip)},
      {name("gc", node.gc, "_mec"),
       make_processor_file(PspFirmware::Rs64Mec, PspFirmware::Rs64MecP0Stack, kMadeEntry)},
      {name("gc", node.gc, "_imu"), make_imu_file()},
      {name("gc", node.gc, "_rlc"), make_rlc_file()}};
  if (chip == amd::hw::BareChip::Gc11) return files;
  files[name("gc", node.gc, "_pfp")] =
      make_processor_file(PspFirmware::Rs64Pfp, PspFirmware::Rs64PfpP0Stack, kMadePfpEntry);
  files[name("gc", node.gc, "_me")] =
      make_processor_file(PspFirmware::Rs64Me, PspFirmware::Rs64MeP0Stack, kMadeMeEntry);
  return files;
}

std::optional<MadeImage> read_made_image(std::span<const u8> bytes) {
  if (bytes.size() < kImageHeader) return std::nullopt;
  std::array<u32, 4> words{};
  std::memcpy(words.data(), bytes.data(), sizeof words);
  MadeImage image{.type = words[1], .bytes = words[2]};
  std::memcpy(&image.entry, bytes.data() + 16, sizeof image.entry);
  if (words[0] != kImageMagic || image.bytes != bytes.size()) return std::nullopt;
  u16 sum = sum_of(bytes);
  for (usize i = 12; i < 16; ++i) sum = static_cast<u16>(sum - bytes[i]);
  if (sum != words[3]) return std::nullopt;
  return image;
}

std::span<const PspFirmware> needed_firmware(amd::hw::BareChip chip) {
  static constexpr PspFirmware kGc11[] = {
      PspFirmware::SdmaTh0, PspFirmware::SdmaTh1, PspFirmware::Rs64Mec, PspFirmware::Rs64MecP0Stack,
      PspFirmware::ImuI,    PspFirmware::ImuD,    PspFirmware::RlcIram, PspFirmware::RlcDramBoot,
      PspFirmware::RlcP,    PspFirmware::RlcV,    PspFirmware::RlcG};
  static constexpr PspFirmware kGc12[] = {
      PspFirmware::SdmaTh0,        PspFirmware::Rs64Pfp,       PspFirmware::Rs64PfpP0Stack,
      PspFirmware::Rs64Me,         PspFirmware::Rs64MeP0Stack, PspFirmware::Rs64Mec,
      PspFirmware::Rs64MecP0Stack, PspFirmware::ImuI,          PspFirmware::ImuD,
      PspFirmware::RlcIram,        PspFirmware::RlcDramBoot,   PspFirmware::RlcP,
      PspFirmware::RlcV,           PspFirmware::RlcG};
  static constexpr PspFirmware kGc94[] = {
      PspFirmware::P2sTable,      PspFirmware::Sdma0,          PspFirmware::Sdma1,
      PspFirmware::Sdma2,         PspFirmware::Sdma3,          PspFirmware::CpMec,
      PspFirmware::CpMecMe1,      PspFirmware::RlcRestoreCntl, PspFirmware::RlcRestoreGpm,
      PspFirmware::RlcRestoreSrm, PspFirmware::RlcG,           PspFirmware::RegList};
  switch (chip) {
    case amd::hw::BareChip::Gc11: return kGc11;
    case amd::hw::BareChip::Gc12: return kGc12;
    case amd::hw::BareChip::Gc94: break;
  }
  return kGc94;
}

}  // namespace doorbell::emu::amdgpu
