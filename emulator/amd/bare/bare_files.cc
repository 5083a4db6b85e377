// [torvalds/linux Documentation/PCI/sysfs-pci.rst; drivers/pci/pci-sysfs.c;
// Documentation/admin-guide/mm/pagemap.rst]
#include "emulator/amd/bare/bare_files.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "base/os/file_tree.h"
#include "base/os/host.h"
#include "base/util/try.h"
#include "emulator/amd/bare/made_tables.h"

namespace doorbell::emu::amdgpu {
namespace {

constexpr const char* kDevices = "/sys/bus/pci/devices";
constexpr const char* kFirmware = "/lib/firmware/amdgpu";
constexpr const char* kPageMap = "/proc/self/pagemap";
constexpr const char* kCompaction = "/proc/sys/vm/compact_unevictable_allowed";
constexpr u64 kPresent = u64{1} << 63;

std::vector<u8> bytes_of(const std::string& text) { return {text.begin(), text.end()}; }

// What all of these files lack.
class PlainFile : public os::File {
 public:
  Result<usize> read_at(u64 offset, std::span<u8>) override {
    return fail_errno(EINVAL, "read at {:#x}", offset);
  }
  Result<void> write_at(u64 offset, std::span<const u8>) override {
    return fail_errno(EACCES, "write at {:#x}", offset);
  }
  Result<u64> size() override { return u64{4096}; }
  Result<os::Mapping> map(const os::MapRequest& request) override {
    return fail_errno(ENODEV, "map {:#x} bytes", request.size);
  }
  Result<int> ioctl(unsigned long request, void*) override {
    return fail_errno(ENOTTY, "ioctl {:#x}", request);
  }
  int descriptor() const override { return -1; }
};

class BytesFile final : public PlainFile {
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

class EnableFile final : public PlainFile {
 public:
  Result<void> write_at(u64, std::span<const u8>) override { return {}; }
};

class ConfigFile final : public PlainFile {
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
    const u16 words[] = {0x1002, static_cast<u16>(gpu_.device().slot.node->device_id),
                         gpu_.command_word()};
    if (offset + into.size() > sizeof words)
      return fail_errno(EINVAL, "read configuration at {:#x}", offset);
    std::memcpy(into.data(), reinterpret_cast<const u8*>(words) + offset, into.size());
    return into.size();
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

class RegionFile final : public PlainFile {
 public:
  RegionFile(BareGpu& gpu, int region) : gpu_(gpu), region_(region) {}
  Result<os::Mapping> map(const os::MapRequest& request) override {
    if (region_ != 0 || request.size > gpu_.memory_bytes())
      return fail_errno(EINVAL, "map {:#x} bytes of region {}", request.size, region_);
    os::MapRequest inner = request;
    inner.offset = 0;
    return os::map_descriptor(gpu_.device().memory->descriptor(), inner, "a GPU's memory");
  }
  Result<os::MappedRegisters> map_registers(const os::MapRequest& request) override {
    os::MmioTrap* trap = nullptr;
    if (region_ == 2)
      trap = new DoorbellTrap(gpu_);
    else if (region_ == 5)
      trap = new RegisterTrap(gpu_);
    else
      return fail_errno(EINVAL, "map registers of region {}", region_);
    os::Mapping mapping(nullptr, request.size, release, trap);
    return os::MappedRegisters{std::move(mapping), os::Mmio(*trap, request.size)};
  }

 private:
  static void release(void* trap, u8*, usize) { delete static_cast<os::MmioTrap*>(trap); }
  BareGpu& gpu_;
  const int region_;
};

class PageMapFile final : public PlainFile {
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
  const u64 registers = gpu.memory_address() + (u64{1} << 37);
  struct Region {
    u64 start = 0, bytes = 0;
  };
  const Region regions[6] = {{gpu.memory_address(), gpu.memory_bytes()},
                             {},
                             {registers + (u64{1} << 30), BareGpu::kDoorbellBytes},
                             {},
                             {},
                             {registers, BareGpu::kRegisterBytes}};
  std::string text;
  for (const Region& region : regions)
    text += fmt::format("0x{:016x} 0x{:016x} 0x{:016x}\n", region.start,
                        region.bytes == 0 ? 0 : region.start + region.bytes - 1,
                        region.bytes == 0 ? 0 : 0x14220c);
  return text;
}

std::string folder_of(BareGpu& gpu) {
  return fmt::format("{}/0000:{:02x}:00.0", kDevices, gpu.device().slot.bus());
}

bool is_machines(const std::string& path) {
  return path == kDevices || path.starts_with(std::string(kDevices) + "/") ||
         path.starts_with("/lib/firmware/") || path.starts_with("/sys/class/kfd") ||
         path.starts_with("/sys/devices/virtual/kfd") || path == "/dev/kfd";
}

}  // namespace

BareFiles::BareFiles(std::span<const std::unique_ptr<BareGpu>> gpus, BusMemory& bus,
                     os::Files& host)
    : ForwardedFiles(host), gpus_(gpus), bus_(bus) {
  texts_[kCompaction] = bytes_of("0\n");
  for (const auto& gpu : gpus) {
    const std::string folder = folder_of(*gpu);
    const Node& node = *gpu->device().slot.node;
    texts_[folder + "/vendor"] = bytes_of("0x1002\n");
    texts_[folder + "/device"] = bytes_of(fmt::format("{:#06x}\n", node.device_id));
    texts_[folder + "/class"] = bytes_of("0x030000\n");
    texts_[folder + "/resource"] = bytes_of(region_lines(*gpu));
    for (auto& [name, bytes] : make_firmware_files(node))
      texts_[fmt::format("{}/{}", kFirmware, name)] = std::move(bytes);
  }
}

Result<std::unique_ptr<os::File>> BareFiles::open(const std::string& path, os::Access access) {
  if (path == kPageMap) return std::make_unique<PageMapFile>(bus_);
  if (const auto text = texts_.find(path); text != texts_.end())
    return std::make_unique<BytesFile>(text->second);
  for (const auto& gpu : gpus_) {
    const std::string folder = folder_of(*gpu);
    if (path == folder + "/config") return std::make_unique<ConfigFile>(*gpu);
    if (path == folder + "/enable") return std::make_unique<EnableFile>();
    for (const int region : {0, 2, 5})
      if (path == fmt::format("{}/resource{}", folder, region))
        return std::make_unique<RegionFile>(*gpu, region);
  }
  if (is_machines(path)) return fail_errno(ENOENT, "open {}", path);
  return ForwardedFiles::open(path, access);
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
  if (texts_.contains(path)) return true;
  if (!is_machines(path)) return ForwardedFiles::exists(path);
  const auto after = texts_.lower_bound(path + "/");
  return after != texts_.end() && after->first.starts_with(path + "/");
}

}  // namespace doorbell::emu::amdgpu
