// Slot: the position of a GPU in its machine, and users' names of GPUs: a chip's name is a package,
// which may be partitioned as by the kernel. For a GPU's properties see node.h.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/util/result.h"
#include "base/util/types.h"
#include "emulator/amd/kfd/node.h"

namespace doorbell::emu::amdgpu {

// The position of a GPU in its machine. The first GPU is node 1: node 0 is the CPU.
struct Slot {
  const Node* node = nullptr;  // borrowed, static
  u32 index = 0;
  u32 package = 0;                            // the package's PCI device
  u32 partition = 0;                          // of the package
  const PartitionMode* partitions = nullptr;  // borrowed, static; null: it cannot be partitioned

  // KFD's own number: a hash with no pattern to rely on, never 0, unique.
  u32 gpu_id() const;
  u32 render_minor() const { return 128 + index; }
  u32 bus() const { return 3 + package; }
  // [kfd_topology.c kfd_topology_add_device(): the partition in bits 31:28]
  u32 location_id() const { return bus() << 8 | partition << 28; }
  bool is_part() const { return partitions != nullptr && partitions->partitions > 1; }
  u64 unique_id() const;
};

// The GPUs with these names, in order: "gfx1100"; "gfx942:CPX", a package's partitions;
// "gfx942:CPX:2", the first two of them. Invalid for an unknown name; the message lists the known
// ones.
Result<std::vector<Slot>> make_slots(std::span<const std::string> names);

// "SPX, DPX, QPX, CPX"
std::string names_of(std::span<const PartitionMode> modes);

}  // namespace doorbell::emu::amdgpu
