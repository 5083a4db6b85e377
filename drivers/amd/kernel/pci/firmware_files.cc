// [torvalds/linux drivers/base/firmware_loader/main.c fw_path[], and its suffixes .zst and .xz;
// names as in amdgpu_ucode.c amdgpu_ucode_ip_version_decode(); tinygrad amdev.py AMFirmware: the
// order]
#include "drivers/amd/kernel/pci/firmware_files.h"

#include <fmt/format.h>

#include <array>

#include "base/os/library.h"
#include "base/util/try.h"
#include "drivers/amd/kernel/pci/boot_caps.h"

namespace doorbell::amd {
namespace {

constexpr const char* kFolders[] = {"/lib/firmware/updates", "/lib/firmware"};
// What a firmware may need at most, unpacked.
constexpr usize kMaxBytes = usize{64} << 20;

// The libraries are wanted only where distributions compress firmware, so they are opened then.
Result<std::vector<u8>> unpack_zstd(std::span<const u8> packed, const std::string& name) {
  const std::string names[] = {"libzstd.so.1"};
  TRY(const os::Library library, os::Library::open(names));
  TRY(const auto size,
      library.function<unsigned long long(const void*, usize)>("ZSTD_getFrameContentSize"));
  TRY(const auto unpack,
      library.function<usize(void*, usize, const void*, usize)>("ZSTD_decompress"));
  TRY(const auto is_error, library.function<unsigned(usize)>("ZSTD_isError"));
  u64 bytes = size(packed.data(), packed.size());
  // A size that is not known, or none, is two of the largest numbers.
  if (bytes > kMaxBytes) bytes = kMaxBytes;
  std::vector<u8> unpacked(bytes);
  const usize got = unpack(unpacked.data(), unpacked.size(), packed.data(), packed.size());
  if (is_error(got) != 0) return fail(ErrorKind::Corrupt, "{}.zst cannot be unpacked", name);
  unpacked.resize(got);
  return unpacked;
}

Result<std::vector<u8>> unpack_xz(std::span<const u8> packed, const std::string& name) {
  const std::string names[] = {"liblzma.so.5"};
  TRY(const os::Library library, os::Library::open(names));
  using Decode = int(u64*, u32, const void*, const u8*, usize*, usize, u8*, usize*, usize);
  TRY(const auto decode, library.function<Decode>("lzma_stream_buffer_decode"));
  std::vector<u8> unpacked(kMaxBytes);
  u64 memory = u64{1} << 30;
  usize in = 0, out = 0;
  const int why = decode(&memory, 0, nullptr, packed.data(), &in, packed.size(), unpacked.data(),
                         &out, unpacked.size());
  if (why != 0) return fail(ErrorKind::Corrupt, "{}.xz cannot be unpacked: error {}", name, why);
  unpacked.resize(out);
  return unpacked;
}

// "gc_11_0_0_mec.bin"
std::string name_for(const char* prefix, const hw::IpVersion& version, const char* suffix) {
  return fmt::format("{}_{}_{}_{}{}.bin", prefix, version.major, version.minor, version.revision,
                     suffix);
}

// A processor of the command processor: its file, and where its entry is kept.
struct Processor {
  hw::FirmwareKind kind;
  const char* file;
  u64 ProcessorEntries::* entry;
};
constexpr Processor kProcessors[] = {
    {hw::FirmwareKind::Pfp, "_pfp", &ProcessorEntries::pfp},
    {hw::FirmwareKind::Me, "_me", &ProcessorEntries::me},
    {hw::FirmwareKind::Mec, "_mec", &ProcessorEntries::mec},
};
std::span<const Processor> processors_of(const hw::Discovery& discovery) {
  const std::optional<hw::BareChip> chip = discovery.chip();
  return chip && caps_of(*chip).has_front_processors ? std::span(kProcessors)
                                                     : std::span(kProcessors).last(1);
}
bool has_autoload(const hw::Discovery& discovery) {
  const std::optional<hw::BareChip> chip = discovery.chip();
  return !chip || caps_of(*chip).has_autoload;
}

}  // namespace

Result<std::vector<u8>> read_firmware_file(os::Files& files, const std::string& name) {
  for (const char* folder : kFolders) {
    const std::string path = fmt::format("{}/amdgpu/{}", folder, name);
    if (files.exists(path)) return os::read_file(files, path);
    if (files.exists(path + ".zst")) {
      TRY(const std::vector<u8> packed, os::read_file(files, path + ".zst"));
      return unpack_zstd(packed, path);
    }
    if (files.exists(path + ".xz")) {
      TRY(const std::vector<u8> packed, os::read_file(files, path + ".xz"));
      return unpack_xz(packed, path);
    }
  }
  return fail(
      ErrorKind::NotFound,
      "the firmware amdgpu/{} is in none of /lib/firmware/updates and /lib/firmware, plain, "
      ".zst or .xz: Debian's package firmware-amd-graphics has it, Ubuntu's linux-firmware",
      name);
}

Result<Firmware> read_firmware(os::Files& files, const hw::Discovery& discovery, u16 pci_device) {
  using hw::Block;
  Firmware firmware;
  const auto version = [&](Block block) { return discovery.find(block)->version; };
  const auto load = [&](const std::string& name) -> Result<std::span<const u8>> {
    TRY(std::vector<u8> bytes, read_firmware_file(files, name));
    TRY(const u32 version_of_file, hw::read_firmware_version(bytes));
    firmware.versions.push_back({name, version_of_file});
    return std::span<const u8>(firmware.files.emplace_back(std::move(bytes)));
  };
  for (const Block block : {Block::Mp0, Block::Mp1, Block::Gc, Block::Sdma0})
    if (discovery.find(block) == nullptr)
      return fail(ErrorKind::Unsupported, "the GPU has no {}", hw::name_of(block));
  // Spans point into the vectors, which stay where they are when `files` grows.
  TRY(const std::span<const u8> sos, load(name_for("psp", version(Block::Mp0), "_sos")));
  TRY(firmware.psp, hw::read_psp_file(sos));
  const std::string smu_name = name_for("smu", version(Block::Mp1), "");
  if (has_autoload(discovery)) {
    TRY(const std::span<const u8> smu, load(smu_name));
    TRY(firmware.smu, hw::read_firmware(hw::FirmwareKind::Smu, smu));
  }
  const hw::IpVersion gc = version(Block::Gc);
  const auto add = [&](hw::FirmwareKind kind, const std::string& name) -> Result<u64> {
    TRY(const std::span<const u8> bytes, load(name));
    Result<hw::FirmwareFile> file = hw::read_firmware(kind, bytes, hw::p2s_table_of(pci_device));
    if (!file) return fail(file.error().kind, "{}: {}", name, file.error().message);
    firmware.images.insert(firmware.images.end(), file->images.begin(), file->images.end());
    return file->entry;
  };
  // Where the power controller runs already, its table alone is loaded, first of all.
  if (!has_autoload(discovery)) TRY(add(hw::FirmwareKind::P2s, smu_name));
  TRY(add(hw::FirmwareKind::Sdma, name_for("sdma", version(Block::Sdma0), "")));
  for (const Processor& processor : processors_of(discovery)) {
    TRY(firmware.entries.*processor.entry, add(processor.kind, name_for("gc", gc, processor.file)));
  }
  if (has_autoload(discovery)) TRY(add(hw::FirmwareKind::Imu, name_for("gc", gc, "_imu")));
  TRY(add(hw::FirmwareKind::Rlc, name_for("gc", gc, "_rlc")));
  return firmware;
}

Result<ProcessorEntries> read_entries(os::Files& files, const hw::Discovery& discovery) {
  const hw::IpInstance* gc = discovery.find(hw::Block::Gc);
  if (gc == nullptr) return fail(ErrorKind::Unsupported, "the GPU has no graphics core");
  ProcessorEntries entries;
  for (const Processor& processor : processors_of(discovery)) {
    TRY(const std::vector<u8> bytes,
        read_firmware_file(files, name_for("gc", gc->version, processor.file)));
    TRY(const hw::FirmwareFile file, hw::read_firmware(processor.kind, bytes));
    entries.*processor.entry = file.entry;
  }
  return entries;
}

}  // namespace doorbell::amd
