// The files under /sys in which a client finds GPUs: KFD's topology, and the files of DRM and of
// the discovery table for each GPU. Text as the kernel prints it; kfd_files.h and emulator/preload
// serve them.
#pragma once

#include <map>
#include <span>
#include <string>

#include "base/util/types.h"
#include "emulator/amd/kfd/slot.h"

namespace doorbell::emu::amdgpu {

struct SystemFiles {
  std::map<std::string, std::string> files;  // absolute path -> content
  std::map<std::string, std::string> links;  // absolute path -> absolute path
};

struct HostProperties {
  u32 cores = 1;
  u64 memory_bytes = u64{16} << 30;
};

SystemFiles system_files(std::span<const Slot> slots, const HostProperties& host);

inline constexpr const char* kTopologyFolder = "/sys/devices/virtual/kfd/kfd/topology";

}  // namespace doorbell::emu::amdgpu
