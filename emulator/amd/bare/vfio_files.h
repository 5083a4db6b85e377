// VfioFiles: /dev/vfio of a machine whose GPUs are left to vfio-pci: a container, and a group for
// each GPU. What the real calls refuse is refused here, with the kernel's errors.
//
// Thread safety: from any thread.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>

#include "base/os/files.h"
#include "emulator/amd/bare/bare_gpu.h"

namespace doorbell::emu::amdgpu {

class VfioFiles {
 public:
  // All are borrowed, and outlive every opened file. Without an IOMMU the container has no memory
  // calls, and GPUs reach the bus's addresses.
  VfioFiles(std::span<const std::unique_ptr<BareGpu>> gpus, BusMemory& bus, bool has_iommu)
      : gpus_(gpus), bus_(bus), has_iommu_(has_iommu) {}

  bool exists(const std::string& path) const;
  // Of a path that exists.
  Result<std::unique_ptr<os::File>> open(const std::string& path);
  // Of a descriptor that a group gave out; null: it is none.
  std::unique_ptr<os::File> adopt(int descriptor);
  // The number of a GPU's group, as its link under /sys says.
  static u32 group_of(const BareGpu& gpu);

 private:
  class ContainerFile;
  class GroupFile;
  class DeviceFile;
  static constexpr int kContainerDescriptor = 900, kFirstDevice = 1000;
  std::string group_path(const BareGpu& gpu) const;
  Result<int> map_dma(const void* argument);
  Result<int> unmap_dma(const void* argument);

  std::span<const std::unique_ptr<BareGpu>> gpus_;
  BusMemory& bus_;
  const bool has_iommu_;
  std::mutex mutex_;  // guards what follows
  u32 groups_ = 0;    // that joined the container
  bool is_set_ = false;
  struct Mapped {
    u8* host;
    u64 bytes;
  };
  std::map<u64, Mapped> mapped_;  // by the devices' address
};

}  // namespace doorbell::emu::amdgpu
