// Slot: where a GPU stands in its machine, and what users call the GPUs of one: a name of a chip is
// a package, which may be parted as the kernel parts it. See node.h for a GPU.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/util/result.h"
#include "base/util/types.h"
#include "emulator/amd/kfd/node.h"

namespace doorbell::emu::amdgpu {

// Where a GPU stands in its machine. The first GPU is node 1: node 0 is the CPU.
struct Slot {
  const Node* node = nullptr;  // borrowed, static
  u32 index = 0;
  u32 package = 0;                            // whose PCI device it is
  u32 partition = 0;                          // of the package
  const PartitionMode* partitions = nullptr;  // borrowed, static; null: it cannot be parted

  // KFD's own number: a hash with no pattern to rely on, never 0, unique.
  u32 gpu_id() const;
  u32 render_minor() const { return 128 + index; }
  u32 bus() const { return 3 + package; }
  // [kfd_topology.c kfd_topology_add_device(): the partition in bits 31:28]
  u32 location_id() const { return bus() << 8 | partition << 28; }
  bool is_part() const { return partitions != nullptr && partitions->partitions > 1; }
  u64 unique_id() const;
};

// The GPUs that these names stand for, in order: "gfx1100"; "gfx942:CPX", a package's partitions;
// "gfx942:CPX:2", the first two of them. Invalid names those that there are.
Result<std::vector<Slot>> make_slots(std::span<const std::string> names);

// "SPX, DPX, QPX, CPX"
std::string names_of(std::span<const PartitionMode> modes);

}  // namespace doorbell::emu::amdgpu
