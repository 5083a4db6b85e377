// Reading the table. Its layout, all little-endian:
//   0   binary_header: signature, version (2 x u16), checksum, size, then 6 table_info of 8 bytes:
//       offset, checksum, size, padding. Table 0 is IP discovery, 1 the graphics core, 2 harvest.
//   ip_discovery_header: signature, version, size, id, num_dies, 16 x {die_id, die_offset},
//       flags (bit 0: base addresses of 64 bits)
//   die_header: die_id, num_ips; then per block hw_id (u16), instance, num_base_address, major,
//       minor, revision, a byte that versions use apart; base addresses
// The checksums are sums of bytes; the kernel checks them, and so does this.
// [torvalds/linux drivers/gpu/drm/amd/include/discovery.h; amdgpu_discovery.c
// amdgpu_discovery_verify_checksum(), amdgpu_discovery_reg_base_init(),
// amdgpu_discovery_harvest_ip(), amdgpu_discovery_get_gfx_info(); tinygrad a9069c1 amdev.py
// _run_discovery()]
#include "drivers/amd/hw/bare/discovery.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/util/try.h"
#include "drivers/amd/hw/bare/byte_reader.h"

namespace doorbell::amd::hw {
namespace {

constexpr u32 kBinarySignature = 0x28211407, kTableSignature = 0x53445049;
constexpr u32 kHarvestSignature = 0x56524148, kGraphicsSignature = 0x4347;
constexpr u64 kTableList = 12, kTableInfoBytes = 8, kIpDiscoveryTable = 0, kGraphicsTable = 1,
              kHarvestTable = 2;
constexpr u32 kMaxDies = 16, kMaxSegments = 32, kHarvestEntries = 32;

u16 checksum(std::span<const u8> bytes) {
  u16 sum = 0;
  for (const u8 byte : bytes) sum = static_cast<u16>(sum + byte);
  return sum;
}

struct TableInfo {
  u16 offset = 0, checksum = 0, size = 0;
};

Result<TableInfo> table_info(const ByteReader& reader, u64 table) {
  const u64 at = kTableList + table * kTableInfoBytes;
  TableInfo info;
  TRY(info.offset, reader.at<u16>(at));
  TRY(info.checksum, reader.at<u16>(at + 2));
  TRY(info.size, reader.at<u16>(at + 4));
  return info;
}

// Returns the offset behind it.
Result<u64> read_block(const ByteReader& reader, u64 at, u16 die, bool wide, Discovery* into) {
  IpInstance block;
  block.die = die;
  TRY(block.hardware_id, reader.at<u16>(at));
  TRY(block.instance, reader.at<u8>(at + 2));
  TRY(const u8 segments, reader.at<u8>(at + 3));
  TRY(block.version.major, reader.at<u8>(at + 4));
  TRY(block.version.minor, reader.at<u8>(at + 5));
  TRY(block.version.revision, reader.at<u8>(at + 6));
  if (segments > kMaxSegments)
    return fail(ErrorKind::Corrupt, "the discovery table's block {:#x} has {} base addresses",
                block.hardware_id, segments);
  at += 8;
  for (u32 i = 0; i < segments; ++i) {
    if (wide) {
      TRY(const u64 base, reader.at<u64>(at));
      block.bases.push_back(base);
      at += 8;
    } else {
      TRY(const u32 base, reader.at<u32>(at));
      block.bases.push_back(base);
      at += 4;
    }
  }
  into->blocks.push_back(std::move(block));
  return at;
}

Result<void> read_dies(const ByteReader& reader, const TableInfo& info, Discovery* into) {
  TRY(const u32 signature, reader.at<u32>(info.offset));
  if (signature != kTableSignature)
    return fail(ErrorKind::Corrupt, "the discovery table begins with {:#x}, expected {:#x}",
                signature, kTableSignature);
  TRY(const u16 bytes, reader.at<u16>(info.offset + 6u));
  TRY(const std::span<const u8> table, reader.part(info.offset, bytes));
  if (checksum(table) != info.checksum)
    return fail(ErrorKind::Corrupt, "the discovery table's bytes add up to {:#x}, expected {:#x}",
                checksum(table), info.checksum);
  TRY(const u16 dies, reader.at<u16>(info.offset + 12u));
  TRY(const u8 flags, reader.at<u8>(info.offset + 78u));
  if (dies > kMaxDies)
    return fail(ErrorKind::Corrupt, "the discovery table has {} dies, at most {}", dies, kMaxDies);
  for (u32 die = 0; die < dies; ++die) {
    TRY(const u16 start, reader.at<u16>(info.offset + 16u + die * 4));
    TRY(const u16 id, reader.at<u16>(start));
    TRY(const u16 blocks, reader.at<u16>(start + 2u));
    u64 at = start + u64{4};
    for (u32 i = 0; i < blocks; ++i) {
      TRY(at, read_block(reader, at, id, (flags & 1) != 0, into));
    }
  }
  return {};
}

Result<void> read_harvest(const ByteReader& reader, const TableInfo& info, Discovery* into) {
  if (info.offset == 0) return {};
  TRY(const u32 signature, reader.at<u32>(info.offset));
  // GPUs without harvested blocks may have no such table there.
  if (signature != kHarvestSignature) return {};
  for (u32 i = 0; i < kHarvestEntries; ++i) {
    TRY(const u16 id, reader.at<u16>(info.offset + 8u + i * 4));
    TRY(const u8 instance, reader.at<u8>(info.offset + 10u + i * 4));
    if (id == 0) break;
    for (IpInstance& block : into->blocks)
      if (block.hardware_id == id && block.instance == instance) block.is_harvested = true;
  }
  return {};
}

// Version 1 counts work group processors in two parts, version 2 compute units.
Result<void> read_graphics(const ByteReader& reader, const TableInfo& info, Discovery* into) {
  if (info.offset == 0)
    return fail(ErrorKind::Corrupt, "the discovery table has no part about the graphics core");
  const u64 at = info.offset;
  TRY(const u32 id, reader.at<u32>(at));
  TRY(const u16 major, reader.at<u16>(at + 4));
  if (id != kGraphicsSignature || major < 1 || major > 2)
    return fail(ErrorKind::Unsupported,
                "the discovery table's part about the graphics core begins with {:#x} of version "
                "{}, expected {:#x} of 1 or 2",
                id, major, kGraphicsSignature);
  GraphicsInfo& graphics = into->graphics;
  TRY(graphics.engines, reader.at<u32>(at + 12));
  if (major == 1) {
    TRY(const u32 first, reader.at<u32>(at + 16));
    TRY(const u32 second, reader.at<u32>(at + 20));
    if (first > 64 || second > 64)
      return fail(ErrorKind::Corrupt, "a shader array has {} + {} work group processors", first,
                  second);
    graphics.units_per_array = 2 * (first + second);
    TRY(graphics.arrays_per_engine, reader.at<u32>(at + 76));
  } else {
    TRY(graphics.units_per_array, reader.at<u32>(at + 16));
    TRY(graphics.arrays_per_engine, reader.at<u32>(at + 20));
  }
  TRY(graphics.wave_size, reader.at<u32>(at + 56));
  TRY(graphics.waves_per_simd, reader.at<u32>(at + 60));
  TRY(graphics.scratch_slots_per_unit, reader.at<u32>(at + 64));
  TRY(graphics.lds_bytes, reader.at<u32>(at + 68));
  const u32 counts[] = {graphics.engines, graphics.arrays_per_engine, graphics.units_per_array,
                        graphics.waves_per_simd};
  for (const u32 count : counts)
    if (count < 1 || count > 256)
      return fail(ErrorKind::Corrupt,
                  "the graphics core has {} engines of {} arrays of {} compute units, {} waves on "
                  "a SIMD",
                  graphics.engines, graphics.arrays_per_engine, graphics.units_per_array,
                  graphics.waves_per_simd);
  return {};
}

}  // namespace

std::string to_string(const IpVersion& version) {
  return fmt::format("{}.{}.{}", version.major, version.minor, version.revision);
}

const IpInstance* Discovery::find(Block block, usize index) const {
  std::vector<const IpInstance*> found;
  for (const IpInstance& instance : blocks)
    if (instance.hardware_id == hardware_id(block) && !instance.is_harvested)
      found.push_back(&instance);
  std::ranges::stable_sort(found, {}, &IpInstance::instance);
  return index < found.size() ? found[index] : nullptr;
}

usize Discovery::count(Block block) const {
  usize found = 0;
  for (const IpInstance& instance : blocks)
    found += instance.hardware_id == hardware_id(block) && !instance.is_harvested ? 1 : 0;
  return found;
}

// [amdgpu_discovery.c amdgpu_discovery_set_gc_ip_blocks()]
std::optional<BareChip> Discovery::chip() const {
  const IpInstance* const gc = find(Block::Gc);
  if (gc == nullptr) return std::nullopt;
  if (gc->version == IpVersion{11, 0, 0}) return BareChip::Gc11;
  if (gc->version == IpVersion{12, 0, 0} || gc->version == IpVersion{12, 0, 1})
    return BareChip::Gc12;
  if (gc->version == IpVersion{9, 4, 3}) return BareChip::Gc94;
  return std::nullopt;
}

Result<u64> Discovery::address_of(Reg reg, usize index) const {
  const std::optional<BareChip> which = chip();
  if (!which) return fail(ErrorKind::Unsupported, "registers of this graphics core are not known");
  const RegisterPlace& place = place_of(reg, *which);
  if (place.name.empty())
    return fail(ErrorKind::Unsupported, "the chip has no register {}", static_cast<u32>(reg));
  const IpInstance* block = find(place.block, index);
  if (block == nullptr)
    return fail(ErrorKind::Unsupported, "the GPU has no {} {}, where {} lies", name_of(place.block),
                index, place.name);
  if (place.segment >= block->bases.size())
    return fail(ErrorKind::Unsupported, "{} {} has {} segments, {} lies in {}",
                name_of(place.block), to_string(block->version), block->bases.size(), place.name,
                place.segment);
  return block->bases[place.segment] + place.offset;
}

Result<Discovery> read_discovery(std::span<const u8> table) {
  const ByteReader reader(table, "the discovery table");
  TRY(const u32 signature, reader.at<u32>(0));
  if (signature != kBinarySignature)
    return fail(ErrorKind::Corrupt,
                "the GPU's memory has {:#x} where its discovery table begins, expected {:#x}",
                signature, kBinarySignature);
  Discovery discovery;
  TRY(const TableInfo dies, table_info(reader, kIpDiscoveryTable));
  TRY(read_dies(reader, dies, &discovery));
  TRY(const TableInfo harvest, table_info(reader, kHarvestTable));
  TRY(read_harvest(reader, harvest, &discovery));
  TRY(const TableInfo graphics, table_info(reader, kGraphicsTable));
  TRY(read_graphics(reader, graphics, &discovery));
  return discovery;
}

}  // namespace doorbell::amd::hw
