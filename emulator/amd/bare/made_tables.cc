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

struct MadeBlock {
  Block block;
  IpVersion version;
};

u16 sum_of(std::span<const u8> bytes) {
  u16 sum = 0;
  for (const u8 byte : bytes) sum = static_cast<u16>(sum + byte);
  return sum;
}

void put_block(Bytes& table, Block block, const IpVersion& version) {
  const usize at = table.size();
  const std::span<const u64> bases = bases_of(block);
  table.put<u16>(at, amd::hw::hardware_id(block));
  table.put<u8>(at + 2, 0);
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
  file.put(32, static_cast<u32>(parts.size()));
  usize at = 36;
  for (const PspPart part : parts) {
    const u32 type = static_cast<u32>(part);
    const std::vector<u8> image = make_image(kMadePart + type, 512 + 256 * type);
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

std::vector<u8> make_rlc_file() {
  FirmwareMaker file(2, 3);
  struct Part {
    PspFirmware type;
    usize at;
  };
  const std::vector<u8> code = make_image(PspFirmware::RlcG, 0x1000);
  file.add(code);
  for (const Part& part : {Part{PspFirmware::RlcIram, 156}, Part{PspFirmware::RlcDramBoot, 164},
                           Part{PspFirmware::RlcP, 180}, Part{PspFirmware::RlcV, 196}}) {
    const std::vector<u8> image = make_image(part.type, 0x200 + static_cast<u32>(part.at));
    file.put(part.at, static_cast<u32>(image.size()));
    file.put(part.at + 4, file.add(image));
  }
  std::vector<u8> bytes = file.finish();
  const u32 code_bytes = static_cast<u32>(code.size());
  std::memcpy(bytes.data() + 20, &code_bytes, sizeof code_bytes);
  return bytes;
}

std::vector<u8> make_smu_file() {
  FirmwareMaker file(1, 0);
  file.add(make_image(PspFirmware::Smu, 0x2000));
  return file.finish();
}

IpVersion mp_of(const Node& node) {
  return bare_chip(node) == amd::hw::BareChip::Gc12 ? IpVersion{14, 0, 3} : IpVersion{13, 0, 0};
}

}  // namespace

std::optional<amd::hw::BareChip> bare_chip(const Node& node) {
  if (node.gc.major == 11 && node.gc.minor == 0 && node.gc.revision == 0)
    return amd::hw::BareChip::Gc11;
  if (node.gc.major == 12 && node.gc.minor == 0) return amd::hw::BareChip::Gc12;
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

std::vector<u8> make_discovery_table(const Node& node) {
  // [amdgpu_discovery.c, the cases of these graphics cores and their companions; versions of the
  // companions of 12.0.x as in tinygrad a9069c1 test/mockgpu/am/amgpu.py IP_VERSIONS (of 12.0.0),
  // but for SMUIO's, which it lacks: amdgpu_discovery.c smuio_v14_0_2_funcs]
  const bool is_gc12 = bare_chip(node) == amd::hw::BareChip::Gc12;
  const IpVersion mp = mp_of(node);
  const MadeBlock blocks[] = {
      {Block::Gc, node.gc},
      {Block::Sdma0, node.sdma},
      {Block::MmHub, is_gc12 ? IpVersion{4, 1, 0} : IpVersion{3, 0, 0}},
      {Block::Nbio, node.nbif},
      {Block::Mp0, mp},
      {Block::Mp1, mp},
      {Block::Hdp, is_gc12 ? IpVersion{7, 0, 0} : IpVersion{6, 0, 0}},
      {Block::OssSys, is_gc12 ? IpVersion{7, 0, 0} : IpVersion{6, 0, 0}},
      {Block::SmuIo, is_gc12 ? IpVersion{14, 0, 2} : IpVersion{13, 0, 6}},
  };
  constexpr usize kDiscovery = 0x40, kDie = 0x90;
  Bytes table;
  table.put<u32>(kDiscovery, 0x53445049);
  table.put<u16>(kDiscovery + 4, 4);
  table.put<u16>(kDiscovery + 12, 1);  // dies
  table.put<u16>(kDiscovery + 16, kDie);
  table.put<u16>(kDie + 2, static_cast<u16>(std::size(blocks)));
  for (const MadeBlock& block : blocks) put_block(table, block.block, block.version);
  const usize discovery_bytes = table.size() - kDiscovery;
  table.put<u16>(kDiscovery + 6, static_cast<u16>(discovery_bytes));
  const u16 sum = sum_of(std::span(table.bytes()).subspan(kDiscovery));
  const usize graphics = (table.size() + 15) / 16 * 16;
  const u32 per_array = node.cus_per_array / 2;
  table.put<u32>(graphics, 0x4347);
  table.put<u16>(graphics + 4, 1);
  table.put<u32>(graphics + 8, 88);
  table.put<u32>(graphics + 12, engines(node));
  table.put<u32>(graphics + 16, per_array);
  table.put<u32>(graphics + 20, 0);
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
  if (chip == amd::hw::BareChip::Gc11) return kGc11;
  return kGc12;
}

}  // namespace doorbell::emu::amdgpu
