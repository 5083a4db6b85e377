// [torvalds/linux Documentation/PCI/sysfs-pci.rst; drivers/pci/pci-sysfs.c resource_show(): a line
// "start end flags" for each region; Documentation/ABI/testing/sysfs-bus-pci resourceN_resize]
#include "base/os/pci.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/os/pci_driver.h"
#include "base/os/vfio_calls.h"
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

// What begins at an offset of a file, which it borrows.
class FilePart final : public File {
 public:
  FilePart(File& file, u64 offset) : file_(file), offset_(offset) {}
  Result<usize> read_at(u64 offset, std::span<u8> into) override {
    return file_.read_at(offset_ + offset, into);
  }
  Result<void> write_at(u64 offset, std::span<const u8> bytes) override {
    return file_.write_at(offset_ + offset, bytes);
  }
  Result<u64> size() override { return file_.size(); }
  Result<Mapping> map(const MapRequest& request) override { return file_.map(moved(request)); }
  Result<MappedRegisters> map_registers(const MapRequest& request) override {
    return file_.map_registers(moved(request));
  }
  Result<int> ioctl(unsigned long request, void* argument) override {
    return file_.ioctl(request, argument);
  }
  int descriptor() const override { return file_.descriptor(); }

 private:
  MapRequest moved(MapRequest request) const {
    request.offset += offset_;
    return request;
  }
  File& file_;
  const u64 offset_;
};

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

bool is_left_to_vfio(Files& files, const PciId& id) {
  return is_left_to_vfio(files, fmt::format("{}/{}", kDevices, id.address));
}

Result<std::unique_ptr<PciDevice>> PciDevice::open(Files& files, const PciId& id,
                                                   VfioContainer* vfio) {
  const std::string folder = fmt::format("{}/{}", kDevices, id.address);
  const bool is_vfio = vfio != nullptr && is_left_to_vfio(files, folder);
  TRY(const std::string driver, driver_of_pci(files, id.address));
  if (!is_vfio && !driver.empty())
    return fail(ErrorKind::Busy,
                "PCI device {} is driven by the kernel's {}: to take it from there, when no "
                "display depends on it, echo {} > {}/driver/unbind",
                id.address, driver, id.address, folder);
  std::unique_ptr<PciDevice> device(new PciDevice(files, id, folder));
  TRY(device->open_config(is_vfio ? vfio : nullptr));
  TRY(device->read_regions());
  return device;
}

// VFIO turns a device on when it is opened, and gives it to one process alone.
Result<void> PciDevice::open_config(VfioContainer* vfio) {
  if (vfio != nullptr) {
    TRY(vfio_device_, vfio->open_device(folder_, id_.address));
    TRY(const u64 offset, VfioContainer::region_offset(*vfio_device_, vfio::kConfigRegion));
    config_ = std::make_unique<FilePart>(*vfio_device_, offset);
    return {};
  }
  Result<std::unique_ptr<File>> config = files_.open(folder_ + "/config", Access::ReadWrite);
  if (!config)
    return fail(config.error().kind,
                "PCI device {} cannot be opened: {}; it takes root, or write access to the files "
                "of {}",
                id_.address, config.error().message, folder_);
  config_ = std::move(*config);
  TRY(const bool locked, config_->try_lock());
  if (!locked)
    return fail(ErrorKind::Busy, "PCI device {} is used by another process", id_.address);
  // A device that nobody has driven since it was started may be off.
  if (Result<std::unique_ptr<File>> enable = files_.open(folder_ + "/enable", Access::ReadWrite)) {
    const std::string_view on = "1";
    TRY((*enable)->write_at(0, {reinterpret_cast<const u8*>(on.data()), on.size()}));
  }
  return {};
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

// Read, the file has the sizes as a bitmap in hexadecimal, bit n of 2^n MiB; written, n. The kernel
// takes all of the device's resource files away meanwhile, and with them what is mapped.
// [pci-sysfs.c __resource_resize_show(), __resource_resize_store()]
Result<void> PciDevice::enlarge_region(usize region, u64 bytes) {
  constexpr unsigned kLargest = 43;  // 8 EiB
  const auto bytes_of = [](unsigned bit) { return u64{1} << (20 + bit); };
  const std::string path = fmt::format("{}/resource{}_resize", folder_, region);
  if (!files_.exists(path))
    return fail(ErrorKind::Unsupported, "region {} of PCI device {} has one size only", region,
                id_.address);
  TRY(const std::string text, read_text(files_, path));
  TRY(const u64 sizes, parse_hex("0x" + text, path));
  unsigned first = 0;  // the smallest that holds all, or the largest
  while (first < kLargest && (bytes_of(first) < bytes || (sizes >> first & 1) == 0)) ++first;
  std::string why_not = "the device has no larger one";
  for (unsigned bit = first + 1; bit-- > 0 && bytes_of(bit) > regions_[region].bytes;) {
    if ((sizes >> bit & 1) == 0) continue;
    TRY(const std::unique_ptr<File> file, files_.open(path, Access::ReadWrite));
    const std::string number = std::to_string(bit);
    Result<void> resized =
        file->write_at(0, {reinterpret_cast<const u8*>(number.data()), number.size()});
    TRY(read_regions());
    if (resized) break;
    why_not = resized.error().message;
  }
  if (regions_[region].bytes >= bytes) return {};
  return fail(ErrorKind::Unsupported, "region {} of PCI device {} has {} MiB of {}: {}", region,
              id_.address, regions_[region].bytes >> 20, bytes >> 20, why_not);
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
  if (vfio_device_ != nullptr) {
    TRY(const u64 offset, VfioContainer::region_offset(*vfio_device_, static_cast<u32>(region)));
    return std::make_unique<FilePart>(*vfio_device_, offset);
  }
  return files_.open(fmt::format("{}/resource{}{}", folder_, region, suffix), Access::ReadWrite);
}

Result<MappedMemory> PciDevice::map_memory(usize region) {
  const std::string combined = fmt::format("{}/resource{}_wc", folder_, region);
  TRY(const std::unique_ptr<File> file, open_region(region, files_.exists(combined) ? "_wc" : ""));
  MapRequest request;
  request.size = regions_[region].bytes;
  request.writable = true;
  request.inherited = false;
  if (auto* const remote = dynamic_cast<RemoteFile*>(file.get()))
    return remote->map_remote(request);
  TRY(Mapping mapping, file->map(request));
  const DeviceMemory memory(mapping.data(), mapping.size());
  return MappedMemory{std::move(mapping), memory};
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
