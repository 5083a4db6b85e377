// Files of an emulated machine: device nodes with ioctl and map, texts, folders.
#include "emulator/amd/kfd/kfd_files.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <set>

#include <fmt/format.h>

#include "base/os/file_tree.h"
#include "base/os/host.h"
#include "base/os/physical_memory.h"
#include "base/util/try.h"

namespace doorbell::emu::amdgpu {
namespace {

class TextFile final : public os::File {
 public:
  TextFile(std::string path, const std::string& text) : path_(std::move(path)), text_(text) {}

  Result<usize> read_at(u64 offset, std::span<u8> into) override {
    if (offset >= text_.size()) return usize{0};
    usize count = std::min(into.size(), text_.size() - static_cast<usize>(offset));
    std::copy_n(text_.begin() + static_cast<i64>(offset), count, into.begin());
    return count;
  }
  Result<void> write_at(u64, std::span<const u8>) override {
    return fail_errno(EACCES, "write {}", path_);
  }
  Result<u64> size() override { return u64{4096}; }  // as for every file in sysfs
  Result<os::Mapping> map(const os::MapRequest&) override {
    return fail_errno(ENODEV, "map {}", path_);
  }
  Result<int> ioctl(unsigned long request, void*) override {
    return fail_errno(ENOTTY, "ioctl {:#x} of {}", request, path_);
  }
  int descriptor() const override { return -1; }

 private:
  std::string path_;
  const std::string& text_;
};

// A store to the doorbells of one GPU.
class DoorbellTrap final : public os::MmioTrap {
 public:
  DoorbellTrap(Kfd& kfd, u32 gpu) : kfd_(kfd), gpu_(gpu) {}
  u64 read(u64 offset, unsigned) override { return kfd_.queues().doorbell(gpu_, offset); }
  void write(u64 offset, unsigned bytes, u64 value) override {
    kfd_.queues().ring(gpu_, offset, bytes, value);
  }

 private:
  Kfd& kfd_;
  u32 gpu_;
};

class DeviceFile final : public os::File {
 public:
  // `gpu` < 0: /dev/kfd.
  DeviceFile(Kfd& kfd, int gpu, std::string path)
      : kfd_(kfd), gpu_(gpu), path_(std::move(path)), descriptor_(memory().open(O_CLOEXEC)) {}
  ~DeviceFile() override {
    if (descriptor_ >= 0) close(descriptor_);
  }

  Result<usize> read_at(u64 offset, std::span<u8>) override {
    return fail_errno(EINVAL, "read {} at {}", path_, offset);
  }
  Result<void> write_at(u64, std::span<const u8> bytes) override {
    return fail_errno(EINVAL, "write {} bytes of {}", bytes.size(), path_);
  }
  Result<u64> size() override { return u64{0}; }
  int descriptor() const override { return descriptor_; }

  Result<int> ioctl(unsigned long request, void* argument) override {
    u64 user = reinterpret_cast<u64>(argument);
    int why = gpu_ < 0 ? kfd_.ioctl(static_cast<u32>(request), user)
                       : kfd_.render_ioctl(static_cast<u32>(gpu_), static_cast<u32>(request), user);
    if (why) return fail_errno(why, "ioctl {:#x} of {}", request, path_);
    return 0;
  }

  Result<os::Mapping> map(const os::MapRequest& request) override {
    if (gpu_ < 0)
      return fail_errno(EINVAL, "map {:#x} bytes of {} at {:#x}: doorbells are registers",
                        request.size, path_, request.offset);
    const bool is_copy =
        !request.shared && (request.readable || request.writable || request.executable);
    if (int why = kfd_.judge_map(gpu_, {request.offset, request.size, is_copy}))
      return fail_errno(why, "map {:#x} bytes of {} at {:#x}", request.size, path_, request.offset);
    TRY(os::Mapping mapping, os::map_descriptor(descriptor_, request, path_));
    if (AgentRaces* races = kfd_.races(); races != nullptr && request.shared)
      races->alias(mapping.data(), memory().at(request.offset), request.size);
    return mapping;
  }

  Result<os::MappedRegisters> map_registers(const os::MapRequest& request) override {
    if (gpu_ >= 0) return os::File::map_registers(request);
    if (int why = kfd_.judge_map(gpu_, {.offset = request.offset, .bytes = request.size}))
      return fail_errno(why, "map {:#x} bytes of {} at {:#x}", request.size, path_, request.offset);
    u32 gpu = 0;
    while (gpu < kfd_.devices().size() && kfd_.devices()[gpu]->doorbells != request.offset) ++gpu;
    if (gpu == kfd_.devices().size())
      return fail_errno(ENOTSUP, "map {:#x} bytes of {} at {:#x}: remapped registers", request.size,
                        path_, request.offset);
    auto* trap = new DoorbellTrap(kfd_, gpu);
    os::Mapping mapping(nullptr, request.size, release, trap);
    return os::MappedRegisters{std::move(mapping), os::Mmio(*trap, request.size)};
  }

 private:
  static void release(void* trap, u8*, usize) { delete static_cast<DoorbellTrap*>(trap); }
  Backing& memory() {
    return gpu_ < 0 ? kfd_.doorbell_memory() : *kfd_.devices()[static_cast<usize>(gpu_)]->memory;
  }

  Kfd& kfd_;
  int gpu_;
  std::string path_;
  int descriptor_;
};

constexpr const char* kRenderPrefix = "/dev/dri/renderD";
// Folders that exist only in the emulated machine.
constexpr const char* kOwned[] = {
    "/dev/kfd",       "/dev/dri",           "/sys/class/kfd",    "/sys/devices/virtual/kfd",
    "/sys/class/drm", "/sys/module/amdgpu", "/sys/dev/char/226:"};

bool below(const std::string& path, const std::string& folder) {
  return path.starts_with(folder) &&
         (path.size() == folder.size() || path[folder.size()] == '/' || folder.ends_with(':'));
}

}  // namespace

std::string SystemTree::resolve(std::string path) const {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  for (int turn = 0; turn < 8; ++turn) {
    bool changed = false;
    for (const auto& [from, to] : files_.links)
      if (below(path, from)) {
        path = to + path.substr(from.size());
        changed = true;
        break;
      }
    if (!changed) break;
  }
  return path;
}

bool SystemTree::owns(const std::string& resolved) const {
  for (const char* folder : kOwned)
    if (below(resolved, folder)) return true;
  return find(resolved) || is_folder(resolved);
}

const std::string* SystemTree::find(const std::string& resolved) const {
  auto found = files_.files.find(resolved);
  return found == files_.files.end() ? nullptr : &found->second;
}

// A folder of the host that contains some of the machine's files is the host's: /sys,
// /sys/devices/pci0000:00.
bool SystemTree::is_folder(const std::string& resolved) const {
  static constexpr const char* kHost[] = {"/",
                                          "/sys",
                                          "/sys/class",
                                          "/sys/devices",
                                          "/sys/devices/virtual",
                                          "/sys/devices/pci0000:00",
                                          "/sys/devices/platform",
                                          "/sys/module",
                                          "/sys/dev",
                                          "/sys/dev/char"};
  for (const char* folder : kHost)
    if (resolved == folder) return false;
  auto inside = files_.files.lower_bound(resolved + "/");
  if (inside != files_.files.end() && inside->first.starts_with(resolved + "/")) return true;
  auto link = files_.links.lower_bound(resolved + "/");
  return link != files_.links.end() && link->first.starts_with(resolved + "/");
}

std::vector<std::string> SystemTree::list(const std::string& resolved) const {
  std::set<std::string> names;
  for (const auto* map : {&files_.files, &files_.links})
    for (std::string& name : os::names_in(*map, resolved)) names.insert(std::move(name));
  return {names.begin(), names.end()};
}

SystemTree make_system_tree(std::span<const Slot> slots) {
  HostProperties host;
  host.cores = static_cast<u32>(std::max(1l, sysconf(_SC_NPROCESSORS_ONLN)));
  host.memory_bytes = os::physical_memory_bytes();
  SystemFiles files = system_files(slots, host);
  // Device nodes, so that they are found and listed; they cannot be read as text.
  files.files["/dev/kfd"] = "";
  for (const Slot& slot : slots)
    files.files[kRenderPrefix + std::to_string(slot.render_minor())] = "";
  return SystemTree(std::move(files));
}

KfdFiles::KfdFiles(Kfd& kfd, os::Files& host)
    : ForwardedFiles(host), kfd_(kfd), tree_(make_system_tree(kfd.slots())) {}

Result<std::unique_ptr<os::File>> KfdFiles::open(const std::string& path, os::Access access) {
  std::string resolved = tree_.resolve(path);
  if (!tree_.owns(resolved)) return ForwardedFiles::open(path, access);
  const std::string* text = tree_.find(resolved);
  if (!text) return fail_errno(tree_.is_folder(resolved) ? EISDIR : ENOENT, "open {}", path);
  if (resolved == "/dev/kfd") return std::make_unique<DeviceFile>(kfd_, -1, path);
  if (resolved.starts_with(kRenderPrefix))
    for (const auto& device : kfd_.devices())
      if (resolved == kRenderPrefix + std::to_string(device->slot.render_minor()))
        return std::make_unique<DeviceFile>(kfd_, static_cast<int>(device->slot.index), path);
  if (access != os::Access::Read) return fail_errno(EACCES, "open {}", path);
  return std::make_unique<TextFile>(path, *text);
}

Result<std::vector<std::string>> KfdFiles::list(const std::string& path) {
  std::string resolved = tree_.resolve(path);
  if (!tree_.owns(resolved)) return ForwardedFiles::list(path);
  if (!tree_.is_folder(resolved))
    return fail_errno(tree_.find(resolved) ? ENOTDIR : ENOENT, "list {}", path);
  return tree_.list(resolved);
}

bool KfdFiles::exists(const std::string& path) {
  std::string resolved = tree_.resolve(path);
  if (!tree_.owns(resolved)) return ForwardedFiles::exists(path);
  return tree_.find(resolved) || tree_.is_folder(resolved);
}

}  // namespace doorbell::emu::amdgpu
