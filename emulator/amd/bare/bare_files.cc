// [torvalds/linux Documentation/PCI/sysfs-pci.rst; drivers/pci/pci-sysfs.c;
// Documentation/admin-guide/mm/pagemap.rst]
#include "emulator/amd/bare/bare_files.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>

#include <fmt/format.h>

#include "base/os/file_tree.h"
#include "base/os/host.h"
#include "base/util/try.h"
#include "emulator/amd/bare/config_space.h"
#include "emulator/amd/bare/made_tables.h"

namespace doorbell::emu::amdgpu {
namespace {

constexpr const char* kDevices = "/sys/bus/pci/devices";
constexpr const char* kFirmware = "/lib/firmware/amdgpu";
constexpr const char* kPageMap = "/proc/self/pagemap";
constexpr const char* kCompaction = "/proc/sys/vm/compact_unevictable_allowed";
constexpr u64 kPresent = u64{1} << 63;

std::vector<u8> bytes_of(const std::string& text) { return {text.begin(), text.end()}; }

class BytesFile final : public UnsupportedFile {
 public:
  explicit BytesFile(const std::vector<u8>& bytes) : bytes_(bytes) {}
  Result<usize> read_at(u64 offset, std::span<u8> into) override {
    if (offset >= bytes_.size()) return usize{0};
    const usize count = std::min(into.size(), bytes_.size() - static_cast<usize>(offset));
    std::memcpy(into.data(), bytes_.data() + offset, count);
    return count;
  }
  Result<u64> size() override { return u64{bytes_.size()}; }

 private:
  const std::vector<u8>& bytes_;
};

class TextFile final : public UnsupportedFile {
 public:
  explicit TextFile(const std::string& text) : bytes_(bytes_of(text)), file_(bytes_) {}
  Result<usize> read_at(u64 offset, std::span<u8> into) override {
    return file_.read_at(offset, into);
  }

 private:
  const std::vector<u8> bytes_;
  BytesFile file_;
};

// [pci-sysfs.c __resource_resize_show(), __resource_resize_store(): EBUSY with a driver;
// setup-res.c pci_resize_resource(): EINVAL for a size that the device does not have, ENOSPC
// without room]
class ResizeFile final : public UnsupportedFile {
 public:
  ResizeFile(BareGpu& gpu, bool has_driver) : gpu_(gpu), has_driver_(has_driver) {}
  Result<usize> read_at(u64 offset, std::span<u8> into) override {
    return TextFile(fmt::format("{:016x}\n", gpu_.shown_sizes())).read_at(offset, into);
  }
  Result<void> write_at(u64, std::span<const u8> bytes) override {
    if (has_driver_) return fail_errno(EBUSY, "resize a region of a device with a driver");
    u64 bit = 0;
    const char* const text = reinterpret_cast<const char*>(bytes.data());
    const auto [end, error] = std::from_chars(text, text + bytes.size(), bit);
    if (error != std::errc() || bit >= 64 || (gpu_.shown_sizes() >> bit & 1) == 0)
      return fail_errno(EINVAL, "resize a region to bit {}", bit);
    if (!gpu_.resize(bit)) return fail_errno(ENOSPC, "resize a region to {} MiB", u64{1} << bit);
    return {};
  }

 private:
  BareGpu& gpu_;
  const bool has_driver_;
};

class EnableFile final : public UnsupportedFile {
 public:
  Result<void> write_at(u64, std::span<const u8>) override { return {}; }
};

class ConfigFile final : public UnsupportedFile {
 public:
  explicit ConfigFile(BareGpu& gpu) : gpu_(gpu) {}
  ~ConfigFile() override {
    if (has_lock_) gpu_.give_back();
  }
  Result<bool> try_lock() override {
    has_lock_ = has_lock_ || gpu_.take();
    return has_lock_;
  }
  Result<usize> read_at(u64 offset, std::span<u8> into) override {
    const ConfigSpace space =
        make_config_space(gpu_, static_cast<u16>(gpu_.device().slot.node->device_id));
    if (offset >= space.size()) return usize{0};
    const usize count = std::min(into.size(), space.size() - static_cast<usize>(offset));
    std::memcpy(into.data(), space.data() + offset, count);
    return count;
  }
  Result<void> write_at(u64 offset, std::span<const u8> bytes) override {
    if (offset != 4 || bytes.size() != 2)
      return fail_errno(EINVAL, "write configuration at {:#x}", offset);
    gpu_.set_command_word(static_cast<u16>(bytes[0] | bytes[1] << 8));
    return {};
  }

 private:
  BareGpu& gpu_;
  bool has_lock_ = false;
};

class RegisterTrap final : public os::MmioTrap {
 public:
  explicit RegisterTrap(BareGpu& gpu) : gpu_(gpu) {}
  u64 read(u64 offset, unsigned) override { return gpu_.read_register(offset); }
  void write(u64 offset, unsigned, u64 value) override {
    gpu_.write_register(offset, static_cast<u32>(value));
  }

 private:
  BareGpu& gpu_;
};

class DoorbellTrap final : public os::MmioTrap {
 public:
  explicit DoorbellTrap(BareGpu& gpu) : gpu_(gpu) {}
  u64 read(u64, unsigned) override { return 0; }
  void write(u64 offset, unsigned bytes, u64 value) override { gpu_.ring(offset, bytes, value); }

 private:
  BareGpu& gpu_;
};

class RegionFile final : public UnsupportedFile {
 public:
  RegionFile(BareGpu& gpu, int region) : gpu_(gpu), region_(region) {}
  Result<os::Mapping> map(const os::MapRequest& request) override {
    if (region_ != 0 || request.size > gpu_.shown_bytes())
      return fail_errno(EINVAL, "map {:#x} bytes of region {}", request.size, region_);
    os::MapRequest inner = request;
    inner.offset = 0;
    TRY(os::Mapping memory,
        os::map_descriptor(gpu_.device().memory->descriptor(), inner, "a GPU's memory"));
    gpu_.note_mapped(1);
    u8* const data = memory.data();
    const usize bytes = memory.size();
    return os::Mapping(
        data, bytes,
        [](void* context, u8*, usize) {
          const std::unique_ptr<Shown> shown(static_cast<Shown*>(context));
          shown->gpu.note_mapped(-1);
        },
        new Shown{gpu_, std::move(memory)});
  }
  Result<os::MappedRegisters> map_registers(const os::MapRequest& request) override {
    std::unique_ptr<os::MmioTrap> made;
    if (region_ == 2)
      made = std::make_unique<DoorbellTrap>(gpu_);
    else if (region_ == 5)
      made = std::make_unique<RegisterTrap>(gpu_);
    else
      return fail_errno(EINVAL, "map registers of region {}", region_);
    os::MmioTrap* const trap = made.get();
    gpu_.note_mapped(1);
    os::Mapping mapping(nullptr, request.size, release, new Trapped{gpu_, std::move(made)});
    return os::MappedRegisters{std::move(mapping), os::Mmio(*trap, request.size)};
  }

 private:
  struct Shown {
    BareGpu& gpu;
    os::Mapping memory;
  };
  struct Trapped {
    BareGpu& gpu;
    std::unique_ptr<os::MmioTrap> trap;
  };
  static void release(void* context, u8*, usize) {
    const std::unique_ptr<Trapped> trapped(static_cast<Trapped*>(context));
    trapped->gpu.note_mapped(-1);
  }
  BareGpu& gpu_;
  const int region_;
};

class PageMapFile final : public UnsupportedFile {
 public:
  explicit PageMapFile(BusMemory& bus) : bus_(bus) {}
  Result<usize> read_at(u64 offset, std::span<u8> into) override {
    const u64 first = offset / sizeof(u64);
    for (usize i = 0; i < into.size() / sizeof(u64); ++i) {
      const std::optional<u64> address = bus_.address_of((first + i) * BusMemory::kPage);
      const u64 entry = address ? kPresent | *address / BusMemory::kPage : 0;
      std::memcpy(into.data() + i * sizeof entry, &entry, sizeof entry);
    }
    return into.size();
  }

 private:
  BusMemory& bus_;
};

std::string region_lines(const BareGpu& gpu) {
  // [linux/ioport.h IORESOURCE_MEM, _PREFETCH, _MEM_64, as a card has them]
  constexpr u32 kPrefetchable64 = 0x14220c, kPlain = 0x40200;
  struct Region {
    u64 start = 0, bytes = 0;
    u32 flags = 0;
  };
  const Region regions[6] = {{gpu.shown_address(), gpu.shown_bytes(), kPrefetchable64},
                             {},
                             {gpu.doorbell_address(), BareGpu::kDoorbellBytes, kPrefetchable64},
                             {},
                             {},
                             {gpu.register_address(), BareGpu::kRegisterBytes, kPlain}};
  std::string text;
  for (const Region& region : regions)
    text += fmt::format("0x{:016x} 0x{:016x} 0x{:016x}\n", region.start,
                        region.bytes == 0 ? 0 : region.start + region.bytes - 1, region.flags);
  return text;
}

std::string folder_of(BareGpu& gpu) { return fmt::format("{}/{}", kDevices, address_of(gpu)); }

// Links under /sys, of devices that are left to VFIO.
constexpr const char *kDriver = "/driver", *kGroup = "/iommu_group";

bool is_machines(const std::string& path) {
  return path == kDevices || path.starts_with(std::string(kDevices) + "/") ||
         path.starts_with("/dev/vfio/") || path.starts_with("/lib/firmware/") ||
         path.starts_with("/sys/class/kfd") || path.starts_with("/sys/devices/virtual/kfd") ||
         path == "/dev/kfd";
}

}  // namespace

Result<usize> UnsupportedFile::read_at(u64 offset, std::span<u8>) {
  return fail_errno(EINVAL, "read at {:#x}", offset);
}
Result<void> UnsupportedFile::write_at(u64 offset, std::span<const u8>) {
  return fail_errno(EACCES, "write at {:#x}", offset);
}
Result<os::Mapping> UnsupportedFile::map(const os::MapRequest& request) {
  return fail_errno(ENODEV, "map {:#x} bytes", request.size);
}
Result<int> UnsupportedFile::ioctl(unsigned long request, void*) {
  return fail_errno(ENOTTY, "ioctl {:#x}", request);
}

std::string address_of(BareGpu& gpu) {
  return fmt::format("0000:{:02x}:00.0", gpu.device().slot.bus());
}

std::unique_ptr<os::File> make_config_file(BareGpu& gpu) {
  return std::make_unique<ConfigFile>(gpu);
}

std::unique_ptr<os::File> make_region_file(BareGpu& gpu, int region) {
  return std::make_unique<RegionFile>(gpu, region);
}

BareFiles::BareFiles(std::span<const std::unique_ptr<BareGpu>> gpus, BusMemory& bus,
                     os::Files& host, Vfio vfio)
    : ForwardedFiles(host), gpus_(gpus), bus_(bus) {
  if (vfio != Vfio::None) vfio_.emplace(gpus, bus, vfio == Vfio::Iommu);
  if (vfio == Vfio::Iommu) bus.use_iommu();
  texts_[kCompaction] = bytes_of("0\n");
  for (const auto& gpu : gpus) {
    const std::string folder = folder_of(*gpu);
    const Node& node = *gpu->device().slot.node;
    texts_[folder + "/vendor"] = bytes_of("0x1002\n");
    texts_[folder + "/device"] = bytes_of(fmt::format("{:#06x}\n", node.device_id));
    texts_[folder + "/class"] = bytes_of("0x030000\n");
    texts_[folder + "/irq"] = bytes_of("0\n");
    // Their names; what is in them changes.
    for (const char* name : {"/config", "/enable", "/resource", "/resource0", "/resource0_resize",
                             "/resource2", "/resource5"})
      texts_[folder + name] = {};
    for (auto& [name, bytes] : make_firmware_files(node))
      texts_[fmt::format("{}/{}", kFirmware, name)] = std::move(bytes);
  }
}

Result<std::unique_ptr<os::File>> BareFiles::open(const std::string& path, os::Access access) {
  if (path == kPageMap) return std::make_unique<PageMapFile>(bus_);
  for (const auto& gpu : gpus_) {
    const std::string folder = folder_of(*gpu);
    if (path == folder + "/resource") return std::make_unique<TextFile>(region_lines(*gpu));
    if (path == folder + "/resource0_resize")
      return std::make_unique<ResizeFile>(*gpu, vfio_.has_value());
    if (path == folder + "/config") return make_config_file(*gpu);
    if (path == folder + "/enable") return std::make_unique<EnableFile>();
    for (const int region : {0, 2, 5})
      if (path == fmt::format("{}/resource{}", folder, region))
        return make_region_file(*gpu, region);
  }
  if (const auto text = texts_.find(path); text != texts_.end())
    return std::make_unique<BytesFile>(text->second);
  if (vfio_ && vfio_->exists(path)) return vfio_->open(path);
  if (is_machines(path)) return fail_errno(ENOENT, "open {}", path);
  return ForwardedFiles::open(path, access);
}

Result<std::unique_ptr<os::File>> BareFiles::adopt(int descriptor, std::string what) {
  if (vfio_)
    if (std::unique_ptr<os::File> device = vfio_->adopt(descriptor)) return device;
  return ForwardedFiles::adopt(descriptor, std::move(what));
}

Result<os::FileStatus> BareFiles::status(const std::string& path) {
  os::FileStatus status{.kind = os::FileStatus::Kind::Folder};
  for (const auto& gpu : gpus_) {
    if (!vfio_) break;
    if (path == folder_of(*gpu) + kDriver) {
      status.path = "/sys/bus/pci/drivers/vfio-pci";
      return status;
    }
    if (path == folder_of(*gpu) + kGroup) {
      status.path = fmt::format("/sys/kernel/iommu_groups/{}", VfioFiles::group_of(*gpu));
      return status;
    }
  }
  return ForwardedFiles::status(path);
}

struct BareFiles::Pinned {
  BareFiles* files;
  os::Mapping memory;
};

Result<os::Mapping> BareFiles::map_anonymous(const os::MapRequest& request) {
  if (!request.locked) return ForwardedFiles::map_anonymous(request);
  os::MapRequest inner = request;
  inner.locked = false;
  inner.populate = false;
  TRY(os::Mapping memory, ForwardedFiles::map_anonymous(inner));
  u8* const data = memory.data();
  const usize bytes = memory.size();
  bus_.pin(data, bytes);
  return os::Mapping(
      data, bytes,
      [](void* context, u8* host, usize size) {
        const std::unique_ptr<Pinned> pinned(static_cast<Pinned*>(context));
        for (const auto& gpu : pinned->files->gpus_) gpu->host_unpinned(host, size);
        pinned->files->bus_.unpin(host);
      },
      new Pinned{this, std::move(memory)});
}

Result<std::vector<std::string>> BareFiles::list(const std::string& path) {
  if (!is_machines(path)) return ForwardedFiles::list(path);
  std::vector<std::string> names = os::names_in(texts_, path);
  if (names.empty()) return fail_errno(ENOENT, "list {}", path);
  return names;
}

bool BareFiles::exists(const std::string& path) {
  if (texts_.contains(path) || (vfio_ && vfio_->exists(path))) return true;
  for (const auto& gpu : gpus_)
    if (vfio_ && (path == folder_of(*gpu) + kDriver || path == folder_of(*gpu) + kGroup))
      return true;
  if (!is_machines(path)) return ForwardedFiles::exists(path);
  const auto after = texts_.lower_bound(path + "/");
  return after != texts_.end() && after->first.starts_with(path + "/");
}

}  // namespace doorbell::emu::amdgpu
