// Device nodes as files.
#include "emulator/nv/nv_files.h"

#include <unistd.h>

#include <cerrno>
#include <charconv>

#include "base/os/host.h"
#include "base/util/try.h"
#include "drivers/nv/hw/host/user_control.h"

namespace doorbell::emu::nvgpu {

namespace {

// Stores to the page of the doorbell.
class DoorbellTrap final : public os::MmioTrap {
 public:
  DoorbellTrap(Machine& machine, u32 gpu) : machine_(machine), gpu_(gpu) {}
  u64 read(u64, unsigned) override { return 0; }
  void write(u64 offset, unsigned bytes, u64 value) override {
    if (offset == nv::hw::kDoorbell && bytes == 4) machine_.ring(gpu_, static_cast<u32>(value));
  }

 private:
  Machine& machine_;
  u32 gpu_;
};

class DeviceFile final : public os::File {
 public:
  DeviceFile(Machine& machine, int descriptor, std::string path)
      : machine_(machine), path_(std::move(path)), descriptor_(descriptor) {}
  ~DeviceFile() override {
    machine_.close_node(descriptor_);
    close(descriptor_);
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
    if (const int why = machine_.ioctl(descriptor_, request, reinterpret_cast<u64>(argument)))
      return fail_errno(why, "ioctl {:#x} of {}", request, path_);
    return 0;
  }

  Result<bool> wait_ready(u64 timeout_ns) override {
    return machine_.wait_event(descriptor_, timeout_ns);
  }

  Result<os::Mapping> map(const os::MapRequest& request) override {
    TRY(const Machine::Mapped mapped, find(request));
    os::MapRequest prepared = request;
    prepared.offset = mapped.offset;
    prepared.executable = false;
    TRY(os::Mapping mapping, os::map_descriptor(mapped.file, prepared, path_));
    machine_.note_mapping(mapped, mapping.data(), request.size);
    return mapping;
  }

  Result<os::MappedRegisters> map_registers(const os::MapRequest& request) override {
    TRY(const Machine::Mapped mapped, find(request));
    if (!mapped.is_doorbell) return os::File::map_registers(request);
    auto* trap = new DoorbellTrap(machine_, mapped.gpu);
    os::Mapping mapping(nullptr, request.size, release, trap);
    return os::MappedRegisters{std::move(mapping), os::Mmio(*trap, request.size)};
  }

 private:
  static void release(void* trap, u8*, usize) { delete static_cast<DoorbellTrap*>(trap); }

  // What RM_MAP_MEMORY prepared. [kernel-open/nvidia/nv-mmap.c nvidia_mmap_helper()]
  Result<Machine::Mapped> find(const os::MapRequest& request) {
    const Machine::Mapped mapped = machine_.mapped(descriptor_);
    if (mapped.file < 0) return fail_errno(errno, "map {:#x} bytes of {}", request.size, path_);
    if (request.offset != 0 || request.size > mapped.bytes || !request.shared)
      return fail_errno(EINVAL, "map {:#x} bytes of {} at {:#x}: {:#x} are prepared, shared",
                        request.size, path_, request.offset, mapped.bytes);
    return mapped;
  }

  Machine& machine_;
  std::string path_;
  int descriptor_;
};

}  // namespace

int node_of_path(std::string_view path) {
  constexpr std::string_view kPrefix = "/dev/nvidia";
  if (!path.starts_with(kPrefix)) return Machine::kNoNode;
  path.remove_prefix(kPrefix.size());
  if (path == "ctl") return Machine::kControlNode;
  if (path == "-uvm") return Machine::kUvmNode;
  int gpu = 0;
  const auto [end, why] = std::from_chars(path.data(), path.data() + path.size(), gpu);
  const bool is_number = why == std::errc() && end == path.data() + path.size() && gpu >= 0;
  return is_number ? gpu : Machine::kNoNode;
}

Result<std::unique_ptr<os::File>> NvFiles::open(const std::string& path, os::Access access) {
  const int node = node_of_path(path);
  if (node == Machine::kNoNode) return ForwardedFiles::open(path, access);
  if (!exists(path)) return fail_errno(ENOENT, "open {}", path);
  const int descriptor = machine_.open_node(node);
  if (descriptor < 0) return fail_errno(errno, "open {}", path);
  return std::make_unique<DeviceFile>(machine_, descriptor, path);
}

bool NvFiles::exists(const std::string& path) {
  const int node = node_of_path(path);
  if (node == Machine::kNoNode) return ForwardedFiles::exists(path);
  return node < 0 || static_cast<usize>(node) < machine_.gpu_count();
}

}  // namespace doorbell::emu::nvgpu
