// [torvalds/linux Documentation/PCI/sysfs-pci.rst; drivers/pci/pci-sysfs.c resource_show(): a line
// "start end flags" for each region]
#include "base/os/pci.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/util/try.h"

namespace doorbell::os {
namespace {

constexpr const char* kDevices = "/sys/bus/pci/devices";

// "0x1002\n", or a word of a line.
Result<u64> parse_hex(std::string_view text, std::string_view what) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
  if (!text.starts_with("0x")) return fail(ErrorKind::Corrupt, "{} is '{}'", what, text);
  text.remove_prefix(2);
  u64 value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (error != std::errc() || end != text.data() + text.size())
    return fail(ErrorKind::Corrupt, "{} is '0x{}'", what, text);
  return value;
}

Result<u64> read_hex(Files& files, const std::string& path) {
  TRY(const std::string text, read_text(files, path));
  return parse_hex(text, path);
}

Result<PciRegion> parse_region(std::string_view line, const std::string& path) {
  const usize first = line.find(' ');
  const usize second = first == std::string_view::npos ? first : line.find(' ', first + 1);
  if (second == std::string_view::npos)
    return fail(ErrorKind::Corrupt, "{} has the line '{}'", path, line);
  TRY(const u64 start, parse_hex(line.substr(0, first), path));
  TRY(const u64 end, parse_hex(line.substr(first + 1, second - first - 1), path));
  if (start == 0 && end == 0) return PciRegion{};
  if (end < start) return fail(ErrorKind::Corrupt, "{} has the line '{}'", path, line);
  return PciRegion{start, end - start + 1};
}

}  // namespace

Result<std::vector<PciId>> list_pci(Files& files, u16 vendor) {
  std::vector<PciId> found;
  if (!files.exists(kDevices)) return found;
  TRY(const std::vector<std::string> names, files.list(kDevices));
  for (const std::string& name : names) {
    const std::string folder = fmt::format("{}/{}", kDevices, name);
    // One that is unplugged meanwhile is passed over.
    const Result<u64> of = read_hex(files, folder + "/vendor");
    if (!of || *of != vendor) continue;
    TRY(const u64 device, read_hex(files, folder + "/device"));
    TRY(const u64 class_code, read_hex(files, folder + "/class"));
    found.push_back({name, vendor, static_cast<u16>(device), static_cast<u32>(class_code)});
  }
  std::ranges::sort(found, {}, &PciId::address);
  return found;
}

Result<std::unique_ptr<PciDevice>> PciDevice::open(Files& files, const PciId& id) {
  const std::string folder = fmt::format("{}/{}", kDevices, id.address);
  if (files.exists(folder + "/driver")) {
    TRY(const FileStatus driver, files.status(folder + "/driver"));
    const std::string name = driver.path.substr(driver.path.rfind('/') + 1);
    return fail(ErrorKind::Busy,
                "PCI device {} is driven by the kernel's {}: to take it from there, when no "
                "display depends on it, echo {} > {}/driver/unbind",
                id.address, name, id.address, folder);
  }
  std::unique_ptr<PciDevice> device(new PciDevice(files, id, folder));
  Result<std::unique_ptr<File>> config = files.open(folder + "/config", Access::ReadWrite);
  if (!config)
    return fail(config.error().kind,
                "PCI device {} cannot be opened: {}; it takes root, or write access to the files "
                "of {}",
                id.address, config.error().message, folder);
  device->config_ = std::move(*config);
  TRY(const bool locked, device->config_->try_lock());
  if (!locked) return fail(ErrorKind::Busy, "PCI device {} is used by another process", id.address);
  // A device that nobody has driven since it was started may be off.
  if (Result<std::unique_ptr<File>> enable = files.open(folder + "/enable", Access::ReadWrite)) {
    const std::string_view on = "1";
    TRY((*enable)->write_at(0, {reinterpret_cast<const u8*>(on.data()), on.size()}));
  }
  TRY(device->read_regions());
  return device;
}

Result<void> PciDevice::read_regions() {
  const std::string path = folder_ + "/resource";
  TRY(const std::string text, read_text(files_, path));
  std::string_view rest = text;
  for (PciRegion& region : regions_) {
    const usize end = rest.find('\n');
    if (end == std::string_view::npos)
      return fail(ErrorKind::Corrupt, "{} has fewer than {} lines", path, kPciRegions);
    TRY(region, parse_region(rest.substr(0, end), path));
    rest.remove_prefix(end + 1);
  }
  return {};
}

Result<u16> PciDevice::read_config(u64 offset) {
  std::array<u8, 2> bytes{};
  TRY(const usize count, config_->read_at(offset, bytes));
  if (count != bytes.size())
    return fail(ErrorKind::Os, "PCI device {} has no configuration at {:#x}", id_.address, offset);
  return static_cast<u16>(bytes[0] | bytes[1] << 8);
}

Result<void> PciDevice::write_config(u64 offset, u16 value) {
  const std::array<u8, 2> bytes{static_cast<u8>(value), static_cast<u8>(value >> 8)};
  return config_->write_at(offset, bytes);
}

Result<void> PciDevice::set_bus_master(bool on) {
  TRY(const u16 command, read_config(kPciCommand));
  const u16 wanted = on ? static_cast<u16>(command | kPciCommandMemory | kPciCommandMaster)
                        : static_cast<u16>(command & ~kPciCommandMaster);
  TRY(write_config(kPciCommand, wanted));
  // A write may still be on its way; a read comes behind it.
  TRY(const u16 now, read_config(kPciCommand));
  if (now != wanted)
    return fail(ErrorKind::Os, "PCI device {} has the command word {:#x}, expected {:#x}",
                id_.address, now, wanted);
  return {};
}

Result<std::unique_ptr<File>> PciDevice::open_region(usize region, const char* suffix) {
  if (region >= regions_.size() || regions_[region].bytes == 0)
    return fail(ErrorKind::Unsupported, "PCI device {} has no region {}", id_.address, region);
  return files_.open(fmt::format("{}/resource{}{}", folder_, region, suffix), Access::ReadWrite);
}

Result<Mapping> PciDevice::map_memory(usize region) {
  const std::string combined = fmt::format("{}/resource{}_wc", folder_, region);
  TRY(const std::unique_ptr<File> file, open_region(region, files_.exists(combined) ? "_wc" : ""));
  MapRequest request;
  request.size = regions_[region].bytes;
  request.writable = true;
  request.inherited = false;
  return file->map(request);
}

Result<MappedRegisters> PciDevice::map_registers(usize region) {
  TRY(const std::unique_ptr<File> file, open_region(region, ""));
  MapRequest request;
  request.size = regions_[region].bytes;
  request.writable = true;
  request.inherited = false;
  return file->map_registers(request);
}

}  // namespace doorbell::os
