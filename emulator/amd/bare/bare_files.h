// A machine whose GPUs have no kernel driver, as files: PCI devices under /sys with their
// configuration and regions, firmware, and where the process's pinned memory lies on the bus. Every
// other path is the host's, but for the host's own AMD devices, which are hidden.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/os/forwarded_files.h"
#include "emulator/amd/bare/bare_gpu.h"

namespace doorbell::emu::amdgpu {

class BareFiles final : public os::ForwardedFiles {
 public:
  // All are borrowed and outlive every opened file and mapping.
  BareFiles(std::span<const std::unique_ptr<BareGpu>> gpus, BusMemory& bus, os::Files& host);

  Result<std::unique_ptr<os::File>> open(const std::string& path, os::Access access) override;
  // Pinned memory is what is asked for as locked; nothing is locked for real.
  Result<os::Mapping> map_anonymous(const os::MapRequest& request) override;
  Result<std::vector<std::string>> list(const std::string& path) override;
  bool exists(const std::string& path) override;

 private:
  struct Pinned;
  std::span<const std::unique_ptr<BareGpu>> gpus_;
  BusMemory& bus_;
  std::map<std::string, std::vector<u8>> texts_;  // by path: of devices, firmware, the kernel
};

}  // namespace doorbell::emu::amdgpu
