// [torvalds/linux Documentation/PCI/sysfs-pci.rst, as base/os/pci.cc reads it]
#include "drivers/amd/kernel/usb/usb_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/os/file_tree.h"
#include "base/util/log.h"
#include "base/util/try.h"
#include "drivers/amd/kernel/text_file.h"

namespace doorbell::amd {
namespace {

constexpr const char* kDevices = "/sys/bus/pci/devices";

// Accesses of a region, each as a transfer or two.
class Trap final : public os::BlockTrap {
 public:
  Trap(UsbBridge& bridge, u64 address) : bridge_(bridge), address_(address) {}
  void read_bytes(u64 offset, std::span<u8> into) override {
    if (Result<void> read = bridge_.read_memory(address_ + offset, into); !read)
      std::memset(into.data(), 0xff, into.size());
  }
  // An error stays the bridge's state.
  void write_bytes(u64 offset, std::span<const u8> bytes) override {
    (void)bridge_.write_memory(address_ + offset, bytes);
  }
  Result<void> state() override { return bridge_.state(); }

 private:
  UsbBridge& bridge_;
  const u64 address_;
};

}  // namespace

class UsbFiles::Config final : public os::File {
 public:
  explicit Config(Gpu& gpu) : gpu_(gpu) {}
  ~Config() override {
    if (has_lock_) gpu_.is_taken = false;
  }
  Result<bool> try_lock() override {
    if (!has_lock_ && !gpu_.is_taken) has_lock_ = gpu_.is_taken = true;
    return has_lock_;
  }
  Result<usize> read_at(u64 offset, std::span<u8> into) override {
    for (usize i = 0; i < into.size(); ++i) {
      TRY(const u32 byte,
          gpu_.bridge->read_config(gpu_.device.bus, static_cast<u16>(offset + i), 1));
      into[i] = static_cast<u8>(byte);
    }
    return into.size();
  }
  Result<void> write_at(u64 offset, std::span<const u8> bytes) override {
    if (bytes.size() > sizeof(u32) || offset % 4 + bytes.size() > sizeof(u32))
      return fail_errno(EINVAL, "write {} bytes of configuration at {:#x}", bytes.size(), offset);
    u32 value = 0;
    std::memcpy(&value, bytes.data(), bytes.size());
    return gpu_.bridge->write_config(gpu_.device.bus, static_cast<u16>(offset),
                                     static_cast<unsigned>(bytes.size()), value);
  }
  Result<u64> size() override { return u64{4096}; }
  Result<os::Mapping> map(const os::MapRequest&) override {
    return fail_errno(ENODEV, "map the configuration");
  }
  Result<int> ioctl(unsigned long request, void*) override {
    return fail_errno(ENOTTY, "ioctl {:#x}", request);
  }
  int descriptor() const override { return -1; }

 private:
  Gpu& gpu_;
  bool has_lock_ = false;
};

class UsbFiles::Region final : public os::File, public os::RemoteFile {
 public:
  Region(Gpu& gpu, const os::PciRegion& region) : gpu_(gpu), region_(region) {}
  Result<usize> read_at(u64 offset, std::span<u8>) override {
    return fail_errno(EINVAL, "read at {:#x}", offset);
  }
  Result<void> write_at(u64 offset, std::span<const u8>) override {
    return fail_errno(EINVAL, "write at {:#x}", offset);
  }
  Result<u64> size() override { return region_.bytes; }
  Result<os::Mapping> map(const os::MapRequest&) override {
    return fail_errno(ENODEV, "map a region behind {}", gpu_.bridge->name());
  }
  Result<os::MappedRegisters> map_registers(const os::MapRequest& request) override {
    TRY(Trapped trapped, trap(request));
    return os::MappedRegisters{std::move(trapped.mapping), os::Mmio(*trapped.trap, request.size)};
  }
  Result<os::MappedMemory> map_remote(const os::MapRequest& request) override {
    TRY(Trapped trapped, trap(request));
    return os::MappedMemory{std::move(trapped.mapping),
                            os::DeviceMemory(*trapped.trap, request.size)};
  }
  Result<int> ioctl(unsigned long request, void*) override {
    return fail_errno(ENOTTY, "ioctl {:#x}", request);
  }
  int descriptor() const override { return -1; }

 private:
  struct Trapped {
    os::Mapping mapping;
    Trap* trap = nullptr;
  };
  Result<Trapped> trap(const os::MapRequest& request) {
    if (request.offset > region_.bytes || request.size > region_.bytes - request.offset)
      return fail_errno(EINVAL, "map {:#x} bytes of a region of {:#x}", request.size,
                        region_.bytes);
    Trap* const trap = new Trap(*gpu_.bridge, region_.address + request.offset);
    os::Mapping mapping(
        nullptr, request.size,
        [](void* context, u8*, usize) { delete static_cast<Trap*>(context); }, trap);
    return Trapped{std::move(mapping), trap};
  }

  Gpu& gpu_;
  const os::PciRegion region_;
};

Result<std::unique_ptr<UsbFiles>> UsbFiles::open(os::Files& files, os::Usb& usb, os::Clock& clock) {
  std::unique_ptr<UsbFiles> all(new UsbFiles(files));
  TRY(const std::vector<os::UsbId> ids, list_bridges(usb));
  std::string why_not;
  for (const os::UsbId& id : ids) {
    const auto set_up = [&]() -> Result<void> {
      TRY(std::unique_ptr<UsbBridge> bridge, UsbBridge::open(usb, clock, id));
      TRY(BusDevice device, set_up_bus(*bridge, "usb-" + id.address));
      all->add(std::move(bridge), std::move(device));
      return {};
    };
    if (Result<void> done = set_up(); !done)
      why_not += fmt::format("{}{}", why_not.empty() ? "" : "; ", done.error().message);
  }
  if (all->gpus_.empty())
    return fail(ErrorKind::NotFound, "no GPU behind USB that can be driven: {}",
                why_not.empty() ? "no ASM2464 with the open firmware is plugged in" : why_not);
  if (!why_not.empty()) log().info("USB bridges that are passed over: {}", why_not);
  return all;
}

void UsbFiles::add(std::unique_ptr<UsbBridge> bridge, BusDevice device) {
  auto gpu = std::make_unique<Gpu>();
  gpu->folder = fmt::format("{}/{}", kDevices, device.id.address);
  texts_[gpu->folder + "/vendor"] = fmt::format("{:#06x}\n", device.id.vendor);
  texts_[gpu->folder + "/device"] = fmt::format("{:#06x}\n", device.id.device);
  texts_[gpu->folder + "/class"] = fmt::format("{:#08x}\n", device.id.class_code);
  std::string regions;
  for (const os::PciRegion& region : device.regions)
    regions += fmt::format("{:#018x} {:#018x} {:#018x}\n", region.address,
                           region.bytes == 0 ? 0 : region.address + region.bytes - 1, 0);
  texts_[gpu->folder + "/resource"] = regions;
  gpu->bridge = std::move(bridge);
  gpu->device = std::move(device);
  gpus_.push_back(std::move(gpu));
}

UsbBridge* UsbFiles::bridge_of(const std::string& address) {
  for (const auto& gpu : gpus_)
    if (gpu->device.id.address == address) return gpu->bridge.get();
  return nullptr;
}

Result<std::unique_ptr<os::File>> UsbFiles::open(const std::string& path, os::Access access) {
  if (const auto text = texts_.find(path); text != texts_.end())
    return std::make_unique<TextFile>(text->second);
  for (const auto& gpu : gpus_) {
    if (path == gpu->folder + "/config") return std::make_unique<Config>(*gpu);
    for (usize i = 0; i < gpu->device.regions.size(); ++i)
      if (gpu->device.regions[i].bytes != 0 && path == fmt::format("{}/resource{}", gpu->folder, i))
        return std::make_unique<Region>(*gpu, gpu->device.regions[i]);
  }
  if (path.starts_with(kDevices)) return fail_errno(ENOENT, "open {}", path);
  return ForwardedFiles::open(path, access);
}

Result<std::vector<std::string>> UsbFiles::list(const std::string& path) {
  if (!path.starts_with(kDevices)) return ForwardedFiles::list(path);
  std::vector<std::string> names = os::names_in(texts_, path);
  if (names.empty()) return fail_errno(ENOENT, "list {}", path);
  return names;
}

bool UsbFiles::exists(const std::string& path) {
  if (!path.starts_with(kDevices)) return ForwardedFiles::exists(path);
  const auto after = texts_.lower_bound(path);
  return after != texts_.end() && (after->first == path || after->first.starts_with(path + "/"));
}

}  // namespace doorbell::amd
