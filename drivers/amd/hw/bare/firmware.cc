// Reading firmware files. The common header: size_bytes, header_size_bytes, header version (2 x
// u16), ip version (2 x u16), ucode_version, ucode_size_bytes, ucode_array_offset_bytes, crc32.
// [torvalds/linux amdgpu_ucode.h common_firmware_header, psp_firmware_header_v2_0,
// sdma_firmware_header_v1_0 to v3_0, gfx_firmware_header_v1_0 and v2_0, imu_firmware_header_v1_0,
// smc_firmware_header_v2_1, smc_soft_pptable_entry,
// rlc_firmware_header_v2_0 to v2_3; amdgpu_ucode.c amdgpu_ucode_init_single_fw(); amdgpu_psp.c
// parse_sos_bin_descriptor(); tinygrad a9069c1 amdev.py AMFirmware]
#include "drivers/amd/hw/bare/firmware.h"

#include "base/util/try.h"
#include "drivers/amd/hw/bare/byte_reader.h"

namespace doorbell::amd::hw {
namespace {

struct Common {
  u16 major = 0, minor = 0;
  u32 version = 0, bytes = 0, offset = 0;
};

Result<Common> read_common(const ByteReader& reader, std::span<const u8> file) {
  TRY(const u32 size, reader.at<u32>(0));
  TRY(const u32 header, reader.at<u32>(4));
  if (size != file.size() || header > size)
    return fail(ErrorKind::Corrupt, "a firmware file of {} bytes says {} with a header of {}",
                file.size(), size, header);
  Common common;
  TRY(common.major, reader.at<u16>(8));
  TRY(common.minor, reader.at<u16>(10));
  TRY(common.version, reader.at<u32>(16));
  TRY(common.bytes, reader.at<u32>(20));
  TRY(common.offset, reader.at<u32>(24));
  return common;
}

Error unknown_header(const char* what, const Common& common) {
  return fail(ErrorKind::Unsupported, "{} has a header of version {}.{}, which is not known", what,
              common.major, common.minor);
}

class ImageList {
 public:
  ImageList(const ByteReader& reader, FirmwareFile* into) : reader_(reader), into_(into) {}

  // Of these bytes.
  Result<void> add(PspFirmware type, u64 offset, u64 bytes) {
    TRY(const std::span<const u8> image, reader_.part(offset, bytes));
    if (image.empty())
      return fail(ErrorKind::Corrupt, "firmware of type {} is empty", static_cast<u32>(type));
    into_->images.push_back({type, image});
    return {};
  }
  // Of the bytes that the header names: their number at `at`, their offset behind it.
  Result<void> add_named(PspFirmware type, u64 at) {
    TRY(const u32 bytes, reader_.at<u32>(at));
    TRY(const u32 offset, reader_.at<u32>(at + 4));
    return add(type, offset, bytes);
  }

 private:
  const ByteReader& reader_;
  FirmwareFile* into_;
};

// Version 1 has one image for all engines.
Result<void> read_sdma(const ByteReader& reader, const Common& common, ImageList* images) {
  if (common.major == 1) {
    for (const PspFirmware type :
         {PspFirmware::Sdma0, PspFirmware::Sdma1, PspFirmware::Sdma2, PspFirmware::Sdma3})
      TRY(images->add(type, common.offset, common.bytes));
    return {};
  }
  if (common.major == 3) {
    TRY(const u32 bytes, reader.at<u32>(40));
    return images->add(PspFirmware::SdmaTh0, common.offset, bytes);
  }
  if (common.major != 2) return unknown_header("the copy engine's firmware", common);
  TRY(const u32 context_bytes, reader.at<u32>(36));
  TRY(const u32 control_offset, reader.at<u32>(48));
  TRY(const u32 control_bytes, reader.at<u32>(52));
  TRY(images->add(PspFirmware::SdmaTh1, control_offset, control_bytes));
  return images->add(PspFirmware::SdmaTh0, common.offset, context_bytes);
}

// The compute processor's of GC 9.4.3: its code, and the jump table behind it, in words.
Result<void> read_old_processor(const ByteReader& reader, const Common& common, ImageList* images) {
  TRY(const u32 table_offset, reader.at<u32>(36));
  TRY(const u32 table_words, reader.at<u32>(40));
  const u64 table_bytes = u64{table_words} * sizeof(u32);
  if (table_bytes > common.bytes)
    return fail(ErrorKind::Corrupt, "a jump table of {} bytes in firmware of {}", table_bytes,
                common.bytes);
  TRY(images->add(PspFirmware::CpMec, common.offset, common.bytes - table_bytes));
  return images->add(PspFirmware::CpMecMe1, common.offset + u64{table_offset} * sizeof(u32),
                     table_bytes);
}

// [smu_v13_0_6_ppt.c smu_v13_0_6_init_microcode(); tinygrad amdev.py AMFirmware]
Result<void> read_p2s(const ByteReader& reader, const Common& common, u32 table,
                      ImageList* images) {
  constexpr u32 kMaxTables = 64;
  constexpr u64 kEntryBytes = 12;
  if (common.major != 2 || common.minor != 1)
    return unknown_header("the power controller's firmware", common);
  TRY(const u32 count, reader.at<u32>(36));
  TRY(const u32 entries, reader.at<u32>(40));
  if (count > kMaxTables)
    return fail(ErrorKind::Corrupt, "the power controller's firmware has {} tables, at most {}",
                count, kMaxTables);
  for (u32 i = 0; i < count; ++i) {
    TRY(const u32 id, reader.at<u32>(entries + i * kEntryBytes));
    TRY(const u32 offset, reader.at<u32>(entries + i * kEntryBytes + 4));
    TRY(const u32 bytes, reader.at<u32>(entries + i * kEntryBytes + 8));
    if (id == table) TRY(images->add(PspFirmware::P2sTable, offset, bytes));
  }
  return {};
}

// Of one of the command processor's three: its code, and its first pipe's data.
Result<void> read_processor(const ByteReader& reader, const Common& common, PspFirmware code,
                            PspFirmware stack, ImageList* images, FirmwareFile* file) {
  if (common.major == 1 && code == PspFirmware::Rs64Mec)
    return read_old_processor(reader, common, images);
  if (common.major != 2) return unknown_header("the command processor's firmware", common);
  TRY(const u32 code_bytes, reader.at<u32>(36));
  TRY(const u32 data_bytes, reader.at<u32>(44));
  TRY(const u32 data_offset, reader.at<u32>(48));
  TRY(const u32 entry_low, reader.at<u32>(52));
  TRY(const u32 entry_high, reader.at<u32>(56));
  file->entry = entry_low | u64{entry_high} << 32;
  TRY(images->add(code, common.offset, code_bytes));
  return images->add(stack, data_offset, data_bytes);
}

// The data follow the instructions.
Result<void> read_imu(const ByteReader& reader, const Common& common, ImageList* images) {
  if (common.major != 1) return unknown_header("the IMU's firmware", common);
  TRY(const u32 code_bytes, reader.at<u32>(32));
  TRY(const u32 data_bytes, reader.at<u32>(40));
  TRY(images->add(PspFirmware::ImuI, common.offset, code_bytes));
  return images->add(PspFirmware::ImuD, u64{common.offset} + code_bytes, data_bytes);
}

Result<void> read_rlc(const Common& common, ImageList* images) {
  if (common.major != 2 || common.minor < 1 || common.minor > 3)
    return unknown_header("the RLC's firmware", common);
  if (common.minor == 1) {
    TRY(images->add_named(PspFirmware::RlcRestoreCntl, 116));
    TRY(images->add_named(PspFirmware::RlcRestoreGpm, 132));
    TRY(images->add_named(PspFirmware::RlcRestoreSrm, 148));
  }
  if (common.minor >= 2) {
    TRY(images->add_named(PspFirmware::RlcIram, 156));
    TRY(images->add_named(PspFirmware::RlcDramBoot, 164));
  }
  if (common.minor == 3) {
    TRY(images->add_named(PspFirmware::RlcP, 180));
    TRY(images->add_named(PspFirmware::RlcV, 196));
  }
  return images->add(PspFirmware::RlcG, common.offset, common.bytes);
}

}  // namespace

Result<FirmwareFile> read_firmware(FirmwareKind kind, std::span<const u8> bytes, u32 p2s_table) {
  const ByteReader reader(bytes, "a firmware file");
  TRY(const Common common, read_common(reader, bytes));
  FirmwareFile file;
  file.version = common.version;
  ImageList images(reader, &file);
  switch (kind) {
    case FirmwareKind::Smu: {
      TRY(images.add(PspFirmware::Smu, common.offset, common.bytes));
      break;
    }
    case FirmwareKind::Sdma: {
      TRY(read_sdma(reader, common, &images));
      break;
    }
    case FirmwareKind::Pfp: {
      TRY(read_processor(reader, common, PspFirmware::Rs64Pfp, PspFirmware::Rs64PfpP0Stack, &images,
                         &file));
      break;
    }
    case FirmwareKind::Me: {
      TRY(read_processor(reader, common, PspFirmware::Rs64Me, PspFirmware::Rs64MeP0Stack, &images,
                         &file));
      break;
    }
    case FirmwareKind::Mec: {
      TRY(read_processor(reader, common, PspFirmware::Rs64Mec, PspFirmware::Rs64MecP0Stack, &images,
                         &file));
      break;
    }
    case FirmwareKind::Imu: {
      TRY(read_imu(reader, common, &images));
      break;
    }
    case FirmwareKind::Rlc: {
      TRY(read_rlc(common, &images));
      break;
    }
    case FirmwareKind::P2s: {
      TRY(read_p2s(reader, common, p2s_table, &images));
      break;
    }
  }
  return file;
}

Result<u32> read_firmware_version(std::span<const u8> bytes) {
  TRY(const Common common, read_common(ByteReader(bytes, "a firmware file"), bytes));
  return common.version;
}

Result<std::vector<PspImage>> read_psp_file(std::span<const u8> bytes) {
  constexpr u32 kMaxParts = 32;
  constexpr u64 kFirst = 36, kStride = 16;
  const ByteReader reader(bytes, "the security processor's firmware");
  TRY(const Common common, read_common(reader, bytes));
  if (common.major != 2) return unknown_header("the security processor's firmware", common);
  TRY(const u32 count, reader.at<u32>(32));
  if (count > kMaxParts)
    return fail(ErrorKind::Corrupt, "the security processor's firmware has {} parts, at most {}",
                count, kMaxParts);
  std::vector<PspImage> parts;
  for (u32 i = 0; i < count; ++i) {
    TRY(const u32 type, reader.at<u32>(kFirst + i * kStride));
    TRY(const u32 offset, reader.at<u32>(kFirst + i * kStride + 8));
    TRY(const u32 size, reader.at<u32>(kFirst + i * kStride + 12));
    TRY(const std::span<const u8> image, reader.part(u64{common.offset} + offset, size));
    parts.push_back({static_cast<PspPart>(type), image});
  }
  return parts;
}

}  // namespace doorbell::amd::hw
