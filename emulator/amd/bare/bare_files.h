// A machine whose GPUs have no kernel driver, as files: PCI devices under /sys with their
// configuration and regions, firmware, where the process's pinned memory lies on the bus, and
// /dev/vfio where they are left to it. Every other path is the host's, but for the host's own AMD
// devices, which are hidden.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/os/forwarded_files.h"
#include "emulator/amd/bare/bare_gpu.h"
#include "emulator/amd/bare/vfio_files.h"
#include "emulator/amd/machine.h"

namespace doorbell::emu::amdgpu {

class BareFiles final : public os::ForwardedFiles {
 public:
  // All are borrowed and outlive every opened file and mapping.
  BareFiles(std::span<const std::unique_ptr<BareGpu>> gpus, BusMemory& bus, os::Files& host,
            Vfio vfio);

  Result<std::unique_ptr<os::File>> open(const std::string& path, os::Access access) override;
  Result<std::unique_ptr<os::File>> adopt(int descriptor, std::string what) override;
  Result<os::FileStatus> status(const std::string& path) override;
  // Pinned memory is what is asked for as locked; nothing is locked for real.
  Result<os::Mapping> map_anonymous(const os::MapRequest& request) override;
  Result<std::vector<std::string>> list(const std::string& path) override;
  bool exists(const std::string& path) override;

 private:
  struct Pinned;
  std::span<const std::unique_ptr<BareGpu>> gpus_;
  BusMemory& bus_;
  std::optional<VfioFiles> vfio_;                 // where GPUs are left to it
  std::map<std::string, std::vector<u8>> texts_;  // by path: of devices, firmware, the kernel
};

// What the files of devices lack, unless they override it.
class UnsupportedFile : public os::File {
 public:
  Result<usize> read_at(u64 offset, std::span<u8> into) override;
  Result<void> write_at(u64 offset, std::span<const u8> bytes) override;
  Result<u64> size() override { return u64{4096}; }
  Result<os::Mapping> map(const os::MapRequest& request) override;
  Result<int> ioctl(unsigned long request, void* argument) override;
  int descriptor() const override { return -1; }
};

// "0000:03:00.0"
std::string address_of(BareGpu& gpu);
// A device's configuration and regions, however they are reached.
std::unique_ptr<os::File> make_config_file(BareGpu& gpu);
std::unique_ptr<os::File> make_region_file(BareGpu& gpu, int region);

}  // namespace doorbell::emu::amdgpu
