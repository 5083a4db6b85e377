// The files under /sys in which a client finds GPUs: KFD's topology, what DRM and the discovery
// table say of each. Text as the kernel prints it; who opens them is for kfd_files.h and preload.
#pragma once

#include <map>
#include <span>
#include <string>

#include "base/util/types.h"
#include "emulator/amd/kfd/node.h"

namespace doorbell::emulator::amd {

// Where a GPU stands in its machine. The first GPU is node 1: node 0 is the CPU.
struct Slot {
  const Node* node = nullptr;  // borrowed, static
  u32 index = 0;

  // KFD's own number: a hash with no pattern to rely on, never 0, unique.
  u32 gpu_id() const;
  u32 render_minor() const { return 128 + index; }
  u32 bus() const { return 3 + index; }
  u32 location_id() const { return bus() << 8; }
  u64 unique_id() const;
};

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

}  // namespace doorbell::emulator::amd
